/**
 * Builds the value of CBOR bytes that `checkCbor` has passed, with nothing in between: what was checked is what is
 * built, text with a byte order mark in front included. It checks nothing; recursion is as deep as the check allowed.
 * @module
 */
import { SassError } from '../../errors.ts'
import { decodeUtf8 } from './utf8.ts'

type Cursor = { readonly bytes: Uint8Array; at: number }

const UNSIGNED = 0
const NEGATIVE = 1
const BYTES = 2
const TEXT = 3
const ARRAY = 4
const MAP = 5
const FALSE = 20
const TRUE = 21
const NULL = 22

function unchecked(): never {
  throw new SassError('INTERNAL', 'CBOR was to be built that was never checked; report this as a defect.')
}

/** The argument behind a head of eight bytes: a bigint, since a number might not hold it. */
function readLong(cursor: Cursor): bigint {
  let value = 0n
  for (let i = 0; i < 8; i++) value = (value << 8n) | BigInt(cursor.bytes[cursor.at++] ?? unchecked())
  return value
}

function readShort(cursor: Cursor, width: number): number {
  let value = 0
  for (let i = 0; i < width; i++) value = value * 256 + (cursor.bytes[cursor.at++] ?? unchecked())
  return value
}

function take(cursor: Cursor, count: number): Uint8Array {
  const start = cursor.at
  cursor.at += count
  return cursor.at <= cursor.bytes.length ? cursor.bytes.subarray(start, cursor.at) : unchecked()
}

function build(cursor: Cursor): unknown {
  const initial = cursor.bytes[cursor.at++] ?? unchecked()
  const major = initial >> 5
  const additional = initial & 31
  const argument =
    additional < 24
      ? additional
      : additional === 27
        ? readLong(cursor)
        : readShort(cursor, 1 << (additional - 24))
  switch (major) {
    case UNSIGNED:
      return argument
    case NEGATIVE:
      return typeof argument === 'bigint' ? -1n - argument : -1 - argument
    case BYTES:
      return take(cursor, Number(argument))
    case TEXT:
      return decodeUtf8(take(cursor, Number(argument))) ?? unchecked()
    case ARRAY:
      return Array.from({ length: Number(argument) }, () => build(cursor))
    case MAP: {
      const map = new Map<unknown, unknown>()
      for (let left = Number(argument); left > 0; left--) map.set(build(cursor), build(cursor))
      return map
    }
    default:
      if (argument === FALSE) return false
      if (argument === TRUE) return true
      return argument === NULL ? null : unchecked()
  }
}

/** Byte strings are views into `bytes`, integers with heads of eight bytes are bigint, maps are Map. */
export function buildCbor(bytes: Uint8Array): unknown {
  return build({ bytes, at: 0 })
}
