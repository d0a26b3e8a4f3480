/**
 * What each agent may fill of the record: a share of what is kept, which comes back over a day. From half of it on each
 * record makes the agent's next request wait, the longer the less is left, at the end for as long as the share takes to
 * come back, within a bound. Who has none left is refused until some has, and its refusals are counted and not written
 * one by one: so nobody can push the history of others, or its own, out of what is kept within the day.
 * Pure: time comes in.
 * Rules: docs/responses.md, section 7 (retention).
 * @module
 */
import { RECORD_PACE_MS, RECORD_SHARE_MS, RECORD_SHARE_PARTS } from '../../limits.ts'

export type RecordShares = {
  charge(agent: string, bytes: number, nowMs: number): void
  isFree(agent: string, nowMs: number): boolean
  /** When its next request is to be taken; past: at once. All of its connections wait for the same. */
  nextMs(agent: string): number
}

type Share = { usedBytes: number; atMs: number; nextMs: number }

/** `keepBytes`: what the record may take up; null: nothing is ever dropped, and so nothing is pushed out. */
export function createRecordShares(keepBytes: number | null): RecordShares {
  const shareBytes = keepBytes === null ? Number.POSITIVE_INFINITY : keepBytes / RECORD_SHARE_PARTS
  const shares = new Map<string, Share>()

  /** In milliseconds: nothing in the first half of the share, then more and more of what the bytes take to come back. */
  function waitFor(bytes: number, usedBytes: number): number {
    const full = Math.min(Math.max((2 * usedBytes) / shareBytes - 1, 0), 1)
    return full * Math.min((bytes / shareBytes) * RECORD_SHARE_MS, RECORD_PACE_MS)
  }

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
      if (keepBytes === null) return
      const usedBytes = usedBy(agent, nowMs) + bytes
      const share = shares.get(agent) ?? { usedBytes: 0, atMs: 0, nextMs: 0 }
      const nextMs = Math.max(share.nextMs, nowMs) + waitFor(bytes, usedBytes)
      share.usedBytes = usedBytes
      share.atMs = nowMs
      share.nextMs = Math.min(nextMs, nowMs + RECORD_PACE_MS)
      shares.set(agent, share)
    },
    isFree: (agent, nowMs) => usedBy(agent, nowMs) < shareBytes,
    nextMs: (agent) => shares.get(agent)?.nextMs ?? 0,
  }
}
