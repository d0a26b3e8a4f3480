import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { openPlanJournal } from '../../../src/edge/intent/plan-journal.node.ts'
import { PLANS_REFUSED, PLANS_REMEMBERED } from '../../../src/intent/plans/limits.ts'
import type { PlanUse } from '../../../src/intent/plans/plan-journal.ts'

const USE: PlanUse = {
  ...{ planId: 'p', sessionId: 's', issuer: 'i', runner: 'r', scope: 'k', sha256: 'ab', atMs: 1 },
  calls: [
    { id: 'a', tool: 'x', execution: '01' },
    { id: 'b', tool: 'y', execution: '02' },
  ],
}
const ENDED = { kind: 'exited', number: 3, why: 'so', stdoutBytes: 4, stderrBytes: 5 } as const
const pathOf = (t: Test): string => join(t.testdir(), 'plans.sqlite')

t.test('a plan is used once, over restarts too', async (t) => {
  const path = pathOf(t)
  const journal = openPlanJournal(path)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(journal.wasUsed('p', 'i'), false)
  t.equal(journal.use(USE), true)
  t.equal(journal.use({ ...USE, sessionId: 'other' }), false)
  t.equal(journal.wasUsed('p', 'i'), true)
  journal.close()
  const again = openPlanJournal(path)
  t.equal(again.wasUsed('p', 'i'), true)
  t.equal(again.use(USE), false)
  t.match(again.find('p'), { ...USE, state: 'running' })
  again.close()
})

t.test('a call begins once, ends once, and not before it has begun', async (t) => {
  const journal = openPlanJournal(pathOf(t))
  t.teardown(journal.close)
  journal.use(USE)
  t.throws(() => journal.end('p', 0, ENDED), { code: 'STATE_UNWRITABLE' })
  journal.begin('p', 0)
  t.throws(() => journal.begin('p', 0), { code: 'STATE_UNWRITABLE' })
  t.match(
    journal.find('p')?.calls.map(({ state }) => state),
    ['begun', 'waiting'],
  )
  journal.end('p', 0, ENDED)
  t.throws(() => journal.end('p', 0, ENDED))
  t.throws(() => journal.begin('p', 0))
  t.throws(() => journal.begin('p', 7))
  const unbegun = { ...ENDED, kind: 'refused' } as const
  journal.end('p', 1, unbegun)
  t.throws(() => journal.end('p', 1, unbegun), 'what was refused has ended without having begun, and once')
  t.throws(() => journal.begin('p', 1))
  t.match(journal.find('p')?.calls[0], {
    state: 'exited',
    number: 3,
    why: 'so',
    stdoutBytes: 4,
    stderrBytes: 5,
  })
})

t.test('what has not ended is found at the next start', async (t) => {
  const path = pathOf(t)
  const journal = openPlanJournal(path)
  journal.use(USE)
  journal.use({ ...USE, planId: 'q', atMs: 2 })
  journal.begin('q', 0)
  journal.over('p', 'done')
  t.throws(() => journal.over('p', 'done'))
  journal.close()
  const again = openPlanJournal(path)
  t.teardown(again.close)
  t.strictSame(
    again.open().map(({ planId, calls }) => [planId, calls[0]?.state]),
    [['q', 'begun']],
  )
  t.equal(again.newestOf('s', 'k')?.planId, 'q')
  t.equal(again.newestOf('s', 'other'), undefined)
})

t.test('what has ended is told, or is found at the next start', async (t) => {
  const path = pathOf(t)
  const journal = openPlanJournal(path)
  for (const planId of ['p', 'q', 'r']) journal.use({ ...USE, planId })
  for (const planId of ['p', 'q']) journal.over(planId, 'done')
  journal.told('p')
  journal.told('p')
  journal.close()
  const again = openPlanJournal(path)
  t.teardown(again.close)
  t.strictSame(
    again.untold().map(({ planId, state }) => [planId, state]),
    [['q', 'done']],
    'one that runs is not told yet',
  )
  again.over('r', 'interrupted')
  again.told('q')
  t.strictSame(
    again.untold().map(({ planId }) => planId),
    ['r'],
  )
})

t.test(
  'what was refused in an envelope is remembered by issuer, over restarts too, and so many of it',
  async (t) => {
    const path = pathOf(t)
    const journal = openPlanJournal(path)
    journal.refuse('p', 'i', 5)
    journal.refuse('p', 'i', 6)
    journal.refuse('q', 'i', 7)
    journal.close()
    const again = openPlanJournal(path)
    t.teardown(again.close)
    t.strictSame(
      [again.wasRefused('p', 'i'), again.wasRefused('p', 'j'), again.wasUsed('p', 'i')],
      [true, false, false],
    )
    const database = new DatabaseSync(path)
    const many = `INSERT INTO refused WITH RECURSIVE c(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
    SELECT 'k', 'p' || n, n FROM c`
    database.prepare(many).run(PLANS_REFUSED + 8)
    database.close()
    again.refuse('last', 'i', PLANS_REFUSED + 9)
    t.strictSame(
      [again.wasRefused('p', 'i'), again.wasRefused('q', 'i'), again.wasRefused('p10', 'k')],
      [false, false, true],
      'the oldest are forgotten',
    )
  },
)

t.test('a plan is its issuer’s: another one’s of the same id is another plan', async (t) => {
  const path = pathOf(t)
  const journal = openPlanJournal(path)
  journal.use({ ...USE, issuer: 'squatter' })
  t.equal(journal.wasUsed('p', 'i'), false)
  t.equal(journal.use({ ...USE, atMs: 2 }), true)
  t.equal(journal.use(USE), false, 'once, all the same')
  const [first, second] = [journal.keyOf('p', 'squatter'), journal.keyOf('p', 'i')]
  t.not(first, second)
  journal.begin(second, 0)
  journal.over(first, 'stopped')
  journal.use({ ...USE, planId: 'p2' })
  journal.use({ ...USE, planId: 'p_' })
  journal.use({ ...USE, planId: 'pA' })
  journal.close()
  const again = openPlanJournal(path)
  t.teardown(again.close)
  t.strictSame([again.keyOf('p', 'squatter'), again.keyOf('p', 'i')], [first, second], 'the same for ever')
  t.match(again.find(second), { ...USE, atMs: 2, state: 'running', calls: [{ state: 'begun' }, {}] })
  t.strictSame(
    again.withId('p').map(({ issuer, planId, state }) => [issuer, planId, state]),
    [
      ['squatter', 'p', 'stopped'],
      ['i', 'p', 'running'],
    ],
  )
})

t.test('with as many plans as are remembered no other one is used', async (t) => {
  const path = pathOf(t)
  const journal = openPlanJournal(path)
  t.teardown(journal.close)
  const database = new DatabaseSync(path)
  const many = `INSERT INTO plans WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
    SELECT 'p' || n, 's', 'i', 'r', 'k', 'ab', n, 'done' FROM c`
  database.prepare(many).run(PLANS_REMEMBERED - 1)
  database.close()
  t.equal(journal.use({ ...USE, planId: 'last' }), true)
  t.equal(journal.use({ ...USE, planId: 'more' }), false)
  t.equal(journal.wasUsed('more', 'i'), false)
})

t.test('a file that is no journal stops the daemon from running plans', async (t) => {
  const directory = t.testdir({ 'plans.sqlite': 'no database at all, but some text' })
  t.throws(() => openPlanJournal(join(directory, 'plans.sqlite')), { code: 'STATE_UNWRITABLE' })
})
