/**
 * A directory on the way of a survey, and what is known of it by those that it lies in.
 * @module
 */

import type { Node } from '../files/finding.ts'
import type { BytePath } from '../files/paths.ts'

export type WalkedDirectory = {
  readonly path: BytePath
  /** Where the real directory is; undefined: there is none to compare with. */
  readonly base: BytePath | undefined
  /** Shows only what is above. */
  readonly isWhole: boolean
  /** Marks whiteouts by an attribute. */
  readonly hasMarkedWhiteouts: boolean
  /** In a copy: neither it nor what it lies in was touched, so that nothing in it came, went or was moved. */
  readonly isStill: boolean
  /** In a copy: it is where it was. Moving what it lies in would not show in the times of what is in it. */
  readonly isFixed: boolean
}

/** Beneath what is not where it was. */
export const ELSEWHERE = { isStill: false, isFixed: false } as const

/** What is on both sides of a change, and around it. */
export type Sides = {
  before?: Node
  after?: Node
  source?: BytePath
  movedFrom?: BytePath
  over?: Node
  origin?: Uint8Array | undefined
}
