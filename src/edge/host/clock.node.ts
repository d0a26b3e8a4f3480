/**
 * Time and randomness from the host, for the ports of the same names.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import { CLOCK_FLOOR_MS } from '../../limits.ts'
import type { Clock, Random } from '../../ports.ts'

declare const BUILT_SECONDS: number | undefined

/** The largest delay of setTimeout, which would take a larger one for 1 ms. */
const TIMER_MAX_MS = 0x7fff_ffff

export function createClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(ms, callback) {
      // setTimeout takes at most 2^31 - 1 ms, some 24 days: what is longer is waited for in parts.
      let left = ms
      let timer: NodeJS.Timeout
      const wait = (): void => {
        const part = Math.min(left, TIMER_MAX_MS)
        left -= part
        timer = setTimeout(left > 0 ? wait : callback, part).unref()
      }
      wait()
      return () => clearTimeout(timer)
    },
  }
}

/** Whether the clock can be right: one that says a time before this program was built was never set. */
export function isClockSet(wallMs: number): boolean {
  const builtMs = typeof BUILT_SECONDS === 'number' ? BUILT_SECONDS * 1_000 : 0
  return wallMs >= Math.max(CLOCK_FLOOR_MS, builtMs)
}

export function createRandom(): Random {
  return { bytes: (count) => randomFillSync(new Uint8Array(count)) }
}
