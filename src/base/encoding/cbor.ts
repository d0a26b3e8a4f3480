/**
 * CBOR values and the two ways between them and bytes: the deterministic encoder (RFC 8949, 4.2.1), and `openCbor`,
 * the only door the other way: nothing is built from bytes that `checkCbor` has not passed.
 * @module
 */
import { SassError } from '../../errors.ts'
import { buildCbor } from './cbor-build.ts'
import { type CborLimits, checkCbor } from './cbor-check.ts'
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

/**
 * The value in `bytes`, or what is wrong with them. Maps come as Map, integers from 2^32 on as bigint, byte strings
 * as views into `bytes` (borrowed: valid as long as the caller leaves `bytes` alone).
 */
export function openCbor(bytes: Uint8Array, limits: CborLimits): Opened {
  const problem = checkCbor(bytes, limits)
  return problem === undefined ? { ok: true, value: buildCbor(bytes) } : { ok: false, problem }
}

/** Bytes of the shortest head for this argument. */
export function headBytes(argument: number): number {
  if (argument < 24) return 1
  if (argument < 0x100) return 2
  if (argument < 0x1_0000) return 3
  return argument < 0x1_0000_0000 ? 5 : 9
}

/** Writes the shortest head at `at` and returns the position after it. `argument` is an integer from 0 to 2^53 - 1. */
export function writeHead(target: Uint8Array, at: number, major: number, argument: number): number {
  const type = major << 5
  const width = headBytes(argument) - 1
  if (width === 0) {
    target[at] = type | argument
    return at + 1
  }
  target[at] = type | (width === 1 ? 24 : width === 2 ? 25 : width === 4 ? 26 : 27)
  let rest = argument
  for (let i = width; i > 0; i--) {
    target[at + i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return at + 1 + width
}

type Sink = { bytes: Uint8Array; at: number }

function reserve(sink: Sink, count: number): void {
  if (sink.at + count <= sink.bytes.length) return
  const larger = new Uint8Array(Math.max(sink.bytes.length * 2, sink.at + count))
  larger.set(sink.bytes.subarray(0, sink.at))
  sink.bytes = larger
}

function putHead(sink: Sink, major: number, argument: number): void {
  reserve(sink, 9)
  sink.at = writeHead(sink.bytes, sink.at, major, argument)
}

function putBytes(sink: Sink, bytes: Uint8Array): void {
  reserve(sink, bytes.length)
  sink.bytes.set(bytes, sink.at)
  sink.at += bytes.length
}

function putBigint(sink: Sink, value: bigint): void {
  const major = value < 0n ? 1 : 0
  let rest = value < 0n ? -1n - value : value
  if (rest <= BigInt(Number.MAX_SAFE_INTEGER)) return putHead(sink, major, Number(rest))
  if (rest > 0xffff_ffff_ffff_ffffn)
    throw new SassError('INTERNAL', 'An integer does not fit 64 bits of CBOR.')
  reserve(sink, 9)
  sink.bytes[sink.at] = (major << 5) | 27
  for (let i = 8; i > 0; i--) {
    sink.bytes[sink.at + i] = Number(rest & 0xffn)
    rest >>= 8n
  }
  sink.at += 9
}

function putInteger(sink: Sink, value: number): void {
  if (!Number.isSafeInteger(value))
    throw new SassError('INTERNAL', 'CBOR was given a number that is no safe integer.')
  if (value >= 0) putHead(sink, 0, value)
  else putHead(sink, 1, -1 - value)
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

function putMap(sink: Sink, map: CborMap): void {
  putHead(sink, 5, map.size)
  if (isAscending(map)) {
    for (const [key, value] of map) {
      putInteger(sink, key as number)
      put(sink, value)
    }
    return
  }
  const entries = [...map].map(([key, value]) => ({ key: encodeCbor(key), value }))
  entries.sort((a, b) => compareBytes(a.key, b.key))
  for (const { key, value } of entries) {
    putBytes(sink, key)
    put(sink, value)
  }
}

function put(sink: Sink, value: CborValue): void {
  if (typeof value === 'number') return putInteger(sink, value)
  if (typeof value === 'string') {
    const bytes = encodeUtf8(value)
    putHead(sink, 3, bytes.length)
    return putBytes(sink, bytes)
  }
  if (value instanceof Uint8Array) {
    putHead(sink, 2, value.length)
    return putBytes(sink, value)
  }
  if (value === null || typeof value === 'boolean') {
    reserve(sink, 1)
    sink.bytes[sink.at++] = value === null ? 0xf6 : value ? 0xf5 : 0xf4
    return
  }
  if (typeof value === 'bigint') return putBigint(sink, value)
  if (value instanceof Map) return putMap(sink, value)
  const list = value as readonly CborValue[]
  putHead(sink, 4, list.length)
  for (const item of list) put(sink, item)
}

/**
 * The deterministic encoding of `value`. Throws INTERNAL for a number that is no safe integer and for an integer
 * over 64 bits, FRAME_MALFORMED for text with a lone surrogate.
 */
export function encodeCbor(value: CborValue): Uint8Array {
  const sink: Sink = { bytes: new Uint8Array(128), at: 0 }
  put(sink, value)
  return sink.bytes.slice(0, sink.at)
}
