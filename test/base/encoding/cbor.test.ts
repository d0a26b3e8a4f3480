import fc from 'fast-check'
import t from 'tap'
import {
  type CborMap,
  type CborValue,
  encodeCbor,
  headBytes,
  openCbor,
  writeHead,
} from '../../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { BOUNDARIES, cborValues, plain } from '../cbor-values.ts'

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
    [-(2n ** 64n), '3bffffffffffffffff'],
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
  for (const value of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2n ** 64n, -(2n ** 64n) - 1n])
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

t.test('a byte order mark is part of the text, however long that is', async (t) => {
  for (const length of [0, 10, 61, 62, 63, 64, 65, 1_000, 40_000]) {
    const text = `\ufeff${'a'.repeat(length)}`
    t.equal(opened(encodeCbor(text)), text, String(length))
  }
  const long = `${'k'.repeat(80)}`
  const map = opened(
    encodeCbor(
      new Map([
        [long, 1],
        [`\ufeff${long}`, 2],
      ]),
    ),
  )
  t.equal((map as Map<string, number>).size, 2, 'two keys stay two')
})

t.test('byte strings are views into what was opened', async (t) => {
  const bytes = encodeCbor([Uint8Array.of(1, 2, 3)])
  const [view] = opened(bytes) as Uint8Array[]
  bytes[2] = 9
  t.strictSame([...(view ?? [])], [9, 2, 3])
})
