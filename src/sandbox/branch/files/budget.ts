/**
 * What one look at a branch may cost, counted and not timed: bytes of content that are read, and what is held in memory
 * of the list. An agent decides what lies in its branch, and nobody shall be kept from looking at another one, nor the
 * daemon from its memory, by what it put there.
 * @module
 */

import { SassError } from '../../../errors.ts'
import {
  SURVEY_CHANGE_BYTES,
  SURVEY_CONTENT_BYTES,
  SURVEY_ENTRY_BYTES,
  SURVEY_HELD_BYTES,
} from '../../limits.ts'
import type { Node } from './finding.ts'
import { type BytePath, pathBytes } from './paths.ts'
import { shownBytes } from './text.ts'

/** The end of a path that is named. */
const SHOWN_BYTES = 256

export type SurveyBudget = {
  /** @throws SassError FILE_TOO_LARGE */
  read(bytes: number, path: BytePath): void
  /** One more name above, with what is held of it besides, such as its path. @throws SassError FILE_TOO_LARGE */
  entry(bytes: number): void
  /** One more change. @throws SassError FILE_TOO_LARGE */
  change(bytes: number): void
}

const HOW_TO_GO_ON = 'remove in the branch what is not to be merged and look again, or drop it'

export function createBudget(
  contentBytes = SURVEY_CONTENT_BYTES,
  heldBytes = SURVEY_HELD_BYTES,
): SurveyBudget {
  let [read, held, changes] = [0, 0, 0]
  function hold(bytes: number): void {
    held += bytes
    if (held <= heldBytes) return
    throw new SassError(
      'FILE_TOO_LARGE',
      `The branch has more than ${changes} changes, more than one look can hold in memory, so nothing is shown or merged of it; ${HOW_TO_GO_ON}.`,
    )
  }
  return {
    read(bytes, path) {
      read += bytes
      if (read <= contentBytes) return
      const shown = shownBytes(pathBytes(path.slice(-SHOWN_BYTES)))
      throw new SassError(
        'FILE_TOO_LARGE',
        `The branch and the files beneath it hold more than the ${contentBytes} bytes that are read for one look (${shown} is the last of them), so nothing is shown or merged of it; ${HOW_TO_GO_ON}.`,
      )
    },
    entry: (bytes) => hold(bytes + SURVEY_ENTRY_BYTES),
    change(bytes) {
      changes++
      hold(bytes + SURVEY_CHANGE_BYTES)
    },
  }
}

/** Of one whose cost has been counted already. */
export const NO_BUDGET: SurveyBudget = Object.freeze({ read: () => {}, entry: () => {}, change: () => {} })

/** What is held of a file besides its path. */
export function heldBytes(node: Node | undefined): number {
  let bytes = node?.target?.length ?? 0
  for (const value of node?.attributes.values() ?? []) bytes += value.length
  return bytes
}
