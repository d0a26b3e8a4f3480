/**
 * What one command costs on its way through the decision, paid before anything of it is read: each word is looked up and
 * is a path that rules are about; each letter behind a dash may be an option of its own.
 * @module
 */
import { spend, type Work } from '../work.ts'
import type { ShellWord } from './shell/shell.ts'

const COMMAND_STEPS = 100
const WORD_STEPS = 32
const ASSIGNMENT_STEPS = 8
/** Characters of words that one step looks at. */
const CHARACTERS_A_STEP = 2
const LETTER_STEPS = 8

const DASH = 45

/** @throws WorkSpent */
export function spendCommand(work: Work, words: readonly ShellWord[], assignments: number): void {
  let characters = 0
  let letters = 0
  for (let at = 0; at < words.length; at += 1) characters += words[at]?.text.length ?? 0
  const own = COMMAND_STEPS + words.length * WORD_STEPS + assignments * ASSIGNMENT_STEPS
  spend(work, own + Math.floor(characters / CHARACTERS_A_STEP))
  for (let at = 0; at < words.length; at += 1) letters += lettersOf(words[at]?.text ?? '')
  spend(work, letters * LETTER_STEPS)
}

/** Letters behind a dash. */
function lettersOf(word: string): number {
  if (word.charCodeAt(0) !== DASH) return 0
  let at = 1
  while (isLetter(word.charCodeAt(at))) at += 1
  return at - 1
}

/** False of NaN, behind the end. */
const isLetter = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
