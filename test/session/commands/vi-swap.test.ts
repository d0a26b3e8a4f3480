/**
 * R4 carried out: a screen, silence, a held slot.
 * @module
 */
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import type { ExecuteRequestInput } from '../../../src/client/calls/call-words.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { viScreen } from '../../../src/defense/deception/vi-screen.ts'
import { CODES } from '../../../src/errors.ts'
import { VI_SWAP_HOLD_SECONDS } from '../../../src/limits.ts'
import { executeRequest, executionReference, signalRequest, stdinChunk } from '../../../src/wire/messages.ts'
import { shown } from '../../defense/terminal.ts'
import {
  type AuthChange,
  type Client,
  connect,
  enter,
  HOSTILE,
  type StageOptions,
  stageRooms,
} from '../stage.ts'

const SCREEN = Buffer.from(viScreen()).toString('latin1')
const ID = new Uint8Array(16).fill(5)

function stage(options: StageOptions = {}, auth: AuthChange = {}) {
  const staged = stageRooms(options)
  const client = enter(staged, auth)
  const ask = (command: string, change: Partial<ExecuteRequestInput> = {}, unary = false) =>
    client.open(
      unary ? 'Execute' : 'ExecuteStream',
      executeRequest.encode({ command, ...change }),
      change.stdin ?? false,
    )
  return { ...staged, client, ask }
}

t.test('a refused command looks as if an editor had been started, for an hour by default', (t) => {
  const { client, ask, clock, spawner } = stage()
  const stream = ask(HOSTILE, { execution_id: ID })
  t.strictSame(
    client.on(stream).map(({ kind, value }) => [kind, value?.['source'], value?.['data'], value?.['offset']]),
    [
      ['message', 2, undefined, undefined],
      ['message', 0, SCREEN, 0],
    ],
  )
  t.equal(client.on(stream)[0]?.value?.['execution_id'], Buffer.from(ID).toString('latin1'))
  clock.pass(VI_SWAP_HOLD_SECONDS * 1_000 - 1)
  t.equal(client.on(stream).length, 2, 'then silence')
  clock.pass(1)
  t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.RESPONSE_VI_SWAP_ENGAGED.number, text: '' })
  t.strictSame([spawner.children.length, clock.timers], [0, 0])
  t.end()
})

const resizeTo = (rows: number, cols: number) => stdinChunk.encode({ resize: { rows, cols } })

/** What has come on that stream as output, in its order. */
function output(client: Client, stream: number): Buffer {
  const values = client.on(stream).flatMap(({ value }) => (value?.['data'] === undefined ? [] : [value]))
  let offset = 0
  for (const value of values) {
    if (value['offset'] !== offset) throw new Error(`output at ${value['offset']} in place of ${offset}`)
    offset += String(value['data']).length
  }
  return Buffer.from(values.map((value) => value['data']).join(''), 'latin1')
}

t.test('with a terminal the screen has its size; without, 24 rows of 80 columns', async (t) => {
  for (const [pty, rows, columns] of [
    [undefined, 24, 80],
    [{ rows: 24, cols: 80, term: 'xterm' }, 24, 80],
    [{ rows: 50, cols: 132, term: 'xterm-256color' }, 50, 132],
    [{ rows: 6, cols: 12 }, 6, 12],
  ] as const) {
    const { client, ask } = stage()
    const stream = ask(HOSTILE, pty === undefined ? {} : { pty, stdin: true })
    const state = await shown(rows, columns, output(client, stream))
    t.strictSame(
      state.rows,
      ['', ...Array.from({ length: rows - 2 }, () => '~'), '- No file 1/1 100%'.slice(0, columns)],
      `${rows}x${columns}`,
    )
    t.strictSame(
      [state.isAlternateScreen, state.isCursorShown, state.cursor],
      [true, true, { row: 1, column: 1 }],
    )
  }
})

t.test('keys are swallowed in silence', (t) => {
  const { client, ask } = stage()
  const stream = ask(HOSTILE, { pty: { rows: 24, cols: 80 }, stdin: true })
  const before = client.transport.writes.length
  for (const keys of ['ihello', '\x1b', ':q!\r', '\x03', '\x1a', 'ZZ']) {
    client.connection.message(stream, new Map([[1, Buffer.from(keys)]]), keys.length)
  }
  t.equal(client.transport.writes.length, before)
  t.end()
})

t.test('a new size of the terminal is drawn, as an editor does it', async (t) => {
  const { client, ask } = stage()
  const stream = ask(HOSTILE, { pty: { rows: 24, cols: 80 }, stdin: true })
  client.connection.message(stream, resizeTo(40, 100))
  client.connection.message(stream, resizeTo(10, 14))
  const state = await shown(10, 14, output(client, stream))
  t.strictSame(state.rows, ['', ...Array.from({ length: 8 }, () => '~'), '- No file 1/1 '])
  t.strictSame(
    [state.isAlternateScreen, state.isCursorShown, state.cursor],
    [true, true, { row: 1, column: 1 }],
  )
  t.end()
})

t.test('redraws keep to the credit of the stream, and the last size is drawn when there is some', (t) => {
  const { client, ask } = stage({}, { window: 4_096 })
  const stream = ask(HOSTILE, { pty: { rows: 24, cols: 80 }, stdin: true })
  for (let index = 0; index < 100; index++) client.connection.message(stream, resizeTo(500 - index, 80))
  client.connection.message(stream, resizeTo(3, 80))
  client.connection.message(stream, resizeTo(499, 80))
  const sent = output(client, stream).length
  t.ok(sent > 2_000 && sent <= 4_096, `${sent} bytes`)
  client.connection.grant(stream, 4_096)
  t.ok(output(client, stream).toString('latin1').endsWith('\x1b[499;1H- No file 1/1 100%\x1b[1;1H\x1b[?25h'))
  t.ok(output(client, stream).length <= 8_192)
  t.end()
})

t.test('a screen that is larger than the window comes in pieces, as any output', (t) => {
  const { client, ask } = stage({}, { window: 1_024 })
  const pty = { rows: 500, cols: 80 }
  const stream = ask(HOSTILE, { pty, stdin: true })
  t.equal(output(client, stream).length, 1_024)
  client.connection.grant(stream, 4_096)
  t.strictSame(output(client, stream), Buffer.from(viScreen(pty.rows, pty.cols)))
  t.end()
})

t.test('without a terminal nothing is drawn again', (t) => {
  const { client, ask } = stage()
  const stream = ask(HOSTILE, { stdin: true })
  const before = client.on(stream).length
  client.connection.message(stream, resizeTo(50, 100))
  t.equal(client.on(stream).length, before)
  t.end()
})

t.test('its first message has the form of one from a command that runs', (t) => {
  const { client, ask, spawner } = stage()
  const refused = ask(HOSTILE)
  const running = ask('ls')
  spawner.children[0]?.events.spawned(1)
  const [first, second] = [client.on(refused)[0]?.value ?? {}, client.on(running)[0]?.value ?? {}]
  t.strictSame(Object.keys(first), Object.keys(second))
  t.equal(String(first['execution_id']).length, 16)
  t.end()
})

t.test('it holds a slot of the caller, and gives it back when it is over or left', (t) => {
  const { client, ask, clock, rooms, spawner } = stage()
  const first = ask(HOSTILE)
  ask(HOSTILE)
  t.equal(rooms.viHolds.get('bot'), 2)
  const third = ask('ls')
  t.match(
    client.on(third),
    [{ value: { is_queued: true, queue_position: 1, code: CODES.RESPONSE_THROTTLED.number } }],
    'two slots, both taken',
  )
  t.equal(spawner.children.length, 0)
  client.connection.reset(first)
  t.equal(rooms.viHolds.get('bot'), 1)
  t.equal(spawner.children.length, 1, 'who waited for it has its turn')
  clock.pass(3_600_000)
  t.equal(rooms.viHolds.size, 0)
  t.equal(clock.timers, 0)
  t.end()
})

const reference = executionReference.encode({ execution_id: ID })
const ask = (client: Client, method: 'Cancel' | 'ListExecutions' | 'Ping', request: CborValue = new Map()) =>
  client.on(client.open(method, request)).at(-1)
const listed = (client: Client) => ask(client, 'ListExecutions')?.value?.['executions']

t.test('to its caller it is a command that runs: it is listed, counted and takes every signal', (t) => {
  const { client, ask: run, spawner, rooms, clock } = stage()
  const stream = run(`/usr/bin/${HOSTILE}`, { args: ['-rf', '/'], execution_id: ID })
  const entry = (listed(client) as readonly Record<string, unknown>[])[0]
  run('ls', { execution_id: new Uint8Array(16).fill(6) })
  spawner.children[0]?.events.spawned(1)
  spawner.children[0]?.events.output(0, new Uint8Array(7))
  const all = listed(client) as readonly Record<string, unknown>[]
  const real = all.find(({ command }) => command === 'ls')
  t.match(entry, { execution_id: ID, state: 1, command: HOSTILE, is_attached: true, agent_name: 'bot' })
  t.strictSame(
    Object.entries(entry ?? {}).map(([key, value]) => [key, value === undefined]),
    Object.entries(real ?? {}).map(([key, value]) => [key, value === undefined]),
    'in the form of any other',
  )
  t.match(ask(client, 'Ping')?.value, { active_processes: 2 })
  for (const number of [0, 1, 2, 3, 16 + 10]) {
    const answer = client.on(
      client.open('Signal', signalRequest.encode({ execution_id: ID, signal: number })),
    )
    t.match(answer, [{ kind: 'ended', value: { success: true } }])
  }
  t.match(ask(client, 'Cancel', reference), { kind: 'ended', value: { success: true } })
  t.equal(client.on(stream).length, 2, 'and nothing changes')
  t.strictSame([rooms.viHolds.get('bot'), (listed(client) as []).length], [1, 2])
  t.strictSame(spawner.children[0]?.deeds, [])
  clock.pass(VI_SWAP_HOLD_SECONDS * 1_000)
  t.strictSame([rooms.screens.size, (listed(client) as []).length], [0, 1], 'until it is over')
  t.match(ask(client, 'Cancel', reference), { kind: 'status', code: CODES.PROCESS_NOT_FOUND.number })
  t.end()
})

t.test('nobody else sees or reaches it', (t) => {
  const staged = stage()
  staged.ask(HOSTILE, { execution_id: ID })
  for (const auth of [
    { name: 'other', seed: 2 },
    { name: 'boss', seed: 3 },
  ]) {
    const client = enter(staged, auth)
    t.strictSame(listed(client), [], auth.name)
    t.match(ask(client, 'Ping')?.value, { active_processes: 0 })
    t.match(ask(client, 'Cancel', reference), { kind: 'status', code: CODES.PROCESS_NOT_FOUND.number })
  }
  t.end()
})

t.test('attaching to it again shows it again, and the stream before it ends, as with any command', (t) => {
  const staged = stage()
  const { client, rooms, clock } = staged
  const first = staged.ask(HOSTILE, { execution_id: ID })
  const [before] = listed(client) as readonly object[]
  clock.pass(5_000)
  const second = enter(staged)
  const again = second.open(
    'ExecuteStream',
    executeRequest.encode({ command: 'x', execution_id: ID, is_reattach: true }),
  )
  t.match(second.on(again), [{ value: { source: 2 } }, { value: { source: 0, data: SCREEN } }])
  t.match(client.on(first).at(-1), { kind: 'reset' })
  t.strictSame(listed(second), [before], 'it is the same one, under its name and from its beginning')
  t.strictSame([rooms.viHolds.get('bot'), clock.timers], [1, 1])
  client.events.closed()
  t.equal((listed(second) as []).length, 1, 'whoever had it before takes nothing away')
  t.match(ask(second, 'Cancel', reference), { value: { success: true } })
  second.connection.reset(again)
  t.strictSame([rooms.viHolds.size, rooms.screens.size, clock.timers], [0, 0, 0])
  t.end()
})

t.test('what is no command and is held in silence is none in the list either', (t) => {
  const { client, rooms } = stage()
  client.open('ShowLevels', new Map())
  t.equal(rooms.viHolds.get('bot'), 1)
  t.strictSame(listed(client), [])
  t.match(ask(client, 'Ping')?.value, { active_processes: 0 })
  t.end()
})

t.test('a contained agent that asks about its screen ends nothing by it', (t) => {
  const { client, ask: run, rooms } = stage()
  const stream = run(HOSTILE, { execution_id: ID })
  rooms.levels.set('agent', 'bot', 'CONTAIN', 'odd', 'boss')
  t.strictSame(client.on(client.open('Cancel', reference)), [])
  t.equal(client.on(stream).length, 2)
  t.equal(rooms.screens.size, 1)
  t.end()
})

t.test('the end of the connection ends the hold', (t) => {
  const { client, ask, clock, rooms } = stage()
  ask(HOSTILE)
  client.events.closed()
  t.strictSame([rooms.viHolds.size, clock.timers], [0, 0])
  t.end()
})

t.test('what is typed is swallowed, however small the window', (t) => {
  for (const window of [4_096, 65_536]) {
    const { client, ask } = stage({}, { window })
    const stream = ask(HOSTILE, { stdin: true })
    for (let typed = 0; typed < 300_000; ) {
      const size = Math.min(client.connection.credit(stream), 4_000)
      if (size === 0) throw new Error(`stuck after ${typed} bytes with a window of ${window}`)
      client.connection.message(stream, new Map([[1, new Uint8Array(size)]]), size)
      typed += size
    }
    client.connection.end(stream)
    const answers = client.on(stream).filter(({ kind }) => kind !== 'credit')
    t.equal(answers.length, 2, 'and nothing answers')
  }
  t.end()
})

t.test('other methods are held in silence', (t) => {
  const { client, ask, clock } = stage()
  const stream = ask(HOSTILE, {}, true)
  t.strictSame(client.on(stream), [])
  clock.pass(3_600_000)
  t.match(client.on(stream), [{ kind: 'status', code: CODES.RESPONSE_VI_SWAP_ENGAGED.number, text: '' }])
  t.end()
})

t.test('nothing that an agent gets from it says denied, and no code of a denial is sent', (t) => {
  const { client, ask, clock } = stage()
  ask(HOSTILE)
  ask('ls', { args: [HOSTILE, `-${HOSTILE}`] }, true)
  clock.pass(3_600_000)
  const sent = Buffer.concat(client.transport.writes.map(({ bytes }) => bytes)).toString('latin1')
  t.notMatch(sent, /den(y|ied)|allow|polic|capabilit|refus/i)
  const codes = client.heard.flatMap((event) => (event.kind === 'status' ? [event.status.code] : []))
  t.strictSame(codes, [102, 102])
  t.end()
})

t.test('an operator is told why, and so is an agent where the configuration asks for it', (t) => {
  for (const staged of [
    stage({}, { name: 'boss', seed: 3 }),
    stage({ settings: { denyResponse: 'reason' } }),
  ]) {
    const stream = staged.ask(HOSTILE)
    t.match(staged.client.on(stream), [
      { kind: 'status', code: CODES.CAPABILITY_CMD_DENIED.number, text: /nobody sees/ },
    ])
    t.equal(staged.rooms.viHolds.size, 0)
  }
  t.end()
})

t.test(
  'a hostile name and a deny rule show an authenticated agent a vi for 3,600 s in its slot, and a stranger never one (SS-42)',
  async (t) => {
    const parsed = parseConfig({}, { configDirectory: '/srv' })
    t.equal(parsed.ok && parsed.config.defense.vi_swap.hold_seconds, 3_600)
    const rules = [{ action: 'deny', severity: 'high', argv: { program: ['mkfs'] } } as const]
    for (const command of [HOSTILE, 'mkfs']) {
      const { client, ask, clock, rooms } = stage({ rules, automatic: false })
      const stream = ask(command, { pty: { rows: 24, cols: 80 }, stdin: true })
      const screen = output(client, stream)
      for (const part of ['\x1b[?1049h', '\x1b[2J', '\x1b[H', '\x1b[?25l', '\x1b[24;1H'])
        t.ok(screen.includes(part), `${command}: ${JSON.stringify(part)}`)
      t.notMatch(screen.toString(), /denied|refus|error|permission/i)
      clock.pass(3_600_000 - 1)
      t.equal(rooms.viHolds.get('bot'), 1, 'its slot is taken')
      t.notOk(client.on(stream).some(({ kind }) => kind === 'status' || kind === 'ended'))
      clock.pass(1)
      t.equal(rooms.viHolds.get('bot') ?? 0, 0)
    }
    for (const remoteAddress of ['192.0.2.1', '127.0.0.1']) {
      const staged = stageRooms({ rules, penalties: { enabled: false } })
      const stranger = connect(staged, { remoteAddress })
      stranger.open('ExecuteStream', executeRequest.encode({ command: HOSTILE }))
      t.strictSame([staged.rooms.viHolds.size, staged.rooms.tarpits.held], [0, 1])
      const heard = Buffer.concat(stranger.transport.writes.map(({ bytes }) => bytes))
      t.notOk(heard.includes('\x1b[?1049h'))
    }
  },
)
