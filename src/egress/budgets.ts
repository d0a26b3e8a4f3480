/**
 * Bytes an hour of the entries that have a bound. An hour begins with the first byte, and the next one with the first
 * byte after it. Bytes are let on lease, a part at a time, so that connections of one entry cannot take them twice; what
 * of a lease was not used is given back.
 * @module
 */

import { HOUR_MS, LEASE_BYTES } from './limits.ts'
import type { EgressEntry } from './lists/egress-list.ts'

export interface Budgets {
  /** So many bytes more may pass; 0: none in this hour; undefined: the entry has no bound. */
  lease(entry: EgressEntry, nowMs: number): number | undefined
  /**
   * Corrects what was let since then by what has passed. Negative gives back, but for what may have been let in an hour
   * before: that is over.
   */
  correct(entry: EgressEntry, bytes: number, sinceMs: number): void
}

/** Every bound that holds for an entry, each once: of those with one text the lower. */
function boundsOf(entry: EgressEntry): ReadonlyMap<string, number> {
  const bounds = new Map<string, number>()
  for (const { text, bytesPerHour } of entry.boundBy ?? [entry])
    if (bytesPerHour !== undefined) bounds.set(text, Math.min(bytesPerHour, bounds.get(text) ?? bytesPerHour))
  return bounds
}

export function createBudgets(): Budgets {
  const hours = new Map<string, { readonly startedAtMs: number; usedBytes: number }>()
  return {
    lease(entry, nowMs) {
      const bounds = boundsOf(entry)
      if (bounds.size === 0) return undefined
      let bytes = LEASE_BYTES
      const now = [...bounds].map(([text, most]) => {
        const known = hours.get(text)
        const hour =
          known === undefined || nowMs - known.startedAtMs >= HOUR_MS
            ? { startedAtMs: nowMs, usedBytes: 0 }
            : known
        hours.set(text, hour)
        bytes = Math.max(0, Math.min(bytes, most - hour.usedBytes))
        return hour
      })
      for (const hour of now) hour.usedBytes += bytes
      return bytes
    },
    correct(entry, bytes, sinceMs) {
      for (const text of boundsOf(entry).keys()) {
        const hour = hours.get(text)
        if (hour !== undefined && (bytes > 0 || sinceMs >= hour.startedAtMs))
          hour.usedBytes = Math.max(0, hour.usedBytes + bytes)
      }
    },
  }
}
