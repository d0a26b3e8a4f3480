/**
 * What the daemon tells about itself: an agent hears of its own, an operator of everything.
 * @module
 */
import t from 'tap'
import type { MethodName } from '../../../src/wire/methods.ts'
import { type Client, connect, enter, HOSTILE, run, stageRooms } from '../stage.ts'

const ask = (client: Client, method: MethodName) => client.on(client.open(method, new Map())).at(-1)?.value
type Status = Readonly<Record<string, unknown>> & { readonly responses: ReadonlyMap<number, number> }
const status = (client: Client) => ask(client, 'SecurityStatus') as Status

/** Somebody is refused in every way. */
function busy() {
  const staged = stageRooms({ penalties: { minSeconds: 15 } })
  const [agent, boss] = [enter(staged), enter(staged, { name: 'boss', seed: 3 })]
  const quiet = status(agent)
  const other = enter(staged, { name: 'other', seed: 2 })
  run(other, 'ls')
  staged.spawner.children[0]?.events.spawned(1)
  run(other, HOSTILE)
  connect(staged, { remoteAddress: '198.51.100.1' }).open('Ping', new Map())
  connect(staged, { remoteAddress: '198.51.100.2' }).events.data(Uint8Array.of(0xff))
  staged.rooms.levels.set('daemon', '', 'RESTRICT', 'w', 'boss')
  return { ...staged, agent, boss, other, quiet }
}

t.test('an agent learns nothing of what is done to the refused, nor of the level and the chain', (t) => {
  const { agent, quiet } = busy()
  const told = status(agent)
  t.match(told, { active_tarpits: 0, blocked_ips: 0, level: '', policy_version: 'p', active_sessions: 3 })
  t.strictSame(
    [...told.responses].filter(([number]) => number > 3),
    [
      [4, 0],
      [5, 0],
      [6, 0],
    ],
  )
  t.ok((told.responses.get(1) ?? 0) > 0, 'of what is given to those who are let in it does')
  t.equal(told['audit_seq'], agent.welcome.audit_seq, 'the chain as it stood when it authenticated')
  t.equal(told['audit_seq'], quiet['audit_seq'])
  t.end()
})

t.test('an operator learns all of it', (t) => {
  const { boss, audit } = busy()
  const told = status(boss)
  t.match(told, { active_tarpits: 1, blocked_ips: 1, level: 'RESTRICT', policy_version: 'p' })
  for (const number of [4, 5, 6]) t.ok((told.responses.get(number) ?? 0) > 0, `R${number}`)
  t.equal(told['audit_seq'], audit.events.length)
  t.end()
})

t.test('two sessions of an agent hear of the chain as it stood for each of them', (t) => {
  const staged = busy()
  const later = enter(staged)
  t.ok(later.welcome.audit_seq > staged.agent.welcome.audit_seq)
  t.equal(status(later)['audit_seq'], later.welcome.audit_seq)
  t.equal(status(staged.agent)['audit_seq'], staged.agent.welcome.audit_seq)
  const back = enter(staged, { resume: staged.agent.sessionId })
  t.equal(status(back)['audit_seq'], back.welcome.audit_seq)
  t.end()
})

t.test('Ping counts the commands of an agent for that agent, and all of them for an operator', (t) => {
  const { agent, boss, other } = busy()
  const active = (client: Client) => ask(client, 'Ping')?.['active_processes']
  t.strictSame([active(agent), active(other), active(boss)], [0, 2, 1], 'its held screen is one to it')
  t.end()
})

t.test('GetCapabilities of a caller whose set is gone says that nothing is allowed', (t) => {
  const staged = stageRooms()
  const client = enter(staged)
  staged.rooms.policy = { ...staged.rooms.policy, capabilities: {} }
  t.match(ask(client, 'GetCapabilities'), { allowed_commands: [], allowed_paths: [], max_concurrent: 0 })
  t.end()
})
