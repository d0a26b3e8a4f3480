import fc from 'fast-check'
import t from 'tap'
import { type CborValue, encodeCbor } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { CBOR_DEPTH, CBOR_ITEMS, CHUNK_BYTES, FRAME_BYTES } from '../../src/limits.ts'
import {
  asUnsigned,
  encodeFrame,
  encodeOutputFrame,
  KIND,
  type KindName,
  OUTPUT_FRAME_HEAD_BYTES,
  readFrame,
} from '../../src/wire/frame.ts'
import { executeRequest, status, stdinChunk, streamResponse } from '../../src/wire/messages.ts'
import { BOUNDARIES, cborValues, fromHex, plain } from '../base/cbor-values.ts'

/** The table of docs/protocol.md, section 2: number, elements of the body, whether it belongs to stream 0. */
const TABLE: Readonly<Record<KindName, readonly [number, readonly number[], boolean]>> = {
  OPEN: [0, [4], false],
  MSG: [1, [3], false],
  END: [2, [2, 3], false],
  STATUS: [3, [3], false],
  CREDIT: [4, [3], false],
  RESET: [5, [2], false],
  PING: [6, [3], true],
  PONG: [7, [3], true],
  GOAWAY: [8, [3], true],
}
const kinds = Object.keys(TABLE) as KindName[]

function problemOf(body: CborValue): string | undefined {
  const result = readFrame(encodeCbor(body))
  return result.ok ? undefined : result.problem
}

/** The body of a frame, after the head of its byte string. */
function bodyOf(frame: Uint8Array): Uint8Array {
  const first = (frame[0] ?? 0) & 31
  return frame.subarray(first < 24 ? 1 : 1 + (1 << (first - 24)))
}

t.test('the kinds have their numbers', async (t) => {
  t.strictSame(KIND, Object.fromEntries(kinds.map((kind) => [kind, TABLE[kind][0]])))
})

t.test('each kind has its shape, and every other shape is refused', async (t) => {
  for (const kind of kinds) {
    const [number, lengths, isConnection] = TABLE[kind]
    for (let length = 2; length <= 6; length++) {
      for (const stream of [0, 1]) {
        const body = [stream, number, 1, 2, 3, 4].slice(0, length)
        const isGood = lengths.includes(length) && isConnection === (stream === 0)
        t.equal(problemOf(body) === undefined, isGood, `${kind} of ${length} on stream ${stream}`)
      }
    }
  }
  t.equal(problemOf([1, 9]), 'an unknown kind')
  t.equal(problemOf([1, 2 ** 40]), 'an unknown kind')
  t.equal(problemOf([-1, 1, 0]), 'a stream or kind that is no unsigned integer')
  t.equal(problemOf([2n ** 53n, 1, 0]), 'a stream or kind that is no unsigned integer')
  t.equal(problemOf([1, '1', 0]), 'a stream or kind that is no unsigned integer')
  t.equal(problemOf([1, 0, '1', 0]), 'a method that is no unsigned integer')
  t.equal(problemOf([1, 0, -1, 0]), 'a method that is no unsigned integer')
  for (const body of [1, 'x', null, [], [1], new Map([[0, 1]]), new Uint8Array(2)] as CborValue[])
    t.equal(problemOf(body), 'a body that is no array of stream and kind')
})

t.test('refuses bytes that are no deterministic CBOR (SS-01)', async (t) => {
  for (const hex of [
    '',
    '83010100 00',
    '83011801 00',
    '9f0101a0ff',
    '830101c000',
    '830101f93c00',
    '8301 0161ff',
  ])
    t.equal(readFrame(fromHex(hex.replaceAll(' ', ''))).ok, false, hex)
})

t.test('holds a body to its depth and its number of items', async (t) => {
  const nested = (depth: number): CborValue => (depth === 0 ? 0 : [nested(depth - 1)])
  t.equal(problemOf([1, 1, nested(CBOR_DEPTH - 1)]), undefined)
  t.equal(problemOf([1, 1, nested(CBOR_DEPTH)]), 'nested too deep')
  const list = (count: number) => Array.from({ length: count }, () => 0)
  t.equal(problemOf([1, 1, list(CBOR_ITEMS - 4)]), undefined)
  t.equal(problemOf([1, 1, list(CBOR_ITEMS - 3)]), 'more items than allowed')
})

t.test('what was written is read as it was', async (t) => {
  const streams = fc
    .oneof(fc.constantFrom(...BOUNDARIES), fc.maxSafeInteger().map(Math.abs))
    .filter((n) => n > 0)
  fc.assert(
    fc.property(fc.constantFrom(...kinds), streams, streams, cborValues, (kind, id, number, value) => {
      const [, lengths, isConnection] = TABLE[kind]
      const payload = lengths.at(-1) === 2 ? undefined : value
      const method = kind === 'OPEN' ? number : undefined
      const stream = isConnection ? 0 : id
      const result = readFrame(bodyOf(encodeFrame(stream, kind, payload, method)))
      return (
        result.ok &&
        result.frame.stream === stream &&
        result.frame.kind === kind &&
        result.frame.method === method &&
        JSON.stringify(plain(result.frame.payload)) === JSON.stringify(plain(payload))
      )
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('the head of a frame is the shortest, and says the length of its body', async (t) => {
  t.equal(encodeHex(encodeFrame(1, 'RESET')), '43820105')
  t.equal(encodeHex(encodeFrame(0, 'PING', 7)), '4483000607')
  t.equal(encodeHex(encodeFrame(3, 'OPEN', new Map(), 11)), '458403000ba0')
  for (const bytes of [0, 15, 16, 17, 247, 248, 249, 65_000]) {
    const frame = encodeFrame(1, 'MSG', new Uint8Array(bytes))
    t.equal(encodeHex(frame).slice(0, 2) < '5b', true)
    t.equal(bodyOf(frame).length, encodeCbor([1, 1, new Uint8Array(bytes)]).length)
  }
})

t.test('the frame of the hot path is byte for byte what the general encoder writes (SS-25)', async (t) => {
  const counts = fc.oneof(fc.constantFrom(...BOUNDARIES), fc.nat())
  fc.assert(
    fc.property(
      fc.constantFrom(...BOUNDARIES.filter((n) => n > 0)),
      fc.constantFrom(0, 1),
      counts,
      fc.oneof(fc.constantFrom(0, 1, 23, 24, 255, 256, 4_096), fc.nat({ max: 700 })),
      fc.constantFrom<0 | 1>(0, 1),
      fc.boolean(),
      (stream, source, position, bytes, encoding, hasOffset) => {
        const offset = hasOffset ? position : undefined
        const data = new Uint8Array(bytes).map((_, index) => index * 7)
        const target = new Uint8Array(bytes + OUTPUT_FRAME_HEAD_BYTES)
        const copyOut = (place: Uint8Array) => place.set(data)
        const length = encodeOutputFrame(target, stream, source, offset, bytes, copyOut, encoding)
        const general = encodeFrame(stream, 'MSG', streamResponse.encode({ source, data, offset, encoding }))
        return encodeHex(target.subarray(0, length)) === encodeHex(general)
      },
    ),
    { numRuns: 500 },
  )
  t.pass()
})

t.test('a key and its echo take at most 34 bytes with the 22 of a TLS record', async (t) => {
  const target = new Uint8Array(1 + OUTPUT_FRAME_HEAD_BYTES)
  for (const stream of [1, 23, 255, 65_535, 2 ** 32 - 1]) {
    const echo = encodeOutputFrame(target, stream, 0, undefined, 1, (place) => place.fill(97))
    const key = encodeFrame(stream, 'MSG', stdinChunk.encode({ data: Uint8Array.of(97) })).length
    t.ok(echo + 22 <= 34 && key + 22 <= 34, `stream ${stream}: ${echo} and ${key}`)
  }
})

t.test('a full chunk with the largest ids and offsets fits its buffer and the frame limit', async (t) => {
  const target = new Uint8Array(CHUNK_BYTES + OUTPUT_FRAME_HEAD_BYTES)
  const largest = Number.MAX_SAFE_INTEGER
  const copyOut = (place: Uint8Array) => t.equal(place.length, CHUNK_BYTES)
  const length = encodeOutputFrame(target, largest, 1, largest, CHUNK_BYTES, copyOut, 1)
  t.ok(length <= target.length)
  t.ok(length <= FRAME_BYTES)
})

t.test('an unsigned integer is one that a number holds exactly', async (t) => {
  t.equal(asUnsigned(0), 0)
  t.equal(asUnsigned(2n ** 53n - 1n), 2 ** 53 - 1)
  for (const value of [2n ** 53n, -1, -1n, 1.5, '1', null, undefined, true, [1]])
    t.equal(asUnsigned(value), undefined)
})

t.test('a text that begins with U+FEFF is refused in a request, and told with U+FFFD in its place', (t) => {
  const request = executeRequest.encode({ command: 'ls', cwd: '\ufeffdirectory' })
  t.throws(() => encodeFrame(3, 'OPEN', request, 2), { code: 'USAGE', message: /nothing was sent/ })
  const written = encodeFrame(3, 'STATUS', status.encode({ code: 11, text: '\ufeffprogram is not there' }))
  const read = readFrame(written.subarray(2))
  t.match(read.ok && read.frame.payload, new Map<number, unknown>([[2, '\ufffdprogram is not there']]))
  t.end()
})
