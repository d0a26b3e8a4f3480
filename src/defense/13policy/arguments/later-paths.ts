/**
 * Paths in words of a program that it reads by itself: behind the word that says what is done, and within one word that
 * names several places.
 * From the manuals of deno, bun, scala-cli, npx and FFmpeg.
 * @module
 */
import type { PathUse } from '../effective.ts'
import { UNKNOWN_FORM } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { type ParsedArguments, parseArguments } from './options.ts'
import { looksLikePath } from './used-paths.ts'

type Add = (word: ShellWord, use: PathUse) => void

/** Programs whose options mostly stand behind such a word, or behind a script that is given them. */
export const SUBCOMMANDED: ReadonlySet<string> = new Set(
  'deno bun dotnet scala-cli npx bunx python node ruby perl php lua tclsh Rscript julia'.split(' '),
)

/** Whether a script that is given `option` writes there: `--data`, `--cache` or `--map` may also be what it reads. */
export function writesClearly(option: string): boolean {
  return CLEARLY.test(option)
}
const CLEARLY = /^-o$|out|log|report|dest|save|write|export|dump|basetemp|install|coverage/i

/** What is written there: as options say, and the operands where the word says so. */
export function addLater({ operands }: ParsedArguments, isRewritten: boolean, add: Add): void {
  const later = parseArguments(operands, UNKNOWN_FORM, 0)
  for (const { option, word, use } of later.values)
    if (use === 'write' && writesClearly(option)) add(word, use)
  if (isRewritten)
    for (const word of later.operands.slice(1)) if (looksLikePath(word.text)) add(word, 'write')
}

/** `[f=mpegts]/x|[f=mp4]y`: places of a stream that goes to several. */
export function media(parsed: ParsedArguments, add: Add): void {
  for (const word of parsed.operands) {
    if (!word.text.includes('|') && !word.text.startsWith('[')) continue
    for (const place of word.text.split('|', PLACES_MAX)) {
      const file = place.slice(place.indexOf(']') + 1).replace(/^file:/, '')
      if (file.includes('/') && !file.includes('://')) add({ ...word, text: file }, 'write')
    }
  }
}

/** Places of one stream; what people write has two. */
const PLACES_MAX = 64
