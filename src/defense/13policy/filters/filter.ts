/**
 * Scripts of sed and awk, which are the only languages beside the shell's that are read: for what they start and what
 * they write. And scripts with a part that is not known: whether it stays where the script has text, a pattern or a
 * number (`s/x/$V/`, `${n}p`, `NR==$n`), or could be a command of the script itself.
 * Rules: docs/policy.md, "What is not read"; sed(1), POSIX.1-2024 awk.
 * @module
 */

import { spend, type Work } from '../../work.ts'
import type { ShellWord } from '../shell/shell.ts'
import { UNKNOWN_MARK } from '../shell/words.ts'
import { readAwk } from './awk.ts'
import type { Filtered } from './filtered.ts'
import { GAP } from './filtered.ts'
import { readSed } from './sed.ts'

export type Filter = 'awk' | 'sed'

const STEPS_A_CHARACTER = 12

/**
 * What a script starts and writes.
 * @throws WorkSpent
 */
export function readFilter(filter: Filter, word: ShellWord, via: string, work: Work): Filtered {
  const script = gapped(word)
  const isKept = script !== undefined && staysInPlace(script, filter)
  const text = isKept ? script : word.text
  spend(work, text.length * STEPS_A_CHARACTER)
  const { inner, opaque } = filter === 'sed' ? readSed(text, via) : readAwk(text, via)
  if (word.opaque === undefined) return { inner, opaque }
  // What stays in its place could still be part of what is started.
  const isOpen = !isKept || inner.some(({ kind }) => kind !== 'path')
  return { inner, opaque: isOpen ? [...opaque, 'eval'] : opaque }
}

/** The whole of a script of which parts are not known, with a gap for each; undefined where it cannot be told. */
function gapped({ text, opaque, stands }: ShellWord): string | undefined {
  if (opaque === undefined || stands === undefined || text.includes(GAP)) return undefined
  return stands.replaceAll(UNKNOWN_MARK, GAP)
}

/** Of sed, its reader knows where commands stand; of awk, every gap must be in an expression. */
function staysInPlace(script: string, filter: Filter): boolean {
  if (script.replaceAll(GAP, '').trim() === '') return false
  if (filter === 'sed') return true
  for (let at = script.indexOf(GAP); at !== -1; at = script.indexOf(GAP, at + 1)) {
    const before = script.slice(0, at).trimEnd().at(-1)
    const after = script.slice(at + 1).trimStart()[0]
    const opens = before === undefined || '{};)\n'.includes(before) || before === GAP
    if (opens && (after === undefined || '};\n'.includes(after) || after === GAP)) return false
  }
  return true
}
