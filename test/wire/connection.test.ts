import t from 'tap'
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import {
  INITIAL_WINDOW_BYTES,
  STREAMS_PER_CONNECTION,
  UNAUTHENTICATED_FRAME_BYTES,
  UNAUTHENTICATED_TOTAL_BYTES,
} from '../../src/limits.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../src/wire/connection.ts'
import { fileChunk } from '../../src/wire/file-messages.ts'
import { encodeFrame, KIND, type KindName } from '../../src/wire/frame.ts'
import { executeRequest, status, stdinChunk, streamResponse } from '../../src/wire/messages.ts'
import { methodNamed } from '../../src/wire/methods.ts'
import { PHASES, type Role } from '../../src/wire/phases.ts'
import { fromHex } from '../base/cbor-values.ts'

type LivePhase = keyof (typeof PHASES)['daemon']
type Side = {
  readonly engine: Connection
  /** What was sent, as hex. */
  readonly sent: string[]
  readonly events: ConnectionEvent[]
  /** The kinds of the events so far, which are then forgotten. */
  told(): string[]
}

function side(role: Role): Side {
  const sent: string[] = []
  const events: ConnectionEvent[] = []
  const engine = createConnection(
    role,
    (frame, taken) => {
      sent.push(encodeHex(frame))
      taken?.()
    },
    (event) => events.push(event),
  )
  return { engine, sent, events, told: () => events.splice(0).map(({ kind }) => kind) }
}

const withStdin = executeRequest.encode({ command: 'cat', stdin: true })
const openFrame = (id: number, request: CborValue = withStdin, method = 2) =>
  encodeFrame(id, 'OPEN', request, method)
const stdin = (bytes: number) => stdinChunk.encode({ data: new Uint8Array(bytes) })
const output = (bytes: number) => streamResponse.encode({ data: new Uint8Array(bytes) })
const statusOf = (code: number) => status.encode({ code, text: '' })

/** An engine in that phase, with stream 1 open both ways. */
function inPhase(role: Role, phase: LivePhase): Side {
  const made = side(role)
  const { engine } = made
  if (role === 'client') engine.open(methodNamed('ExecuteStream'), withStdin, true)
  else engine.receive(openFrame(1))
  if (phase !== 'silent') engine.becomeOpen(INITIAL_WINDOW_BYTES)
  if (phase === 'draining' && role === 'daemon') engine.goAway('DAEMON_SHUTTING_DOWN', '')
  if (phase === 'draining' && role === 'client') engine.receive(encodeFrame(0, 'GOAWAY', statusOf(107)))
  if (engine.phase !== phase) throw new Error(`${role} is ${engine.phase}`)
  if (phase !== 'silent') engine.ping()
  made.told()
  made.sent.length = 0
  return made
}

/** A frame of each kind that is well-formed for the stream that is open. */
function frameOf(kind: KindName, role: Role): Uint8Array {
  switch (kind) {
    case 'OPEN':
      return openFrame(3)
    case 'MSG':
      return encodeFrame(1, 'MSG', role === 'daemon' ? stdin(1) : output(1))
    case 'END':
      return encodeFrame(1, 'END', role === 'daemon' ? undefined : streamResponse.encode({ exit_code: 0 }))
    case 'STATUS':
      return encodeFrame(1, 'STATUS', statusOf(11))
    case 'CREDIT':
      return encodeFrame(1, 'CREDIT', INITIAL_WINDOW_BYTES + 1)
    case 'RESET':
      return encodeFrame(1, 'RESET')
    case 'PING':
    case 'PONG':
      return encodeFrame(0, kind, 1)
    case 'GOAWAY':
      return encodeFrame(0, 'GOAWAY', statusOf(107))
  }
}

/** docs/protocol.md, section 2, cell by cell: what the engine tells when the kind arrives. */
const CELLS: Readonly<Record<Role, Readonly<Record<LivePhase, Readonly<Record<KindName, string>>>>>> = {
  daemon: {
    silent: {
      OPEN: 'opened',
      MSG: 'message',
      END: 'ended',
      STATUS: 'fatal',
      CREDIT: 'fatal',
      RESET: 'reset',
      PING: 'fatal',
      PONG: 'fatal',
      GOAWAY: 'fatal',
    },
    open: {
      OPEN: 'opened',
      MSG: 'message',
      END: 'ended',
      STATUS: 'fatal',
      CREDIT: 'credit',
      RESET: 'reset',
      PING: 'answered with PONG',
      PONG: 'pong',
      GOAWAY: 'fatal',
    },
    draining: {
      OPEN: 'answered with STATUS',
      MSG: 'message',
      END: 'ended',
      STATUS: 'fatal',
      CREDIT: 'credit',
      RESET: 'reset',
      PING: 'answered with PONG',
      PONG: 'pong',
      GOAWAY: 'fatal',
    },
  },
  client: {
    silent: {
      OPEN: 'fatal',
      MSG: 'message',
      END: 'ended',
      STATUS: 'status',
      CREDIT: 'fatal',
      RESET: 'fatal',
      PING: 'fatal',
      PONG: 'fatal',
      GOAWAY: 'goaway',
    },
    open: {
      OPEN: 'fatal',
      MSG: 'message',
      END: 'ended',
      STATUS: 'status',
      CREDIT: 'credit',
      RESET: 'reset',
      PING: 'answered with PONG',
      PONG: 'pong',
      GOAWAY: 'goaway',
    },
    draining: {
      OPEN: 'fatal',
      MSG: 'message',
      END: 'ended',
      STATUS: 'status',
      CREDIT: 'credit',
      RESET: 'reset',
      PING: 'answered with PONG',
      PONG: 'pong',
      GOAWAY: 'goaway',
    },
  },
}

t.test('every cell of role, phase and kind is taken, refused or the end (SS-01)', async (t) => {
  let cells = 0
  for (const role of ['daemon', 'client'] as const) {
    for (const phase of ['silent', 'open', 'draining'] as const) {
      for (const kind of Object.keys(KIND) as KindName[]) {
        const { engine, sent, told } = inPhase(role, phase)
        engine.receive(frameOf(kind, role))
        const answers = sent.map((hex) => (hex.startsWith('44830007') ? 'PONG' : 'STATUS'))
        const seen = [...told(), ...answers.map((answer) => `answered with ${answer}`)].join()
        t.equal(seen, CELLS[role][phase][kind], `${role}, ${phase}: ${kind}`)
        t.equal(engine.phase === 'dead', seen === 'fatal')
        t.equal(PHASES[role][phase][kind] === undefined, seen === 'fatal')
        cells++
      }
    }
  }
  t.equal(cells, 54)
})

t.test('a peer that says nothing gets nothing, and one that is not in the table the end', async (t) => {
  const { engine, sent, told } = side('daemon')
  engine.receive(new Uint8Array(0))
  t.strictSame([sent, told(), engine.phase], [[], [], 'silent'])
  engine.receive(new TextEncoder().encode('SSH-2.0-OpenSSH_9.9\r\n'))
  t.strictSame([sent, told(), engine.phase], [[], ['fatal'], 'dead'])
})

t.test('stdin may be sent up to the credit, and not one byte past it', async (t) => {
  const { engine, told } = inPhase('daemon', 'open')
  engine.receive(encodeFrame(1, 'MSG', stdin(INITIAL_WINDOW_BYTES - 1)))
  engine.receive(encodeFrame(1, 'MSG', stdin(1)))
  t.strictSame(told(), ['message', 'message'], 'exactly the window')
  engine.grant(1, 10)
  engine.receive(encodeFrame(1, 'MSG', stdin(10)))
  t.strictSame(told(), ['message'], 'exactly what was granted')
  engine.receive(encodeFrame(1, 'MSG', stdin(0)))
  engine.receive(encodeFrame(1, 'MSG', stdinChunk.encode({ resize: { rows: 1, cols: 1 } })))
  t.strictSame(told(), ['message', 'message'], 'what carries no data needs no credit')
  engine.receive(encodeFrame(1, 'MSG', stdin(1)))
  t.strictSame(told(), ['fatal'])
})

t.test('output is counted in the same way, in MSG and in END', async (t) => {
  for (const kind of ['MSG', 'END'] as const) {
    const { engine, events } = inPhase('client', 'open')
    engine.receive(encodeFrame(1, 'MSG', output(INITIAL_WINDOW_BYTES)))
    engine.receive(encodeFrame(1, kind, output(1)))
    t.match(events[1], { kind: 'fatal', problem: 'data past the credit' }, kind)
  }
})

t.test('data that comes with OPEN counts too', async (t) => {
  const upload = (bytes: number) => fileChunk.encode({ data: new Uint8Array(bytes) })
  const { engine, told } = inPhase('daemon', 'open')
  engine.receive(openFrame(3, upload(INITIAL_WINDOW_BYTES), 5))
  t.strictSame(told(), ['opened'])
  engine.receive(encodeFrame(3, 'MSG', upload(1)))
  t.strictSame(told(), ['fatal'])
  const over = side('daemon')
  over.engine.becomeOpen(4_096)
  over.engine.receive(openFrame(1, upload(4_097), 7))
  t.strictSame(over.told(), ['fatal'])
})

t.test('data counts whether or not the rest of the message can be read', async (t) => {
  const { engine, events } = inPhase('daemon', 'open')
  const strange = new Map<number, CborValue>([
    [1, new Uint8Array(INITIAL_WINDOW_BYTES)],
    [99, 0],
  ])
  engine.receive(encodeFrame(1, 'MSG', strange))
  t.match(events[0], { kind: 'message', message: { ok: false }, dataBytes: INITIAL_WINDOW_BYTES })
  t.equal(engine.phase, 'open', 'a bad message is no bad frame')
  engine.receive(encodeFrame(1, 'MSG', stdin(1)))
  t.match(events[1], { kind: 'fatal' })
})

t.test('CREDIT is absolute: repeated or lower it changes nothing', async (t) => {
  const { engine, told } = inPhase('daemon', 'open')
  t.equal(engine.credit(1), INITIAL_WINDOW_BYTES)
  for (const limit of [0, 1, INITIAL_WINDOW_BYTES]) engine.receive(encodeFrame(1, 'CREDIT', limit))
  t.strictSame(told(), [])
  for (let i = 0; i < 3; i++) engine.receive(encodeFrame(1, 'CREDIT', 100_000))
  t.strictSame(told(), ['credit'])
  t.equal(engine.credit(1), 100_000)
  engine.message(1, output(100), 100)
  engine.output(new Uint8Array(200), 1, 0, 100, 50, () => {})
  t.equal(engine.credit(1), 99_850)
  engine.receive(encodeFrame(1, 'CREDIT', -1))
  t.strictSame(told(), ['fatal'])
})

t.test('grants add up to one absolute limit', async (t) => {
  const { engine, sent } = inPhase('daemon', 'open')
  engine.grant(1, 5)
  engine.grant(1, 7)
  engine.grant(1, 0)
  engine.grant(1, -3)
  engine.grant(99, 5)
  t.strictSame(
    sent,
    [INITIAL_WINDOW_BYTES + 5, INITIAL_WINDOW_BYTES + 12].map((limit) =>
      encodeHex(encodeFrame(1, 'CREDIT', limit)),
    ),
  )
})

t.test('the window that was agreed holds for the streams opened after it', async (t) => {
  const client = side('client')
  const before = client.engine.open(methodNamed('Authenticate'), new Map(), true)
  client.engine.becomeOpen(4_096)
  const after = client.engine.open(methodNamed('ExecuteStream'), withStdin, true)
  t.equal(client.engine.credit(before), INITIAL_WINDOW_BYTES)
  t.equal(client.engine.credit(after), 4_096)
  const daemon = side('daemon')
  daemon.engine.becomeOpen(4_096)
  daemon.engine.receive(openFrame(1))
  t.equal(daemon.engine.credit(1), 4_096)
  daemon.engine.receive(encodeFrame(1, 'MSG', stdin(4_097)))
  t.equal(daemon.engine.phase, 'dead')
})

t.test('nothing follows the end of a side', async (t) => {
  const frames = [encodeFrame(1, 'MSG', stdin(1)), encodeFrame(1, 'END')]
  for (const frame of frames) {
    const { engine, told } = inPhase('daemon', 'open')
    engine.receive(encodeFrame(1, 'END'))
    engine.receive(frame)
    t.strictSame(told(), ['ended', 'fatal'], 'after END')
    const single = side('daemon')
    single.engine.becomeOpen(4_096)
    single.engine.receive(openFrame(1, executeRequest.encode({ command: 'ls' })))
    single.engine.receive(frame)
    t.strictSame(single.told(), ['opened', 'fatal'], 'where OPEN was the end already')
  }
})

t.test(
  'late frames of a stream that is over are ignored, those of one that never was are the end',
  async (t) => {
    for (const role of ['daemon', 'client'] as const) {
      const { engine, sent, told } = inPhase(role, 'open')
      engine.reset(1)
      sent.length = 0
      const kinds: KindName[] =
        role === 'daemon' ? ['MSG', 'END', 'CREDIT', 'RESET'] : ['MSG', 'END', 'STATUS', 'CREDIT', 'RESET']
      for (const kind of kinds) engine.receive(frameOf(kind, role))
      t.strictSame([told(), sent, engine.phase], [[], [], 'open'], role)
      for (const id of [2, 7]) {
        const other = inPhase(role, 'open')
        other.engine.receive(encodeFrame(id, 'RESET'))
        t.strictSame(other.told(), ['fatal'], `${role}, stream ${id}`)
      }
    }
  },
)

t.test('stream ids are odd and increase; gaps are allowed', async (t) => {
  for (const [id, expected] of [
    [2, 'fatal'],
    [1, 'fatal'],
    [3, 'opened'],
    [2 ** 53 - 1, 'opened'],
  ] as const) {
    const { engine, told } = inPhase('daemon', 'open')
    engine.receive(openFrame(id))
    t.strictSame(told(), [expected], String(id))
  }
  const { engine, told } = inPhase('daemon', 'open')
  engine.receive(openFrame(9))
  engine.receive(openFrame(7))
  t.strictSame(told(), ['opened', 'fatal'])
})

t.test('the 33rd stream at once is the end; a client is told before it sends it', async (t) => {
  const { engine, told } = side('daemon')
  engine.becomeOpen(4_096)
  for (let i = 0; i < STREAMS_PER_CONNECTION; i++) engine.receive(openFrame(2 * i + 1))
  engine.fail(1, 'SPAWN_FAILED', '')
  engine.receive(openFrame(101))
  t.equal(told().filter((kind) => kind === 'opened').length, 33, 'one ended, so one more may begin')
  engine.receive(openFrame(103))
  t.strictSame(told(), ['fatal'])
  const client = side('client')
  client.engine.becomeOpen(4_096)
  for (let i = 0; i < STREAMS_PER_CONNECTION; i++) client.engine.open(methodNamed('Ping'), new Map(), false)
  t.throws(() => client.engine.open(methodNamed('Ping'), new Map(), false), { code: 'USAGE' })
  t.equal(client.sent.length, STREAMS_PER_CONNECTION)
  client.engine.receive(encodeFrame(1, 'STATUS', statusOf(101)))
  t.equal(client.engine.open(methodNamed('Ping'), new Map(), false), 65)
})

t.test('an unknown method uses up its id and nothing else', async (t) => {
  const { engine, sent, events } = inPhase('daemon', 'open')
  engine.receive(openFrame(3, new Map(), 15))
  t.match(events, [{ kind: 'unknown_method', stream: 3, number: 15 }])
  engine.refuseUnknown(3, 'FRAME_MALFORMED', 'no')
  t.strictSame(sent, [encodeHex(encodeFrame(3, 'STATUS', status.encode({ code: 106, text: 'no' })))])
  engine.receive(encodeFrame(3, 'CREDIT', 1))
  t.equal(engine.phase, 'open', 'a late frame for it is ignored')
  engine.receive(openFrame(3, new Map(), 15))
  t.equal(engine.phase, 'dead')
})

t.test('before authentication a frame has at most 1 KiB and all of them 4 KiB', async (t) => {
  const head = (bytes: number) => Uint8Array.of(0x59, bytes >> 8, bytes & 255)
  const daemon = side('daemon')
  daemon.engine.receive(head(UNAUTHENTICATED_FRAME_BYTES))
  t.strictSame(daemon.told(), [], '1,024 bytes are awaited')
  const over = side('daemon')
  over.engine.receive(head(UNAUTHENTICATED_FRAME_BYTES + 1))
  t.strictSame(over.told(), ['fatal'], '1,025 are refused from the head')

  const chatty = side('daemon')
  const frame = encodeFrame(1, 'RESET')
  chatty.engine.receive(openFrame(1))
  while (chatty.engine.receivedBytes + frame.length <= UNAUTHENTICATED_TOTAL_BYTES)
    chatty.engine.receive(frame)
  chatty.engine.receive(frame.subarray(0, UNAUTHENTICATED_TOTAL_BYTES - chatty.engine.receivedBytes))
  t.equal(chatty.engine.receivedBytes, 4_096)
  t.equal(chatty.engine.phase, 'silent')
  chatty.engine.receive(Uint8Array.of(0))
  t.equal(chatty.engine.phase, 'dead')

  const known = side('daemon')
  known.engine.becomeOpen(4_096)
  known.engine.receive(fromHex('5a00011000'))
  t.equal(known.engine.phase, 'open', 'after it a frame may have 69,632 bytes')
  known.engine.receive(new Uint8Array(69_632).fill(1))
  t.equal(known.engine.phase, 'dead')
})

t.test('the rest of a chunk behind Authenticate is read by the new rules', async (t) => {
  const events: string[] = []
  const engine = createConnection(
    'daemon',
    () => {},
    (event) => {
      events.push(event.kind)
      if (event.kind === 'opened' && event.method.name === 'Authenticate')
        engine.becomeOpen(INITIAL_WINDOW_BYTES)
    },
  )
  const auth = openFrame(1, new Map(), 8)
  const large = openFrame(3, executeRequest.encode({ command: 'x'.repeat(2_000) }))
  const both = new Uint8Array(auth.length + large.length)
  both.set(auth)
  both.set(large, auth.length)
  engine.receive(both)
  t.strictSame(events, ['opened', 'opened'])
})

t.test('a PING comes back as PONG with its nonce; a PONG answers the one PING in flight', async (t) => {
  const { engine, sent, told } = inPhase('client', 'open')
  engine.ping()
  t.strictSame(sent, [], 'there is one in flight already')
  engine.receive(encodeFrame(0, 'PING', 2 ** 53 - 1))
  t.strictSame(sent, [encodeHex(encodeFrame(0, 'PONG', 2 ** 53 - 1))])
  engine.receive(encodeFrame(0, 'PONG', 1))
  t.strictSame(told(), ['pong'])
  engine.ping()
  t.equal(sent[1], encodeHex(encodeFrame(0, 'PING', 2)), 'the next nonce')
  engine.receive(encodeFrame(0, 'PONG', 1))
  t.strictSame(told(), ['fatal'], 'an old nonce answers nothing')
  const unasked = side('daemon')
  unasked.engine.becomeOpen(4_096)
  unasked.engine.receive(encodeFrame(0, 'PONG', 0))
  t.strictSame(unasked.told(), ['fatal'])
  for (const nonce of [-1, 'x', null, new Map()] as CborValue[]) {
    const bad = inPhase('daemon', 'open')
    bad.engine.receive(encodeFrame(0, 'PING', nonce))
    t.strictSame(bad.told(), ['fatal'])
  }
})

t.test('a second PING is malformed while the PONG of the first has not left', async (t) => {
  for (const role of ['daemon', 'client'] as const) {
    const leaving: (() => void)[] = []
    const kinds: string[] = []
    const engine = createConnection(
      role,
      (_frame, taken) => leaving.push(taken ?? (() => {})),
      ({ kind }) => kinds.push(kind),
    )
    engine.becomeOpen(4_096)
    for (let nonce = 1; nonce <= 3; nonce++) {
      engine.receive(encodeFrame(0, 'PING', nonce))
      leaving.at(-1)?.()
    }
    t.strictSame([leaving.length, kinds], [3, []])
    engine.receive(encodeFrame(0, 'PING', 4))
    engine.receive(encodeFrame(0, 'PING', 5))
    t.strictSame(kinds, role === 'daemon' ? ['fatal'] : [], 'a client may not know when its own have left')
  }
})

t.test('bytes are taken up to the frame after which no more are wanted', async (t) => {
  const { engine, told } = inPhase('daemon', 'open')
  const frames = [3, 5, 7].map((id) => openFrame(id))
  const all = Uint8Array.from(frames.flatMap((frame) => [...frame]))
  let pauses = true
  const taken = engine.receive(all, () => pauses)
  t.equal(taken, frames[0]?.length)
  t.strictSame(told(), ['opened'])
  pauses = false
  t.equal(
    engine.receive(all.subarray(taken), () => pauses),
    all.length - taken,
  )
  t.strictSame(told(), ['opened', 'opened'])
})

t.test('after the end nothing is taken, told, sent or kept', async (t) => {
  for (const role of ['daemon', 'client'] as const) {
    const { engine, sent, told } = inPhase(role, 'open')
    const chunk = [fromHex('00'), frameOf('MSG', role), frameOf('PING', role)]
    for (const bytes of chunk) engine.receive(bytes)
    t.strictSame(told(), ['fatal'])
    const received = engine.receivedBytes
    engine.receive(frameOf('MSG', role))
    engine.message(1, stdin(1), 1)
    engine.end(1)
    engine.fail(1, 'SPAWN_FAILED', '')
    engine.refuseUnknown(5, 'FRAME_MALFORMED', '')
    engine.reset(1)
    engine.grant(1, 10)
    engine.ping()
    engine.goAway('DAEMON_SHUTTING_DOWN', '')
    engine.becomeOpen(9)
    engine.kill()
    t.strictSame([told(), sent, engine.phase, engine.receivedBytes], [[], [], 'dead', received])
    t.strictSame([...engine.streams()], [])
    t.equal(engine.credit(1), 0)
  }
})

t.test('a call that ends the connection is the last, be there more frames in the same chunk', async (t) => {
  const events: string[] = []
  const engine = createConnection(
    'daemon',
    () => {},
    (event) => {
      events.push(event.kind)
      engine.kill()
    },
  )
  const frame = openFrame(1)
  const three = new Uint8Array(frame.length * 3)
  for (const index of [0, 1, 2]) three.set(frame, index * frame.length)
  engine.receive(three)
  t.strictSame(events, ['opened'])
})

t.test('after GOAWAY what is open may finish, and OPEN gets STATUS 107', async (t) => {
  const { engine, sent, told } = inPhase('daemon', 'open')
  engine.goAway('DAEMON_SHUTTING_DOWN', 'bye')
  t.equal(sent[0], encodeHex(encodeFrame(0, 'GOAWAY', status.encode({ code: 107, text: 'bye' }))))
  engine.receive(openFrame(3))
  t.match(sent[1], /^58..830303a201186b02/, 'STATUS on stream 3, code 107')
  t.strictSame(told(), [])
  engine.receive(openFrame(3))
  t.equal(engine.phase, 'dead', 'the id is used up')

  const other = inPhase('daemon', 'draining')
  other.engine.receive(encodeFrame(1, 'MSG', stdin(1)))
  other.engine.receive(encodeFrame(1, 'END'))
  other.engine.end(1, streamResponse.encode({ exit_code: 0 }))
  t.strictSame(other.told(), ['message', 'ended'])
  t.equal(other.sent.at(-1), encodeHex(encodeFrame(1, 'END', new Map([[3, 0]]))))
})

t.test('a STATUS or GOAWAY without a code is the end', async (t) => {
  for (const [kind, id] of [
    ['STATUS', 1],
    ['GOAWAY', 0],
  ] as const) {
    for (const payload of [new Map(), 5, new Map([[1, 'x']])] as CborValue[]) {
      const { engine, told } = inPhase('client', 'open')
      engine.receive(encodeFrame(id, kind, payload))
      t.strictSame(told(), ['fatal'])
    }
  }
})

t.test('a message that cannot be read names its paths, and the connection goes on', async (t) => {
  const { engine, events } = inPhase('daemon', 'open')
  engine.receive(
    openFrame(
      3,
      new Map<number, CborValue>([
        [2, 5],
        [8, -1],
      ]),
    ),
  )
  t.match(events[0], {
    kind: 'opened',
    message: { ok: false, problems: [{ path: 'args' }, { path: 'resume_offset' }] },
  })
  engine.receive(openFrame(5, 'no map'))
  t.match(events[1], { kind: 'opened', message: { ok: false, problems: [{ path: 'ExecuteRequest' }] } })
  t.equal(engine.phase, 'open')
})

t.test('a client skips fields that it does not know', async (t) => {
  const { engine, events } = inPhase('client', 'open')
  engine.receive(
    encodeFrame(
      1,
      'MSG',
      new Map<number, CborValue>([
        [2, Uint8Array.of(1)],
        [200, 'new'],
      ]),
    ),
  )
  t.match(events[0], { kind: 'message', message: { ok: true }, dataBytes: 1 })
})

t.test('what was asked of a stream that is gone is not sent', async (t) => {
  const { engine, sent } = inPhase('daemon', 'open')
  engine.end(1, streamResponse.encode({ exit_code: 0 }))
  sent.length = 0
  engine.message(1, output(1), 1)
  engine.end(1)
  engine.fail(1, 'SPAWN_FAILED', '')
  engine.reset(1)
  engine.grant(1, 1)
  t.strictSame([sent, engine.credit(1), engine.stream(1)], [[], 0, undefined])
})
