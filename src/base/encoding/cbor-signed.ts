/**
 * The deterministic encoding (RFC 8949, 4.2.1) of what is signed or hashed: integers, text, bytes and arrays of
 * them. It is our own and small, so that no release of a library can change what a signature means.
 * @module
 */
import { SassError } from '../../errors.ts'
import { headBytes, writeHead } from './cbor-head.ts'
import { encodeUtf8 } from './utf8.ts'

export type SignedValue = number | string | Uint8Array | readonly SignedValue[]

const UNSIGNED = 0
const NEGATIVE = 1
const BYTES = 2
const TEXT = 3
const ARRAY = 4

function item(major: number, argument: number, content: readonly Uint8Array[] = []): Uint8Array {
  const length = content.reduce((sum, part) => sum + part.length, headBytes(argument))
  const bytes = new Uint8Array(length)
  let at = writeHead(bytes, 0, major, argument)
  for (const part of content) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Throws INTERNAL for a number that is no safe integer, FRAME_MALFORMED for text with a lone surrogate. */
export function encodeSigned(value: SignedValue): Uint8Array {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new SassError('INTERNAL', 'Only safe integers are ever signed.')
    return value >= 0 ? item(UNSIGNED, value) : item(NEGATIVE, -1 - value)
  }
  if (typeof value === 'string') {
    const bytes = encodeUtf8(value)
    return item(TEXT, bytes.length, [bytes])
  }
  if (value instanceof Uint8Array) return item(BYTES, value.length, [value])
  return item(ARRAY, value.length, value.map(encodeSigned))
}
