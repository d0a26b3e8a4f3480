/**
 * Words as the rules see them: what is known of them, and marks for what is not.
 * @module
 */
import type { ShellWord } from '../shell/shell.ts'
import { UNKNOWN_MARK } from '../shell/words.ts'

/** Of a word of which not even the beginning is known, what stands for it. */
export function operandText({ text, opaque, stands }: ShellWord): string {
  return opaque !== undefined && text === '' ? (stands ?? UNKNOWN_MARK) : text
}

/** Longer than any word that a rule is written for. */
const PARTS_CHARACTERS = 256

/** Of a word of which only the beginning is known, the whole with `<unknown>` for what is not; it stands behind all others. */
export function partlyKnown({ text, opaque, stands }: ShellWord): readonly string[] {
  if (opaque === undefined || text === '' || stands === undefined || stands === text) return []
  return stands.length > PARTS_CHARACTERS ? [] : [stands]
}

/** What is known of a value: its beginning, and the whole of it with `<unknown>` for what is not. */
export function valueTexts({ text, opaque, stands }: ShellWord): readonly string[] {
  if (opaque === undefined || stands === undefined || stands === text) return [text]
  return [text, stands]
}
