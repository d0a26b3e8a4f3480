/**
 * One connection: what its frames lead to, and which of the six responses it gets.
 * @module
 */
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { CODES, mayTellAgent } from '../../../src/errors.ts'
import { UNREAD_ANSWER_COST_BYTES, UNREAD_ANSWERS_BYTES } from '../../../src/limits.ts'
import { executeRequest, executionReference, levelChange, signalRequest } from '../../../src/wire/messages.ts'
import { METHODS } from '../../../src/wire/methods.ts'
import {
  ADMIN,
  type AuthChange,
  authOf,
  type Client,
  challengeOn,
  connect,
  enter,
  run,
  type Stage,
  stageRooms,
  unpacked,
} from '../stage.ts'

const execute = (change: Parameters<typeof executeRequest.encode>[0]) => executeRequest.encode(change)
/** True where the connection drips noise and nothing else. */
const isTarpitted = ({ transport }: Client) => transport.deeds[0] === 'pause' && transport.writes.length === 1
const decisions = ({ audit }: Stage) =>
  audit.events
    .filter(({ type }) => type === 'decision')
    .map(({ response, layer, rule, code }) => [response, layer, rule, code])

t.test('whatever is asked before Authenticate, and however well, gets R5 (SS-14)', (t) => {
  for (const method of METHODS) {
    if (method.name === 'Authenticate') continue
    const stage = stageRooms()
    const client = connect(stage)
    client.open(method.name, method.name.startsWith('Execute') ? execute({ command: 'ls' }) : new Map())
    t.ok(isTarpitted(client), method.name)
    t.strictSame([stage.rooms.tarpits.held, stage.peers.waiting, stage.spawner.children.length], [1, 0, 0])
    t.equal(stage.rooms.responses.get(5), 1)
    client.events.data(new Uint8Array([0x43, 1, 2, 3]))
    t.strictSame(client.transport.deeds, ['pause'], 'nothing that it sends is looked at')
    client.events.closed()
    t.strictSame([stage.rooms.tarpits.held, stage.peers.size, stage.clock.timers], [0, 0, 0])
  }

  const stage = stageRooms()
  const mine = enter(stage)
  const theirs = enter(stage, { name: 'other', seed: 2 })
  const named = mine.open('Execute', execute({ command: 'ls', session_id: theirs.sessionId }))
  t.match(mine.on(named), [{ kind: 'status', code: CODES.FRAME_MALFORMED.number }], "another's session")
  t.equal(stage.spawner.children.length, 0)
  mine.open('Execute', execute({ command: 'ls', session_id: mine.sessionId }))
  t.equal(stage.spawner.children.length, 1, 'its own')
  t.end()
})

t.test('with every tarpit taken it gets R6', (t) => {
  const stage = stageRooms({ tarpits: 1, penalties: { enabled: false } })
  t.ok(isTarpitted(open(stage)))
  const next = open(stage)
  t.strictSame([next.transport.deeds, next.transport.writes.length], [['reset'], 0])
  t.strictSame([stage.rooms.responses.get(5), stage.rooms.responses.get(6)], [1, 1])
  t.end()
})

function open(stage: Stage): Client {
  const client = connect(stage)
  client.open('Ping', new Map())
  return client
}

t.test('every failed proof gets R5 without a word, is audited, and told to the operator (JF-R02)', (t) => {
  const attempts: [string, AuthChange, string][] = [
    ['a name that is not listed', { name: 'nobody' }, 'AUTH_KEY_NOT_FOUND'],
    ['a key under the name of another', { name: 'boss' }, 'AUTH_KEY_NOT_FOUND'],
    ['a listed key with a signature by another', { seed: 2, keySeed: 1 }, 'AUTH_SIGNATURE_INVALID'],
    ['a signature for another connection', { binding: new Uint8Array(32) }, 'AUTH_SIGNATURE_INVALID'],
    ['a signature over another nonce', { signedNonce: new Uint8Array(16) }, 'AUTH_SIGNATURE_INVALID'],
  ]
  for (const [which, change, code] of attempts) {
    const stage = stageRooms()
    const client = connect(stage)
    client.open('Authenticate', authOf(change))
    t.ok(isTarpitted(client), which)
    t.strictSame(decisions(stage), [['R5', 'identity', 'authenticate', code]])
    t.match(stage.logged.at(-1), { level: 'warn', event: 'refused', fields: { layer: 'identity' } })
    t.equal(stage.rooms.sessions.size, 0)
  }
  for (const [peerUserId, isIn] of [
    [0, true],
    [1000, true],
    [1001, false],
    [undefined, false],
  ] as const) {
    const stage = stageRooms()
    const client = connect(stage, { ...ADMIN, peerUserId })
    const stream = client.open('Authenticate', authOf())
    t.equal(client.on(stream).at(-1)?.kind === 'ended', isIn, `admin socket, user ${peerUserId}`)
    t.strictSame(decisions(stage)[0]?.[0], isIn ? 'R1' : 'R5')
  }
  t.end()
})

t.test('a malformed Authenticate is no better', (t) => {
  const stage = stageRooms()
  const client = connect(stage)
  client.open('Authenticate', new Map([[1, 'bot']]))
  t.ok(isTarpitted(client))
  t.strictSame(decisions(stage), [['R5', 'identity', 'authenticate', 'AUTH_INVALID']])
  t.end()
})

t.test('bytes that are no frame are reset, before Authenticate and after it', (t) => {
  for (const isKnown of [false, true]) {
    const stage = stageRooms()
    const client = isKnown ? enter(stage) : connect(stage)
    const before = client.transport.writes.length
    client.events.data(Buffer.from([0xff, 0x53, 0x53, 0x48]))
    t.strictSame(client.transport.deeds, ['reset'])
    t.equal(client.transport.writes.length, before, 'without an answer')
    client.events.data(Buffer.from('more'))
    client.events.closed()
    t.equal(stage.peers.size, 0)
    t.strictSame(
      decisions(stage).slice(isKnown ? 1 : 0),
      isKnown ? [['R6', 'transport', 'frame', 'FRAME_MALFORMED']] : [],
    )
    t.equal(stage.rooms.responses.get(6), 1)
  }
  t.end()
})

t.test('a malformed frame detaches what runs, it does not kill it', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls' }))
  client.events.data(Buffer.from([0xff]))
  t.strictSame(client.transport.deeds, ['reset'])
  t.strictSame(stage.spawner.children[0]?.deeds, [])
  t.match(stage.rooms.executions.present(), [{ watcher: undefined, state: 'starting' }])
  t.end()
})

t.test('a second Authenticate is a plain mistake and changes nothing', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const again = client.open('Authenticate', authOf({ name: 'boss', seed: 3 }))
  t.match(client.on(again), [{ kind: 'status', text: /authenticated already/ }])
  t.match(client.on(client.open('Ping', new Map())), [{ kind: 'ended' }])
  t.equal(stage.rooms.sessions.size, 1)
  t.end()
})

t.test(
  'name, role and set come from the list: an agent does not become an operator by asking (RX-23)',
  (t) => {
    const stage = stageRooms()
    const agent = enter(stage)
    const boss = enter(stage, { name: 'boss', seed: 3 })
    agent.open('ExecuteStream', execute({ command: 'ls' }))
    boss.open('ExecuteStream', execute({ command: 'ls' }))
    const total = (client: Client) => client.on(client.open('ListExecutions', new Map()))[0]?.value?.['total']
    t.strictSame([total(agent), total(boss)], [1, 2])
    t.end()
  },
)

t.test('an agent does not reach the commands of another, an operator does', (t) => {
  const stage = stageRooms()
  const owner = enter(stage)
  const id = new Uint8Array(16).fill(5)
  owner.open('ExecuteStream', execute({ command: 'ls', execution_id: id }))
  const cancel = (client: Client) => client.on(client.open('Cancel', new Map([[1, id]])))
  t.match(cancel(enter(stage, { name: 'other', seed: 2 })), [
    { kind: 'status', code: CODES.PROCESS_NOT_FOUND.number },
  ])
  t.strictSame(stage.spawner.children[0]?.deeds, [])
  t.match(cancel(enter(stage, { name: 'boss', seed: 3 })), [{ kind: 'ended', value: { success: true } }])
  t.strictSame(stage.spawner.children[0]?.deeds, ['killTree'])
  t.end()
})

t.test(
  'Cancel kills the whole tree, Signal sends the signal of its number, by name or by POSIX number',
  (t) => {
    const stage = stageRooms()
    const client = enter(stage)
    const id = new Uint8Array(16).fill(5)
    client.open('ExecuteStream', execute({ command: 'ls', execution_id: id }))
    const signal = (number: number) =>
      client.on(
        client.open(
          'Signal',
          new Map<number, number | Uint8Array>([
            [1, id],
            [2, number],
          ]),
        ),
      )
    for (const number of [0, 1, 2, 3, 26, 80]) t.match(signal(number), [{ kind: 'ended' }])
    t.strictSame(stage.spawner.children[0]?.deeds, [
      'signal 2',
      'signal 15',
      'signal 9',
      'signal 1',
      'signal 10',
      'signal 64',
    ])
    for (const number of [4, 15, 16])
      t.match(signal(number), [{ kind: 'status', code: CODES.FRAME_MALFORMED.number }])
    t.end()
  },
)

t.test('renewing moves the end of the session forward and says when it is (SS-13)', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const first = client.welcome.expires_at
  stage.clock.pass(600_000)
  const answer = client.on(client.open('RenewSession', new Map()))
  t.match(answer, [{ kind: 'ended', value: { success: true, expires_at: first + 600 } }])
  stage.clock.pass(3_599_000)
  stage.rooms.sessions.tick(stage.clock.monotonicMs())
  t.match(client.on(client.open('Ping', new Map())), [{ kind: 'ended' }], 'it lives that long')
  stage.clock.pass(1_000)
  stage.rooms.sessions.tick(stage.clock.monotonicMs())
  const late = client.open('Ping', new Map())
  t.ok(challengeOn(client, late), 'and no longer')
  t.end()
})

t.test('in an expired session nothing runs; a challenge or authenticating again renews it', (t) => {
  const stage = stageRooms({ maxDurationMs: 1_000 })
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls' }))
  stage.clock.pass(1_000)
  stage.rooms.sessions.tick(stage.clock.monotonicMs())
  for (const method of ['Execute', 'Ping', 'RenewSession', 'SecurityStatus'] as const) {
    const stream = client.open(method, method === 'Execute' ? execute({ command: 'ls' }) : new Map())
    t.match(client.on(stream), [{ kind: 'message', value: { source: 2, code: 100 } }], method)
    t.ok(challengeOn(client, stream))
  }
  t.equal(stage.spawner.children.length, 1)
  t.strictSame(stage.spawner.children[0]?.deeds, [], 'what runs goes on')
  t.strictSame(client.transport.deeds, [])
  const renewed = enter(stage, { resume: client.sessionId })
  t.strictSame(renewed.sessionId, client.sessionId)
  t.match(renewed.on(renewed.open('Ping', new Map())), [{ kind: 'ended' }])
  t.end()
})

t.test('an unknown method is a plain mistake, and one of the operator’s a violation for an agent', (t) => {
  const stage = stageRooms()
  const ask = (client: Client, number: number) => {
    const stream = client.connection.open(
      { ...(METHODS[0] as (typeof METHODS)[number]), number },
      new Map(),
      false,
    )
    return client.on(stream)
  }
  const agent = enter(stage)
  t.match(ask(agent, 31), [{ kind: 'status', text: /no method 31/ }])
  t.match(ask(enter(stage, { name: 'boss', seed: 3 }), 63), [{ kind: 'status', text: /no method 63/ }])
  t.strictSame(ask(agent, 63), [], 'silence, as from a stream that is held')
  t.strictSame(agent.transport.deeds, [])
  t.strictSame(decisions(stage).at(-1), ['R4', 'tool_access', 'method.operator', 'CAPABILITY_DENIED'])
  t.end()
})

t.test('a request with something wrong is told what, by its path', async (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  for (const [request, says] of [
    [new Map([[1, 7]]), /command must be text/],
    [new Map(), /command is missing/],
    [execute({ command: 'ls', pty: { rows: 24, cols: 80 } }), /need ExecuteStream/],
    [execute({ command: 'ls', env: new Map([['LD_PRELOAD', 'x']]) }), /env.LD_PRELOAD never passes/],
    [execute({ command: '', raw_payload: '!' }), /raw_payload/],
  ] as const) {
    const stream = client.open('Execute', request as ReturnType<typeof execute>)
    await unpacked(stage)
    t.match(client.on(stream), [{ kind: 'status', code: CODES.FRAME_MALFORMED.number, text: says }])
  }
  t.equal(stage.spawner.children.length, 0)
})

t.test('a peer that asks and does not read is not read any further until it does', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const { transport } = client
  transport.takesAtOnce = false
  const before = transport.writes.length
  const most = Math.ceil(UNREAD_ANSWERS_BYTES / UNREAD_ANSWER_COST_BYTES)
  // As many as are answered, and as many more as a client may have open.
  const streams = Array.from({ length: most + 30 }, () => client.open('Ping', new Map()))
  t.strictSame(transport.deeds, ['pause'])
  t.ok(transport.writes.length - before <= most, 'no more answers than may wait')
  for (let at = before; at < transport.writes.length; at++) transport.writes[at]?.taken?.()
  t.equal(transport.deeds.at(-1), 'resume')
  t.ok(
    streams.every((stream) => client.on(stream).length === 1),
    'and then all that was asked is answered',
  )
  t.end()
})

t.test('what cannot be recorded is not done, and the daemon halts and lives on', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls', execution_id: new Uint8Array(16).fill(5) }))
  stage.audit.failure = new Error('disk full')
  const refused = client.open('Execute', execute({ command: 'ls' }))
  t.match(client.on(refused), [{ kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number }])
  const cancel = client.open('Cancel', new Map([[1, new Uint8Array(16).fill(5)]]))
  t.match(client.on(cancel), [{ kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number }])
  t.equal(stage.spawner.children.length, 1)
  t.match(stage.steps, [{ scope: 'daemon', from: 'NORMAL', to: 'HALT', why: 'disk full', by: '' }], 'once')
  t.strictSame(stage.spawner.children[0]?.deeds, ['killTree'], 'what ran has nobody to answer for it')
  t.match(stage.logged.at(-1), { level: 'error', event: 'request_failed', fields: { reason: 'disk full' } })
  t.throws(() => connect(stage), /not admitted/)
  t.equal(stage.rooms.sessions.size, 1)

  t.doesNotThrow(() => client.events.data(Buffer.from([0xff])), 'a refusal that cannot be recorded either')
  t.strictSame(client.transport.deeds, ['reset'])
  t.match(stage.logged.at(-1), { event: 'connection_failed' })
  t.end()
})

t.test('a daemon that can record nothing still lets an operator on the device look, and do nothing', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  stage.audit.failure = new Error('disk full')
  client.open('Execute', execute({ command: 'ls' }))
  const admin = enter(stage, {}, ADMIN)
  const ask = (method: (typeof METHODS)[number]['name'], request: CborValue = new Map()) =>
    admin.on(admin.open(method, request)).at(-1)
  t.match(ask('ShowLevels')?.value, { entries: [{ scope: 'daemon', level: 'HALT', why: 'disk full' }] })
  for (const method of ['SecurityStatus', 'Ping', 'ListExecutions', 'ListConfirmations'] as const)
    t.match(ask(method), { kind: 'ended' }, method)
  const change = levelChange.encode({
    scope: 'daemon',
    level: 'NORMAL',
    incident: stage.rooms.incident() ?? '',
  })
  t.match(ask('SetLevel', change), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
  t.equal(stage.rooms.levels.daemon, 'HALT', 'what cannot be recorded is not done by an operator either')
  t.match(
    stage.logged.filter(({ event }) => event === 'not_recorded'),
    [{ level: 'error', fields: { action: 'authenticate', reason: 'disk full' } }],
  )

  stage.audit.failure = undefined
  const told = /cannot write its record: make room, and it goes on by itself/
  t.match(ask('SetLevel', change)?.value, { success: false, message: told })
  // As the guard of the disk does when a record can be written.
  stage.rooms.levels.storage('NORMAL', 'There is room.')
  t.equal(stage.rooms.levels.daemon, 'NORMAL')
  run(enter(stage), 'ls')
  t.equal(stage.spawner.children.length, 1)
  t.end()
})

t.test('whoever is not listed any more has no rights at all until its session is ended', (t) => {
  for (const [name, seed] of [
    ['bot', 1],
    ['boss', 3],
  ] as const) {
    const stage = stageRooms()
    const client = enter(stage, { name, seed })
    const id = new Uint8Array(16).fill(5)
    run(client, 'ls', { execution_id: id, stdin: true })
    const before = stage.rooms.identities
    stage.rooms.identities = { ...before, find: (asked) => (asked === name ? undefined : before.find(asked)) }
    const events = () => stage.audit.events.at(-1)
    run(client, 'ls')
    t.match(events(), { response: 'R4', agent: name, method: 'ExecuteStream' }, name)
    t.equal(stage.spawner.children.length, 1)
    t.strictSame(client.on(client.open('ShowLevels', new Map())), [], 'nor those of an operator')
    t.match(client.on(client.open('GetCapabilities', new Map())).at(-1)?.value, {
      allowed_commands: [],
      max_concurrent: 0,
    })
    t.match(client.on(client.open('SecurityStatus', new Map())).at(-1)?.value, { level: '' })
  }
  t.end()
})

t.test('a spawner that refuses leaves the session as it was', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  stage.spawner.refusal = new Error('no')
  const stream = client.open('Execute', execute({ command: 'ls' }))
  t.match(client.on(stream), [{ kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number }])
  const [session] = stage.rooms.sessions.all()
  t.match(session, { state: 'ACTIVE', running: 0 })
  t.strictSame([stage.rooms.executions.running, stage.rooms.executions.free], [0, 4])
  client.events.ended()
  t.equal(stage.rooms.sessions.size, 0, 'nothing keeps it')
  t.end()
})

t.test('the audit holds who, what was decided and why, and never the text of a command (SS-51)', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const secret = 'hunter2-Zf8'
  const request = {
    args: [secret],
    cwd: `/srv/work/${secret}`,
    declared_goal: secret,
    execution_id: new Uint8Array(16).fill(5),
  }
  client.open('ExecuteStream', execute({ command: 'echo', ...request }))
  client.open('ExecuteStream', execute({ command: 'rm', ...request, execution_id: undefined }))
  client.open('ExecuteStream', execute({ command: secret, cwd: '/etc' }))
  client.open(
    'ExecuteStream',
    execute({ command: 'x', env: new Map([[`V_${secret.replace('-', '_')}`, secret]]) }),
  )
  client.open('Cancel', new Map([[1, new Uint8Array(16).fill(5)]]))
  const child = stage.spawner.children[0]
  child?.events.output(0, Buffer.from(secret))
  child?.events.exited({ kind: 'exited', code: 0 })
  const record = JSON.stringify(stage.audit.events)
  t.notMatch(record, /hunter2|echo|\/srv|\/etc|"rm"/)
  t.strictSame(decisions(stage), [
    ['R1', 'all', 'all_passed', null],
    ['R1', 'all', 'all_passed', null],
    ['STATUS', 'capability', 'default.denied_commands', 'CAPABILITY_CMD_DENIED'],
    ['STATUS', 'capability', 'default.allowed_paths', 'CAPABILITY_PATH_DENIED'],
    ['STATUS', 'completeness', 'message', 'FRAME_MALFORMED'],
    ['R1', 'all', 'all_passed', null],
  ])
  t.match(stage.audit.events[1], {
    agent: 'bot',
    session: encodeHex(client.sessionId),
    action: 'execute',
    action_digest: /^[0-9a-f]{64}$/,
    execution: '05'.repeat(16),
    warrant: /^[0-9a-f]{64}$/,
    severity: 'info',
  })
  t.end()
})

t.test('an agent is never sent a code that is for operators', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'rm' }))
  client.open('Execute', execute({ command: 'ls', cwd: '/etc' }))
  for (const method of METHODS) client.open(method.name, new Map())
  stage.clock.pass(3_600_000)
  const codes = client.heard.flatMap((event) => (event.kind === 'status' ? [event.status.code] : []))
  t.ok(codes.length > 5, codes.join(' '))
  const told = Object.entries(CODES).filter(([, { number }]) => codes.includes(number))
  t.ok(told.every(([name]) => mayTellAgent(name as keyof typeof CODES)))
  t.end()
})

t.test('the answers that only tell have what they promise', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  open(stage)
  const ask = (method: (typeof METHODS)[number]['name']) =>
    client.on(client.open(method, new Map()))[0]?.value
  t.match(ask('SecurityStatus'), {
    active_tarpits: 0,
    active_sessions: 1,
    policy_version: 'p',
    audit_seq: Number,
  })
  t.strictSame(
    [...((ask('SecurityStatus')?.['responses'] ?? new Map()) as Map<number, number>).keys()],
    [1, 2, 3, 4, 5, 6],
  )
  t.match(ask('Ping'), { daemon_version: '0.0.0', os: 'Linux test', uptime_seconds: 1, active_processes: 0 })
  t.match(ask('GetCapabilities'), {
    allowed_commands: ['*'],
    denied_commands: ['rm'],
    max_concurrent: 2,
    timeout_seconds: 0,
  })
  t.match(ask('GetAuditPublicKey'), { key_fingerprint: 'sha256:x', epoch: 0 })
  t.match(client.welcome, { success: true, audit_seq: 1, window: 65_536 })
  t.end()
})

t.test('the window that Authenticate agrees lies between 1 KiB and 1 MiB', (t) => {
  for (const [asked, agreed] of [
    [undefined, 65_536],
    [1, 1_024],
    [100_000, 100_000],
    [2 ** 40, 1_048_576],
  ] as const) {
    t.equal(enter(stageRooms(), asked === undefined ? {} : { window: asked }).welcome.window, agreed)
  }
  t.end()
})

t.test('a session id is a version 4 UUID', (t) => {
  const { sessionId } = enter(stageRooms())
  t.match(encodeHex(sessionId), /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
  t.end()
})

t.test('a session that gets noise is over, with what runs in it, and no other one is', (t) => {
  const stage = stageRooms({ rules: [{ action: 'deny', severity: 'critical', argv: { program: ['mkfs'] } }] })
  const client = enter(stage)
  const sister = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls' }))
  sister.open('ExecuteStream', execute({ command: 'ls' }))
  client.open('Execute', execute({ command: 'mkfs' }))
  t.strictSame([client.transport.deeds[0], sister.transport.deeds], ['pause', []])
  t.equal(stage.rooms.sessions.size, 1)
  t.match(stage.spawner.children[0]?.deeds[0], 'killTree')
  t.not(
    Buffer.from(enter(stage, { resume: client.sessionId }).sessionId).compare(client.sessionId),
    0,
    'it cannot be taken back',
  )
  t.end()
})

t.test('an unknown method in an expired session is answered, and costs no challenge', (t) => {
  const stage = stageRooms({ maxDurationMs: 1_000 })
  const client = enter(stage)
  stage.clock.pass(1_000)
  stage.rooms.sessions.tick(stage.clock.monotonicMs())
  const stream = client.connection.open(
    { ...(METHODS[0] as (typeof METHODS)[number]), number: 31 },
    new Map(),
    false,
  )
  t.match(client.on(stream), [{ kind: 'status', code: CODES.SESSION_EXPIRED.number }])
  t.equal(stage.clock.timers, 0)
  t.end()
})

t.test('an operator is told what an agent is not: which question is one too many', (t) => {
  for (const [who, code] of [
    [{ name: 'boss', seed: 3 }, CODES.CAPABILITY_PATH_DENIED.number],
    [{}, CODES.RESPONSE_THROTTLED.number],
  ] as const) {
    const client = enter(stageRooms({ settings: { confirmPending: 0 } }), who)
    const stream = client.open('Execute', execute({ command: 'cat', args: ['/etc/shadow'] }))
    t.match(client.on(stream), [{ kind: 'status', code }])
  }
  t.end()
})

t.test('a spawner that fails for a command that has waited leaves nothing behind', (t) => {
  const stage = stageRooms({ capability: { max_concurrent: 1 } })
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls' }))
  const stream = client.open('ExecuteStream', execute({ command: 'ls' }))
  stage.spawner.refusal = new Error('no')
  t.doesNotThrow(() => stage.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 }))
  t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
  t.strictSame(
    [stage.rooms.executions.running, stage.rooms.executions.free, stage.rooms.queue.size],
    [0, 4, 0],
  )
  t.match([...stage.rooms.sessions.all()], [{ state: 'ACTIVE', running: 0 }])
  t.end()
})

t.test(
  'a session lives 3,600 s unless told otherwise, and is then challenged and not served (SS-11)',
  (t) => {
    const parsed = parseConfig({}, { configDirectory: '/srv' })
    if (!parsed.ok) throw new Error('the defaults are refused')
    t.equal(parsed.config.session.max_duration_seconds, 3_600)
    for (const seconds of [3_600, 5]) {
      const stage = stageRooms({ maxDurationMs: seconds * 1_000 })
      const client = enter(stage)
      const pass = (ms: number) => {
        stage.clock.pass(ms)
        stage.rooms.sessions.tick(stage.clock.monotonicMs())
      }
      pass(seconds * 1_000 - 1)
      client.open('ExecuteStream', execute({ command: 'ls' }))
      t.equal(stage.spawner.children.length, 1)
      pass(1)
      const stream = client.open('ExecuteStream', execute({ command: 'ls' }))
      t.match(client.on(stream), [{ kind: 'message', value: { source: 2, code: 100 } }])
      t.ok(challengeOn(client, stream))
      t.equal(stage.spawner.children.length, 1)
    }
    t.end()
  },
)

t.test('an id is proven or refused, and who sent a message is never read from it (JF-036)', (t) => {
  const stage = stageRooms({ penalties: { enabled: false } })
  const forged = connect(stage)
  forged.open('Authenticate', authOf({ name: 'boss' }))
  t.ok(isTarpitted(forged), 'the name of another is refused')
  const client = enter(stage)
  client.open('ExecuteStream', execute({ command: 'ls', declared_goal: 'agent_name=boss' }))
  client.open('ExecuteStream', execute({ command: 'cat', args: ['/etc/shadow'] }))
  const records = stage.audit.events.filter(({ action }) => action === 'execute')
  t.strictSame(
    records.map(({ agent, instance }) => [agent, String(instance).split('-')[0]]),
    [
      ['bot', 'bot'],
      ['bot', 'bot'],
    ],
  )
  t.strictSame(
    stage.rooms.confirmations.list().map(({ agent }) => agent),
    ['bot'],
  )
  const naming = METHODS.filter(({ request }) =>
    Object.keys(request.fields).some((key) => /agent|sender/.test(key)),
  )
  t.strictSame(
    naming.map(({ name }) => name),
    ['Authenticate', 'InviteAgent'],
    'no other message has a place for a sender: an invitation names whoever is to come, and an operator sends it',
  )
  t.end()
})

t.test('at every boundary a caller is who the list says, whatever its messages name (JF-052)', (t) => {
  const stage = stageRooms({ penalties: { enabled: false } })
  const mine = enter(stage)
  const theirs = enter(stage, { name: 'other', seed: 2 })
  const id = new Uint8Array(16).fill(7)
  mine.open('ExecuteStream', execute({ command: 'sleep', execution_id: id }))
  t.equal(stage.spawner.children.length, 1)
  const deeds = () => stage.spawner.children[0]?.deeds

  const proven = connect(stage)
  proven.open('Authenticate', authOf({ name: 'bot', seed: 2 }))
  t.ok(isTarpitted(proven), 'a key is worth the name that it is listed under')
  const resumed = enter(stage, { name: 'other', seed: 2, resume: mine.sessionId })
  t.notSame(resumed.sessionId, mine.sessionId, 'a session that it names is not taken')
  const named = theirs.open('Execute', execute({ command: 'ls', session_id: mine.sessionId }))
  t.match(theirs.on(named), [{ kind: 'status', code: CODES.FRAME_MALFORMED.number }])
  theirs.open('Cancel', executionReference.encode({ execution_id: id }))
  theirs.open('Signal', signalRequest.encode({ execution_id: id, signal: 9 }))
  t.strictSame(deeds(), [], 'nor is a command that it names')
  theirs.open('ExecuteStream', execute({ command: 'sleep', execution_id: id }))
  t.equal(stage.spawner.children.length, 2, 'its own id of the same bytes is another one')
  mine.open('Cancel', executionReference.encode({ execution_id: id }))
  t.strictSame(deeds(), ['killTree'])
  t.end()
})
