/**
 * What one decision may cost: steps of reading, bytes of text that are made on the way, and levels of one thing within
 * another. Counted and never timed, so that the same request is always read as far. Whoever goes over an input spends
 * before it does so; what does not fit any more is not begun, and `WorkSpent` says so. It is caught at one place, where
 * effective commands are made (13policy/effective-commands.ts).
 * Rules: docs/policy.md, "Bounds".
 * @module
 */
import { DECISION_BYTES, DECISION_DEPTH, DECISION_STEPS } from '../limits.ts'

export type Work = { steps: number; bytes: number; depth: number }

/** Reading ends here: the decision has used up its steps, its bytes or its levels. */
export class WorkSpent extends Error {
  override readonly name = 'WorkSpent'
}

export function startWork(): Work {
  return { steps: 0, bytes: 0, depth: 0 }
}

/**
 * Pays for `steps` of work, some 50 ns each, before they are done.
 * @throws WorkSpent where they are too many; then they are not counted
 */
export function spend(work: Work, steps: number): void {
  if (work.steps + steps > DECISION_STEPS) throw new WorkSpent('The steps of this decision are used up.')
  work.steps += steps
}

/** Of the characters that one step goes over, 64 of them: a search, a copy, a comparison. */
const PASS_BITS = 6

/**
 * Pays for going once over so many characters.
 * @throws WorkSpent
 */
export function spendPass(work: Work, characters: number): void {
  spend(work, 1 + (characters >>> PASS_BITS))
}

/**
 * Pays for a text that is made of others, before it is put together.
 * @throws WorkSpent
 */
export function hold(work: Work, bytes: number): void {
  if (work.bytes + bytes > DECISION_BYTES) throw new WorkSpent('The bytes of this decision are used up.')
  work.bytes += bytes
  spendPass(work, bytes)
}

/**
 * Goes one level deeper; `leave` comes back. What throws leaves nothing to come back to.
 * @throws WorkSpent
 */
export function enter(work: Work): void {
  if (work.depth >= DECISION_DEPTH) throw new WorkSpent('The levels of this decision are used up.')
  work.depth += 1
}

export function leave(work: Work): void {
  work.depth -= 1
}
