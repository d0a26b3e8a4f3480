import fc from 'fast-check'
import t from 'tap'
import { createWindow } from '../../../src/client/calls/window.ts'
import {
  INITIAL_WINDOW_BYTES,
  MAX_WINDOW_BYTES,
  MIN_WINDOW_BYTES,
  WINDOW_TARGET_SECONDS,
} from '../../../src/limits.ts'

type Run = { readonly seconds: number; readonly windows: readonly number[] }

/**
 * A sender that always has more and a link of `bytesPerSecond`, which carries chunks of at most `chunkBytes`; what
 * the window is after each grant. Throws where the sender may send nothing and everything was taken.
 */
function transfer(totalBytes: number, bytesPerSecond: number, chunkBytes: number, initial?: number): Run {
  const window = initial === undefined ? createWindow() : createWindow(initial)
  let limit = initial ?? INITIAL_WINDOW_BYTES
  let sent = 0
  let nowMs = 0
  const windows: number[] = []
  while (sent < totalBytes) {
    const bytes = Math.min(limit - sent, chunkBytes)
    if (bytes <= 0) throw new Error(`stuck after ${sent} bytes`)
    sent += bytes
    nowMs += (bytes / bytesPerSecond) * 1_000
    const grant = window.consumed(bytes, nowMs)
    if (!Number.isInteger(grant) || grant < 0) throw new Error(`a grant of ${grant}`)
    limit += grant
    if (grant > 0) windows.push(limit - sent)
  }
  return { seconds: nowMs / 1_000, windows }
}

t.test('the window comes to hold what the link carries in its target time', async (t) => {
  for (const rate of [8_000, 50_000, 300_000, 1_000_000]) {
    const { windows } = transfer(rate * 30, rate, 1_024)
    const last = windows.at(-1) ?? 0
    const wanted = Math.min(Math.max(rate * WINDOW_TARGET_SECONDS, MIN_WINDOW_BYTES), MAX_WINDOW_BYTES)
    t.ok(Math.abs(last - wanted) < wanted * 0.05, `${rate} bytes/s: ${last} of ${wanted}`)
  }
})

t.test('never below 4 KiB nor above 1 MiB, and at most doubled at a time', async (t) => {
  const slow = transfer(200_000, 500, 512)
  t.ok(slow.windows.every((size) => size >= MIN_WINDOW_BYTES))
  t.equal(slow.windows.at(-1), MIN_WINDOW_BYTES)
  const fast = transfer(100_000_000, 1e9, 65_536)
  t.ok(fast.windows.every((size) => size <= MAX_WINDOW_BYTES))
  t.equal(fast.windows.at(-1), MAX_WINDOW_BYTES)
  fast.windows.forEach((size, index) => {
    if (size > 2 * (fast.windows[index - 1] ?? INITIAL_WINDOW_BYTES)) t.fail(`${index}: ${size}`)
  })
})

t.test('no credit is lost over a long transfer, whatever the rate and the chunks', async (t) => {
  // Half a byte a grant would have stopped the first of these after 40 MB.
  t.ok(transfer(60_000_000, 9_123.7, 1_024).seconds > 0)
  fc.assert(
    fc.property(
      fc.integer({ min: 300, max: 3_000_000 }),
      fc.integer({ min: 1, max: 65_536 }),
      fc.integer({ min: MIN_WINDOW_BYTES, max: MAX_WINDOW_BYTES }),
      (rate, chunk, initial) => {
        const { windows } = transfer(chunk * 300, rate + 0.37, chunk, initial)
        return windows.every((size) => size >= MIN_WINDOW_BYTES / 2)
      },
    ),
    { numRuns: 300 },
  )
})

t.test('grants nothing before half of the window is taken, and nothing for nothing', async (t) => {
  const window = createWindow(10_000)
  t.equal(window.consumed(0, 1), 0)
  t.equal(window.consumed(4_999, 1), 0)
  t.ok(window.consumed(1, 1) > 0)
  t.equal(window.consumed(1, 2), 0)
})
