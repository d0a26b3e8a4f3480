/**
 * The room of plans: how many run, what an earlier daemon left, and what of it is told.
 * @module
 */
import t from 'tap'
import { PLANS_RUNNING } from '../../../src/intent/plans/limits.ts'
import { scopeOf } from '../../../src/session/callers/identities.ts'
import type { PlanDelivery } from '../../../src/session/common/plan-room.ts'
import { givenPlan, stageCall, stageJournal, stagePlans, stageRoom } from './staged-plan.ts'

const ENDED = { number: 0, why: '', stdoutBytes: 7, stderrBytes: 0 }
const use = (planId: string, size: number, scope = 'k') => ({
  ...{ planId, sessionId: 's1', issuer: 'over_agent', runner: 'bot', scope, sha256: 'ab', atMs: 1 },
  calls: Array.from({ length: size }, (_, at) => ({ id: `c${at}`, tool: 'md', execution: `0${at}` })),
})
const ENVELOPE = {
  ...{ sessionId: 's1', sender: 'over_agent' },
  capabilitySet: {
    ...{ id: 'caps', version: '1' },
    allowedActions: [
      { actionType: 'markdown_to_html', compilerId: 'c', allowedTemplates: ['execution_plan'] },
    ],
    toolPermissions: [{ tool: 'markdown_to_html', allowedArgs: ['markdown'] }],
  },
}
const toldOf = (delivered: readonly PlanDelivery[]) =>
  delivered.map(({ receiver, payload }) => `${receiver} ${payload['plan_id']} ${payload['tool_call_id']}`)

t.test('as many plans run as may, and one that finds no place is not used up', (t) => {
  const ground = stagePlans()
  const { room, state } = stageRoom(t, ground)
  const start = (planId: string) => {
    const started = room.start(givenPlan(planId), ground.runner, undefined)
    return started.kind === 'refused' ? started.refusal.code : started.kind
  }
  for (let at = 1; at < PLANS_RUNNING; at++) t.equal(start(`p${at}`), 'running')
  state.hasRoom = false
  t.equal(start('last'), 'busy', 'what it comes to could not be kept')
  state.hasRoom = true
  t.equal(start('last'), 'running')
  t.equal(room.running, PLANS_RUNNING)
  t.equal(start('more'), 'busy')
  t.equal(room.find('more'), undefined)
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(room.running, PLANS_RUNNING - 1)
  t.equal(start('more'), 'running')
  t.end()
})

t.test('what an earlier daemon left is ended, as far as is known, and told once', (t) => {
  const ground = stagePlans()
  const journal = stageJournal(t)
  const { plan } = stageCall(ground)
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 3 })
  const [known] = ground.staged.audit.events.flatMap(({ execution }) =>
    execution ? [String(execution)] : [],
  )
  const scope = scopeOf(ground.runner.caller)
  const one = use('one', 3, scope)
  journal.use({
    ...one,
    calls: one.calls.map((call, at) => (at === 1 ? { ...call, execution: `${known}` } : call)),
  })
  journal.begin('one', 0)
  journal.end('one', 0, { ...ENDED, kind: 'exited' })
  journal.begin('one', 1)
  journal.use(use('two', 2))
  journal.begin('two', 0)
  const { room, delivered } = stageRoom(t, ground, journal)
  t.match(room.find('one'), {
    state: 'interrupted',
    calls: [{ state: 'exited' }, { state: 'exited', number: 3 }, { state: 'waiting' }],
  })
  t.match(room.find('two'), { state: 'interrupted', calls: [{ state: 'unknown' }, { state: 'waiting' }] })
  t.equal(plan.id, 'p1')
  t.same(delivered, [], 'not before what lay on its way was looked at')
  room.tellLeft()
  const both = (planId: string, ...calls: readonly string[]) =>
    calls.flatMap((call) => [`over_agent ${planId} ${call}`, `bot ${planId} ${call}`])
  t.same(toldOf(delivered), [...both('one', 'c0', 'c1', 'summary'), ...both('two', 'c0', 'summary')])
  t.match(delivered[0]?.payload, {
    result: { state: 'exited', number: 0, stdout_bytes: 7, why: /interrupted before what it printed/ },
  })
  room.tellLeft()
  t.equal(delivered.length, 10)
  t.end()
})

t.test('a plan that had ended and was not told is told at the next start, under the same keys', (t) => {
  const ground = stagePlans()
  const journal = stageJournal(t)
  const first = stageRoom(t, ground, { ...journal, told() {} })
  first.room.start(givenPlan('p'), ground.runner, undefined)
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(first.room.find('p')?.state, 'done')
  const second = stageRoom(t, ground, journal)
  second.state.hasRoom = false
  second.room.tellLeft()
  t.same(second.delivered, [], 'it waits where nothing can be kept')
  second.state.hasRoom = true
  second.room.tellLeft()
  const keys = (of: readonly PlanDelivery[]) => of.map(({ key }) => key)
  t.same(keys(second.delivered), keys(first.delivered))
  t.equal(new Set(keys(first.delivered)).size, 4)
  t.match(second.delivered[3]?.payload, { tool_call_id: 'summary', result: { state: 'done' } })
  t.same(journal.untold(), [])
  const third = stageRoom(t, ground, journal)
  third.room.start(givenPlan('q'), ground.runner, undefined)
  ground.staged.spawner.children[1]?.events.exited({ kind: 'exited', code: 0 })
  t.same(journal.untold(), [], 'what was told is told')
  t.end()
})

t.test('after a call that was answered with nothing, what came before is all that is told', (t) => {
  const ground = stagePlans()
  const journal = stageJournal(t)
  journal.use(use('p', 3))
  journal.begin('p', 0)
  journal.end('p', 0, { ...ENDED, kind: 'exited' })
  journal.end('p', 1, { ...ENDED, kind: 'unanswered' })
  const { room, delivered } = stageRoom(t, ground, journal)
  room.tellLeft()
  t.same(toldOf(delivered), ['over_agent p c0', 'bot p c0'])
  t.end()
})

t.test('one plan of a session waits for an agent, and another does not take its place', (t) => {
  const ground = stagePlans()
  const { room, journal } = stageRoom(t, ground)
  const [first, second] = [givenPlan('first'), givenPlan('second')]
  const keep = (plan: Uint8Array) => {
    const kept = room.keep(plan, ENVELOPE, 'bot')
    return kept.kind === 'refused' ? kept.refusal : kept.kind
  }
  t.equal(keep(first), 'kept')
  t.match(ground.staged.audit.events.at(-1), {
    ...{
      type: 'plan',
      what: 'kept',
      plan_id: 'first',
      plan_session: 's1',
      issuer: 'over_agent',
      agent: 'bot',
    },
  })
  t.equal(keep(first), 'kept', 'the same one may come again')
  t.match(keep(second), {
    code: 'busy',
    planId: 'second',
    sentence: /another plan of its session waits for bot/,
  })
  t.match(ground.staged.audit.events.at(-1), { what: 'refused', plan_id: 'second', code: 'busy' })
  t.same(Buffer.from(room.kept('s1', 'bot')?.bytes ?? []), Buffer.from(first))
  t.equal(room.keep(second, ENVELOPE, 'other').kind, 'kept', 'another agent has places of its own')
  journal.use(use('first', 1))
  t.equal(keep(second), 'kept', 'the first one was run')
  t.end()
})

t.test('a plan that its envelope may not have run is not run by leaving the envelope away', (t) => {
  const ground = stagePlans()
  const { room } = stageRoom(t, ground)
  const none = { ...ENVELOPE.capabilitySet, toolPermissions: [] }
  const bare = (planId: string) => {
    const started = room.start(givenPlan(planId), ground.runner, undefined)
    return started.kind === 'refused' ? started.refusal.code : started.kind
  }
  const kept = (planId: string, envelope: object) => {
    const found = room.keep(givenPlan(planId), { ...ENVELOPE, ...envelope }, 'bot')
    return found.kind === 'refused' ? found.refusal.code : found.kind
  }
  t.equal(kept('a', { capabilitySet: none }), 'argument_not_allowed')
  t.equal(bare('a'), 'used')
  t.equal(kept('a', {}), 'kept', 'an envelope that allows it may follow')
  t.equal(bare('a'), 'used', 'it waits with what bounds it')
  t.equal(kept('e', {}), 'busy', 'and keeps its place')
  t.equal(kept('b', { sessionId: 's2' }), 'session_mismatch')
  t.equal(bare('b'), 'used')
  t.equal(kept('c', { sender: 'other' }), 'issuer_mismatch')
  t.equal(bare('c'), 'running', 'nobody uses up what another one has issued')
  const signed = { ...ENVELOPE, sender: 'over_agent', capabilitySet: none }
  t.match(room.start(givenPlan('d'), ground.runner, signed), { refusal: { code: 'argument_not_allowed' } })
  t.equal(bare('d'), 'used')
  t.end()
})
