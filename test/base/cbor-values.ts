/**
 * Random CBOR values of the profile, for properties: integers at every width, text with everything that Unicode has,
 * bytes, and containers inside each other.
 * @module
 */
import fc from 'fast-check'
import type { CborKey, CborValue } from '../../src/base/encoding/cbor.ts'

/** Where the width of a head changes, and one to each side. */
export const BOUNDARIES: readonly number[] = [
  0,
  1,
  22,
  23,
  24,
  25,
  254,
  255,
  256,
  257,
  65_534,
  65_535,
  65_536,
  65_537,
  2 ** 32 - 2,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 32 + 1,
  2 ** 53 - 2,
  2 ** 53 - 1,
]

export const integers: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...BOUNDARIES),
  fc.constantFrom(...BOUNDARIES.filter((value) => value < 2 ** 53 - 1)).map((value) => -1 - value),
  fc.maxSafeInteger(),
)
export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.startsWith('\ufeff')),
  // In front no text has it; within it is a character like any other.
  fc.string({ unit: 'grapheme', maxLength: 90 }).map((text) => `a\ufeff${text}`),
)
const keys: fc.Arbitrary<CborKey> = fc.oneof(integers, texts)
const scalars: fc.Arbitrary<CborValue> = fc.oneof(
  integers,
  texts,
  fc.uint8Array({ maxLength: 300 }),
  fc.boolean(),
  fc.constant(null),
)

/** At most six containers inside each other, so that a frame around it stays within eight. */
export const cborValues: fc.Arbitrary<CborValue> = fc.letrec<{ value: CborValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 6 }),
    fc
      .uniqueArray(fc.tuple(keys, tie('value')), { maxLength: 6, selector: ([key]) => key })
      .map((entries) => new Map(entries)),
  ),
})).value

/** Numbers as they are, whichever of number and bigint holds them; maps without their order. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return `integer ${value}`
  if (value instanceof Uint8Array) return `bytes ${[...value].join(' ')}`
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Map)
    return [...value].map(([key, item]) => [JSON.stringify(plain(key)), plain(item)]).sort(byKey)
  return value
}

function byKey(a: unknown[], b: unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1
}

export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
