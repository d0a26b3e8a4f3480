/**
 * UTF-8 (RFC 3629) between text and bytes, for pure code that has no TextEncoder.
 * Refuses what RFC 3629 forbids: overlong forms, surrogates, code points above U+10FFFF, cut sequences; and in the
 * other direction text with lone surrogates, which no UTF-8 can hold. Nothing is ever replaced by U+FFFD, and a byte
 * order mark is an ordinary character.
 * @module
 */
import { SassError } from '../../errors.ts'

/** Code units handed to one `String.fromCharCode`: each is an argument on the stack, so not too many at once. */
const PIECE_UNITS = 4_096
/** Up to here, appending character by character is faster than a call with a spread list (measured on V8). */
const SHORT_UNITS = 24

/** True where `bytes[start, end)` are all below 0x80. */
function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if ((bytes[at] ?? 0x80) >= 0x80) return false
  return true
}

/**
 * The length of the sequence that begins at `at` (1 to 4), or 0 where it is not valid UTF-8 or is cut by `end`.
 * RFC 3629 section 4: the second byte carries the whole of the restrictions.
 */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] ?? 0xff
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (at + length > end) return 0
  const second = bytes[at + 1] ?? 0
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  if (second < lowest || second > highest) return 0
  for (let next = at + 2; next < at + length; next += 1) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}

/**
 * True where `bytes[start, end)` are valid UTF-8. Allocates nothing.
 * A range that reaches outside of `bytes` is not valid.
 */
export function isUtf8(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  if (start < 0 || end > bytes.length || start > end) return false
  let at = start
  while (at < end) {
    if ((bytes[at] ?? 0xff) < 0x80) {
      at += 1
      continue
    }
    const length = sequenceLength(bytes, at, end)
    if (length === 0) return false
    at += length
  }
  return true
}

/** One `String.fromCharCode` over `units[start, end)`. */
function fromUnits(units: Uint8Array | Uint16Array, start: number, end: number): string {
  // Reflect.apply takes any array-like; its type asks for one that it only reads.
  return Reflect.apply(String.fromCharCode, undefined, units.subarray(start, end)) as string
}

/** Text of bytes that are known to be ASCII. */
function decodeAscii(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  if (end - start <= SHORT_UNITS) {
    for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] ?? 0)
    return text
  }
  for (let at = start; at < end; at += PIECE_UNITS)
    text += fromUnits(bytes, at, Math.min(at + PIECE_UNITS, end))
  return text
}

/**
 * The text of `bytes[start, end)`, or undefined where that is not valid UTF-8 or lies outside of `bytes`.
 * The result is always well-formed UTF-16.
 */
export function decodeUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string | undefined {
  if (start < 0 || end > bytes.length || start > end) return undefined
  if (isAscii(bytes, start, end)) return decodeAscii(bytes, start, end)
  // A surrogate pair is two units of one character, so one place is kept free at the end of each piece.
  const units = new Uint16Array(Math.min(end - start, PIECE_UNITS) + 1)
  let text = ''
  let filled = 0
  let at = start
  while (at < end) {
    const length = sequenceLength(bytes, at, end)
    if (length === 0) return undefined
    const first = bytes[at] ?? 0
    let point = length === 1 ? first : first & (0xff >> (length + 1))
    for (let next = at + 1; next < at + length; next += 1) point = (point << 6) | ((bytes[next] ?? 0) & 0x3f)
    if (point > 0xffff) {
      units[filled] = 0xd7c0 + (point >> 10)
      units[filled + 1] = 0xdc00 | (point & 0x3ff)
      filled += 2
    } else {
      units[filled] = point
      filled += 1
    }
    if (filled >= PIECE_UNITS) {
      text += fromUnits(units, 0, filled)
      filled = 0
    }
    at += length
  }
  return text + fromUnits(units, 0, filled)
}

/** A half of a surrogate pair without its other half: with the `u` flag whole pairs are one character. */
const LONE_SURROGATE = /\p{Surrogate}/u

/** True where UTF-8 can hold `text`: it has no lone surrogates. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}

/** Bytes that `text` takes as UTF-8. A lone surrogate counts three, though `encodeUtf8` refuses it. */
export function utf8Length(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) continue
    if (unit < 0x800) length += 1
    else if (unit < 0xd800 || unit > 0xdbff) length += 2
    else {
      const next = text.charCodeAt(at + 1)
      length += 2
      // A pair: two units, four bytes.
      if (next >= 0xdc00 && next <= 0xdfff) at += 1
    }
  }
  return length
}

/** The general case of `encodeUtf8`. */
function encodeAny(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Length(text))
  let filled = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) {
      bytes[filled] = unit
      filled += 1
      continue
    }
    if (unit < 0x800) {
      bytes[filled] = 0xc0 | (unit >> 6)
      bytes[filled + 1] = 0x80 | (unit & 0x3f)
      filled += 2
      continue
    }
    let point = unit
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const next = text.charCodeAt(at + 1)
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) {
        throw new SassError(
          'FRAME_MALFORMED',
          `The text has half a surrogate pair at position ${at}, which UTF-8 cannot hold: send well-formed text.`,
          { position: at },
        )
      }
      point = 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff)
      at += 1
      bytes[filled] = 0xf0 | (point >> 18)
      bytes[filled + 1] = 0x80 | ((point >> 12) & 0x3f)
      filled += 2
    } else {
      bytes[filled] = 0xe0 | (point >> 12)
      filled += 1
    }
    bytes[filled] = 0x80 | ((point >> 6) & 0x3f)
    bytes[filled + 1] = 0x80 | (point & 0x3f)
    filled += 2
  }
  return bytes
}

/**
 * `text` as UTF-8.
 * @throws SassError FRAME_MALFORMED where the text has a lone surrogate: no UTF-8 says that, and what was replaced in
 * silence would be signed, compared or run as something else than was meant.
 */
export function encodeUtf8(text: string): Uint8Array {
  // Nearly all text here is ASCII: one pass, and the general case begins anew where it is not.
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x80) return encodeAny(text)
    bytes[at] = unit
  }
  return bytes
}
