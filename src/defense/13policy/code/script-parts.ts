/**
 * Scripts of sed, awk and perl with a part that is not known: whether that part stands where the script has text, a
 * pattern or a number (`s/x/$V/`, `${n}p`, `NR==$n`), or could be a command of the script itself.
 * Rules: sed(1), POSIX.1-2024 awk.
 * @module
 */
import type { ShellWord } from '../shell/shell.ts'
import { LISTED_MARK, PART_MARK, PIPE_MARK, UNKNOWN_MARK } from '../shell/words.ts'
import type { Language } from '../unwrap/inner.ts'

/** In the place of what is not known; no text holds it. */
export const GAP = '\u0001'

/** Among the calls of a script: a part of it is not known, and stays in its place. */
export const UNKNOWN_PART = 'part:unknown'

/** The whole of a script of which parts are not known, with a gap for each; undefined where it cannot be told. */
export function gapped({ text, opaque, stands }: ShellWord): string | undefined {
  if (opaque === undefined || stands === undefined || text.includes(GAP)) return undefined
  return [UNKNOWN_MARK, PART_MARK, LISTED_MARK, PIPE_MARK].reduce(
    (script, mark) => script.replaceAll(mark, GAP),
    stands,
  )
}

const SUBSTITUTION =
  /^(?:use [\w:./-]+;)*s([/|#,!@%])((?:(?!\1)[^\\]|\\.)*)\1((?:(?!\1)[^\\]|\\.)*)\1[gimsx]*;?$/s

/** Whether every gap stands in an expression of awk, and none where a statement could be. */
function isInExpressions(script: string): boolean {
  for (let at = script.indexOf(GAP); at !== -1; at = script.indexOf(GAP, at + 1)) {
    const before = script.slice(0, at).trimEnd().at(-1)
    const after = script.slice(at + 1).trimStart()[0]
    const opens = before === undefined || '{};)\n'.includes(before) || before === GAP
    if (opens && (after === undefined || '};\n'.includes(after) || after === GAP)) return false
  }
  return true
}

/**
 * Whether what is not known in `script` stays in its place. That of sed is told by who reads the script. What is not
 * known may still be made to leave its place, so this is for text that comes from files or the caller, not for text
 * that the same command line has decoded, fetched or put together.
 */
export function staysInPlace(script: string, language: Language): boolean {
  if (script.replaceAll(GAP, '').trim() === '') return false
  // Its reader knows where commands of sed stand.
  if (language === 'sed') return true
  if (language === 'awk') return isInExpressions(script)
  if (language !== 'perl') return false
  const match = SUBSTITUTION.exec(script)
  // In a pattern of Perl, brackets may hold code.
  return match !== null && !match[3]?.includes('@{') && !script.includes('(?')
}
