/**
 * How much an execution may be ahead of its reader: a window that follows the measured throughput, so that what is
 * in flight drains in about WINDOW_TARGET_SECONDS and ^C works on a slow link while a fast one is never held up.
 * Rules: docs/protocol.md, section 2 (flow control).
 * @module
 */
import { INITIAL_WINDOW_BYTES, MAX_WINDOW_BYTES, MIN_WINDOW_BYTES, WINDOW_TARGET_SECONDS } from '../limits.ts'

export type Window = {
  /** Counts what the reader has taken; returns how many bytes more to allow now, 0 for none yet. */
  consumed(bytes: number, nowMs: number): number
}

/** `initialBytes` is what the other side may send before the first grant. */
export function createWindow(initialBytes: number = INITIAL_WINDOW_BYTES, nowMs: number = 0): Window {
  let size = initialBytes
  let pending = 0
  let sinceMs = nowMs
  return {
    consumed(bytes, now) {
      pending += bytes
      if (pending < size / 2) return 0
      const seconds = Math.max((now - sinceMs) / 1_000, 0.000_1)
      const wanted = Math.min(
        Math.max((pending / seconds) * WINDOW_TARGET_SECONDS, MIN_WINDOW_BYTES),
        MAX_WINDOW_BYTES,
      )
      // Grown at most twofold a step; made smaller by granting less than was taken. Whole bytes: a fraction lost at
      // each grant would in the end be credit that nobody has.
      const next = Math.floor(Math.min(wanted, size * 2))
      const grant = Math.max(0, pending + next - size)
      size = grant === 0 ? size - pending : next
      pending = 0
      sinceMs = now
      return grant
    },
  }
}
