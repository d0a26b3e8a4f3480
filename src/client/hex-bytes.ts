/**
 * Ids and digests as people copy them, as bytes.
 * @module
 */
import { decodeHex } from '../base/encoding/hex.ts'
import { misuse } from '../errors.ts'

/** @param origin where it is to be copied from, as `where it was shown` */
export function hexBytes(text: string, count: number, what: string, origin: string): Uint8Array {
  const bytes = text.length === 2 * count ? decodeHex(text) : undefined
  if (bytes !== undefined) return bytes
  throw misuse(`${what} is ${2 * count} lower-case hexadecimal digits; copy it from ${origin}.`)
}
