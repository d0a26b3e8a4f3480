import t from 'tap'
import {
  firstWindow,
  measureSpeed,
  settledSpeed,
  UNKNOWN_SPEED,
  windowFor,
} from '../../../src/client/calls/link-speed.ts'
import { MAX_WINDOW_BYTES, MIN_WINDOW_BYTES } from '../../../src/limits.ts'

const HANDSHAKE_BYTES = 3_000

/** What the clock shows on a link of that rate and round trip. */
const measured = (bytesPerSecond: number, roundTripMs: number) =>
  measureSpeed(roundTripMs, roundTripMs + (HANDSHAKE_BYTES * 1_000) / bytesPerSecond, HANDSHAKE_BYTES)

t.test('a slow link is known by its handshake, whatever its round trip', async (t) => {
  for (const rate of [300, 1_200, 8_000, 100_000])
    for (const roundTripMs of [0, 50, 600]) {
      const link = measured(rate, roundTripMs)
      t.equal(link.roundTripMs, roundTripMs)
      const found = link.bytesPerSecond ?? Number.NaN
      // A tenth of a handshake is the least that counts, so that a late first packet hides nothing.
      t.ok(
        found <= rate * 1.001 && found >= Math.min(rate, 45_000) * 0.999,
        `${rate} B/s, ${roundTripMs} ms: ${found}`,
      )
      const window = firstWindow(131_072, link)
      t.ok(window >= MIN_WINDOW_BYTES && window <= Math.max(MIN_WINDOW_BYTES, rate * 1.11), `${window}`)
    }
})

t.test('a fast one is not, and gets what was wanted', async (t) => {
  t.equal(measured(1_000_000, 1).bytesPerSecond, undefined)
  t.equal(firstWindow(131_072, measured(1_000_000, 1)), 131_072)
  t.equal(firstWindow(70_000, UNKNOWN_SPEED), 70_000)
})

t.test('a connect whose first packet was lost does not make a slow link look fast', async (t) => {
  const link = measureSpeed(3_000, 2_700, HANDSHAKE_BYTES)
  t.ok((link.bytesPerSecond ?? Number.NaN) < 15_000)
  t.ok(firstWindow(131_072, link) < 40_000)
})

t.test('a window holds what arrives in the target time and the round trip, within its bounds', async (t) => {
  t.equal(windowFor(10_000, 0), 5_000)
  t.equal(windowFor(10_000, 600), 11_000)
  t.equal(windowFor(1, 0), MIN_WINDOW_BYTES)
  t.equal(windowFor(1e12, 0), MAX_WINDOW_BYTES)
})

t.test(
  'the first answer says what a round trip is where the connect did not, and whether it was the link',
  async (t) => {
    const far = measureSpeed(600, 650, HANDSHAKE_BYTES)
    t.strictSame(settledSpeed(far, 650, 605), far)
    const behindProxy = measureSpeed(1, 650, HANDSHAKE_BYTES)
    t.equal(settledSpeed(behindProxy, 650, 605).roundTripMs, 605)
    const busy = measureSpeed(1, 80, HANDSHAKE_BYTES)
    t.not(busy.bytesPerSecond, undefined)
    t.equal(settledSpeed(busy, 80, 75).bytesPerSecond, undefined, 'what carries a tenth took as long')
    t.equal(settledSpeed(UNKNOWN_SPEED, 0, 50).roundTripMs, 0, 'nothing is known of a socket on this machine')
  },
)
