/**
 * Who has how much of what is bounded for all. Who goes where the quarantine is full and somebody needs a place: what is
 * refused must not shut out for ever what is good, and one sender not another; whatever goes is on the record since it
 * was refused. How much may wait for one receiver.
 * Pure: entries, numbers and a time in, an entry or a verdict out.
 * Rules: docs/intent.md (bounds); FT-009 of the source.
 * @module
 */
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import {
  INTENT_BATCH_FILES,
  REFUSED_KEPT_MS,
  WAITING_BYTES,
  WAITING_ENVELOPES,
  WAITING_RESERVED_BYTES,
} from './limits.ts'
import type { Quarantined } from './room.ts'

const AGENT = 'agent '

/** What a file of that agent's connections is said to come from. */
export const agentOrigin = (agent: string): string => `${AGENT}${agent}`

/** Whose place it takes: an inbox's, or that of all connections of an agent. */
export function shareOf({ from, receiver }: Pick<Quarantined, 'from' | 'receiver'>): string {
  return from.startsWith(AGENT) ? from : `${from} ${receiver}`
}

/**
 * Of copies of what was accepted, the oldest; of those that have lain there long enough, the oldest; the oldest of another
 * share that has more than this one would have with one more. Undefined: none, and nothing further comes in.
 */
export function whoGoes(
  entries: readonly Quarantined[],
  share: string,
  isCopy: (entry: Quarantined) => boolean,
  nowMs: number,
): Quarantined | undefined {
  const refused = entries
    .filter(({ refusal }) => refusal !== undefined)
    .sort((one, other) => one.sinceMs - other.sinceMs)
  const own = entries.filter((entry) => shareOf(entry) === share).length
  return (
    refused.find(isCopy) ??
    refused.find(({ sinceMs }) => isOver(sinceMs, nowMs)) ??
    largestOf(refused, share, own + 1)
  )
}

/** A time that has not come yet is of a clock that was set back. */
function isOver(sinceMs: number, nowMs: number): boolean {
  return sinceMs > nowMs || nowMs - sinceMs >= REFUSED_KEPT_MS
}

function largestOf(refused: readonly Quarantined[], but: string, above: number): Quarantined | undefined {
  const shares = Map.groupBy(refused, shareOf)
  shares.delete(but)
  let largest: readonly Quarantined[] = []
  for (const share of shares.values()) if (share.length > largest.length) largest = share
  return largest.length > above ? largest[0] : undefined
}

export type Load = { readonly count: number; readonly bytes: number }

/**
 * Whether what one look takes in may wait for a receiver: it has at most as much as is free then, so that however many
 * take nothing, there is something left for the next one.
 */
export function mayWait(own: Load, all: Load, isReserved: boolean): boolean {
  const free = WAITING_BYTES - (isReserved ? 0 : WAITING_RESERVED_BYTES) - all.bytes
  return (
    own.count + INTENT_BATCH_FILES <= WAITING_ENVELOPES &&
    own.bytes + INTENT_BATCH_FILES * ENVELOPE_FILE_BYTES <= free
  )
}
