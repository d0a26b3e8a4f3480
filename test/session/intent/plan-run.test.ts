/**
 * A plan at work with its journal, where something fails: what cannot be written down is not done, and what was answered
 * with nothing is told to nobody.
 * @module
 */
import t, { type Test } from 'tap'
import { SassError } from '../../../src/errors.ts'
import type { PlanJournal } from '../../../src/intent/plans/plan-journal.ts'
import type { PlanDelivery } from '../../../src/session/common/plan-room.ts'
import { executionOf } from '../../../src/session/intent/plan-call.ts'
import { createPlanRun } from '../../../src/session/intent/plan-run.ts'
import type { StageOptions } from '../stage.ts'
import { readyPlan, stageJournal, stagePlans } from './staged-plan.ts'

/** A run of a plan that is used up; `fails` takes the place of steps of its journal. */
function stageRun(t: Test, size: number, fails: Partial<PlanJournal> = {}, options: StageOptions = {}) {
  const room = { isThere: true }
  const delivery: { failure?: Error } = {}
  const { staged, runner } = stagePlans(options)
  const ready = readyPlan(size)
  const { plan } = ready
  const journal = stageJournal(t)
  const calls = plan.calls.map(({ id, tool }) => ({ id, tool, execution: executionOf(plan.id, id) }))
  journal.use({
    ...{ planId: plan.id, sessionId: plan.sessionId, issuer: plan.issuer, runner: 'bot', scope: 'k' },
    ...{ sha256: 'ab', atMs: 1, calls },
  })
  const delivered: PlanDelivery[] = []
  const heard: string[] = []
  const run = createPlanRun({
    ...{ rooms: staged.rooms, journal: { ...journal, ...fails }, key: plan.id, ready, runner },
    deliver(one) {
      if (delivery.failure !== undefined) throw delivery.failure
      delivered.push(one)
    },
    hasRoom: () => room.isThere,
    events: {
      call: (at, { kind }) => heard.push(`${at} ${kind}`),
      unanswered: () => heard.push('unanswered'),
      over: (end) => heard.push(end),
    },
    over: () => heard.push('last'),
  })
  const states = () => journal.find(plan.id)?.calls.map(({ state }) => state)
  const exit = (at: number, code = 0) => staged.spawner.children[at]?.events.exited({ kind: 'exited', code })
  const state = () => journal.find(plan.id)?.state
  return { run, room, delivery, journal, staged, runner, delivered, heard, states, state, exit }
}

const full = () => {
  throw new Error('the disk is full')
}

t.test('one call after the other, each told to issuer and runner, and a summary at the end', (t) => {
  const { run, staged, delivered, heard, states, state, exit, runner } = stageRun(t, 2)
  run.go()
  t.same([states(), staged.spawner.children.length], [['begun', 'waiting'], 1])
  t.equal(runner.session.state, 'EXECUTING', 'it holds its session')
  exit(0)
  t.same([states(), staged.spawner.children.length], [['exited', 'begun'], 2])
  exit(1)
  t.same([states(), state()], [['exited', 'exited'], 'done'])
  t.same(heard, ['0 exited', '1 exited', 'last', 'done'])
  t.same(
    delivered.map(({ receiver, payload }) => `${receiver} ${payload['tool_call_id']}`),
    ['c0', 'c1', 'summary'].flatMap((id) => [`over_agent ${id}`, `bot ${id}`]),
  )
  t.equal(runner.session.state, 'ACTIVE')
  t.match(staged.audit.events.at(-1), { type: 'plan', what: 'ended', end: 'done' })
  t.end()
})

t.test('a call that cannot be written down as begun does not start', (t) => {
  const { run, staged, heard, states } = stageRun(t, 2, { begin: full })
  run.go()
  t.same(staged.spawner.children, [])
  t.same(states(), ['refused', 'waiting'])
  t.same(heard, ['0 refused', 'last', 'call_failed'])
  t.match(JSON.stringify(staged.logged), /plan_call_failed.*the disk is full/)
  t.end()
})

t.test('an end that cannot be written down is told to nobody, and nothing follows', (t) => {
  const { run, staged, delivered, heard, exit } = stageRun(t, 2, { end: full })
  run.go()
  exit(0)
  t.equal(staged.spawner.children.length, 1)
  t.same(heard, ['last', 'interrupted'])
  t.same(
    delivered.map(({ payload }) => payload['tool_call_id']),
    ['summary', 'summary'],
    'no result of the call',
  )
  t.end()
})

t.test('after a call that was answered with nothing nobody is told anything more', (t) => {
  const rules = [{ argv: { program: ['md'] }, action: 'deny', severity: 'medium' }] as const
  const { run, delivered, heard, states, state } = stageRun(t, 2, {}, { rules })
  run.go()
  t.same(heard, ['unanswered', 'last', 'call_failed'])
  t.same(delivered, [])
  t.same([states(), state()], [['unanswered', 'waiting'], 'call_failed'])
  t.end()
})

t.test(
  'stopped while a call runs: it ends by itself, and none begins; a second stop changes nothing',
  (t) => {
    const { run, staged, heard, states, state, exit } = stageRun(t, 2)
    run.go()
    run.stop()
    run.stop()
    t.same(heard, [])
    exit(0)
    t.same([states(), state()], [['exited', 'waiting'], 'stopped'])
    t.equal(staged.spawner.children.length, 1)
    run.go()
    t.equal(staged.spawner.children.length, 1, 'what is over does not begin again')
    t.end()
  },
)

t.test('a call whose result could not be kept does not begin, and says why', (t) => {
  const { run, room, staged, delivered, heard, states, state, exit } = stageRun(t, 3)
  run.go()
  room.isThere = false
  exit(0)
  t.same([states(), state()], [['exited', 'refused', 'waiting'], 'call_failed'])
  t.same(heard, ['0 exited', '1 refused', 'last', 'call_failed'])
  t.equal(staged.spawner.children.length, 1)
  t.match(
    JSON.stringify(delivered[2]?.payload),
    /not started, because no more results can be kept.*room on the disk/,
  )
  t.end()
})

t.test('where a result was not kept the next call does not begin, and it is told at the next start', (t) => {
  const { run, journal, delivery, staged, states, state, exit } = stageRun(t, 3)
  run.go()
  delivery.failure = new SassError('STATE_UNWRITABLE', 'There is no room.')
  exit(0)
  t.same([states(), state()], [['exited', 'refused', 'waiting'], 'call_failed'])
  t.equal(staged.spawner.children.length, 1)
  t.equal(journal.untold().length, 1)
  const other = stageRun(t, 1)
  other.run.go()
  other.delivery.failure = new SassError('CONFIG_INVALID', 'There is no template.')
  other.exit(0)
  t.same([other.state(), other.journal.untold()], ['done', []], 'nobody can ever be told')
  t.end()
})

t.test('an end that was not written down is told again once the next start has written it', (t) => {
  const { run, journal, delivered, exit } = stageRun(t, 2, { over: full })
  run.go()
  exit(0, 1)
  t.match(delivered.at(-1)?.payload, { tool_call_id: 'summary', result: { state: 'interrupted' } })
  t.same(journal.untold(), [], 'it has not ended')
  journal.over('p1', 'interrupted')
  t.equal(journal.untold().length, 1)
  t.end()
})

t.test('a call that fails is the last one', (t) => {
  const { run, heard, exit } = stageRun(t, 3)
  run.go()
  exit(0)
  exit(1, 3)
  t.same(heard, ['0 exited', '1 exited', 'last', 'call_failed'])
  t.end()
})
