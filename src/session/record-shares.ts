/**
 * What each agent may fill of the record: a share of what is kept, which comes back over a day. Who has none left is
 * refused until some has, and its refusals are counted and not written one by one: so nobody can push the history of
 * others, or its own, out of what is kept within the day.
 * Pure: time comes in.
 * Rules: docs/responses.md, section 7 (retention).
 * @module
 */
import { RECORD_SHARE_MS, RECORD_SHARE_PARTS } from '../limits.ts'

export type RecordShares = {
  charge(agent: string, bytes: number, nowMs: number): void
  isFree(agent: string, nowMs: number): boolean
}

type Share = { usedBytes: number; atMs: number }

/** `keepBytes`: what the record may take up; null: nothing is ever dropped, and so nothing is pushed out. */
export function createRecordShares(keepBytes: number | null): RecordShares {
  const shareBytes = keepBytes === null ? Number.POSITIVE_INFINITY : keepBytes / RECORD_SHARE_PARTS
  const shares = new Map<string, Share>()

  function usedBy(agent: string, nowMs: number): number {
    const share = shares.get(agent)
    if (share === undefined) return 0
    const back = ((nowMs - share.atMs) / RECORD_SHARE_MS) * shareBytes
    if (back < share.usedBytes) return share.usedBytes - back
    shares.delete(agent)
    return 0
  }

  return {
    charge(agent, bytes, nowMs) {
      if (keepBytes !== null) shares.set(agent, { usedBytes: usedBy(agent, nowMs) + bytes, atMs: nowMs })
    },
    isFree: (agent, nowMs) => usedBy(agent, nowMs) < shareBytes,
  }
}
