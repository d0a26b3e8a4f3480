/**
 * Time and randomness from the host, for the ports of the same names.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import type { Clock, Random } from '../ports.ts'

export function createClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(ms, callback) {
      // setTimeout takes at most 2^31 - 1 ms; what is longer than 24 days has a daemon restart in between anyway.
      const timer = setTimeout(callback, Math.min(ms, 0x7fff_ffff))
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}

export function createRandom(): Random {
  return { bytes: (count) => randomFillSync(new Uint8Array(count)) }
}
