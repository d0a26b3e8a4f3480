/**
 * All connections together: who is admitted, who waits, and what happens to everyone.
 * @module
 */
import t from 'tap'
import { LOGIN_GRACE_MS, SESSIONS_MAX, UNAUTHENTICATED_CONNECTIONS } from '../../../src/limits.ts'
import type { Random } from '../../../src/ports.ts'
import { executeRequest } from '../../../src/wire/messages.ts'
import { authOf, connect, enter, stageRooms, stageTransport } from '../stage.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('an address that is not listed is not admitted, and nothing is kept of it', (t) => {
  const { peers, rooms, clock, audit, logged } = stageRooms({
    isAllowed: (address) => address === '192.0.2.1',
  })
  const before = [peers.size, peers.waiting, clock.timers, rooms.sessions.size]
  t.equal(
    peers.admit('tls', '198.51.100.7', () => t.fail('it is the adapter that resets')),
    undefined,
  )
  t.strictSame([peers.size, peers.waiting, clock.timers, rooms.sessions.size], before)
  t.equal(rooms.responses.get(6), 1)
  t.strictSame(audit.events, [], 'a scanner cannot fill the disk')
  t.match(logged, [{ event: 'refused', fields: { source: '198.51.100.7', response: 'DROP', layer: 'acl' } }])
  t.ok(peers.admit('tls', '192.0.2.1', () => {}))
  t.end()
})

t.test('the admin socket needs no address', (t) => {
  const { peers } = stageRooms({ isAllowed: () => false })
  t.ok(peers.admit('admin', 'local', () => {}))
  t.end()
})

t.test('a failed handshake is R6 and leaves its place', (t) => {
  const { peers, rooms, logged } = stageRooms()
  const admission = peers.admit('tls', '192.0.2.1', () => {})
  t.equal(peers.waiting, 1)
  admission?.failed('a first byte that is no TLS record')
  admission?.gone()
  t.equal(peers.waiting, 0)
  t.equal(rooms.responses.get(6), 1)
  t.match(logged.at(-1), { fields: { layer: 'transport', reason: /a first byte that is no TLS record/ } })
  t.end()
})

t.test('who does not authenticate in time is reset, before its handshake or after it', (t) => {
  const stage = stageRooms()
  let resets = 0
  stage.peers.admit('tls', '192.0.2.1', () => resets++)
  const silent = connect(stage)
  stage.clock.pass(LOGIN_GRACE_MS - 1)
  stage.peers.tick()
  t.strictSame([resets, silent.transport.deeds, stage.peers.waiting], [0, [], 2])
  stage.clock.pass(1)
  stage.peers.tick()
  t.strictSame([resets, silent.transport.deeds, stage.peers.waiting], [1, ['reset'], 0])
  t.equal(silent.transport.writes.length, 0, 'without a byte')
  t.end()
})

t.test('who has authenticated waits for nothing any more', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  t.equal(stage.peers.waiting, 0)
  stage.clock.pass(LOGIN_GRACE_MS * 2)
  stage.peers.tick()
  t.strictSame(client.transport.deeds, [])
  t.end()
})

t.test('with every place taken the oldest stranger makes room, and callers are not touched', (t) => {
  const stage = stageRooms()
  const known = enter(stage)
  const strangers = Array.from({ length: UNAUTHENTICATED_CONNECTIONS }, () => connect(stage))
  const latest = connect(stage)
  t.equal(stage.peers.waiting, UNAUTHENTICATED_CONNECTIONS)
  t.strictSame(strangers[0]?.transport.deeds, ['reset'])
  t.strictSame([strangers[1]?.transport.deeds, latest.transport.deeds, known.transport.deeds], [[], [], []])
  t.end()
})

t.test('ten sessions at once by default; the next caller is refused with code 62 (SS-12)', (t) => {
  t.equal(SESSIONS_MAX, 10)
  for (const maxSessions of [SESSIONS_MAX, 2]) {
    const stage = stageRooms({ maxSessions })
    for (let index = 0; index < maxSessions; index++) enter(stage)
    const late = connect(stage)
    const stream = late.open('Authenticate', authOf())
    t.match(late.on(stream), [{ kind: 'status', code: 62 }])
    t.strictSame(late.transport.deeds, ['end'])
    t.equal(stage.rooms.sessions.size, maxSessions)
    t.equal(stage.rooms.responses.get(3), 1, 'R3')
  }
  t.end()
})

t.test('a session whose client is away makes room for a new one', (t) => {
  const stage = stageRooms({ maxSessions: 1 })
  const first = enter(stage)
  first.open('ExecuteStream', executeRequest.encode({ command: 'ls' }))
  first.events.closed()
  const late = connect(stage)
  t.match(late.on(late.open('Authenticate', authOf())), [{ kind: 'status', code: 62 }], 'not while it works')
  stage.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.ok(enter(stage))
  t.end()
})

t.test('an orderly end of a client that has nothing open ends its session', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.events.ended()
  t.equal(stage.rooms.sessions.size, 0)
  t.strictSame(client.transport.deeds, ['end'])
  client.events.closed()
  t.equal(stage.peers.size, 0)
  t.end()
})

t.test('a connection that breaks off keeps its session for a client that comes back', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.events.closed()
  t.equal(stage.rooms.sessions.size, 1)
  t.equal(stage.peers.size, 0)
  t.strictSame(enter(stage, { resume: client.sessionId }).sessionId, client.sessionId)
  t.end()
})

t.test(
  'a session is taken back only by its own key and from its own address, and another gets a new one',
  (t) => {
    const stage = stageRooms()
    const client = enter(stage)
    client.events.closed()
    const id = Buffer.from(client.sessionId).toString('hex')
    const others = [
      enter(stage, { name: 'other', seed: 2, resume: client.sessionId }),
      enter(stage, { resume: client.sessionId }, { remoteAddress: '192.0.2.2' }),
      enter(stage, { resume: new Uint8Array(16) }),
    ]
    for (const other of others) t.not(Buffer.from(other.sessionId).toString('hex'), id)
    t.strictSame(enter(stage, { resume: client.sessionId }).sessionId, client.sessionId)
    t.end()
  },
)

t.test('taking a session back drops the connection that held it, whose late end harms nothing', (t) => {
  const stage = stageRooms()
  const first = enter(stage)
  const stream = first.open('ExecuteStream', executeRequest.encode({ command: 'ls' }))
  const second = enter(stage, { resume: first.sessionId })
  t.strictSame(first.transport.deeds, ['reset'])
  t.strictSame(first.on(stream), [])
  stage.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  first.events.ended()
  first.events.closed()
  t.equal(stage.rooms.sessions.size, 1, 'still there')
  t.match(second.on(second.open('Ping', new Map())), [{ kind: 'ended' }])
  t.end()
})

t.test('idle connections are asked whether they live; two questions without an answer are enough', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const tickAfter = (ms: number) => {
    stage.clock.pass(ms)
    stage.peers.tick()
  }
  const written = () => client.transport.writes.length
  client.transport.onWrite = () => {}
  let before = written()
  tickAfter(59_999)
  t.equal(written(), before)
  tickAfter(1)
  t.equal(written(), before + 1, 'a PING')
  before = written()
  tickAfter(60_000)
  t.equal(written(), before, 'at most one is in flight')
  tickAfter(59_999)
  t.strictSame(client.transport.deeds, [])
  tickAfter(1)
  t.strictSame(client.transport.deeds, ['reset'])
  t.match(stage.logged.at(-1), { event: 'peer_lost' })
  t.equal(stage.rooms.sessions.size, 1, 'its session stays for it')
  t.end()
})

t.test('each answer lets the next silence be a minute longer, up to five', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const asked: number[] = []
  let before = client.transport.writes.length
  for (let minute = 1; minute <= 25; minute++) {
    stage.clock.pass(60_000)
    stage.peers.tick()
    if (client.transport.writes.length > before) asked.push(minute)
    before = client.transport.writes.length
  }
  t.strictSame(asked, [1, 3, 6, 10, 15, 20, 25])
  t.strictSame(client.transport.deeds, [])
  t.end()
})

t.test('any byte counts as life', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  for (let round = 0; round < 5; round++) {
    stage.clock.pass(60_000)
    stage.peers.tick()
  }
  t.strictSame(client.transport.deeds, [], 'the client answers every PING')
  client.transport.onWrite = () => {}
  stage.clock.pass(150_000)
  stage.peers.tick()
  client.open('Ping', new Map())
  stage.clock.pass(59_999)
  stage.peers.tick()
  t.strictSame(client.transport.deeds, [])
  t.end()
})

t.test('at the end of the daemon everyone is told; what is open may finish, nothing new begins', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const stream = client.open('ExecuteStream', executeRequest.encode({ command: 'ls' }))
  stage.peers.drain(9)
  t.match(client.heard.at(-1), { kind: 'goaway', status: { code: 107, details: new Map([[1, 9]]) } })
  t.ok(stage.peers.openStreams)
  t.match(client.on(client.open('Ping', new Map())), [{ kind: 'status', code: 107 }])
  stage.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.match(client.on(stream).at(-1), { kind: 'ended' })
  t.notOk(stage.peers.openStreams)
  stage.peers.endAll()
  t.strictSame(client.transport.deeds, ['end'])
  client.events.closed()
  t.equal(stage.peers.size, 0)
  t.end()
})

t.test('a whole conversation needs a transport that carries bytes, and no socket (SS-03)', (t) => {
  const stage = stageRooms()
  const transport = stageTransport()
  t.notOk('socket' in transport)
  const client = enter(stage)
  const stream = client.open('Execute', executeRequest.encode({ command: 'echo', args: ['hi'] }))
  const child = stage.spawner.children[0]
  t.strictSame(child?.plan.argv, ['echo', 'hi'])
  child?.events.output(0, Buffer.from('hi\n'))
  child?.events.exited({ kind: 'exited', code: 0 })
  t.match(client.on(stream), [{ kind: 'ended', value: { exit_code: 0, stdout: 'hi\n' } }])
  t.end()
})

t.test('an address under a penalty is reset before its handshake, until the penalty is over', (t) => {
  const stage = stageRooms()
  const { peers, rooms, clock, audit, logged } = stage
  const admit = (address: string) =>
    peers.admit('tls', address, () => t.fail('it is the adapter that resets'))
  rooms.penalties.add('198.51.100.7', 'violation', clock.monotonicMs())
  t.equal(admit('198.51.100.7'), undefined)
  t.strictSame([peers.size, peers.waiting, clock.timers, audit.events.length], [0, 0, 0, 0])
  t.match(logged, [{ fields: { response: 'DROP', rule: 'acl.penalties', source: '198.51.100.7' } }])
  t.ok(admit('198.51.100.8'), 'another one')
  t.ok(peers.admit('admin', 'local', () => {}))
  clock.pass(20_000)
  t.ok(admit('198.51.100.7'))
  t.end()
})

t.test(
  'strangers earn their penalties by what they do, and being refused for one adds nothing to it',
  (t) => {
    const stage = stageRooms()
    const { peers, rooms, clock } = stage
    const left = () => rooms.penalties.list(clock.monotonicMs())[0]?.secondsLeft
    connect(stage).open('Ping', new Map())
    t.equal(left(), 20)
    for (let count = 0; count < 5; count++)
      t.equal(
        peers.admit('tls', '192.0.2.1', () => {}),
        undefined,
      )
    t.equal(left(), 20)
    const exempt = stageRooms({ isExempt: () => true })
    connect(exempt).open('Ping', new Map())
    t.ok(connect(exempt), 'who is exempt has none')
    t.end()
  },
)

t.test('a caller that is in is not thrown out for a penalty of its address', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  stage.rooms.penalties.add('192.0.2.1', 'violation', stage.clock.monotonicMs())
  t.match(client.on(client.open('Ping', new Map())), [{ kind: 'ended' }])
  t.strictSame(client.transport.deeds, [])
  t.end()
})

/** Draws these numbers of 0 to 99, one after the other, and the last one for ever. */
function drawing(draws: readonly number[]): Random {
  const left = [...draws]
  return {
    bytes(count) {
      const bytes = new Uint8Array(count)
      if (count === 4)
        new DataView(bytes.buffer).setUint32(0, left.length > 1 ? (left.shift() ?? 0) : (left[0] ?? 0))
      return bytes
    },
  }
}

t.test('from so many strangers on new ones are dropped by lot, more of them the more there are', (t) => {
  const earlyDrop = { start: 2, ratePercent: 30, full: 12 }
  const admits = (waiting: number, draw: number, address = '192.0.2.1') => {
    const stage = stageRooms({
      earlyDrop,
      random: drawing([0, draw]),
      isExempt: (one) => one === '203.0.113.1',
    })
    // The first ones come from where nobody is dropped by lot.
    for (let index = 0; index < waiting; index++) stage.peers.admit('tls', '203.0.113.1', () => {})
    const before = stage.peers.waiting
    // From now on every draw is that one, whatever has been drawn before.
    stage.rooms.random.bytes(4)
    const isIn = stage.peers.admit('tls', address, () => {}) !== undefined
    if (!isIn) t.match(stage.logged.at(-1), { fields: { rule: 'acl.early_drop' } })
    return [before, isIn]
  }
  t.strictSame(
    [admits(1, 0), admits(2, 29), admits(2, 30)],
    [
      [1, true],
      [2, false],
      [2, true],
    ],
  )
  t.strictSame(
    [admits(7, 64), admits(7, 65)],
    [
      [7, false],
      [7, true],
    ],
    '65 percent half way',
  )
  t.strictSame(
    [admits(12, 99), admits(12, 0, '203.0.113.1')],
    [
      [12, false],
      [12, true],
    ],
    'whoever is exempt is not drawn',
  )
  t.end()
})

t.test('a caller has only so many sessions, those that are away make room', (t) => {
  const stage = stageRooms({ quota: { sessionsPerCaller: 2 } })
  const [first] = [enter(stage), enter(stage)]
  const late = connect(stage)
  t.match(late.on(late.open('Authenticate', authOf())), [{ kind: 'status', code: 62, text: /max_per_agent/ }])
  t.ok(enter(stage, { name: 'other', seed: 2 }))
  first?.events.closed()
  t.ok(enter(stage))
  t.end()
})

t.test(
  'the first caller is let in once what judges commands is loaded; a stranger loads nothing',
  async (t) => {
    const stage = stageRooms({ isReady: false, penalties: { enabled: false } })
    let loads = 0
    const { prepare } = stage.rooms
    Object.assign(stage.rooms, {
      prepare() {
        loads++
        return prepare()
      },
    })
    const stranger = connect(stage)
    stranger.open('Authenticate', authOf({ name: 'nobody' }))
    t.strictSame([stranger.transport.deeds[0], loads], ['pause', 0])

    const before = connect(stage)
    const gone = connect(stage)
    const stream = before.open('Authenticate', authOf())
    gone.open('Authenticate', authOf())
    gone.events.closed()
    const twice = before.open('Authenticate', authOf())
    await turn()
    t.strictSame([before.on(stream), loads], [[], 2], 'what comes with it waits')
    stage.load()
    await turn()
    t.match(before.on(stream), [{ kind: 'ended', value: { success: true } }])
    t.match(before.on(twice), [{ kind: 'status', code: 106 }])
    t.equal(stage.rooms.sessions.size, 1, 'and nobody else is')
    t.ok(enter(stage), 'from then on at once')
    t.end()
  },
)

t.test('a session is taken back also by the first caller since the start', async (t) => {
  const stage = stageRooms()
  const old = enter(stage)
  old.events.closed()
  stage.rooms.isReady = false
  const client = connect(stage)
  const stream = client.open('Authenticate', authOf({ resume: old.sessionId }))
  // The bytes of its message are gone by then.
  stage.load()
  await turn()
  t.equal(client.on(stream)[0]?.value?.['session_id'], Buffer.from(old.sessionId).toString('latin1'))
  t.end()
})

const TRUE = executeRequest.encode({ command: '/bin/true' })

t.test(
  'a command that comes with Authenticate is looked at when that is decided, and not before',
  async (t) => {
    const ready = stageRooms()
    const client = connect(ready)
    client.open('Authenticate', authOf())
    client.open('Execute', TRUE)
    t.equal(ready.spawner.children.length, 1, 'at once')

    const loading = stageRooms({ isReady: false })
    const early = connect(loading)
    const asked = early.open('Authenticate', authOf())
    early.open('Execute', TRUE)
    await turn()
    t.strictSame([early.on(asked), loading.spawner.children.length, loading.audit.events], [[], 0, []])
    loading.load()
    await turn()
    t.match(early.on(asked), [{ kind: 'ended', value: { success: true } }])
    t.equal(loading.spawner.children.length, 1)
    t.strictSame(early.transport.deeds, ['pause', 'resume'])

    for (const name of ['nobody', 'agent']) {
      const stage = stageRooms({ isReady: false })
      const stranger = connect(stage)
      stranger.open('Authenticate', name === 'agent' ? authOf() : authOf({ name }))
      stranger.open('Execute', TRUE)
      stage.load(new Error('no such file'))
      await turn()
      t.strictSame([stage.spawner.children.length, stage.rooms.sessions.size], [0, 0], name)
      t.notOk(stage.audit.events.some(({ action }) => action === 'execute'))
    }
    t.end()
  },
)

t.test('where it cannot be loaded nobody is let in', async (t) => {
  const stage = stageRooms({ isReady: false })
  const client = connect(stage)
  client.open('Authenticate', authOf())
  stage.load(new Error('no such file'))
  await turn()
  t.strictSame([client.transport.deeds, client.transport.writes.length], [['pause', 'reset'], 0])
  t.match(stage.logged.at(-1), { event: 'request_failed', fields: { reason: 'no such file' } })
  t.equal(stage.rooms.sessions.size, 0)
  t.end()
})

t.test(
  'whoever comes and goes without a word is kept out after a while, and whoever authenticates is not',
  (t) => {
    const stage = stageRooms()
    const address = '192.0.2.1'
    const isKeptOut = () => stage.rooms.penalties.isActive(address, stage.clock.monotonicMs())
    for (let count = 0; count < 20; count++) enter(stage).events.closed()
    t.notOk(isKeptOut())
    let came = 0
    while (!isKeptOut() && came < 40) {
      connect(stage).events.closed()
      came++
    }
    t.ok(came > 3 && came < 40, `${came} times`)
    t.throws(() => connect(stage), 'reset before TLS')
    t.end()
  },
)
