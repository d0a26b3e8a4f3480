import fc from 'fast-check'
import t from 'tap'
import { headBytes, writeHead } from '../../src/base/encoding/cbor-head.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { FRAME_BYTES } from '../../src/limits.ts'
import { createDeframer, type DeframerEvent } from '../../src/wire/deframer.ts'
import { fromHex } from '../base/cbor-values.ts'

function frameOf(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headBytes(body.length) + body.length)
  frame.set(body, writeHead(frame, 0, 2, body.length))
  return frame
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Everything that a deframer tells about these chunks, bodies as hex. */
function told(chunks: readonly Uint8Array[], limit = FRAME_BYTES): string[] {
  const seen: string[] = []
  const deframer = createDeframer(
    () => limit,
    (event) => seen.push(event.kind === 'body' ? encodeHex(event.body) : `! ${event.problem}`),
  )
  for (const chunk of chunks) deframer.push(chunk)
  return seen
}

const BODIES = [1, 5, 23, 24, 25, 255, 256, 257, 700].map((length) =>
  new Uint8Array(length).map((_, index) => (index * 31 + length) & 0xff),
)
const STREAM = joined(BODIES.map(frameOf))
const EXPECTED = BODIES.map(encodeHex)

t.test('cuts the same stream into the same frames, however its bytes arrive', async (t) => {
  t.strictSame(told([STREAM]), EXPECTED, 'whole')
  const wrong: number[] = []
  for (let at = 0; at <= STREAM.length; at++) {
    if (told([STREAM.subarray(0, at), STREAM.subarray(at)]).join() !== EXPECTED.join()) wrong.push(at)
  }
  t.strictSame(wrong, [], 'split at every offset')
  t.strictSame(told([...STREAM].map((byte) => Uint8Array.of(byte))), EXPECTED, 'byte by byte')
  const hostile = joined([STREAM, fromHex('00')])
  t.strictSame(told([hostile]), [...EXPECTED, '! a frame that is no byte string'], 'with a hostile tail')
  t.strictSame(
    told([...hostile].map((byte) => Uint8Array.of(byte))),
    [...EXPECTED, '! a frame that is no byte string'],
    'and byte by byte',
  )
  t.strictSame(told([new Uint8Array(0), STREAM, new Uint8Array(0)]), EXPECTED, 'empty chunks mean nothing')
})

t.test('cuts any bodies at any boundaries', async (t) => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 })
  fc.assert(
    fc.property(bodies, fc.array(fc.nat({ max: 400 }), { maxLength: 12 }), (list, lengths) => {
      const stream = joined(list.map(frameOf))
      const chunks: Uint8Array[] = []
      let at = 0
      for (const length of lengths) {
        chunks.push(stream.subarray(at, at + length))
        at = Math.min(stream.length, at + length)
      }
      return told([...chunks, stream.subarray(at)]).join() === list.map(encodeHex).join()
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test(
  'refuses a length over the limit from its head alone, before a byte of the body is there (SS-01)',
  async (t) => {
    const over = ['! a frame over the limit']
    t.strictSame(told([fromHex('5a 00 01 10 01'.replaceAll(' ', ''))]), over, 'one byte more than 69,632')
    t.strictSame(told([fromHex('5bffffffffffffffff')]), over, '2^64 - 1 bytes')
    t.strictSame(told([fromHex('5a7fffffff')]), over, '2 GiB')
    t.strictSame(
      told([fromHex('190401'.replace('19', '59'))], 1_024),
      over,
      '1,025 bytes before authentication',
    )
    t.strictSame(told([fromHex('590400')], 1_024), [], 'exactly the limit is awaited')
    t.strictSame(told([fromHex('5a00011000')]), [], 'so is exactly 69,632')
  },
)

t.test('keeps no memory for a frame before its first byte, and never more than its length', async (t) => {
  const heads = fromHex('5a00011000')
  const made = (count: number, feed: readonly Uint8Array[]) => {
    const before = process.memoryUsage().arrayBuffers
    const deframers = Array.from({ length: count }, () =>
      createDeframer(
        () => FRAME_BYTES,
        () => {},
      ),
    )
    for (const deframer of deframers) for (const chunk of feed) deframer.push(chunk)
    return { bytes: process.memoryUsage().arrayBuffers - before, deframers }
  }
  const announced = made(200, [heads])
  t.ok(announced.bytes < 200 * 1_024, `200 announced frames of 68 KiB hold ${announced.bytes} bytes`)
  const refused = made(200, [fromHex('5a7fffffff'), new Uint8Array(65_536)])
  t.ok(refused.bytes < 200 * 1_024, `200 refused lengths of 2 GiB hold ${refused.bytes} bytes`)
  t.equal(announced.deframers.length + refused.deframers.length, 400)
})

t.test('refuses heads that are not the shortest, of unknown length, empty, or of another type', async (t) => {
  const refused: readonly [string, string][] = [
    ['5817', 'a frame length that is not the shortest'],
    ['5900ff', 'a frame length that is not the shortest'],
    ['5a0000ffff', 'a frame length that is not the shortest'],
    ['5b00000000ffffffff', 'a frame length that is not the shortest'],
    ['5f', 'a frame of indefinite or reserved length'],
    ['5c', 'a frame of indefinite or reserved length'],
    ['5d', 'a frame of indefinite or reserved length'],
    ['5e', 'a frame of indefinite or reserved length'],
    ['40', 'an empty frame'],
  ]
  for (const [hex, problem] of refused) t.strictSame(told([fromHex(hex)]), [`! ${problem}`], hex)
  for (let initial = 0; initial < 256; initial++) {
    if (initial >> 5 === 2) continue
    if (told([Uint8Array.of(initial)]).join() !== '! a frame that is no byte string') t.fail(`0x${initial}`)
  }
  for (const [banner, what] of [
    ['SSH-2.0-OpenSSH_9.9\r\n', 'an SSH banner: S is a byte string of 19'],
    ['GET / HTTP/1.1\r\n\r\n', 'an HTTP request: G is a byte string of 7'],
  ] as const) {
    const seen = told([new TextEncoder().encode(banner)])
    t.notOk(seen.includes(encodeHex(new TextEncoder().encode(banner))), what)
  }
})

t.test('takes and holds nothing after a failure or a stop', async (t) => {
  const events: DeframerEvent['kind'][] = []
  const deframer = createDeframer(
    () => FRAME_BYTES,
    (event) => events.push(event.kind),
  )
  deframer.push(fromHex('00'))
  deframer.push(STREAM)
  t.strictSame(events, ['fail'], 'one failure and nothing more')

  const bodies: string[] = []
  const stopping = createDeframer(
    () => FRAME_BYTES,
    (event) => {
      bodies.push(event.kind)
      stopping.stop()
    },
  )
  stopping.push(STREAM)
  stopping.push(STREAM)
  t.strictSame(bodies, ['body'], 'a stop from inside the call is the last')
})

t.test(
  'a body is borrowed: a view where it came whole, the same memory again where it did not',
  async (t) => {
    const kept: Uint8Array[] = []
    const deframer = createDeframer(
      () => FRAME_BYTES,
      (event) => {
        if (event.kind === 'body') kept.push(event.body)
      },
    )
    const chunk = fromHex('43010203')
    deframer.push(chunk)
    chunk[1] = 9
    t.equal(kept[0]?.[0], 9, 'a view of what was pushed')
    for (const byte of fromHex('43040506 43070809'.replace(' ', ''))) deframer.push(Uint8Array.of(byte))
    t.equal(kept[1]?.[0], 7, 'overwritten by the next')
    // A Buffer's own slice would be a view, and what a reader keeps of it would change under its hands.
    deframer.push(Buffer.from('43010203', 'hex'))
    t.notOk(Buffer.isBuffer(kept[3]), 'plain bytes, of which slice() is a copy')
  },
)

t.test('asks for the limit at each head, so that it may rise between two frames', async (t) => {
  let limit = 4
  const seen: string[] = []
  const deframer = createDeframer(
    () => limit,
    (event) => {
      seen.push(event.kind === 'body' ? String(event.body.length) : event.problem)
      limit = 30
    },
  )
  deframer.push(
    joined([frameOf(new Uint8Array(4)), frameOf(new Uint8Array(30)), frameOf(new Uint8Array(31))]),
  )
  t.strictSame(seen, ['4', '30', 'a frame over the limit'])
})

t.test('knows whether the end of the stream cuts a frame', async (t) => {
  const deframer = createDeframer(
    () => FRAME_BYTES,
    () => {},
  )
  const between: boolean[] = [deframer.isBetweenFrames()]
  for (const byte of fromHex('5818'.concat('00'.repeat(24)))) {
    deframer.push(Uint8Array.of(byte))
    between.push(deframer.isBetweenFrames())
  }
  t.equal(between.at(0), true)
  t.equal(between.at(-1), true)
  t.ok(between.slice(1, -1).every((is) => !is))
})
