/**
 * Who may ask for the state of a plan: whoever ran it, whoever issued it, and operators.
 * @module
 */
import t from 'tap'
import { planReference } from '../../../src/wire/plan-messages.ts'
import { seedOf } from '../../intent/ground.ts'
import { type Client, enter } from '../stage.ts'
import { givenPlan, stageJournal, stagePlans, stageRoom } from './staged-plan.ts'

const SESSION = { session_id: 's1' }

/** A stage on which `bot` has run plans; what each caller hears of them. */
function stageAsking(t: Parameters<typeof stageJournal>[0]) {
  const ground = stagePlans({ agents: { over_agent: { seed: 4 }, late_agent: { seed: 5 } } })
  const { staged, runner } = ground
  const journal = stageJournal(t)
  const { room } = stageRoom(t, ground, journal, { over_agent: 3, late_agent: 5 })
  staged.rooms.plans = room
  const run = (issuer_id: string, seed: number) => {
    const given = givenPlan('p', { issuer_id }, seedOf(seed))
    const started = room.start(given, runner, undefined)
    staged.spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
    return started.kind === 'refused' ? started.refusal.code : started.kind
  }
  const ask = (client: Client, of: Parameters<typeof planReference.encode>[0]) => {
    const [last] = client.on(client.open('PlanStatus', planReference.encode(of))).slice(-1)
    return last?.text ?? String(last?.value?.['issuer'])
  }
  return { staged, run, ask }
}

t.test('the state of a plan is told to runner, issuer and operators, and to nobody else', (t) => {
  const { staged, run, ask } = stageAsking(t)
  t.equal(run('over_agent', 3), 'running')
  const bot = enter(staged)
  t.equal(ask(bot, { plan_id: 'p' }), 'over_agent')
  t.equal(ask(bot, SESSION), 'over_agent')
  t.equal(ask(enter(staged, { name: 'over_agent', seed: 4 }), { plan_id: 'p' }), 'over_agent')
  t.equal(ask(enter(staged, { name: 'boss', seed: 3 }), { plan_id: 'p' }), 'over_agent')
  const other = enter(staged, { name: 'other', seed: 2 })
  t.match(ask(other, { plan_id: 'p' }), /was run by you here/)
  t.match(ask(other, SESSION), /was run by you here/)
  t.match(ask(bot, { plan_id: 'q' }), /was run by you here/)
  t.end()
})

t.test('a plan of the same id by another issuer is another plan', (t) => {
  const { staged, run, ask } = stageAsking(t)
  t.equal(run('late_agent', 5), 'running')
  t.equal(run('over_agent', 3), 'running', 'it is not used up by the other one')
  t.equal(staged.spawner.children.length, 2, 'and its calls are its own')
  t.same([run('late_agent', 5), run('over_agent', 3)], ['used', 'used'])
  t.equal(ask(enter(staged, { name: 'late_agent', seed: 5 }), { plan_id: 'p' }), 'late_agent')
  t.equal(ask(enter(staged, { name: 'over_agent', seed: 4 }), { plan_id: 'p' }), 'over_agent')
  t.equal(ask(enter(staged, { name: 'boss', seed: 3 }), { plan_id: 'p' }), 'over_agent', 'the newest')
  t.end()
})
