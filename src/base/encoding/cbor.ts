/**
 * CBOR values and the two ways between them and bytes, by cbor-x. `openCbor` is the only door in: nothing is built from
 * bytes that `checkCbor` has not passed. What goes out is deterministic (RFC 8949, 4.2.1), since every peer checks that
 * too: cbor-x writes shortest heads, and the rest is put right before it sees the value: integers from 2^32 on would
 * become floats and small bigints eight bytes, keys would stay in the order of the map, half a surrogate pair would be
 * written as it is. What is signed or hashed is written by cbor-signed.ts.
 * A text that begins with U+FEFF is no text of the protocol, in either direction: cbor-x, like most readers of UTF-8,
 * takes that for a byte order mark and drops it.
 * @module
 */
import { Decoder, Encoder } from 'cbor-x/index-no-eval'
import { SassError } from '../../errors.ts'
import { type CborLimits, checkCbor } from './cbor-check.ts'
import { headBytes, writeHead } from './cbor-head.ts'
import { encodeUtf8 } from './utf8.ts'

export type CborKey = number | string
export type CborMap = ReadonlyMap<CborKey, CborValue>
export type CborValue =
  | number
  | bigint
  | string
  | boolean
  | null
  | Uint8Array
  | readonly CborValue[]
  | CborMap

export type Opened =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

/** What becomes of a text that begins with U+FEFF. */
export type Marked = (text: string) => string

/** No tags and no structures of its own, on either side. */
const OPTIONS = Object.freeze({ useRecords: false, mapsAsObjects: false, tagUint8Array: false })
const decoder = new Decoder({ ...OPTIONS })
/** Its second argument is not in its types. */
const encoder = new Encoder({ ...OPTIONS }) as unknown as {
  encode(value: unknown, mode: number): Uint8Array
}
/** RESET_BUFFER_MODE of cbor-x: one buffer is written over and over, and what is wanted of it is copied. */
const RESET_BUFFER = 1024

const MARK = 0xfeff
const ARRAY = 4
/** What cbor-x writes from a number; beyond it wants bigints. */
const NUMBER_MOST = 0xffff_ffff
const NUMBER_LEAST = -0x1_0000_0000
/** What it writes without a tag. */
const BIGINT_MOST = 0xffff_ffff_ffff_ffffn

/**
 * The value in `bytes`, or what is wrong with them. Maps come as Map, integers from 2^32 on as bigint, byte strings
 * as views into `bytes` (borrowed: valid as long as the caller leaves `bytes` alone).
 */
export function openCbor(bytes: Uint8Array, limits: CborLimits): Opened {
  const problem = checkCbor(bytes, limits)
  // The decoder hangs something on what it is given: a view of our own.
  return problem === undefined
    ? { ok: true, value: decoder.decode(bytes.subarray()) }
    : { ok: false, problem }
}

/** @throws SassError USAGE, always */
export function refuseMarked(): never {
  throw new SassError(
    'USAGE',
    'A text of the request begins with U+FEFF (a byte order mark), which no message can hold, so nothing was sent; write a path that begins so as ./ and the path, and leave the mark out of other texts.',
  )
}

/** In front of a text that only tells something the replacement character stands for it, with as many bytes. */
export const replaceMark: Marked = (text) => `\ufffd${text.slice(1)}`

function readyInteger(value: number | bigint): number | bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new SassError('INTERNAL', 'CBOR was given a number that is no safe integer.')
  if (value >= NUMBER_LEAST && value <= NUMBER_MOST) return Number(value)
  const long = BigInt(value)
  if (long > BIGINT_MOST || long < -BIGINT_MOST)
    throw new SassError('INTERNAL', 'An integer does not fit 64 bits of CBOR.')
  return long
}

function readyText(text: string, marked: Marked): string {
  // Says where.
  if (!text.isWellFormed()) encodeUtf8(text)
  return text.charCodeAt(0) === MARK ? marked(text) : text
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** True where the keys are already in encoded order: small unsigned integers counting up, the usual message. */
function isAscending(map: CborMap): boolean {
  let previous = -1
  for (const key of map.keys()) {
    if (typeof key !== 'number' || key <= previous) return false
    previous = key
  }
  return true
}

function sorted(map: CborMap): (readonly [CborKey, CborValue])[] {
  const entries = [...map].map(([key, value]) => ({ key, value, bytes: encodeCbor(key) }))
  entries.sort((a, b) => compareBytes(a.bytes, b.bytes))
  return entries.map(({ key, value }) => [key, value])
}

/** The value as cbor-x writes it deterministically. */
function ready(value: CborValue, marked: Marked): unknown {
  if (typeof value === 'string') return readyText(value, marked)
  if (typeof value === 'number' || typeof value === 'bigint') return readyInteger(value)
  if (value === null || typeof value === 'boolean' || value instanceof Uint8Array) return value
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>()
    for (const [key, item] of isAscending(value) ? value : sorted(value))
      map.set(ready(key, refuseMarked), ready(item, marked))
    return map
  }
  return (value as readonly CborValue[]).map((item) => ready(item, marked))
}

/**
 * The deterministic encoding of `value`. Throws INTERNAL for a number that is no safe integer and for an integer
 * over 64 bits, FRAME_MALFORMED for text with a lone surrogate, and what `marked` throws.
 */
export function encodeCbor(value: CborValue, marked: Marked = refuseMarked): Uint8Array {
  return new Uint8Array(encoder.encode(ready(value, marked), RESET_BUFFER))
}

/** The same for an array of any length: the encoder keeps a buffer of four times what it has ever written at once. */
export function encodeCborList(values: readonly CborValue[]): Uint8Array {
  const items = values.map((value) => encodeCbor(value))
  const bytes = new Uint8Array(items.reduce((sum, { length }) => sum + length, headBytes(values.length)))
  let at = writeHead(bytes, 0, ARRAY, values.length)
  for (const item of items) {
    bytes.set(item, at)
    at += item.length
  }
  return bytes
}
