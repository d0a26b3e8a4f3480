import fc from 'fast-check'
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { type Caller, createCaller } from '../../../src/client/calls/caller.ts'
import { errorOfStatus } from '../../../src/client/calls/caller-errors.ts'
import { asSassError, type SassError } from '../../../src/errors.ts'
import { CHUNK_BYTES, CLIENT_STDIN_BYTES, UNARY_OUTPUT_BYTES } from '../../../src/limits.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../../src/wire/connection.ts'
import { encodeFrame } from '../../../src/wire/frame.ts'
import { executeResponse, pingResponse, type StdinChunk, streamResponse } from '../../../src/wire/messages.ts'
import { stream } from '../one-stream.ts'

type Pair = {
  readonly caller: Caller
  readonly daemon: Connection
  readonly events: ConnectionEvent[]
  /** stdin as the daemon received it. */
  readonly stdin: number[]
  readonly fatal: SassError[]
  nowMs: number
}

const id = new Uint8Array(16).fill(7)
const WINDOW_BYTES = 65_536

/** A caller joined to the daemon's real engine; bytes of one turn arrive at once. */
function pair(windowBytes = WINDOW_BYTES): Pair {
  const events: ConnectionEvent[] = []
  const stdin: number[] = []
  const fatal: SassError[] = []
  const made: Pair = {
    caller: createCaller(
      (frame) => made.daemon.receive(frame),
      () => made.nowMs,
      (error) => fatal.push(error),
    ),
    daemon: createConnection(
      'daemon',
      (frame) => made.caller.receive(frame),
      (event) => {
        events.push(event)
        if (event.kind === 'message' && event.message.ok) {
          stdin.push(...((event.message.value as StdinChunk).data ?? []))
        }
      },
    ),
    events,
    stdin,
    fatal,
    nowMs: 0,
  }
  made.caller.authenticated(windowBytes)
  made.daemon.becomeOpen(windowBytes)
  return made
}

function send(daemon: Connection, stream: number, bytes: Uint8Array, source = 0, offset = 0): void {
  daemon.message(stream, streamResponse.encode({ source, data: bytes, offset }), bytes.length)
}

t.test('one question has one answer', async (t) => {
  const { caller, daemon, events } = pair()
  const answer = caller.call('Ping', new Map())
  t.match(events, [{ kind: 'opened', stream: 1, method: { name: 'Ping' } }])
  daemon.end(1, pingResponse.encode({ daemon_version: '9', os: 'linux' }))
  t.match(await answer, { daemon_version: '9', os: 'linux', uptime_seconds: 0 })
  const second = caller.call('Ping', new Map())
  daemon.fail(3, 'SESSION_EXPIRED', 'Over.')
  await t.rejects(second, { code: 'SESSION_EXPIRED', message: 'Over.' })
  const third = caller.call('Ping', new Map())
  daemon.end(5, new Map([[1, 5]]))
  await t.rejects(third, { code: 'FRAME_MALFORMED', message: /daemon_version must be text; os is missing/ })
})

/** What the device had to say beside how it ended. */
const NOTHING_ELSE = { notice: undefined, source: 'TOOL_OUTPUT', findings: undefined } as const

t.test('output goes to its sink with its offset, and the exit comes last (SS-25)', async (t) => {
  const { caller, daemon } = pair()
  const seen: unknown[] = []
  const running = stream(caller, { command: 'x' }, (source, bytes, offset) => {
    seen.push([source, [...bytes], offset])
  })
  daemon.message(1, streamResponse.encode({ source: 2, execution_id: id }))
  t.equal(await running.started, '07'.repeat(16))
  send(daemon, 1, Uint8Array.of(1, 2), 0, 0)
  send(daemon, 1, Uint8Array.of(3), 1, 0)
  send(daemon, 1, Uint8Array.of(4), 0, 2)
  daemon.end(1, streamResponse.encode({ exit_code: 0 }))
  t.strictSame(await running.exit, {
    exitCode: 0,
    signal: undefined,
    truncated: false,
    timedOut: false,
    why: undefined,
    refused: undefined,
    ...NOTHING_ELSE,
  })
  t.strictSame(seen, [
    ['stdout', [1, 2], 0],
    ['stderr', [3], 0],
    ['stdout', [4], 2],
  ])
})

t.test('where output is from and what in it gives orders is told with the end (JF-042)', async (t) => {
  const { caller, daemon } = pair()
  const running = stream(caller, { command: 'x' }, () => {})
  const findings = [{ kind: 'injection:a', offset: 7, length: 9 }]
  daemon.end(1, streamResponse.encode({ exit_code: 0, content_source: 1, findings, notice: 'Mind it.' }))
  t.match(await running.exit, { source: 'NETWORK_EXTERNAL', findings, notice: 'Mind it.' })
})

t.test('a signal, a cut output and a time that was over are told as what they are', async (t) => {
  for (const [fields, exit] of [
    [
      { signal: 9 },
      {
        exitCode: undefined,
        signal: 9,
        truncated: false,
        timedOut: false,
        why: undefined,
        refused: undefined,
        ...NOTHING_ELSE,
      },
    ],
    [
      { exit_code: 1, code: 15 },
      {
        exitCode: 1,
        signal: undefined,
        truncated: true,
        timedOut: false,
        why: undefined,
        refused: undefined,
        ...NOTHING_ELSE,
      },
    ],
    [
      { signal: 9, code: 12 },
      {
        exitCode: undefined,
        signal: 9,
        truncated: false,
        timedOut: true,
        why: undefined,
        refused: undefined,
        ...NOTHING_ELSE,
      },
    ],
  ] as const) {
    const { caller, daemon } = pair()
    const running = stream(caller, { command: 'x' }, () => {})
    daemon.end(1, streamResponse.encode(fields))
    t.strictSame(await running.exit, exit)
  }
})

t.test('a sink that returns a promise holds the credit back until it is settled', async (t) => {
  const { caller, daemon, events } = pair(4_096)
  let settle: () => void = () => {}
  stream(caller, { command: 'x' }, () => new Promise<void>((resolve) => (settle = resolve)))
  send(daemon, 1, new Uint8Array(4_096))
  t.equal(daemon.credit(1), 0)
  await Promise.resolve()
  t.equal(daemon.credit(1), 0)
  settle()
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(daemon.credit(1) >= 4_096)
  t.equal(events.at(-1)?.kind, 'credit')
})

t.test('messages of the device itself give their credit back', async (t) => {
  const { caller, daemon } = pair(4_096)
  stream(caller, { command: 'x' }, () => {
    t.fail('they are no output')
  })
  for (let i = 0; i < 20; i++) send(daemon, 1, new Uint8Array(2_048), 2)
  t.equal(daemon.phase, 'open')
  t.ok(daemon.credit(1) >= 2_048)
})

t.test('stdin follows the credit of the device, and the writer is told to wait', async (t) => {
  const { caller, daemon, stdin, events } = pair(4_096)
  const running = stream(caller, { command: 'x', stdin: true }, () => {})
  const bytes = Uint8Array.from({ length: 10_000 }, (_, index) => index & 255)
  t.equal(running.write(bytes), true)
  t.equal(stdin.length, 4_096, 'as much as the window')
  running.end()
  t.notOk(
    events.some(({ kind }) => kind === 'ended'),
    'the end waits for its bytes',
  )
  let drained = false
  const waiting = running.drained().then(() => {
    drained = true
  })
  daemon.grant(1, 5_000)
  t.equal(stdin.length, 9_096)
  await Promise.resolve()
  t.equal(drained, false)
  daemon.grant(1, 5_000)
  await waiting
  t.strictSame(stdin, [...bytes])
  t.equal(events.filter(({ kind }) => kind === 'ended').length, 1)
  daemon.grant(1, 5_000)
  t.equal(events.filter(({ kind }) => kind === 'ended').length, 1, 'one end')
  t.equal(running.write(bytes), true, 'what is written after the end is dropped')
  t.equal(stdin.length, 10_000)

  const full = pair(4_096)
  const other = stream(full.caller, { command: 'x', stdin: true }, () => {})
  t.equal(other.write(new Uint8Array(CLIENT_STDIN_BYTES + 4_096)), false)
})

t.test('stdin arrives whole and in order, whatever is written and granted', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.uint8Array({ maxLength: 600 }), fc.integer({ min: 1, max: 900 })), {
        maxLength: 40,
      }),
      (list) => {
        const { caller, daemon, stdin, fatal } = pair(1_000)
        const running = stream(caller, { command: 'x', stdin: true }, () => {})
        const written: number[] = []
        for (const step of list) {
          if (typeof step === 'number') daemon.grant(1, step)
          else {
            running.write(step)
            written.push(...step)
          }
        }
        running.end()
        daemon.grant(1, 60_000)
        return fatal.length === 0 && stdin.join() === written.join()
      },
    ),
    { numRuns: 200 },
  )
  t.pass()
})

t.test('a large write leaves in chunks', async (t) => {
  const { caller, events } = pair(1_048_576)
  stream(caller, { command: 'x', stdin: true }, () => {}).write(new Uint8Array(200_000))
  const sizes = events.flatMap((event) => (event.kind === 'message' ? [event.dataBytes] : []))
  t.strictSame(sizes, [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES, 200_000 - 3 * CHUNK_BYTES])
})

t.test('a resize goes past what waits; after the end of stdin there is none', async (t) => {
  const { caller, events } = pair(4_096)
  const running = stream(caller, { command: 'x', stdin: true }, () => {})
  running.write(new Uint8Array(5_000))
  running.resize(30, 100)
  t.match(events.at(-1), { kind: 'message', message: { value: { resize: { rows: 30, cols: 100 } } } })
  const count = events.length
  running.end()
  running.resize(1, 1)
  t.equal(events.length, count)
})

t.test('a unary answer comes whole, be it in one frame or ahead of its end', async (t) => {
  const { caller, daemon, nowMs } = pair()
  const inline = caller.execute({ command: 'x' })
  daemon.end(
    1,
    executeResponse.encode({ exit_code: 3, stdout: Uint8Array.of(1), execution_id: id, truncated: true }),
  )
  t.match(await inline, { exitCode: 3, stdout: Uint8Array.of(1), truncated: true, id: '07'.repeat(16) })

  const long = caller.execute({ command: 'x' })
  const whole = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 13) & 255)
  for (let at = 0; at < whole.length; ) {
    const bytes = Math.min(daemon.credit(3), CHUNK_BYTES, whole.length - at)
    if (bytes === 0) throw new Error(`no credit at ${at}, ${nowMs}`)
    send(daemon, 3, whole.subarray(at, at + bytes), 0, at)
    at += bytes
  }
  send(daemon, 3, Uint8Array.of(5, 6), 1, 0)
  daemon.end(3, executeResponse.encode({ exit_code: 0, stderr: Uint8Array.of(7), execution_id: id }))
  const result = await long
  t.strictSame(Buffer.compare(result.stdout, whole), 0)
  t.strictSame([...result.stderr], [5, 6, 7])
})

t.test('a device that sends more than an answer may have is not listened to', async (t) => {
  const { caller, daemon, events } = pair(1_048_576)
  const result = caller.execute({ command: 'x' })
  result.catch(() => {})
  for (let at = 0; at <= UNARY_OUTPUT_BYTES; at += 32_768) send(daemon, 1, new Uint8Array(32_768), 0, at)
  await t.rejects(result, { code: 'FRAME_MALFORMED', message: /more than the 1048576 bytes/ })
  t.equal(events.at(-1)?.kind, 'reset')
})

t.test('output that cannot be read fails the request: no part of it goes missing in silence', async (t) => {
  for (const method of ['stream', 'execute'] as const) {
    const { caller, daemon, events, fatal } = pair()
    const result: Promise<unknown> =
      method === 'execute'
        ? caller.execute({ command: 'x' })
        : stream(caller, { command: 'x' }, () => {}).exit
    result.catch(() => {})
    daemon.message(1, new Map<number, CborValue>([[1, 7]]))
    await t.rejects(result, { code: 'FRAME_MALFORMED', message: /source must be at most 2/ }, method)
    t.equal(events.at(-1)?.kind, 'reset')
    t.strictSame(fatal, [], 'the connection goes on')
  }
})

t.test('detached, the stream is forgotten and the device hears of it', async (t) => {
  const { caller, daemon, events } = pair()
  const running = stream(caller, { command: 'x', stdin: true }, () => {
    t.fail('nothing comes any more')
  })
  running.detach()
  t.equal(events.at(-1)?.kind, 'reset')
  send(daemon, 1, Uint8Array.of(1))
  running.write(Uint8Array.of(1))
  running.end()
  await running.drained()
  t.equal(events.at(-1)?.kind, 'reset')
})

t.test('taken over by another client, the stream says so', async (t) => {
  const { caller, daemon } = pair()
  const running = stream(caller, { command: 'x' }, () => {})
  daemon.reset(1)
  await t.rejects(running.exit, { code: 'CONNECTION_LOST', message: /Another client/ })
})

t.test(
  'a lost connection rejects what was asked as unknown, and what is asked then as not begun',
  async (t) => {
    const { caller } = pair()
    const call = caller.call('Ping', new Map())
    const run = caller.execute({ command: 'x' })
    caller.lost(new Error('ECONNRESET'))
    caller.lost(undefined)
    for (const promise of [call, run])
      await t.rejects(promise, { code: 'CONNECTION_LOST', message: /ECONNRESET/ })
    t.ok(caller.isLost)
    for (const ask of [
      () => caller.call('Ping', new Map()),
      () => caller.execute({ command: 'x' }),
      () => stream(caller, { command: 'x' }, () => {}),
    ])
      t.throws(ask, { code: 'CONNECT_FAILED' })
  },
)

t.test('a device that breaks the protocol ends the connection', async (t) => {
  const { caller, fatal } = pair()
  const call = caller.call('Ping', new Map())
  call.catch(() => {})
  caller.receive(encodeFrame(1, 'OPEN', new Map(), 1))
  await t.rejects(call, { code: 'CONNECTION_LOST' })
  t.match(fatal, [{ code: 'FRAME_MALFORMED' }])
  caller.receive(encodeFrame(1, 'END', new Map()))
  t.equal(fatal.length, 1)
})

t.test('a STATUS becomes the error of its code', async (t) => {
  const spawn = errorOfStatus({ code: 11, text: 'No.', details: new Map([[1, 2]]) })
  t.match(spawn, { code: 'SPAWN_FAILED', message: 'No.', details: { errno: 'ENOENT', number: 11 } })
  t.match(errorOfStatus({ code: 11, text: '', details: new Map([[1, 13]]) }).details, { errno: '13' })
  const unknown = errorOfStatus({ code: 999, text: '' })
  t.match(unknown, { code: 'INTERNAL', details: { number: 999 } })
  t.match(unknown.message, /code 999/)
  t.match(
    errorOfStatus({
      code: 105,
      text: 'Gone.',
      details: new Map([
        [1, 5],
        [2, 6],
      ]),
    }),
    {
      code: 'RING_BUFFER_DATA_LOSS',
      details: { details: { 1: 5, 2: 6 } },
    },
  )
  t.ok(asSassError(spawn))
})
