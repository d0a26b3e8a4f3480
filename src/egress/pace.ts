/**
 * How often something may happen: so many at once, and then so many a second (a token bucket).
 * @module
 */

export interface Pace {
  /** Takes one, also where there is none: whoever comes too early makes the next wait longer. */
  take(nowMs: number): void
  /** Milliseconds until the next one may come; 0: now. */
  waitMs(nowMs: number): number
}

/** A thousandth of one is what comes in a millisecond at one a second. */
const WHOLE = 1_000

export function createPace(perSecond: number, burst: number): Pace {
  let filled = burst * WHOLE
  let filledAtMs = 0
  function fill(nowMs: number): void {
    filled = Math.min(burst * WHOLE, filled + Math.max(0, nowMs - filledAtMs) * perSecond)
    filledAtMs = Math.max(filledAtMs, nowMs)
  }
  return {
    take(nowMs) {
      fill(nowMs)
      filled -= WHOLE
    },
    waitMs(nowMs) {
      fill(nowMs)
      return Math.max(0, Math.ceil((WHOLE - filled) / perSecond))
    },
  }
}
