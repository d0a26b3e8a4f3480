import fc from 'fast-check'
import t from 'tap'
import {
  type CborMap,
  type CborValue,
  encodeCbor,
  encodeCborList,
  openCbor,
  replaceMark,
} from '../../../src/base/encoding/cbor.ts'
import { checkCbor } from '../../../src/base/encoding/cbor-check.ts'
import { headBytes, writeHead } from '../../../src/base/encoding/cbor-head.ts'
import { encodeSigned } from '../../../src/base/encoding/cbor-signed.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { BOUNDARIES, cborValues, fromHex, integers, plain, texts } from '../cbor-values.ts'

const LIMITS = { depth: 8, items: 4_096 }
const hexOf = (value: CborValue) => encodeHex(encodeCbor(value))
const opened = (bytes: Uint8Array) => {
  const result = openCbor(bytes, LIMITS)
  if (!result.ok) throw new Error(result.problem)
  return result.value
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(plain(a)) === JSON.stringify(plain(b))

t.test('writes every head in its shortest form (RFC 8949, 4.2.1)', async (t) => {
  const written: readonly [CborValue, string][] = [
    [0, '00'],
    [23, '17'],
    [24, '1818'],
    [255, '18ff'],
    [256, '190100'],
    [65_535, '19ffff'],
    [65_536, '1a00010000'],
    [2 ** 32 - 1, '1affffffff'],
    [2 ** 32, '1b0000000100000000'],
    [2 ** 53 - 1, '1b001fffffffffffff'],
    [2n ** 53n, '1b0020000000000000'],
    [2n ** 64n - 1n, '1bffffffffffffffff'],
    [5n, '05'],
    [-1, '20'],
    [-24, '37'],
    [-25, '3818'],
    [-256, '38ff'],
    [-257, '390100'],
    [-(2 ** 53) + 1, '3b001ffffffffffffe'],
    [-(2 ** 32), '3affffffff'],
    [-(2 ** 32) - 1, '3b0000000100000000'],
    [-(2n ** 64n) + 1n, '3bfffffffffffffffe'],
    [-0, '00'],
    ['', '60'],
    ['x'.repeat(24), `7818${'78'.repeat(24)}`],
    ['\u00e9', '62c3a9'],
    [new Uint8Array(0), '40'],
    [new Uint8Array(256), `590100${'00'.repeat(256)}`],
    [[], '80'],
    [new Map(), 'a0'],
    [false, 'f4'],
    [true, 'f5'],
    [null, 'f6'],
  ]
  for (const [value, hex] of written) t.equal(hexOf(value), hex)
})

t.test('the head functions agree with each other at every boundary', async (t) => {
  for (const argument of BOUNDARIES) {
    const target = new Uint8Array(12).fill(0xee)
    const end = writeHead(target, 1, 2, argument)
    t.equal(end - 1, headBytes(argument), String(argument))
    t.equal(target[0], 0xee)
    t.ok(target.subarray(end).every((byte) => byte === 0xee))
    t.equal(
      encodeHex(target.subarray(1, end)),
      hexOf(argument).replace(/^./, (digit) => (Number.parseInt(digit, 16) + 4).toString(16)),
    )
  }
})

t.test('sorts map keys by the bytes of their encoding, whatever order they came in', async (t) => {
  const map: CborMap = new Map<number | string, CborValue>([
    ['b', 1],
    [100, 2],
    ['aa', 3],
    [-1, 4],
    [10, 5],
    ['', 6],
    [256, 7],
  ])
  t.equal(hexOf(map), 'a7 0a05 186402 19010007 2004 6006 616201 62616103'.replaceAll(' ', ''))
  const keysOf = fc.uniqueArray(fc.oneof(fc.maxSafeInteger(), fc.string({ unit: 'binary', maxLength: 9 })), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(keysOf, fc.nat(), (keys, turn) => {
      const entries = keys.map((key) => [key, true] as const)
      const turned = [...entries.slice(turn % 12), ...entries.slice(0, turn % 12)]
      return hexOf(new Map(entries)) === hexOf(new Map(turned))
    }),
    { numRuns: 300 },
  )
})

t.test('refuses what CBOR of this profile cannot say', async (t) => {
  for (const value of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2n ** 64n, -(2n ** 64n)])
    t.throws(() => encodeCbor(value), { code: 'INTERNAL' }, String(value))
  t.throws(() => encodeCbor('\ud800'), { code: 'FRAME_MALFORMED' })
})

t.test('what was written opens as the same value', async (t) => {
  fc.assert(
    fc.property(cborValues, (value) => isSame(opened(encodeCbor(value)), value)),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('a text that begins with U+FEFF is never written, and never read', async (t) => {
  for (const length of [0, 1, 10, 28, 61, 62, 63, 64, 65, 1_000, 40_000]) {
    const rest = 'a'.repeat(length)
    for (const value of [`\ufeff${rest}`, [1, [`\ufeff${rest}`]], new Map([[`\ufeff${rest}`, 1]])]) {
      t.throws(() => encodeCbor(value), { code: 'USAGE', message: /begins with U\+FEFF/ }, String(length))
      t.throws(() => encodeCborList([value]), { code: 'USAGE' })
    }
    const written = encodeCbor(`\ufeff${rest}`, replaceMark)
    t.equal(opened(written), `\ufffd${rest}`)
    // Of the same length: the mark itself in its place.
    const at = written.length - length - 3
    written.set([0xef, 0xbb, 0xbf], at)
    t.strictSame(openCbor(written, LIMITS), { ok: false, problem: 'text that begins with U+FEFF' })
    t.equal(opened(encodeCbor(`b\ufeff${rest}`)), `b\ufeff${rest}`, 'elsewhere it is a character')
    t.equal(opened(encodeCbor(`\ufeef${rest}`)), `\ufeef${rest}`)
  }
})

t.test('the deterministic encoder of what is signed and cbor-x write the same bytes', async (t) => {
  const scalars = fc.oneof(integers, texts, fc.uint8Array({ maxLength: 300 }))
  const signed = fc.array(fc.oneof(scalars, fc.array(scalars, { maxLength: 30 })), { maxLength: 30 })
  fc.assert(
    fc.property(signed, (value) => encodeHex(encodeSigned(value)) === hexOf(value)),
    { numRuns: 300 },
  )
  for (const value of BOUNDARIES.flatMap((boundary) => [boundary, -boundary]))
    t.equal(encodeHex(encodeSigned(value)), hexOf(value), String(value))
  t.throws(() => encodeSigned(1.5), { code: 'INTERNAL' })
  t.throws(() => encodeSigned('\ud800'), { code: 'FRAME_MALFORMED' })
})

t.test(
  'every value is written as the check wants it: no tags, no floats, no records, no indefinite lengths',
  async (t) => {
    fc.assert(
      fc.property(cborValues, (value) => checkCbor(encodeCbor(value), LIMITS) === undefined),
      { numRuns: 500 },
    )
    const many = new Map(
      Array.from({ length: 300 }, (_, index) => [`key ${(index * 7) % 300}`, index] as const),
    )
    t.equal(checkCbor(encodeCbor(many), LIMITS), undefined)
    t.equal(encodeHex(encodeCbor(many)).slice(0, 6), 'b9012c')
  },
)

t.test('a list of any length is the array of its members', async (t) => {
  for (const length of [0, 1, 23, 24, 255, 256, 5_000]) {
    const values = Array.from({ length }, (_, index) => [`name ${index}`, index])
    t.equal(encodeHex(encodeCborList(values)), hexOf(values), String(length))
  }
})

t.test('what was written stays as it is, whatever is written after it', async (t) => {
  const first = encodeCbor(['first', new Uint8Array(3).fill(1)])
  const kept = encodeHex(first)
  encodeCbor('x'.repeat(100_000))
  for (let turn = 0; turn < 1_000; turn++) encodeCbor(['another', turn, new Uint8Array(9)])
  t.equal(encodeHex(first), kept)
  t.equal(first.buffer.byteLength, first.length, 'and holds no more memory than it has bytes')
})

t.test('reading leaves what was read as it was, views apart', async (t) => {
  const bytes = encodeCbor(['text', 1, new Map([[1, 2]])])
  const before = [...bytes]
  opened(bytes)
  t.strictSame([[...bytes], Object.getOwnPropertyNames(bytes).length], [before, bytes.length])
})

t.test('integers of eight bytes come as bigint, all others as numbers', async (t) => {
  for (const [hex, value] of [
    ['1affffffff', 2 ** 32 - 1],
    ['3affffffff', -(2 ** 32)],
    ['1b0000000100000000', 2n ** 32n],
    ['1b001fffffffffffff', 2n ** 53n - 1n],
    ['1b0020000000000001', 2n ** 53n + 1n],
    ['1bffffffffffffffff', 2n ** 64n - 1n],
    ['3b0000000100000000', -(2n ** 32n) - 1n],
    ['3bffffffffffffffff', -(2n ** 64n)],
  ] as const)
    t.equal(opened(fromHex(hex)), value, hex)
  const map = opened(fromHex('a3 01 02 1b0000000100000000 03 6131 04'.replaceAll(' ', '')))
  t.strictSame(
    [...(map as Map<unknown, unknown>)],
    [
      [1, 2],
      [2n ** 32n, 3],
      ['1', 4],
    ],
    'a number is no text as a key',
  )
})

t.test('byte strings are views into what was opened', async (t) => {
  const bytes = encodeCbor([Uint8Array.of(1, 2, 3)])
  const [view] = opened(bytes) as Uint8Array[]
  bytes[2] = 9
  t.strictSame([...(view ?? [])], [9, 2, 3])
})
