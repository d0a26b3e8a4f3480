/**
 * The operator's methods: agents get R4 and nothing happens, operators get what they ask for and are named.
 * @module
 */
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { decodeHex, encodeHex } from '../../../src/base/encoding/hex.ts'
import { LEVELS } from '../../../src/defense/level.ts'
import { FRAME_BYTES, LISTED_CONFIRMATIONS, LISTED_ENTRIES } from '../../../src/limits.ts'
import { inviteRequest, termination } from '../../../src/wire/identity-messages.ts'
import * as m from '../../../src/wire/messages.ts'
import { METHODS, type MethodName } from '../../../src/wire/methods.ts'
import * as s from '../../../src/wire/status-messages.ts'
import {
  ADMIN,
  type Client,
  enter,
  HOSTILE,
  run,
  type Stage,
  type StageOptions,
  stageRooms,
} from '../stage.ts'

function stage(options: StageOptions = {}) {
  const staged = stageRooms({ penalties: { minSeconds: 60 }, ...options })
  const agent = enter(staged)
  const boss = enter(staged, { name: 'boss', seed: 3 })
  return { ...staged, agent, boss }
}

const EMPTY: CborValue = new Map()
const ask = (client: Client, method: MethodName, request: CborValue = EMPTY) =>
  client.on(client.open(method, request)).at(-1)
const setLevel = (client: Client, change: Parameters<typeof m.levelChange.encode>[0]) =>
  ask(client, 'SetLevel', m.levelChange.encode(change))

/** Something of everything that an operator could change or see. */
function busy(options: StageOptions = {}) {
  const staged = stage(options)
  run(staged.agent, 'cat', { args: ['/etc/shadow'] })
  staged.rooms.levels.set('agent', 'other', 'RESTRICT', 'odd', 'boss')
  staged.rooms.penalties.add('198.51.100.9', 'violation', staged.clock.monotonicMs())
  const [pending] = staged.rooms.confirmations.list()
  if (pending === undefined) throw new Error('nothing is asked')
  return { ...staged, pending }
}

const stateOf = ({ rooms, clock, spawner }: Stage) =>
  JSON.stringify([
    rooms.confirmations.list().map(({ id }) => id),
    rooms.levels.list(),
    rooms.penalties.list(clock.monotonicMs()),
    spawner.children.length,
  ])

t.test('an agent that calls any of them gets silence like R4, and nothing happens', (t) => {
  const operators = METHODS.filter(({ audience }) => audience === 'operator')
  t.strictSame(
    operators.map(({ number }) => number),
    [32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 67, 68],
  )
  for (const method of operators) {
    let reloads = 0
    const staged = busy({
      reload: async () => {
        reloads++
        return { ok: true, policyVersion: 'q', needsRestart: [] }
      },
      drain(by) {
        reloads++
        return by
      },
    })
    const requests: Partial<Record<MethodName, CborValue>> = {
      AnswerConfirmation: m.confirmationAnswer.encode({
        id: staged.pending.idBytes,
        approve: true,
        digest: staged.pending.digest,
      }),
      SetLevel: m.levelChange.encode({ scope: 'agent', name: 'other', level: 'NORMAL' }),
      Explain: s.whyRequest.encode({ seq: 1 }),
      Terminate: termination.encode({ instance: 'bot-1' }),
      InviteAgent: inviteRequest.encode({ agent_name: 'friend', is_operator: true, capability: 'default' }),
      Purge: m.purgeRequest.encode({ session_id: staged.agent.sessionId }),
    }
    const before = stateOf(staged)
    const stream = staged.agent.open(method.name, requests[method.name] ?? EMPTY)
    t.strictSame(staged.agent.on(stream), [], method.name)
    t.equal(stateOf(staged), before)
    t.equal(reloads, 0)
    t.match(staged.audit.events.at(-1), {
      response: 'R4',
      layer: 'tool_access',
      rule: 'method.operator',
      agent: 'bot',
    })
    t.equal(staged.rooms.viHolds.get('bot'), 1, 'its slot is held')
    t.strictSame(staged.agent.transport.deeds, [])
  }
  t.end()
})

t.test('an agent that tries them again and again is contained', (t) => {
  const staged = stage()
  for (let count = 0; count < 3; count++) staged.agent.open('Reload', EMPTY)
  t.equal(staged.rooms.levels.of('bot', '', []), 'CONTAIN')
  t.end()
})

t.test('questions are listed with everything that a human judges by, the oldest first and so many', (t) => {
  const staged = busy({ settings: { confirmPending: 40 } })
  for (let count = 0; count < 20; count++)
    run(staged.agent, 'cat', { args: ['/etc/shadow', 'é'.repeat(1_200), `${count}`] })
  const answer = ask(staged.boss, 'ListConfirmations')
  t.match(answer, { kind: 'ended', value: { total: 21 } })
  const listed = answer?.value?.['confirmations'] as readonly m.Confirmation[]
  t.equal(listed.length, LISTED_CONFIRMATIONS)
  t.match(listed[0], {
    agent_name: 'bot',
    layer: 'specifics',
    rule: 'sensitive_files',
    shown: staged.pending.shownText,
    session_id: staged.agent.sessionId,
  })
  t.strictSame(listed[0]?.digest, staged.pending.digest)
  t.ok(Math.max(...staged.boss.transport.writes.map(({ bytes }) => bytes.length)) < FRAME_BYTES)
  t.end()
})

t.test('agents take turns in the list: none of them pushes the others out of it', (t) => {
  const staged = stage({ settings: { confirmPending: 40 }, agents: { third: { seed: 9 } } })
  const [other, third] = [
    enter(staged, { name: 'other', seed: 2 }),
    enter(staged, { name: 'third', seed: 9 }),
  ]
  for (let count = 0; count < 20; count++) run(staged.agent, 'cat', { args: ['/etc/shadow', `${count}`] })
  for (const client of [other, third, other]) run(client, 'cat', { args: ['/etc/shadow'] })
  const answer = ask(staged.boss, 'ListConfirmations')
  const listed = answer?.value?.['confirmations'] as readonly m.Confirmation[]
  t.match(answer?.value, { total: 23 })
  t.strictSame(
    listed.map(({ agent_name }) => agent_name),
    [
      'bot',
      'other',
      'third',
      'bot',
      'other',
      ...Array.from({ length: LISTED_CONFIRMATIONS - 5 }, () => 'bot'),
    ],
  )
  const own = listed.filter(({ agent_name }) => agent_name === 'bot')
  t.strictSame(
    own.map(({ shown }) => JSON.parse(shown).action.argv[2]),
    own.map((_question, index) => `${index}`),
    'the oldest of each first',
  )
  t.end()
})

t.test('an answer by id and digest settles the question, once, and the chain says who gave it', (t) => {
  for (const approve of [true, false]) {
    const staged = busy()
    const { boss, pending, audit } = staged
    const give = (change: Partial<Parameters<typeof m.confirmationAnswer.encode>[0]> = {}) =>
      ask(
        boss,
        'AnswerConfirmation',
        m.confirmationAnswer.encode({ id: pending.idBytes, digest: pending.digest, approve, ...change }),
      )
    t.match(give({ digest: new Uint8Array(32) }), { value: { success: false, message: /something else/ } })
    t.match(give({ id: new Uint8Array(16) }), { value: { success: false, message: /no such question/ } })
    t.equal(staged.spawner.children.length, 0)
    t.match(give(), { value: { success: true } })
    t.equal(staged.spawner.children.length, approve ? 1 : 0)
    t.match(give(), { value: { success: false } })
    t.equal(staged.spawner.children.length, approve ? 1 : 0)
    t.match(
      audit.events.filter(({ type }) => type === 'confirmation'),
      [{ what: 'asked' }, { what: approve ? 'approved' : 'denied', by: 'boss' }],
    )
    t.match(
      audit.events.filter(({ action }) => action === 'confirm'),
      [{ agent: 'boss' }, { agent: 'boss' }, { agent: 'boss' }, { agent: 'boss' }],
    )
  }
  t.end()
})

t.test('levels are set and shown, with who set them, the strictest first', (t) => {
  const staged = stage()
  const { boss, rooms, steps } = staged
  const sessionId = encodeHex(staged.agent.sessionId)
  t.match(setLevel(boss, { scope: 'session', name: sessionId, level: 'RESTRICT', why: 'a look' }), {
    value: { success: true },
  })
  t.match(setLevel(boss, { scope: 'agent', name: 'bot', level: 'CONTAIN' }), { value: { success: true } })
  t.match(setLevel(boss, { scope: 'daemon', level: 'CHECKPOINT' }), { value: { success: true } })
  t.match(steps, [
    { scope: 'session', name: sessionId, to: 'RESTRICT', by: 'boss', why: 'a look' },
    { scope: 'agent', name: 'bot', to: 'CONTAIN', by: 'boss' },
    { scope: 'daemon', to: 'CHECKPOINT', by: 'boss' },
  ])
  t.match(ask(boss, 'ShowLevels')?.value?.['entries'], [
    { level: 'CONTAIN' },
    { level: 'CHECKPOINT' },
    { level: 'RESTRICT' },
  ])
  t.match(setLevel(boss, { scope: 'agent', name: 'bot', level: 'NORMAL' }), { value: { success: true } })
  t.match(setLevel(boss, { scope: 'daemon', level: 'NORMAL' }), { value: { success: true } })
  t.equal(rooms.levels.of('bot', '', []), 'NORMAL')
  t.match(
    staged.audit.events.filter(({ action }) => action === 'set_level'),
    { length: 5 },
  )
  t.end()
})

t.test('a level is set for what there is, and what is said wrongly is told', (t) => {
  const { boss, rooms } = stage()
  for (const [change, says] of [
    [{ scope: 'agent', name: 'nobody', level: 'CONTAIN' }, /no agent of that name/],
    [{ scope: 'session', name: '00'.repeat(16), level: 'CONTAIN' }, /no session of that name/],
    [{ scope: 'daemon', name: 'x', level: 'CONTAIN' }, /name is for an agent or a session/],
    [{ scope: 'agent', level: 'CONTAIN' }, /name is for an agent or a session/],
    [{ scope: 'planet', level: 'CONTAIN' }, /scope must be/],
    [{ scope: 'daemon', level: 'PANIC' }, /not one of the levels/],
    [{ scope: 'daemon', level: 'toString' }, /not one of the levels/],
  ] as const) {
    const answer = setLevel(boss, change)
    t.match(String(answer?.text ?? answer?.value?.['message']), says)
    t.not(answer?.value?.['success'], true)
  }
  t.strictSame(rooms.levels.list(), [])
  rooms.levels.set('agent', 'gone', 'CONTAIN', 'before it was removed', 'boss')
  t.match(setLevel(boss, { scope: 'agent', name: 'gone', level: 'NORMAL' }), { value: { success: true } })
  t.end()
})

t.test('HALT is lowered only by whoever names the incident, and on the admin socket alone', (t) => {
  const staged = stage()
  const { boss, rooms } = staged
  const admin = enter(staged, {}, ADMIN)
  rooms.levels.set('daemon', '', 'HALT', 'three agents', '')
  const incident = rooms.incident() ?? ''
  t.match(setLevel(admin, { scope: 'daemon', level: 'NORMAL' }), {
    value: { success: false, message: new RegExp(incident) },
  })
  t.match(setLevel(admin, { scope: 'daemon', level: 'RESTRICT', incident: 'cd'.repeat(32) }), {
    value: { success: false },
  })
  t.equal(rooms.levels.daemon, 'HALT')
  t.match(ask(admin, 'ShowLevels'), { value: { incident, entries: [{ level: 'HALT' }] } })
  t.equal(setLevel(boss, { scope: 'daemon', level: 'NORMAL', incident }), undefined)
  t.strictSame([boss.transport.deeds, rooms.levels.daemon], [['reset'], 'HALT'], 'nobody else is answered')
  t.match(setLevel(admin, { scope: 'daemon', level: 'NORMAL', incident, why: 'looked' }), {
    value: { success: true },
  })
  t.strictSame([rooms.levels.daemon, rooms.incident()], ['NORMAL', undefined])
  t.end()
})

t.test('the longest lists fit one frame, whatever is in them', (t) => {
  const staged = stage()
  const { rooms, boss, clock } = staged
  for (let index = 0; index < LISTED_ENTRIES * 2; index++) {
    const name = `${'a'.repeat(58)}${index}`
    rooms.levels.set('agent', name, LEVELS[1 + (index % 3)] ?? 'RESTRICT', '警'.repeat(340), 'boss')
    rooms.penalties.add(`2001:db8:ffff:${index}::1`, 'violation', clock.monotonicMs())
  }
  const shown = ask(boss, 'ShowLevels')?.value?.['entries'] as readonly { level: string }[]
  t.equal(shown.length, LISTED_ENTRIES)
  t.strictSame([shown[0]?.level, shown.at(-1)?.level], ['CONTAIN', 'CHECKPOINT'], 'the strictest are there')
  t.match(ask(boss, 'ListPenalties')?.value, { entries: { length: 64 }, total: 64 })
  t.ok(Math.max(...boss.transport.writes.map(({ bytes }) => bytes.length)) < FRAME_BYTES)
  t.end()
})

t.test('penalties are listed, lifted one by one and all together', (t) => {
  const { boss, rooms, clock } = stage({ penalties: { minSeconds: 15 } })
  for (const address of ['198.51.100.1', '198.51.100.2', '2001:db8::1'])
    rooms.penalties.add(address, 'violation', clock.monotonicMs())
  rooms.penalties.add('198.51.100.3', 'auth_failed', clock.monotonicMs())
  t.match(ask(boss, 'ListPenalties')?.value, {
    total: 4,
    entries: [
      { source: '198.51.100.1', seconds_left: 20, is_active: true, reason: 'violation' },
      { source: '198.51.100.2' },
      { source: '2001:db8::/64' },
      { source: '198.51.100.3', is_active: false, seconds_left: 5 },
    ],
  })
  t.equal(ask(boss, 'SecurityStatus')?.value?.['blocked_ips'], 3)
  const clear = (source?: string) =>
    ask(boss, 'ClearPenalties', m.penaltyClear.encode(source === undefined ? {} : { source }))?.value
  t.match(clear('198.51.100.1'), { success: true, message: '1 penalty was lifted.' })
  t.match(clear('198.51.100.1'), { success: true, message: '0 penalties were lifted.' })
  t.notOk(rooms.penalties.isActive('198.51.100.1', clock.monotonicMs()))
  t.match(clear(), { message: '3 penalties were lifted.' })
  t.strictSame(rooms.penalties.list(clock.monotonicMs()), [])
  t.end()
})

t.test('a decision is explained by its number, in words that fit whatever was asked', (t) => {
  const staged = stage()
  const { agent, boss, audit } = staged
  const explain = () => ask(boss, 'Explain', s.whyRequest.encode({ seq: audit.events.length }))
  run(agent, 'rm', { args: ['-rf', '警'.repeat(400)] })
  t.match(explain(), {
    kind: 'ended',
    value: {
      seq: audit.events.length,
      response: 'STATUS',
      layer: 'capability',
      rule: 'default.denied_commands',
      agent_name: 'bot',
      source: '192.0.2.1',
      asked: /^rm -rf '警/,
      advice: /capability set/,
      severity: 'warning',
    },
  })
  const { value } = explain() ?? {}
  t.ok(s.explanation.encode(value as Parameters<typeof s.explanation.encode>[0]))
  t.match(ask(boss, 'Explain', s.whyRequest.encode({ seq: 9_999 })), {
    kind: 'status',
    text: /does not remember/,
  })
  t.end()
})

t.test('a reload says what holds now and what needs a restart, or what is wrong', async (t) => {
  for (const [result, success, says] of [
    [{ ok: true, policyVersion: 'q7', needsRestart: [] }, true, /^The policy is q7 now\.$/],
    [
      { ok: true, policyVersion: 'q7', needsRestart: ['listen', 'tls'] },
      true,
      /restart takes over listen, tls/,
    ],
    [{ ok: false, problem: 'acl.allow is empty.' }, false, /acl.allow is empty/],
  ] as const) {
    const staged = stage({ reload: async () => result })
    const stream = staged.boss.open('Reload', EMPTY)
    await new Promise((resolve) => setImmediate(resolve))
    t.match(staged.boss.on(stream), [{ kind: 'ended', value: { success, message: says } }])
    t.match(staged.audit.events.at(-1), { action: 'reload', agent: 'boss' })
  }
  const broken = stage({ reload: () => Promise.reject(new Error('no')) })
  const stream = broken.boss.open('Reload', EMPTY)
  const gone = stage({ reload: async () => ({ ok: false, problem: 'x' }) })
  gone.boss.open('Reload', EMPTY)
  gone.boss.events.closed()
  await new Promise((resolve) => setImmediate(resolve))
  t.match(broken.boss.on(stream), [{ kind: 'status', text: /nothing was done/ }])
  t.end()
})

t.test('whoever is an operator no longer after a reload has nothing of an operator’s', (t) => {
  const staged = stage()
  const { boss, agent, rooms } = staged
  const id = new Uint8Array(16).fill(5)
  run(agent, 'ls', { execution_id: id })
  const demoted = rooms.identities.find('boss')
  if (demoted === undefined) throw new Error('not listed')
  const before = rooms.identities
  rooms.identities = {
    ...before,
    find: (name) => (name === 'boss' ? { ...demoted, role: 'agent' } : before.find(name)),
  }
  t.equal(ask(boss, 'ShowLevels'), undefined)
  t.match(ask(boss, 'Cancel', m.executionReference.encode({ execution_id: id })), {
    kind: 'status',
    code: 13,
  })
  t.match(ask(boss, 'ListExecutions')?.value, { total: 0 })
  t.match(ask(boss, 'SecurityStatus')?.value, { level: '' })
  const shown = run(boss, HOSTILE)
  t.notMatch(JSON.stringify(boss.on(shown)), /nobody sees/, 'and is told no reasons')
  t.strictSame(staged.spawner.children[0]?.deeds, [])
  t.end()
})

t.test('hexadecimal names of sessions lead back to their bytes', (t) => {
  const { agent } = stage()
  t.strictSame(decodeHex(encodeHex(agent.sessionId)), agent.sessionId)
  t.end()
})

t.test('an operator has the daemon end, and it is on the record who', (t) => {
  const asked: string[] = []
  const staged = stage({
    drain(by) {
      asked.push(by)
      return 'It is over within 9 seconds.'
    },
  })
  const stream = staged.boss.open('Drain', EMPTY)
  t.match(staged.boss.on(stream), [
    { kind: 'ended', value: { success: true, message: 'It is over within 9 seconds.' } },
  ])
  t.strictSame(asked, ['boss'])
  t.match(staged.audit.events.at(-1), { action: 'drain', agent: 'boss', response: 'R1' })
  t.end()
})
