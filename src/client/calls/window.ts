/**
 * How much an execution may be ahead of its reader: a window that follows the measured throughput, so that what is
 * in flight drains in about WINDOW_TARGET_SECONDS and ^C works on a slow link while a fast one is never held up.
 * Rules: docs/protocol.md, section 2 (flow control).
 * @module
 */
import { CHUNK_MIN_BYTES, INITIAL_WINDOW_BYTES, MIN_WINDOW_BYTES } from '../../limits.ts'
import { windowFor } from './link-speed.ts'

export type Window = {
  /** Counts what the reader has taken of one message; returns how many bytes more to allow now, 0 for none yet. */
  consumed(bytes: number, nowMs: number): number
}

/** A step makes the window at most so many times larger or smaller: one odd measurement ruins nothing. */
const GROWTH = 2
const SHRINKAGE = 4
/**
 * `initialBytes` is what the other side may send before the first grant; `roundTripMs` what the link takes without
 * anything that waits in it. What follows a small message is not measured: that was all that the sender had, and what a
 * program takes to say something, or a person to type, is no property of the link. After a longer silence the window
 * may be small all the same, as TCP's own is; it grows fourfold in each round trip.
 */
export function createWindow(initialBytes: number = INITIAL_WINDOW_BYTES, roundTripMs: number = 0): Window {
  let size = initialBytes
  let pending = 0
  let [measuredBytes, measuredMs] = [0, 0]
  let lastMs: number | undefined

  function measure(bytes: number, nowMs: number): void {
    if (lastMs !== undefined) {
      measuredBytes += bytes
      measuredMs += nowMs - lastMs
    }
    lastMs = bytes < Math.min(CHUNK_MIN_BYTES, size / 4) ? undefined : nowMs
  }

  /** The size that the measured rate asks for. */
  function nextSize(): number {
    if (measuredBytes < size / 4) return size
    const wanted = windowFor((measuredBytes * 1_000) / Math.max(measuredMs, 0.1), roundTripMs)
    ;[measuredBytes, measuredMs] = [0, 0]
    return Math.max(Math.min(wanted, size * GROWTH), Math.floor(size / SHRINKAGE), MIN_WINDOW_BYTES)
  }

  return {
    consumed(bytes, nowMs) {
      if (bytes === 0) return 0
      pending += bytes
      measure(bytes, nowMs)
      if (pending < size / 2) return 0
      // Made smaller by granting less than was taken. Whole bytes: a fraction lost at each grant would in the end be
      // credit that nobody has.
      const next = nextSize()
      const grant = Math.max(0, pending + next - size)
      size = grant === 0 ? size - pending : next
      pending = 0
      return grant
    },
  }
}
