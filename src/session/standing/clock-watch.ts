/**
 * Whether the wall clock was set: it has moved by another amount than the monotonic one since it was last looked at. A
 * board without a battery begins in some year that has passed, and jumps when it hears what time it is. Slewing, as time
 * services do it, is no step. A clock that is set all the time is told of once a minute, by how much in all.
 * Pure: looks when it is asked to.
 * @module
 */
import { CLOCK_STEP_MS, CLOCK_TOLD_EVERY_MS } from '../../limits.ts'
import type { Clock } from '../../ports.ts'

export type ClockStep = {
  /** Since the last one that was told; negative: back. */
  readonly byMs: number
  /** What the clock would say now if it had not been set, and what it says. */
  readonly expectedMs: number
  readonly nowMs: number
}

export type ClockWatch = {
  /** To be asked every second or so; undefined: nothing to tell. */
  look(): ClockStep | undefined
}

export function createClockWatch(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>): ClockWatch {
  const offset = (): number => clock.wallMs() - clock.monotonicMs()
  let last = offset()
  let untold = 0
  let toldAtMs = Number.NEGATIVE_INFINITY
  return {
    look() {
      const now = offset()
      const change = now - last
      last = now
      if (Math.abs(change) >= CLOCK_STEP_MS) untold += change
      if (Math.abs(untold) < CLOCK_STEP_MS) return undefined
      const monotonicMs = clock.monotonicMs()
      if (monotonicMs - toldAtMs < CLOCK_TOLD_EVERY_MS) return undefined
      toldAtMs = monotonicMs
      const byMs = Math.round(untold)
      untold = 0
      const nowMs = clock.wallMs()
      return { byMs, expectedMs: nowMs - byMs, nowMs }
    },
  }
}
