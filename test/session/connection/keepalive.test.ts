/**
 * Idle connections: when they are asked, and when they are given up.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { KEEPALIVE_MAX_MS, KEEPALIVE_MS } from '../../../src/limits.ts'
import { createKeepalive } from '../../../src/session/connection/keepalive.ts'

const STEP = KEEPALIVE_MS

t.test(
  'a silent peer is asked after the first silence, once more a step later, and is dead a step after that',
  (t) => {
    const keepalive = createKeepalive(STEP, 1_000)
    const at = (ms: number) => keepalive.tick(1_000 + ms)
    t.strictSame([at(0), at(STEP - 1), at(STEP)], ['nothing', 'nothing', 'ping'])
    t.strictSame([at(STEP + 1), at(2 * STEP - 1), at(2 * STEP)], ['nothing', 'nothing', 'ping'])
    t.strictSame([at(3 * STEP - 1), at(3 * STEP)], ['nothing', 'dead'])
    t.end()
  },
)

t.test('each answer lets the next silence be a step longer, up to the longest', (t) => {
  const keepalive = createKeepalive(STEP, 0)
  let now = 0
  const silences: number[] = []
  for (let round = 0; round < 8; round++) {
    const since = now
    while (keepalive.tick(now) === 'nothing') now += 1_000
    silences.push(now - since)
    keepalive.received(now)
    keepalive.answered()
  }
  t.strictSame(silences.slice(0, 3), [STEP, 2 * STEP, 3 * STEP])
  t.equal(silences.at(-1), KEEPALIVE_MAX_MS)
  t.equal(Math.max(...silences), KEEPALIVE_MAX_MS)
  t.end()
})

t.test('bytes that are no answer count as life and lengthen nothing', (t) => {
  const keepalive = createKeepalive(STEP, 0)
  t.equal(keepalive.tick(STEP), 'ping')
  keepalive.received(STEP)
  t.strictSame([keepalive.tick(2 * STEP - 1), keepalive.tick(2 * STEP)], ['nothing', 'ping'])
  t.end()
})

t.test('an answer that came only after the second question makes the silence short again', (t) => {
  const keepalive = createKeepalive(STEP, 0)
  keepalive.received(0)
  keepalive.answered()
  t.equal(keepalive.tick(2 * STEP), 'ping')
  t.equal(keepalive.tick(3 * STEP), 'ping')
  keepalive.received(3 * STEP + 1)
  t.strictSame([keepalive.tick(4 * STEP), keepalive.tick(4 * STEP + 1)], ['nothing', 'ping'])
  t.end()
})

t.test('a first silence that is longer than the longest is never shortened by an answer', (t) => {
  const first = KEEPALIVE_MAX_MS * 2
  const keepalive = createKeepalive(first, 0)
  keepalive.answered()
  t.strictSame([keepalive.tick(first - 1), keepalive.tick(first)], ['nothing', 'ping'])
  t.end()
})

t.test('whoever is asked seldom is given up as soon after the question as anybody', (t) => {
  const first = KEEPALIVE_MAX_MS
  const keepalive = createKeepalive(first, 0)
  t.strictSame([keepalive.tick(first - 1), keepalive.tick(first)], ['nothing', 'ping'])
  t.strictSame([keepalive.tick(first + STEP - 1), keepalive.tick(first + STEP)], ['nothing', 'ping'])
  t.strictSame([keepalive.tick(first + 2 * STEP - 1), keepalive.tick(first + 2 * STEP)], ['nothing', 'dead'])
  t.end()
})

t.test('a short step stays short', (t) => {
  const keepalive = createKeepalive(5_000, 0)
  t.strictSame([5_000, 10_000, 15_000].map(keepalive.tick), ['ping', 'ping', 'dead'])
  t.end()
})

t.test(
  'whoever says something in every step is never given up; who says nothing is, in bounded time',
  (t) => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: STEP }), { maxLength: 40 }),
        fc.nat(6),
        (gaps, answers) => {
          const keepalive = createKeepalive(STEP, 0)
          let now = 0
          for (let count = 0; count < answers; count++) keepalive.answered()
          for (const gap of gaps) {
            now += gap
            if (keepalive.tick(now) === 'dead') return false
            keepalive.received(now)
          }
          const since = now
          while (keepalive.tick(now) !== 'dead') now += 1_000
          return now - since <= KEEPALIVE_MAX_MS + 2 * STEP + 1_000
        },
      ),
      { numRuns: 60 },
    )
    t.pass('for every one of them')
    t.end()
  },
)
