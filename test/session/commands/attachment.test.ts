/**
 * The way of output to a client: by offset, within credit and buffers, to the exit and no further.
 * @module
 */
import t from 'tap'
import type { ExecuteRequestInput } from '../../../src/client/calls/call-words.ts'
import { CODES } from '../../../src/errors.ts'
import { CHUNK_BYTES, INITIAL_WINDOW_BYTES, OUTPUT_BUFFERS_PER_CONNECTION } from '../../../src/limits.ts'
import { executeRequest } from '../../../src/wire/messages.ts'
import {
  type AuthChange,
  enter,
  type Heard,
  type StagedChild,
  type StageOptions,
  stageRooms,
} from '../stage.ts'

const ID = new Uint8Array(16).fill(5)
const bytes = (text: string) => Buffer.from(text, 'latin1')
const text = (length: number, from = 0) =>
  Array.from({ length }, (_, index) => String.fromCharCode(97 + ((index + from) % 26))).join('')

function run(
  request: Partial<ExecuteRequestInput> = {},
  options: StageOptions & { unary?: boolean; auth?: AuthChange } = {},
) {
  const stage = stageRooms(options)
  const client = enter(stage, options.auth)
  const ask = (change: Partial<ExecuteRequestInput> = {}, unary = options.unary ?? false) =>
    client.open(
      unary ? 'Execute' : 'ExecuteStream',
      executeRequest.encode({ command: 'echo', execution_id: ID, ...request, ...change }),
      change.stdin ?? request.stdin ?? false,
    )
  const stream = ask()
  const child = stage.spawner.children[0] as StagedChild
  return { ...stage, client, ask, stream, child, heard: () => client.on(stream) }
}

/** The output of one source put together by its offsets; throws where they do not fit. */
function assemble(heard: readonly Heard[], source: number, from = 0): string {
  let all = ''
  for (const { value } of heard) {
    if (value?.['data'] === undefined || value['source'] !== source) continue
    if (value['offset'] !== from + all.length)
      throw new Error(`offset ${value['offset']} after ${all.length}`)
    all += value['data']
  }
  return all
}

t.test('it tells the id once it has begun, then output, and the exit in its last message', (t) => {
  const { child, heard } = run()
  t.strictSame(heard(), [])
  child.events.spawned(1)
  t.match(heard(), [
    { kind: 'message', value: { source: 2, execution_id: bytes('\x05'.repeat(16)).toString() } },
  ])
  child.events.output(0, bytes('one'))
  child.events.output(1, bytes('two'))
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(heard().length, 4)
  t.match(heard()[3], { kind: 'ended', value: { exit_code: 0 } })
  t.equal(heard()[3]?.value?.['data'], undefined)
  t.ok(
    heard()
      .slice(0, 3)
      .every(({ value }) => value?.['exit_code'] === undefined),
  )
  t.end()
})

t.test(
  'every message with data carries the offset of its first byte in that stream of output (SS-25)',
  (t) => {
    const { child, heard } = run()
    child.events.spawned(1)
    for (const [source, part] of [
      [0, 'abc'],
      [1, 'error'],
      [0, 'defg'],
      [1, '!'],
      [0, 'h'],
    ] as const) {
      child.events.output(source, bytes(part))
    }
    child.events.exited({ kind: 'exited', code: 0 })
    const data = heard().filter(({ value }) => value?.['data'] !== undefined)
    t.strictSame(
      data.map(({ value }) => [value?.['source'], value?.['offset'], value?.['data']]),
      [
        [0, 0, 'abc'],
        [1, 0, 'error'],
        [0, 3, 'defg'],
        [1, 5, '!'],
        [0, 7, 'h'],
      ],
    )
    t.end()
  },
)

t.test('a death by signal is told in place of a code', (t) => {
  const { child, heard } = run()
  child.events.exited({ kind: 'signalled', signal: 9 })
  const last = heard().at(-1)
  t.match(last, { kind: 'ended', value: { signal: 9 } })
  t.equal(last?.value?.['exit_code'], undefined)
  t.end()
})

t.test('no more is sent than the client has given credit for; the process is held back and let go', (t) => {
  const { child, heard, client, stream } = run({}, { auth: { window: 4_096 } })
  child.events.spawned(1)
  const all = text(10_000)
  child.events.output(0, bytes(all))
  t.equal(assemble(heard(), 0), all.slice(0, 4_096))
  t.strictSame(child.deeds, ['pause 0', 'pause 1'], 'what neither could send is not read of either')
  child.events.output(1, bytes('e'))
  t.equal(assemble(heard(), 1), '', 'credit is of the stream, both sources together')
  client.connection.grant(stream, 5_000)
  t.equal(assemble(heard(), 0), all.slice(0, 9_096))
  t.strictSame(child.deeds, ['pause 0', 'pause 1'], 'still held')
  client.connection.grant(stream, 5_000)
  t.equal(assemble(heard(), 0), all)
  t.equal(assemble(heard(), 1), 'e')
  t.strictSame(child.deeds, ['pause 0', 'pause 1', 'resume 0', 'resume 1'])
  t.end()
})

t.test('nothing is read of a process that could not be sent at once, and alone it writes on', (t) => {
  const { child, client, stream } = run({}, { auth: { window: 2_048 } })
  const { pace } = child.events
  child.events.spawned(1)
  t.strictSame([pace?.readBytes(0), pace?.readBytes(1), pace?.aheadBytes()], [2_048, 2_048, 4_096])
  child.events.output(0, bytes(text(1_500)))
  t.strictSame([pace?.readBytes(0), pace?.readBytes(1)], [548, 548], 'one credit for both')
  child.events.output(1, bytes(text(548)))
  t.strictSame([pace?.readBytes(0), pace?.readBytes(1)], [0, 0])
  t.strictSame(child.deeds, ['pause 0', 'pause 1'], 'with nothing left to send')
  client.connection.grant(stream, 1_000)
  t.equal(pace?.readBytes(0), 1_000)
  client.connection.grant(stream, 400_000)
  t.equal(pace?.aheadBytes(), 65_536, 'a wide window needs the whole pipe')
  child.events.output(0, bytes(text(380_000)))
  client.connection.grant(stream, 1_000)
  t.equal(pace?.aheadBytes(), 4_096, 'and a small one does not')
  client.connection.reset(stream)
  t.strictSame(
    [pace?.readBytes(0), pace?.aheadBytes()],
    [65_536, 65_536],
    'with nobody there it is read as it comes',
  )
  t.end()
})

t.test('messages are a fraction of a small window, and as large as can be in a wide one', (t) => {
  for (const [window, most] of [
    [1_024, 512],
    [4_096, 1_024],
    [65_536, 16_384],
    [1_048_576, 65_536],
  ] as const) {
    const { child, heard } = run({}, { auth: { window } })
    child.events.spawned(1)
    child.events.output(0, bytes(text(window)))
    const sizes = heard().map(({ value }) => String(value?.['data'] ?? '').length)
    t.equal(Math.max(...sizes), most, `${window}`)
    t.equal(assemble(heard(), 0).length, window)
  }
  t.end()
})

t.test('offsets are left out where output goes on, if the client says that it knows', (t) => {
  const { child, heard, ask, client } = run({ accept: 2 })
  child.events.spawned(1)
  for (const [source, part] of [
    [0, 'abc'],
    [1, 'error'],
    [0, 'defg'],
    [1, '!'],
  ] as const)
    child.events.output(source, bytes(part))
  const told = (all: readonly Heard[]) =>
    all
      .filter(({ value }) => value?.['data'] !== undefined)
      .map(({ value }) => [value?.['source'], value?.['offset'], value?.['data']])
  t.strictSame(told(heard()), [
    [0, 0, 'abc'],
    [1, 0, 'error'],
    [0, undefined, 'defg'],
    [1, undefined, '!'],
  ])
  const again = ask({ tail: 3 })
  child.events.output(0, bytes('h'))
  t.strictSame(
    told(client.on(again)),
    [
      [0, 4, 'efg'],
      [1, 3, 'or!'],
      [0, undefined, 'h'],
    ],
    'each stream says where it begins',
  )
  t.end()
})

t.test('the exit waits until all output is out', (t) => {
  const { child, heard, client, stream, rooms } = run({}, { auth: { window: 4_096 } })
  child.events.output(0, bytes(text(9_000)))
  child.events.exited({ kind: 'exited', code: 4 })
  t.notOk(heard().some(({ kind }) => kind === 'ended'))
  t.ok(rooms.executions.findAnywhere('05'.repeat(16))?.watcher, 'it is still read from')
  client.connection.grant(stream, 9_000)
  t.equal(assemble(heard(), 0), text(9_000))
  t.match(heard().at(-1), { kind: 'ended', value: { exit_code: 4 } })
  t.equal(rooms.executions.findAnywhere('05'.repeat(16))?.watcher, undefined)
  t.end()
})

t.test('a connection holds a few buffers at most, and goes on as the network takes them', (t) => {
  const { child, heard, client, rooms } = run({}, { auth: { window: 1_048_576 } })
  child.events.spawned(1)
  client.transport.takesAtOnce = false
  const before = client.transport.writes.length
  const free = rooms.buffers.free
  const all = text(10 * CHUNK_BYTES)
  child.events.output(0, bytes(all))
  t.equal(client.transport.writes.length - before, OUTPUT_BUFFERS_PER_CONNECTION)
  t.equal(free - rooms.buffers.free, OUTPUT_BUFFERS_PER_CONNECTION)
  t.strictSame(child.deeds, ['pause 0'])
  for (let at = before; at < client.transport.writes.length; at++) client.transport.writes[at]?.taken?.()
  t.equal(assemble(heard(), 0), all)
  t.equal(rooms.buffers.free, free, 'all are back')
  t.strictSame(child.deeds, ['pause 0', 'resume 0'])
  t.end()
})

t.test('two commands on one connection share it: neither waits for the end of the other', (t) => {
  const { child, client, spawner, ask, stream } = run({}, { auth: { window: 4_096 } })
  const second = ask({ execution_id: new Uint8Array(16).fill(6) })
  child.events.output(0, bytes(text(9_000)))
  spawner.children[1]?.events.output(0, bytes('quick'))
  spawner.children[1]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(assemble(client.on(second), 0), 'quick')
  t.match(client.on(second).at(-1), { kind: 'ended' })
  t.equal(assemble(client.on(stream), 0), text(4_096))
  t.end()
})

t.test('a unary answer that fits goes in one frame', (t) => {
  const { child, heard } = run({}, { unary: true })
  child.events.spawned(1)
  child.events.output(0, bytes('out'))
  child.events.output(1, bytes('err'))
  t.strictSame(heard(), [], 'nothing before the exit')
  child.events.exited({ kind: 'exited', code: 3 })
  t.equal(heard().length, 1)
  t.match(heard()[0], {
    kind: 'ended',
    value: { exit_code: 3, stdout: 'out', stderr: 'err', truncated: false },
  })
  t.end()
})

t.test('a unary answer that does not fit streams ahead of its end, within the credit', (t) => {
  const { child, heard, client, stream } = run({}, { unary: true })
  const all = text(100_000)
  child.events.output(0, bytes(all))
  t.strictSame(child.deeds, [], 'it is not held back: the ring keeps its head')
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(assemble(heard(), 0).length, INITIAL_WINDOW_BYTES)
  client.connection.grant(stream, 100_000)
  t.equal(assemble(heard(), 0), all)
  t.match(heard().at(-1), { kind: 'ended', value: { exit_code: 0, stdout: '', truncated: false } })
  t.end()
})

t.test('a unary answer keeps the first MiB of each stream and says that there was more', (t) => {
  const { child, heard, client, stream } = run({}, { unary: true })
  client.connection.grant(stream, 4_000_000)
  const part = bytes(text(65_536))
  for (let index = 0; index < 17; index++) child.events.output(0, part)
  child.events.output(1, bytes('e'))
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(assemble(heard(), 0), text(65_536).repeat(16))
  t.equal(assemble(heard(), 1), 'e')
  t.match(heard().at(-1), { kind: 'ended', value: { truncated: true } })
  t.end()
})

t.test('a capability with an output cap cuts a stream there and says so in the last message', (t) => {
  const { child, heard } = run({}, { capability: { output_bytes: 4 } })
  child.events.output(0, bytes('abcdef'))
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(assemble(heard(), 0), 'abcd')
  t.match(heard().at(-1), { value: { exit_code: 0, code: CODES.OUTPUT_TRUNCATED.number } })
  t.end()
})

t.test('what was ended because its time was over says so', (t) => {
  for (const unary of [false, true]) {
    const { child, heard, clock } = run({ timeout_seconds: 5 }, { unary })
    child.events.spawned(1)
    child.events.output(0, bytes('x'))
    clock.pass(5_000)
    child.events.exited({ kind: 'signalled', signal: 15 })
    const last = heard().at(-1)
    if (unary) t.match(last, { kind: 'status', code: CODES.EXECUTION_TIMEOUT.number })
    else t.match(last, { kind: 'ended', value: { signal: 15, code: CODES.EXECUTION_TIMEOUT.number } })
  }
  t.end()
})

t.test(
  'the smaller of the two times holds: what the request asks for and what the capability allows',
  (t) => {
    for (const [asked, allowed, seconds] of [
      [5, 10, 5],
      [10, 5, 5],
      [undefined, 7, 7],
      [7, null, 7],
    ] as const) {
      const { child, clock } = run({ timeout_seconds: asked }, { capability: { timeout_seconds: allowed } })
      clock.pass(seconds * 1_000 - 1)
      t.strictSame(child.deeds, [])
      clock.pass(1)
      t.strictSame(child.deeds, ['signal 15'])
    }
    t.end()
  },
)

t.test('a command that does not start is told with its errno', (t) => {
  for (const [errno, says] of [
    [2, /no such program/],
    [7, /too long/],
    [8, /no program that this device/],
    [11, /may have more processes: end what runs in it/],
    [12, /out of memory/],
    [13, /not executable/],
    [20, /not a directory/],
    [99, /errno 99/],
  ] as const) {
    const { child, heard, ask, client, spawner } = run()
    child.events.failed(errno)
    t.match(heard(), [{ kind: 'status', code: CODES.SPAWN_FAILED.number, text: says }])
    t.equal(heard()[0]?.details?.get(1), errno)
    const what = client.on(ask({ is_reattach: true }))
    t.match(what, [{ kind: 'status', code: CODES.SPAWN_FAILED.number }], 'whoever asks what became of it')
    t.equal(what[0]?.details?.get(1), errno)
    ask()
    t.equal(spawner.children.length, 2, 'whoever asks for it again has it tried again')
  }
  t.end()
})

t.test('the same id again attaches and starts nothing; the stream before it ends', (t) => {
  const { child, ask, client, spawner, stream, rooms } = run()
  child.events.spawned(1)
  child.events.output(0, bytes('abc'))
  const again = ask()
  t.equal(spawner.children.length, 1)
  t.match(client.on(stream).at(-1), { kind: 'reset' })
  t.equal(assemble(client.on(again), 0), 'abc')
  child.events.output(0, bytes('def'))
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(assemble(client.on(again), 0), 'abcdef')
  t.equal(assemble(client.on(stream), 0), 'abc')
  t.match(client.on(ask()).at(-1), { kind: 'ended', value: { exit_code: 0 } }, 'and after its end')
  t.equal(spawner.children.length, 1)
  t.equal(rooms.executions.present().length, 1)
  t.end()
})

t.test(
  'a re-attach goes on exactly at its offset, the same every time, or says what is still there (SS-26)',
  (t) => {
    const stage = stageRooms({ ringBytes: 4_096 })
    const first = enter(stage)
    const request = (change: Partial<ExecuteRequestInput>) =>
      executeRequest.encode({ command: 'echo', execution_id: ID, ...change })
    first.open('ExecuteStream', request({}))
    const child = stage.spawner.children[0] as StagedChild
    child.events.spawned(1)
    const all = text(6_000)
    child.events.output(0, bytes(all.slice(0, 3_000)))
    child.events.output(1, bytes('warning'))
    first.events.closed()
    child.events.output(0, bytes(all.slice(3_000)))

    const second = enter(stage, { resume: first.sessionId })
    t.strictSame(second.sessionId, first.sessionId)
    const ask = (stdout: number, stderr: number) =>
      second.open(
        'ExecuteStream',
        request({ is_reattach: true, resume_offset: stdout, resume_offset_stderr: stderr }),
      )
    for (let time = 0; time < 3; time++) {
      const stream = ask(3_000, 4)
      t.equal(assemble(second.on(stream), 0, 3_000), all.slice(3_000))
      t.equal(assemble(second.on(stream), 1, 4), 'ing')
    }
    const lost = second.on(ask(1_000, 0))
    t.match(lost, [{ kind: 'status', code: 105 }])
    t.strictSame(
      [...(lost[0]?.details ?? [])],
      [
        [1, 6_000 - 4_096],
        [2, 0],
      ],
    )
    t.match(
      second.on(ask(6_001, 0)),
      [{ kind: 'status', code: CODES.FRAME_MALFORMED.number }],
      'beyond the end',
    )
    const live = ask(6_000, 7)
    child.events.output(0, bytes('!'))
    child.events.exited({ kind: 'exited', code: 0 })
    t.equal(assemble(second.on(live), 0, 6_000), '!')
    t.match(second.on(live).at(-1), { kind: 'ended', value: { exit_code: 0 } })
    t.equal(stage.spawner.children.length, 1)
    t.end()
  },
)

t.test('with tail it starts near the end instead', (t) => {
  const { child, ask, client, stream } = run({}, { ringBytes: 64 })
  child.events.spawned(1)
  client.connection.reset(stream)
  child.events.output(0, bytes(text(100)))
  t.equal(assemble(client.on(ask({ tail: 5 })), 0, 95), text(5, 95))
  t.equal(assemble(client.on(ask({ tail: 1_000 })), 0, 36), text(64, 36), 'no more than is there')
  t.end()
})

t.test('whoever waits for the exit of a command that writes more than is kept is told so', (t) => {
  const { child, ask, client, rooms, stream } = run({}, { ringBytes: 100 })
  child.events.spawned(1)
  const waiting = ask({}, true)
  t.match(client.on(stream).at(-1), { kind: 'reset' })
  for (let index = 0; index < 5; index++) child.events.output(0, bytes(text(90)))
  child.events.output(1, bytes('e'))
  child.events.exited({ kind: 'exited', code: 0 })
  const told = client.on(waiting).at(-1)
  t.match(told, { kind: 'status', code: 105 })
  t.strictSame(
    [...(told?.details ?? [])],
    [
      [1, 350],
      [2, 0],
    ],
  )
  t.match(rooms.executions.findAnywhere('05'.repeat(16)), { state: 'finished', watcher: undefined })
  t.end()
})

t.test('an id that nobody started cannot be attached to', (t) => {
  const { ask, client, spawner } = run()
  const stream = ask({ is_reattach: true, execution_id: new Uint8Array(16).fill(77) })
  t.match(client.on(stream), [{ kind: 'status', code: CODES.PROCESS_NOT_FOUND.number }])
  const missing = ask({ is_reattach: true, execution_id: undefined })
  t.match(client.on(missing), [
    { kind: 'status', code: CODES.FRAME_MALFORMED.number, text: /execution_id is missing/ },
  ])
  t.equal(spawner.children.length, 1)
  t.end()
})

t.test('a client that abandons its stream leaves the command running', (t) => {
  const { child, client, stream, rooms } = run({}, { auth: { window: 4_096 } })
  child.events.output(0, bytes(text(9_000)))
  t.strictSame(child.deeds, ['pause 0', 'pause 1'])
  client.connection.reset(stream)
  t.strictSame(child.deeds, ['pause 0', 'pause 1', 'resume 0', 'resume 1'])
  const execution = rooms.executions.findAnywhere('05'.repeat(16))
  t.match(execution, { watcher: undefined, state: 'starting' })
  child.events.exited({ kind: 'exited', code: 0 })
  t.equal(execution?.state, 'finished')
  t.end()
})

t.test('stdin goes to the process as it takes it, and credit comes back', (t) => {
  const { child, client, stream } = run({ stdin: true })
  child.events.spawned(1)
  const data = new Map([[1, new Uint8Array(40_000)]])
  child.takesStdin = false
  client.connection.message(stream, data, 40_000)
  t.strictSame(child.deeds, ['stdin 40000'])
  t.equal(client.connection.credit(stream), INITIAL_WINDOW_BYTES - 40_000, 'not while the pipe is full')
  child.takesStdin = true
  child.events.stdinDrained()
  t.equal(client.connection.credit(stream), INITIAL_WINDOW_BYTES)
  client.connection.message(
    stream,
    new Map([
      [
        2,
        new Map([
          [1, 24],
          [2, 80],
        ]),
      ],
    ]),
  )
  client.connection.end(stream)
  t.strictSame(child.deeds, ['stdin 40000', 'resize 24x80', 'endStdin'])
  t.end()
})

t.test('stdin to a process that has gone is swallowed', (t) => {
  const { child, client, stream } = run({ stdin: true }, { auth: { window: 4_096 } })
  child.events.output(0, bytes(text(9_000)))
  child.events.exited({ kind: 'exited', code: 0 })
  client.connection.message(stream, new Map([[1, new Uint8Array(4_096)]]), 4_096)
  t.notOk(child.deeds.some((deed) => deed.startsWith('stdin')))
  t.equal(client.connection.credit(stream), 4_096, 'and the client may go on')
  t.end()
})

t.test('what is delivered counts for the session, however it goes out', (t) => {
  for (const [unary, size] of [
    [true, 1_000],
    [true, 200_000],
    [false, 1_000],
  ] as const) {
    const { child, rooms, client, stream } = run({}, { unary, auth: { window: 1_048_576 } })
    child.events.output(0, new Uint8Array(size))
    child.events.output(1, new Uint8Array(7))
    child.events.exited({ kind: 'exited', code: 0 })
    t.match(client.on(stream).at(-1), { kind: 'ended' })
    const [session] = rooms.sessions.all()
    t.equal(session?.deliveredBytes, size + 7, `${size} bytes, ${unary ? 'unary' : 'streamed'}`)
  }
  t.end()
})
