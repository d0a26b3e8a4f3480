import t from 'tap'
import { RECORD_SHARE_MS, RECORD_SHARE_PARTS } from '../../src/limits.ts'
import { createRecordShares } from '../../src/session/record-shares.ts'

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
  t.end()
})
