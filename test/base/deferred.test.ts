import t from 'tap'
import { defer } from '../../src/base/deferred.ts'

t.test('a deferred promise is settled from outside, once', async (t) => {
  const good = defer<number>()
  good.resolve(1)
  good.resolve(2)
  good.reject(new Error('too late'))
  t.equal(await good.promise, 1)
  const bad = defer<number>()
  bad.reject(new Error('no'))
  await t.rejects(bad.promise, { message: 'no' })
})
