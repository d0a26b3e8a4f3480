import t from 'tap'
import { RECORD_PACE_MS, RECORD_SHARE_MS, RECORD_SHARE_PARTS } from '../../../src/limits.ts'
import { createRecordShares } from '../../../src/session/standing/record-shares.ts'

t.test('an agent fills its own share alone, which comes back over a day', (t) => {
  const shares = createRecordShares(1_000 * RECORD_SHARE_PARTS)
  shares.charge('a', 999, 0)
  t.ok(shares.isFree('a', 0))
  shares.charge('a', 501, 0)
  t.strictSame([shares.isFree('a', 0), shares.isFree('b', 0)], [false, true])
  t.notOk(shares.isFree('a', RECORD_SHARE_MS / 2))
  t.ok(shares.isFree('a', RECORD_SHARE_MS / 2 + 1))
  shares.charge('a', 500, RECORD_SHARE_MS)
  t.notOk(shares.isFree('a', RECORD_SHARE_MS), 'what has not come back is not forgotten')
  t.ok(shares.isFree('a', 3 * RECORD_SHARE_MS))
  t.end()
})

t.test('where nothing is dropped nothing is pushed out', (t) => {
  const shares = createRecordShares(null)
  shares.charge('a', Number.MAX_SAFE_INTEGER, 0)
  t.ok(shares.isFree('a', 0))
  t.equal(shares.nextMs('a'), 0)
  t.end()
})

t.test('the second half of a share is filled ever more slowly, and nobody else waits for it', (t) => {
  const shares = createRecordShares(1_000 * RECORD_SHARE_PARTS)
  const waits: number[] = []
  for (let count = 0; count < 10; count++) {
    shares.charge('a', 100, 0)
    waits.push(shares.nextMs('a'))
  }
  t.strictSame(waits.slice(0, 5), [0, 0, 0, 0, 0], 'nothing in the first half')
  t.equal(shares.nextMs('b'), 0)
  t.equal(waits[9], RECORD_PACE_MS, 'never more than that, however many come at once')
  t.strictSame(
    waits,
    [...waits].sort((a, b) => a - b),
  )
  t.end()
})

t.test('a small record waits for what it takes to come back, a large one for the bound', (t) => {
  const shareBytes = RECORD_SHARE_MS
  for (const [bytes, usedBytes, wait] of [
    [500, shareBytes / 2, 0],
    [500, (shareBytes * 3) / 4, 250],
    [500, shareBytes, 500],
    [RECORD_PACE_MS, shareBytes, RECORD_PACE_MS],
    [10 * RECORD_PACE_MS, (shareBytes * 3) / 4, RECORD_PACE_MS / 2],
    [10 * RECORD_PACE_MS, 2 * shareBytes, RECORD_PACE_MS],
  ] as const) {
    const shares = createRecordShares(shareBytes * RECORD_SHARE_PARTS)
    // By then all has been waited for, and a byte a millisecond has come back.
    const now = RECORD_PACE_MS
    shares.charge('a', usedBytes - bytes + now, 0)
    shares.charge('a', bytes, now)
    t.equal(shares.nextMs('a') - now, wait, `${bytes} of ${usedBytes}`)
  }
  t.end()
})
