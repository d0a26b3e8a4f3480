/**
 * Those who have authenticated and then break the protocol, against a real daemon: malformed frames are reset, requests
 * that make no sense are answered, and nobody else notices.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { type CborValue, encodeCbor } from '../../src/base/encoding/cbor.ts'
import { writeHead } from '../../src/base/encoding/cbor-head.ts'
import { encodeFrame, type Frame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { framesIn, isServed, known, refusals, type Wire } from './connections.node.ts'
import { ON_REAL_FILES, ROOT, sleep, startNew, until } from './daemon.node.ts'

const EXECUTE = 1
const EXECUTE_STREAM = 2
const PING = 11
const MIB = 1_048_576
const AT_ONCE = 8
const GROWTH_KIB = 8 * 1_024
/** The heap grows with the number of connections before the collector looks: this is where it has long settled. */
const CEILING_KIB = 96 * 1_024

// As many at once as one connection may have streams, and as many connections as there are workers.
const daemon = await startNew(t, {
  ...ON_REAL_FILES,
  session: { max_per_agent: null },
  capabilities: { default: { max_concurrent: 32 } },
})
const empty: CborValue = new Map()

function framed(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(9 + body.length)
  const head = writeHead(frame, 0, 2, body.length)
  frame.set(body, head)
  return frame.subarray(0, head + body.length)
}

const hex = (text: string): Uint8Array => framed(new Uint8Array(Buffer.from(text.replace(/ /g, ''), 'hex')))

/** The frames that came after the answer to Authenticate. */
const answers = (wire: Wire): Frame[] => framesIn(wire.received()).slice(1)

async function answered(wire: Wire, isIt: (frame: Frame) => boolean): Promise<Frame> {
  await until('an answer', () => answers(wire).some(isIt))
  const found = answers(wire).find(isIt)
  if (found === undefined) throw new Error('unreachable')
  return found
}

/** The code of a STATUS on that stream. */
async function statusOf(wire: Wire, stream: number): Promise<unknown> {
  const frame = await answered(wire, (frame) => frame.stream === stream && frame.kind === 'STATUS')
  return (frame.payload as ReadonlyMap<number, unknown>).get(1)
}

/** Sends `bytes` on a connection of its own; whether it was reset without an answer. */
async function isReset(bytes: Uint8Array): Promise<boolean> {
  const wire = await known(daemon)
  wire.socket.write(bytes)
  return (await wire.closed) === 'reset' && answers(wire).length === 0
}

t.test('every malformed CBOR item as a body resets the connection', async (t) => {
  const path = join(ROOT, '../shared/vectors/cbor/fail.json')
  if (!existsSync(path)) {
    t.comment('skipped: ../shared/vectors/cbor is not here')
    t.pass()
    return
  }
  const items: { hex: string }[] = JSON.parse(readFileSync(path, 'utf8'))
  const before = daemon.anonymousKib()
  const records = (): number => daemon.audit().filter(({ code }) => code === 'FRAME_MALFORMED').length
  const recordsBefore = records()
  const wrong: string[] = []
  const queue = items.map((item) => item.hex)
  const worker = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
      if (!(await isReset(hex(item)))) wrong.push(item)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  t.same(wrong, [])
  // The last line is signed a moment later, and read only then.
  await until('the last record', () => records() - recordsBefore >= items.length)
  t.equal(records() - recordsBefore, items.length, 'one record each')
  t.comment(`daemon: ${before} KiB before ${items.length} items, ${daemon.anonymousKib()} KiB after`)
  t.ok(daemon.anonymousKib() < CEILING_KIB)
  await isServed(t, daemon)
})

t.test(
  'frames that are well-formed CBOR and still not of the protocol reset the connection (SS-01)',
  async (t) => {
    const open = encodeFrame(1 + 2, 'OPEN', empty, PING)
    const stdin = (id: number): Uint8Array =>
      encodeFrame(
        id,
        'OPEN',
        executeRequest.encode({ command: 'sleep', args: ['1'], stdin: true }),
        EXECUTE_STREAM,
      )
    const cases: Record<string, Uint8Array | readonly Uint8Array[]> = {
      'a frame over the limit, by its head alone': Buffer.from('5a00011001', 'hex'),
      'a frame of 4 GiB': Buffer.from('5affffffff', 'hex'),
      'a frame of 2^64 - 1': Buffer.from('5bffffffffffffffff', 'hex'),
      'an indefinite length': Buffer.from('5f', 'hex'),
      'a text string for a frame': Buffer.from('6161', 'hex'),
      'an empty frame': Buffer.from('40', 'hex'),
      'no array': hex('a0'),
      'an array of one': hex('8103'),
      'an unknown kind': hex('830309a0'),
      'a negative stream': hex('842200 0ba0'),
      'a stream of text': hex('846133 00 0b a0'),
      'an array of indefinite length': hex('9f03000ba0ff'),
      'a map of indefinite length': hex('8403000bbfff'),
      'an integer that is not the shortest': hex('841803000ba0'),
      'a float': hex('8403000bf93c00'),
      'a tag': hex('8403000bc1a0'),
      'an undefined': hex('8403000bf7'),
      'a key twice': hex('8403000ba2010001 01'),
      'keys out of order': hex('8403000ba20200 0100'),
      'text that is no UTF-8': hex('8403000161ff'),
      'nesting of nine': hex('8403000b 8181818181818181 80'),
      'bytes behind the item': hex('8403000ba000'),
      'an OPEN on stream 0': hex('8400000ba0'),
      'a PING on a stream': hex('83030600'),
      'an OPEN without a payload': hex('8303000b'),
      'a STATUS from a client': [open, encodeFrame(3, 'STATUS', new Map([[1, 1]]))],
      'a GOAWAY from a client': encodeFrame(0, 'GOAWAY', new Map([[1, 107]])),
      'an even stream': encodeFrame(4, 'OPEN', empty, PING),
      'a stream that does not increase': encodeFrame(1, 'OPEN', empty, PING),
      'a MSG on a stream that was never open': encodeFrame(9, 'MSG', empty),
      'an END on a stream that was never open': encodeFrame(9, 'END'),
      'a CREDIT that is no number': [stdin(3), encodeFrame(3, 'CREDIT', 'more')],
      'a MSG behind its END': [stdin(3), encodeFrame(3, 'END'), encodeFrame(3, 'MSG', empty)],
      // Two windows may go into the pipe and its queue; nobody has allowed a third.
      'data past the credit': [
        stdin(3),
        ...Array.from({ length: 4 }, () => encodeFrame(3, 'MSG', new Map([[1, new Uint8Array(65_536)]]))),
      ],
    }
    // What a first caller leaves open belongs to the daemon.
    await isServed(t, daemon)
    const descriptors = daemon.descriptors()
    for (const [name, bytes] of Object.entries(cases)) {
      const before = refusals(daemon).filter((line) => line.includes('rule=frame')).length
      const wire = await known(daemon)
      wire.socket.write(Buffer.concat(bytes instanceof Uint8Array ? [bytes] : [...bytes]))
      t.equal(await Promise.race([wire.closed, sleep(5_000)]), 'reset', name)
      const lines = refusals(daemon)
        .filter((line) => line.includes('rule=frame'))
        .slice(before)
      t.ok(lines.length <= 1, 'at most one line in the log')
    }
    await isServed(t, daemon)
    await until('the descriptors of all of them', () => daemon.descriptors() <= descriptors)
  },
)

t.test('a connection may have 32 streams; with the 33rd it is reset, and the commands go on', async (t) => {
  const running = async (): Promise<number> =>
    JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString()).active_processes
  await until('the end of what ran', async () => (await running()) === 0)
  const wire = await known(daemon)
  const request = executeRequest.encode({ command: 'sleep', args: ['2'] })
  const open = (index: number): Uint8Array => encodeFrame(3 + 2 * index, 'OPEN', request, EXECUTE_STREAM)
  wire.socket.write(Buffer.concat(Array.from({ length: 32 }, (_, index) => open(index))))
  await until('all of them', () => answers(wire).length === 32)
  t.ok(answers(wire).every(({ kind }) => kind === 'MSG'))
  wire.socket.write(open(32))
  t.equal(await wire.closed, 'reset')
  t.equal(await running(), 32)
  await until('their end', async () => (await running()) === 0)
})

t.test('a request that makes no sense is answered, and the connection goes on (SS-14)', async (t) => {
  const wire = await known(daemon)
  const { socket } = wire
  socket.write(encodeFrame(3, 'OPEN', empty, 999))
  t.equal(await statusOf(wire, 3), 106, 'a method that nobody has')
  socket.write(encodeFrame(5, 'OPEN', new Map([[1, 7]]), EXECUTE))
  t.equal(await statusOf(wire, 5), 106, 'a command that is no text')
  socket.write(encodeFrame(7, 'OPEN', new Map([[99, 7]]), PING))
  socket.write(encodeFrame(9, 'OPEN', executeRequest.encode({ command: '' }), EXECUTE))
  t.equal(await statusOf(wire, 9), 106, 'no command')
  const foreign = { command: 'true', session_id: new Uint8Array(16).fill(3) }
  socket.write(encodeFrame(11, 'OPEN', executeRequest.encode(foreign), EXECUTE))
  t.equal(await statusOf(wire, 11), 106, 'a session that is another’s')
  socket.write(encodeFrame(15, 'OPEN', empty, PING))
  t.equal((await answered(wire, ({ stream }) => stream === 15)).kind, 'END', 'and still answers')
  socket.destroy()
})

t.test('frames may be cut anywhere and come together', async (t) => {
  const wire = await known(daemon)
  const pings = Array.from({ length: 8 }, (_, index) => encodeFrame(3 + 2 * index, 'OPEN', empty, PING))
  for (const byte of Buffer.concat(pings.slice(0, 4))) {
    wire.socket.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  wire.socket.write(Buffer.concat(pings.slice(4)))
  await until('eight answers', () => answers(wire).length === 8)
  t.ok(answers(wire).every(({ kind, stream }, index) => kind === 'END' && stream === 3 + 2 * index))
  wire.socket.write(Buffer.concat([Buffer.from([0x58, 100]), Buffer.alloc(50)]))
  wire.socket.end()
  t.equal(await wire.closed, 'fin', 'an end within a frame is an end')
  await isServed(t, daemon)
})

t.test(
  'an execution tells source, offsets and, in the last message alone, its exit (SS-25, SS-27)',
  async (t) => {
    const wire = await known(daemon)
    const request = executeRequest.encode({
      command: 'sh',
      args: ['-c', 'echo one; sleep 0.1; echo two; sleep 0.1; echo err >&2; exit 5'],
    })
    wire.socket.write(encodeFrame(3, 'OPEN', request, EXECUTE_STREAM))
    const last = await answered(wire, ({ stream, kind }) => stream === 3 && kind === 'END')
    const messages = answers(wire).map(({ payload }) => payload as ReadonlyMap<number, unknown>)
    t.same(
      messages.map((message) => message.get(1) ?? 0),
      [2, 0, 0, 1, messages.at(-1)?.get(1) ?? 0],
    )
    t.same(
      messages.slice(1, 4).map((message) => String(Buffer.from(message.get(2) as Uint8Array))),
      ['one\n', 'two\n', 'err\n'],
    )
    t.same(
      messages.slice(1, 4).map((message) => message.get(6) ?? 0),
      [0, 4, 0],
    )
    t.ok(messages.slice(0, -1).every((message) => !message.has(3)))
    t.equal((last.payload as ReadonlyMap<number, unknown>).get(3), 5)
    wire.socket.write(encodeFrame(5, 'OPEN', request, EXECUTE))
    const unary = await answered(wire, ({ stream }) => stream === 5)
    t.equal(unary.kind, 'END')
    t.equal(answers(wire).filter(({ stream }) => stream === 5).length, 1, 'Execute answers once')
    t.equal(
      String(Buffer.from((unary.payload as ReadonlyMap<number, Uint8Array>).get(2) ?? [])),
      'one\ntwo\n',
    )
    wire.socket.destroy()
  },
)

const pack = (plain: Uint8Array): string =>
  zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).toString('base64')

t.test('a packed argument array runs as it is, with no shell in between (SS-21)', async (t) => {
  const argv = ['printf', '%s|', 'a b', '$(id)', '`id`', '*', '', '"', 'ü']
  for (const plain of [encodeCbor(argv), Buffer.from(JSON.stringify(argv))]) {
    const wire = await known(daemon)
    wire.socket.write(encodeFrame(3, 'OPEN', executeRequest.encode({ raw_payload: pack(plain) }), EXECUTE))
    const end = await answered(wire, ({ stream }) => stream === 3)
    const stdout = (end.payload as ReadonlyMap<number, Uint8Array>).get(2) ?? []
    t.equal(
      String(Buffer.from(stdout)),
      argv
        .slice(2)
        .map((argument) => `${argument}|`)
        .join(''),
    )
    wire.socket.destroy()
  }
})

t.test('a payload that expands to over 5 MiB is code 55, and the connection ends (SS-22)', async (t) => {
  for (const bytes of [5 * MIB + 1, 64 * MIB, 512 * MIB]) {
    const before = daemon.anonymousKib()
    const wire = await known(daemon)
    const request = executeRequest.encode({ raw_payload: pack(Buffer.alloc(bytes)) })
    wire.socket.write(encodeFrame(3, 'OPEN', request, EXECUTE))
    t.equal(await statusOf(wire, 3), 55, `${bytes} bytes`)
    t.equal(await wire.closed, 'fin')
    t.ok(daemon.anonymousKib() - before < GROWTH_KIB, 'nothing of it was ever in memory')
    await isServed(t, daemon)
  }
})
