/**
 * How full the context of an agent must be: what was delivered to its session, four bytes to a token, of a window that
 * the configuration declares. An estimate, since nobody tells the device what a model keeps.
 * Pure, integers alone.
 * Rules: docs/anomaly.md; JF-092.
 * @module
 */
import { BYTES_PER_TOKEN, FILL_STEPS } from './limits.ts'

/** `seenBytes`: all that was delivered to the session by then; `heldBytes`: what of it the context may hold. */
export type Fill = { readonly seenBytes: number; readonly heldBytes: number; readonly step: number }

export const EMPTY: Fill = Object.freeze({ seenBytes: 0, heldBytes: 0, step: 0 })

export type FillOutcome = {
  readonly fill: Fill
  readonly permille: number
  /** A step was reached that was not before. */
  readonly isHigher: boolean
}

/** Takes in that `deliveredBytes` were delivered to the session by now. `windowTokens`: not 0. */
export function takeDelivered(before: Fill, deliveredBytes: number, windowTokens: number): FillOutcome {
  // A human who allowed the session more tokens has its count begin anew.
  const isAnew = deliveredBytes < before.seenBytes
  const { seenBytes, heldBytes, step } = isAnew ? EMPTY : before
  const more = deliveredBytes - seenBytes
  // What no such context could hold was read by no model: a person or a program has it.
  const held = more > windowTokens * BYTES_PER_TOKEN ? heldBytes : heldBytes + more
  const permille = Math.floor((Math.floor(held / BYTES_PER_TOKEN) * 1_000) / windowTokens)
  const reached = fillStep(permille)
  return {
    fill: { seenBytes: deliveredBytes, heldBytes: held, step: Math.max(reached, step) },
    permille,
    isHigher: reached > step,
  }
}

/** How many of the steps are reached: 0 to 3. */
function fillStep(permille: number): number {
  return FILL_STEPS.filter((step) => permille >= step).length
}

/** What the agent is told at that step; undefined at none. */
export function fillNotice(step: number, permille: number): string | undefined {
  const reached = `The device has delivered about ${Math.floor(permille / 10)} % of the context window that is declared for this agent`
  switch (step) {
    case 0:
      return undefined
    case 1:
      return `${reached}: ask for less output from here on.`
    case 2:
      return `${reached}, and saves the branch: keep to short output, and write down where you are.`
    default:
      return `${reached}, and has saved the branch: write down where you are, and go on in a new session.`
  }
}
