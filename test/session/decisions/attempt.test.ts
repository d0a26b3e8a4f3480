/**
 * Requests that wait: for a challenge, for a turn, for a human; what they were typed meanwhile, and what ends them.
 * @module
 */
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { CODES } from '../../../src/errors.ts'
import {
  ANY_VIOLATIONS_TO_CONTAIN,
  PARKED_BYTES,
  PARKED_STDIN_BYTES,
  SHOWN_BYTES,
  VIOLATIONS_TO_CONTAIN,
} from '../../../src/limits.ts'
import type { Pending } from '../../../src/session/standing/confirmations.ts'
import { stdinChunk } from '../../../src/wire/messages.ts'
import {
  CAPABILITY,
  type Client,
  challengeOn,
  enter,
  meet,
  run,
  type Stage,
  type StageOptions,
  stageRooms,
} from '../stage.ts'

const ID = new Uint8Array(16).fill(5)
type Staged = Stage & { readonly client: ReturnType<typeof enter> }

function stage(options: StageOptions = {}, window?: number): Staged {
  const staged = stageRooms(options)
  return { ...staged, client: enter(staged, window === undefined ? {} : { window }) }
}

/** A request that waits, and what lets it go on. */
type Case = {
  readonly name: string
  make(window?: number): Staged
  readonly command: readonly string[]
  go(staged: Staged, stream: number): void
}
const CASES: readonly Case[] = [
  {
    name: 'for a challenge',
    make: (window) =>
      stage({ rules: [{ action: 'challenge', severity: 'high', argv: { program: ['halt'] } }] }, window),
    command: ['halt'],
    go: ({ client }, stream) => void meet(client, challengeOn(client, stream)),
  },
  {
    name: 'for a turn',
    make(window) {
      const staged = stage({ capability: { max_concurrent: 1 } }, window)
      run(staged.client, 'sleep')
      return staged
    },
    command: ['ls'],
    go: ({ spawner }) => spawner.children[0]?.events.exited({ kind: 'exited', code: 0 }),
  },
  {
    name: 'for a human',
    make: (window) => stage({}, window),
    command: ['cat', '/etc/shadow'],
    go: (staged) => answer(staged, true),
  },
]

const ask = (
  client: Client,
  [command = '', ...args]: readonly string[],
  change: Parameters<typeof run>[2] = {},
) => run(client, command, { args, ...change })

/** Answers the oldest question that waits. */
function answer({ rooms }: Stage, approves: boolean, which = 0): void {
  const pending = pendingOf(rooms.confirmations.list(), which)
  rooms.confirmations.answer(pending.id, encodeHex(pending.digest), approves, 'boss')
}

function pendingOf(list: readonly Pending[], which = 0): Pending {
  const pending = list[which]
  if (pending === undefined) throw new Error('nothing is asked')
  return pending
}

const type = (client: Client, stream: number, text: string) =>
  client.connection.message(stream, stdinChunk.encode({ data: Buffer.from(text) }), text.length)
/** What was done to the last child. */
const deeds = ({ spawner }: Stage) => spawner.children.at(-1)?.deeds
/** Nothing waits, no timer runs, and no place is taken. */
const traces = ({ rooms, clock }: Stage) => ({
  queued: rooms.queue.size,
  asked: rooms.confirmations.list().length,
  timers: clock.timers,
})
const NOTHING = { queued: 0, asked: 0, timers: 0 }

for (const { name, make, command, go } of CASES) {
  t.test(`a request waits ${name} on its own stream, and goes on there`, (t) => {
    const staged = make()
    const { client, spawner } = staged
    const before = spawner.children.length
    const stream = ask(client, command, { execution_id: ID })
    t.equal(spawner.children.length, before)
    t.match(client.on(stream), [{ kind: 'message', value: { source: 2 } }])
    go(staged, stream)
    t.strictSame(spawner.children.at(-1)?.plan.argv, command)
    t.equal(spawner.children.length, before + 1)
    spawner.children.at(-1)?.events.spawned(1)
    spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 3 })
    t.match(client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 3 } })
    t.strictSame(traces(staged), NOTHING)
    t.end()
  })

  t.test(`what is typed while it waits ${name} arrives in order, and the end of it too`, (t) => {
    const staged = make()
    const { client } = staged
    const stream = ask(client, command, { stdin: true })
    for (const text of ['one ', 'two ', 'three']) type(client, stream, text)
    client.connection.end(stream)
    go(staged, stream)
    t.strictSame(deeds(staged), ['stdin 13', 'endStdin'], 'small pieces come together')
    t.end()
  })

  t.test(`what waits ${name} is typed no more than its credit, and may go on typing once it runs`, (t) => {
    const staged = make(4_096)
    const { client } = staged
    const stream = ask(client, command, { stdin: true })
    while (client.connection.credit(stream) > 0)
      type(client, stream, 'x'.repeat(Math.min(1_024, client.connection.credit(stream))))
    t.equal(
      client.on(stream).filter(({ kind }) => kind === 'credit').length,
      0,
      'nothing is granted while it waits',
    )
    go(staged, stream)
    const taken = (deeds(staged) ?? []).reduce((sum, deed) => sum + Number(deed.split(' ')[1] ?? 0), 0)
    t.equal(taken, 4_096)
    t.equal(client.connection.credit(stream), 4_096)
    t.end()
  })

  t.test(`whoever types more than may be kept ends what waits ${name}, and nothing of it runs`, (t) => {
    const staged = make(1_048_576)
    const { client, spawner } = staged
    const stream = ask(client, command, { stdin: true })
    const piece = 'x'.repeat(32_768)
    const before = spawner.children.length
    for (let typed = 0; typed < PARKED_STDIN_BYTES; typed += piece.length) type(client, stream, piece)
    t.equal(client.on(stream).length, 1, 'as much as may be kept is kept')
    type(client, stream, 'x')
    type(client, stream, piece)
    t.match(client.on(stream).slice(1), [
      { kind: 'status', code: CODES.RESPONSE_THROTTLED.number, text: /holds more/ },
    ])
    t.strictSame(traces(staged), NOTHING)
    t.strictSame(client.transport.deeds, [], 'the connection goes on')
    for (const child of [...spawner.children]) child.events.exited({ kind: 'exited', code: 0 })
    t.equal(spawner.children.length, before)
    t.end()
  })

  t.test(`of the sizes of a terminal that waits ${name} only the last one counts`, (t) => {
    const staged = make()
    const { client } = staged
    const stream = ask(client, command, { stdin: true, pty: { rows: 24, cols: 80 } })
    for (let rows = 1; rows <= 2_000; rows++)
      client.connection.message(stream, stdinChunk.encode({ resize: { rows, cols: 80 } }))
    go(staged, stream)
    t.strictSame(deeds(staged), ['resize 2000x80'])
    t.end()
  })

  t.test(`a client that abandons what waits ${name} takes it back`, (t) => {
    const staged = make()
    const stream = ask(staged.client, command, { stdin: true })
    type(staged.client, stream, 'x')
    staged.client.connection.reset(stream)
    t.strictSame(traces(staged), NOTHING)
    const before = staged.spawner.children.length
    staged.clock.pass(3_600_000)
    staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.equal(staged.spawner.children.length, before)
    t.end()
  })

  t.test(`so does the end of the connection, however it ends, for what waits ${name}`, (t) => {
    for (const how of ['closed', 'ended', 'garbage', 'dismissed'] as const) {
      const staged = make()
      const { client, spawner } = staged
      ask(client, command)
      ask(client, command)
      const before = spawner.children.length
      if (how === 'garbage') client.events.data(Uint8Array.of(0xff))
      else if (how === 'dismissed') enter(staged, { resume: client.sessionId })
      else client.events[how]()
      client.events.closed()
      t.strictSame(traces(staged), NOTHING, how)
      staged.clock.pass(3_600_000)
      for (const child of [...spawner.children]) child.events.exited({ kind: 'exited', code: 0 })
      t.equal(spawner.children.length, before, 'and nothing starts')
    }
    t.end()
  })

  t.test(`a message that is wrong ends what waits ${name}`, (t) => {
    const staged = make()
    const stream = ask(staged.client, command, { stdin: true })
    staged.client.connection.message(stream, new Map([[2, 7]]))
    t.match(staged.client.on(stream).at(-1), { kind: 'status', code: CODES.FRAME_MALFORMED.number })
    t.strictSame(traces(staged), NOTHING)
    t.end()
  })

  t.test(`two requests with one id that wait ${name} start once, and both hear of it`, (t) => {
    const staged = make()
    const { client, spawner, rooms } = staged
    const before = spawner.children.length
    const second = enter(staged)
    const streams = [
      ask(client, command, { execution_id: ID }),
      ask(second, command, { execution_id: ID }),
    ] as const
    go(staged, streams[0])
    if (name === 'for a challenge') meet(second, challengeOn(second, streams[1]))
    if (name === 'for a human') answer(staged, true)
    t.equal(spawner.children.length, before + 1)
    if (name === 'for a turn') {
      spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
      t.match(client.on(streams[0]).at(-1), { kind: 'ended', value: { exit_code: 0 } })
    } else {
      t.match(client.on(streams[0]).at(-1), { kind: 'reset' }, 'the newer one watches it')
      spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
    }
    t.match(second.on(streams[1]).at(-1), { kind: 'ended', value: { exit_code: 0 } })
    t.equal(spawner.children.length, before + 1)
    t.equal(rooms.executions.running, 0)
    const permitted = staged.audit.events.filter(
      ({ action, response, execution }) =>
        action === 'execute' && response === 'R1' && execution === encodeHex(ID),
    )
    t.equal(permitted.length, 1, 'the second is permitted to watch')
    t.notOk(staged.audit.events.some(({ type }) => type === 'execution_not_started'))
    t.end()
  })

  t.test(`what cannot be recorded when it has waited ${name} is not done`, (t) => {
    const staged = make()
    const stream = ask(staged.client, command)
    const before = staged.spawner.children.length
    staged.audit.failure = new Error('disk full')
    t.doesNotThrow(() => go(staged, stream))
    t.equal(staged.spawner.children.length, before)
    t.match(staged.client.on(stream).at(-1), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
    // A daemon that halts for it gives its last answers that long.
    staged.clock.pass(100)
    t.strictSame(traces(staged), NOTHING)
    t.end()
  })

  t.test(`the end of the daemon ends what waits ${name}: nothing new begins`, (t) => {
    const staged = make()
    const { client, peers, spawner } = staged
    const stream = ask(client, command)
    const before = spawner.children.length
    peers.drain(9)
    t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.DAEMON_SHUTTING_DOWN.number })
    t.strictSame(traces(staged), NOTHING)
    spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.equal(spawner.children.length, before)
    t.notOk(peers.openStreams)
    t.end()
  })
}

t.test('a no to one of two requests with one id does not deny what the other has started', (t) => {
  const staged = CASES.find(({ name }) => name === 'for a human')?.make()
  const command = CASES.find(({ name }) => name === 'for a human')?.command ?? []
  if (staged === undefined) throw new Error('no such case')
  const { client, spawner } = staged
  const second = enter(staged)
  ask(client, command, { execution_id: ID })
  const stream = ask(second, command, { execution_id: ID })
  answer(staged, true)
  answer(staged, false)
  spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
  t.match(
    second.on(stream).at(-1),
    { kind: 'ended', value: { exit_code: 0 } },
    'it is told what became of it',
  )
  t.end()
})

t.test('a request that is heavy is not kept waiting: it is refused, and costs nothing', (t) => {
  const args = ['x'.repeat(PARKED_BYTES + 1)]
  for (const { make, command } of CASES) {
    const staged = make()
    const stream = run(staged.client, command[0] ?? '', { args: [...command.slice(1), ...args] })
    t.match(staged.client.on(stream), [{ kind: 'status', code: CODES.RESPONSE_THROTTLED.number }])
    t.strictSame(traces(staged), NOTHING)
  }
  t.end()
})

t.test(
  'a caller that asks for more than it may waits in its order and is told its place at every move',
  (t) => {
    const staged = stage({ capability: { max_concurrent: 1 } })
    const { client, spawner } = staged
    run(client, 'one')
    const streams = ['two', 'three', 'four'].map((name) => run(client, name))
    const places = () =>
      streams.map((stream) => client.on(stream).map(({ value }) => value?.['queue_position']))
    t.strictSame(places(), [[1], [2], [3]])
    spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.strictSame(
      spawner.children.map(({ plan }) => plan.argv[0]),
      ['one', 'two'],
    )
    t.strictSame(places().slice(1), [
      [2, 1],
      [3, 2],
    ])
    client.connection.reset(streams[1] ?? 0)
    t.strictSame(places()[2], [3, 2, 1])
    t.end()
  },
)

t.test('variables weigh as much as arguments', (t) => {
  for (const { make, command } of CASES) {
    const staged = make()
    staged.rooms.policy = {
      ...staged.rooms.policy,
      capabilities: { default: { ...CAPABILITY, max_concurrent: 1, allowed_env: ['*'] } },
    }
    const piece = 'x'.repeat(PARKED_BYTES / 4)
    const env = new Map(['A', 'B', 'C', 'D'].map((name) => [name, piece]))
    const stream = ask(staged.client, command, { env })
    t.match(staged.client.on(stream), [{ kind: 'status', code: CODES.RESPONSE_THROTTLED.number }])
    t.strictSame(traces(staged), NOTHING)
  }
  t.end()
})

t.test(
  'whoever is pushed back in the queue is told nothing: there are never more messages than places',
  (t) => {
    const staged = stage({ executions: 1, queue: 8 })
    const { client, spawner } = staged
    const other = enter(staged, { name: 'other', seed: 2 })
    run(other, 'one')
    const streams = ['two', 'three'].map((name) => run(client, name))
    for (let count = 0; count < 200; count++) other.connection.reset(run(other, 'four'))
    const places = () =>
      streams.map((stream) => client.on(stream).map(({ value }) => value?.['queue_position']))
    t.strictSame(places(), [[1], [2]])
    spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.strictSame(places()[1], [2, 1], 'a move up is told')
    t.end()
  },
)

t.test('a full queue refuses with STATUS 101, and one caller cannot fill it for the others', (t) => {
  const staged = stage({ queue: 4, executions: 1 })
  const { client } = staged
  run(client, 'one')
  const mine = [run(client, 'two'), run(client, 'three')]
  const over = run(client, 'four')
  t.match(client.on(over), [{ kind: 'status', code: CODES.RESPONSE_THROTTLED.number }])
  for (const stream of mine) t.match(client.on(stream), [{ value: { is_queued: true } }])
  const other = enter(staged, { name: 'other', seed: 2 })
  const theirs = run(other, 'five')
  t.match(
    other.on(theirs),
    [{ value: { is_queued: true, queue_position: 2 } }],
    'after one of the first caller',
  )
  staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  staged.spawner.children[1]?.events.exited({ kind: 'exited', code: 0 })
  t.strictSame(
    staged.spawner.children.map(({ plan }) => plan.argv[0]),
    ['one', 'two', 'five'],
  )
  t.end()
})

t.test('a place that a dying connection gives back is not taken by that connection', (t) => {
  // The first stream has ended and holds its slot until somebody reads it: leaving it is what frees the slot.
  const staged = stage({ capability: { max_concurrent: 1 } }, 4_096)
  const { client, spawner, rooms } = staged
  run(client, 'loud')
  spawner.children[0]?.events.spawned(1)
  spawner.children[0]?.events.output(0, new Uint8Array(10_000))
  spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(rooms.executions.slotsOf('bot'), 1)
  const waiting = run(client, 'next')
  t.match(client.on(waiting), [{ value: { is_queued: true } }])
  client.events.closed()
  t.equal(spawner.children.length, 1)
  t.strictSame([rooms.executions.running, rooms.queue.size], [0, 0])
  t.end()
})

t.test(
  'the digest that a human answers for is that of the very command, and the answer is for it alone',
  (t) => {
    const staged = stage()
    const { client, rooms, spawner } = staged
    const first = ask(client, ['cat', '/etc/shadow'], { execution_id: ID, declared_goal: 'look' })
    t.match(client.on(first), [
      { value: { is_queued: true, queue_position: 1, code: 101, data: 'awaiting operator' } },
    ])
    const shown = JSON.parse(pendingOf(rooms.confirmations.list()).shownText)
    t.match(shown, {
      action: { kind: 'execute', executionId: encodeHex(ID), argv: ['cat', '/etc/shadow'], cwd: '/srv/work' },
      more: { goal: 'look' },
      reason: /holds secrets/,
    })
    t.match(shown.action.executable, { path: '/bin/cat', inode: '2' })
    answer(staged, true)
    t.equal(spawner.children.length, 1)
    ask(client, ['cat', '/etc/shadow'])
    t.equal(spawner.children.length, 1, 'the same command once more is asked once more')
    t.equal(rooms.confirmations.list().length, 1)
    t.match(
      staged.audit.events.filter(({ type }) => type === 'confirmation'),
      [
        { what: 'asked', agent: 'bot', layer: 'specifics', rule: 'sensitive_files', by: '' },
        { what: 'approved', by: 'boss', digest: /^[0-9a-f]{64}$/ },
        { what: 'asked' },
      ],
    )
    t.notMatch(JSON.stringify(staged.audit.events), /shadow/, 'what was shown is not in the chain')
    t.end()
  },
)

t.test('a no and silence are told in a sentence, recorded as what they were, and raise nothing', (t) => {
  for (const [how, code] of [
    ['denied', 'CONFIRMATION_DENIED'],
    ['timed_out', 'CONFIRMATION_TIMEOUT'],
  ] as const) {
    const staged = stage()
    const { client, rooms, clock, spawner } = staged
    const stream = ask(client, ['cat', '/etc/shadow'])
    if (how === 'denied') answer(staged, false)
    else clock.pass(60_000)
    t.equal(rooms.viHolds.get('bot'), undefined, 'no screen')
    t.match(client.on(stream).at(-1), {
      kind: 'status',
      code: CODES[code].number,
      text: /holds secrets\. A human was asked and (said no|did not)/,
    })
    t.equal(spawner.children.length, 0)
    t.match(staged.audit.events.filter(({ type }) => type === 'confirmation').at(-1), { what: how })
    t.match(staged.audit.events.at(-1), { response: 'STATUS', code, rule: 'sensitive_files' })
    t.strictSame(rooms.confirmations.list(), [])
    for (let more = 1; more < VIOLATIONS_TO_CONTAIN; more++) {
      ask(client, ['cat', '/etc/shadow'])
      if (how === 'denied') answer(staged, false)
      else clock.pass(60_000)
    }
    t.equal(rooms.levels.of('bot', '', []), 'NORMAL', 'neither says anything about the caller')
  }
  t.end()
})

t.test('what was typed while a human was asked is swallowed by the screen, which goes on taking it', (t) => {
  const rules = [{ action: 'deny', severity: 'high', argv: { program: ['cat'] } } as const]
  const staged = stage({}, 4_096)
  const { client } = staged
  const stream = ask(client, ['cat', '/etc/shadow'], { stdin: true })
  type(client, stream, 'x'.repeat(4_096))
  t.equal(client.connection.credit(stream), 0)
  // It is hostile by the rules of a reload meanwhile, whatever the human says.
  staged.rooms.policy = stage({ rules }).rooms.policy
  answer(staged, true)
  t.equal(client.connection.credit(stream), 4_096, 'as any editor would')
  t.end()
})

t.test('two reasons to ask need two answers', (t) => {
  const staged = stage({ capability: { allowed_commands: ['ls'] }, security: { confirmsUnlisted: true } })
  const { client, rooms, spawner } = staged
  const stream = ask(client, ['cat', '/etc/shadow'])
  t.equal(pendingOf(rooms.confirmations.list()).rule, 'default.allowed_commands')
  answer(staged, true)
  t.equal(spawner.children.length, 0)
  t.equal(pendingOf(rooms.confirmations.list()).rule, 'sensitive_files')
  t.equal(client.on(stream).length, 2, 'it is told of each')
  answer(staged, true)
  t.equal(spawner.children.length, 1)

  const again = stage({ capability: { allowed_commands: ['ls'] }, security: { confirmsUnlisted: true } })
  ask(again.client, ['cat', '/etc/shadow'])
  answer(again, true)
  answer(again, false)
  t.strictSame([again.spawner.children.length, again.rooms.viHolds.get('bot')], [0, undefined])
  t.end()
})

t.test('a human’s yes opens nothing that another layer forbids', (t) => {
  const rules = [{ action: 'deny', severity: 'high', argv: { program: ['cat'] } } as const]
  const denied = stage({ rules })
  ask(denied.client, ['cat', '/etc/shadow'])
  t.strictSame(denied.rooms.confirmations.list(), [], 'nobody is asked about what is denied anyway')
  t.match(denied.audit.events.at(-1), { response: 'R4', layer: '13policy' })

  const staged = stage()
  ask(staged.client, ['cat', '/etc/shadow'])
  staged.rooms.policy = denied.rooms.policy
  answer(staged, true)
  t.equal(staged.spawner.children.length, 0)
  t.match(staged.audit.events.at(-1), { response: 'R4', layer: '13policy' }, 'since a reload')

  const full = stage({ capability: { max_concurrent: 1 } })
  run(full.client, 'sleep')
  const waiting = ask(full.client, ['cat', '/etc/shadow'])
  answer(full, true)
  t.match(full.client.on(waiting).at(-1), { value: { is_queued: true, queue_position: 1 } })
  t.equal(full.client.on(waiting).at(-1)?.value?.['data'], undefined, 'now it is for a turn')
  full.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(full.spawner.children.length, 2, 'and is not asked about again')
  t.end()
})

t.test('what is decided after the wait is decided by what holds then', (t) => {
  const staged = stage()
  ask(staged.client, ['cat', '/etc/shadow'])
  staged.rooms.levels.set('agent', 'bot', 'CONTAIN', 'odd', 'boss')
  answer(staged, true)
  t.equal(staged.spawner.children.length, 0)
  t.match(staged.audit.events.at(-1), { response: 'R4', rule: 'level.contain' })

  const halted = stage({ capability: { max_concurrent: 1 } })
  run(halted.client, 'sleep')
  run(halted.client, 'next')
  halted.rooms.levels.set('daemon', '', 'HALT', 'stop', 'boss')
  halted.spawner.children[0]?.events.exited({ kind: 'signalled', signal: 9 })
  t.equal(halted.spawner.children.length, 1)
  t.strictSame(halted.client.transport.deeds, ['reset'])
  t.end()
})

t.test('a session that expires again while its request waits is challenged again', (t) => {
  const staged = stage({ maxDurationMs: 1_000, capability: { max_concurrent: 1 } })
  const { client, clock, rooms, spawner } = staged
  const expire = () => {
    clock.pass(1_000)
    rooms.sessions.tick(clock.monotonicMs())
  }
  run(client, 'sleep')
  expire()
  const stream = run(client, 'next')
  meet(client, challengeOn(client, stream))
  t.match(client.on(stream).at(-1), { value: { is_queued: true } })
  expire()
  spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(spawner.children.length, 1)
  meet(client, challengeOn(client, stream))
  t.equal(spawner.children.length, 2)
  t.match([...rooms.sessions.all()], [{ state: 'EXECUTING', running: 1 }])
  t.end()
})

t.test(
  'what is too long to be shown is told so: nobody is asked, and nobody is said to have said no',
  (t) => {
    const staged = stage()
    const { client, rooms, audit } = staged
    for (let count = 0; count < ANY_VIOLATIONS_TO_CONTAIN + 1; count++) {
      const stream = ask(client, ['cat', '/etc/shadow', 'y'.repeat(SHOWN_BYTES)])
      t.match(client.on(stream), [
        { kind: 'status', code: CODES.RESPONSE_THROTTLED.number, text: /longer than the 4096 bytes/ },
      ])
    }
    t.strictSame([traces(staged), rooms.viHolds.size, rooms.levels.list()], [NOTHING, 0, []])
    t.strictSame(
      audit.events.filter(({ type }) => type === 'confirmation'),
      [],
    )
    t.notMatch(JSON.stringify(audit.events), /CONFIRMATION_DENIED|"R4"/)
    t.equal(rooms.confirmations.isFree(encodeHex(client.sessionId)), true, 'it counts as no question')
    t.end()
  },
)

t.test('more questions than may wait in a session are refused at once', (t) => {
  const staged = stage()
  const { client, rooms } = staged
  for (let index = 0; index < 3; index++) ask(client, ['cat', '/etc/shadow'])
  const over = ask(client, ['cat', '/etc/shadow'])
  t.match(client.on(over), [{ kind: 'status', code: CODES.RESPONSE_THROTTLED.number }])
  t.notMatch(
    String(client.on(over)[0]?.text),
    /secret|denied|allowed/,
    'and not told what a human would look at',
  )
  t.equal(rooms.confirmations.list().length, 3)
  t.end()
})

t.test('a question that cannot be recorded is not put, and nobody can answer it later', (t) => {
  const staged = stage()
  const { client, audit, rooms } = staged
  const append = audit.append
  audit.append = (event) => {
    if (event.type === 'confirmation') throw new Error('disk full')
    append(event)
  }
  const stream = ask(client, ['cat', '/etc/shadow'])
  t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
  t.strictSame(rooms.confirmations.list(), [])
  t.equal(staged.clock.timers, 0)
  t.end()
})

t.test('a withdrawal that cannot be recorded harms nothing else', (t) => {
  const staged = stage()
  ask(staged.client, ['cat', '/etc/shadow'])
  run(staged.client, 'ls')
  staged.audit.failure = new Error('disk full')
  t.doesNotThrow(() => staged.client.events.closed())
  t.match(staged.logged.at(-1), { level: 'error', event: 'audit_failed' })
  t.strictSame(
    staged.rooms.executions.present().map(({ watcher }) => watcher),
    [undefined],
  )
  t.equal(staged.peers.size, 0)
  t.end()
})

t.test('unary requests wait in the same way, and answer as they always do', (t) => {
  for (const { make, command, go } of CASES) {
    const staged = make()
    const { client } = staged
    const stream = run(client, command[0] ?? '', { args: command.slice(1) }, 'Execute')
    t.match(client.on(stream), [{ kind: 'message', value: { source: 2 } }])
    go(staged, stream)
    staged.spawner.children.at(-1)?.events.output(0, Buffer.from('out'))
    staged.spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
    t.match(client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 0, stdout: 'out' } })
  }
  t.end()
})
