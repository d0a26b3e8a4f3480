import t from 'tap'
import { FAILED_PROOFS_PER_MINUTE, REFUSALS_PER_MINUTE, REFUSALS_RECORD_MS } from '../../../src/limits.ts'
import { createRefusals } from '../../../src/session/standing/refusals.ts'

t.test('refusals of strangers come as one record a minute, by what decided', (t) => {
  const refusals = createRefusals(0)
  for (let index = 0; index < 1_000; index++)
    refusals.count({ layer: 'acl', rule: 'acl.allow', response: 'DROP' })
  refusals.count({ layer: 'identity', rule: 'login_grace', response: 'DROP' })
  t.equal(refusals.tick(REFUSALS_RECORD_MS - 1), undefined)
  t.same(refusals.tick(REFUSALS_RECORD_MS), {
    type: 'refusals',
    counts: { 'DROP acl acl.allow': 1_000, 'DROP identity login_grace': 1 },
  })
  t.equal(refusals.tick(2 * REFUSALS_RECORD_MS), undefined, 'a minute without any has no record')
  refusals.count({ layer: 'acl', rule: 'acl.allow', response: 'DROP' })
  t.same(
    refusals.rest(),
    { type: 'refusals', counts: { 'DROP acl acl.allow': 1 } },
    'what is left at the end',
  )
  t.equal(refusals.rest(), undefined)
  t.end()
})

t.test('failed proofs are written alone while they are few, and again in the next minute', (t) => {
  const refusals = createRefusals(0)
  const written = () => Array.from({ length: 500 }, () => refusals.mayWriteAlone()).filter(Boolean).length
  t.equal(written(), FAILED_PROOFS_PER_MINUTE)
  t.equal(written(), 0)
  refusals.tick(REFUSALS_RECORD_MS)
  t.equal(written(), FAILED_PROOFS_PER_MINUTE)
  t.end()
})

t.test('each known caller has a share of the minute of its own, and strangers have theirs', (t) => {
  const refusals = createRefusals(0)
  const written = (caller?: string) =>
    Array.from({ length: REFUSALS_PER_MINUTE * 2 }, () => refusals.mayWriteAlone(caller)).filter(Boolean)
      .length
  t.equal(written('bot'), REFUSALS_PER_MINUTE)
  t.equal(written('other'), REFUSALS_PER_MINUTE)
  t.equal(written(), FAILED_PROOFS_PER_MINUTE)
  t.equal(written('__proto__'), REFUSALS_PER_MINUTE)
  t.equal(written('bot'), 0)
  refusals.tick(REFUSALS_RECORD_MS - 1)
  t.equal(written('bot'), 0)
  refusals.tick(REFUSALS_RECORD_MS)
  t.equal(written('bot'), REFUSALS_PER_MINUTE)
  t.end()
})
