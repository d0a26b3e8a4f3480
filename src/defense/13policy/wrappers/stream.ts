/**
 * What a command puts out where that is known beforehand, for the shell or interpreter that it feeds: `echo` and
 * `printf` of known words, a here-document through `cat`.
 * Rules: POSIX.1-2024, echo and printf; bash(1), echo -e.
 * @module
 */

import type { Stdin } from '../arguments/inner.ts'
import { outputOf } from '../shell/output.ts'
import type { ShellWord } from '../shell/shell.ts'

/** What `words` put out; undefined where it is not known. */
export function knownOutput(
  names: readonly string[],
  words: readonly ShellWord[],
  stdin: Stdin,
): string | undefined {
  const name = names[0]
  if (name === 'cat' || name === 'tee') {
    if (stdin.kind !== 'text' && stdin.kind !== 'pipe') return undefined
    const isPlain = words
      .slice(1)
      .every(({ text }) => text === '-' || text === '-u' || (name === 'tee' && !text.startsWith('/dev/')))
    if (!isPlain) return undefined
    if (stdin.kind === 'pipe') return stdin.output
    return stdin.word.opaque === undefined ? stdin.word.text : undefined
  }
  if (name !== 'echo' && name !== 'printf') return undefined
  if (words.some(({ opaque, isGlob }) => opaque !== undefined || isGlob)) return undefined
  const texts = words.slice(1).map(({ text }) => text)
  const output = outputOf([name, ...texts])
  // Whether a plain echo reads escapes is the shell's choice; what it would then run is the worse of the two.
  return output ?? (name === 'echo' ? outputOf([name, '-e', ...texts]) : undefined)
}
