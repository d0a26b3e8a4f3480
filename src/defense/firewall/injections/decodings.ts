/**
 * Text that stands encoded in text: base64 (both alphabets, also of UTF-16), base32, hexadecimal digits with or without
 * signs between the bytes, and the escapes of URLs, HTML and programming languages. What is found is written behind each
 * other, a line each, and is never longer than the text it was in. A run is decoded only when its beginning decodes to
 * text, so that hashes, keys and pictures cost one look; each code is looked at a bounded number of times.
 * @module
 */
import * as technique from './techniques.ts'

/** Fewer characters of base64 say no sentence. */
const RUN_MIN = 20
/** What is looked at before a run is decoded: eight bytes of text are no accident, (97/256)^8. */
const PROBE_BYTES = 8
const OUTSIDE = 0xff
const NEWLINE = 0x0a

function tableOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(128).fill(OUTSIDE)
  for (let value = 0; value < alphabet.length; value += 1) values[alphabet.charCodeAt(value)] = value
  return values
}

const BASE64_VALUES = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
BASE64_VALUES[0x2d] = 62
BASE64_VALUES[0x5f] = 63
const BASE32_VALUES = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')
const HEX_VALUES = tableOf('0123456789abcdef')
for (let value = 10; value < 16; value += 1) HEX_VALUES[0x37 + value] = value

/** Where decoded text goes. */
export interface Decoded {
  readonly bytes: Uint8Array
  length: number
  techniques: number
}

/** Room for `size` bytes. */
export function newDecoded(size: number): Decoded {
  return { bytes: new Uint8Array(size), length: 0, techniques: 0 }
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === NEWLINE || byte === 9 || byte === 0x0d || byte >= 0xc2
}

/**
 * Decodes `codes` from `at` as symbols of `bits` bits, over the ends of lines, as long as text comes out.
 * Zero bytes are left out, so that UTF-16 is text as well.
 * @returns the bytes written, 0 where it does not begin as text
 */
function decodeSymbols(
  into: Decoded,
  codes: Uint16Array,
  from: number,
  to: number,
  values: Uint8Array,
  bits: number,
): number {
  const { bytes } = into
  let written = 0
  let seen = 0
  let odd = 0
  let held = 0
  let value = 0
  /** Bytes of a character of UTF-8 that are still to come. */
  let pending = 0
  for (let at = from; at < to; at += 1) {
    const code = codes[at] ?? 0
    const symbol = code < 128 ? (values[code] ?? OUTSIDE) : OUTSIDE
    if (symbol === OUTSIDE) continue
    value = ((value << bits) | symbol) & 0xffff
    held += bits
    if (held < 8) continue
    held -= 8
    const byte = (value >> held) & 0xff
    seen += 1
    if (byte === 0) continue
    if (
      byte >= 0x80 ? (byte < 0xc0 ? pending === 0 : byte < 0xc2 || pending > 0) : pending > 0 || !isText(byte)
    )
      odd += 1
    if (byte < 0xc0) pending = byte < 0x80 ? 0 : Math.max(0, pending - 1)
    else pending = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    if (odd > 0 && seen <= PROBE_BYTES) return 0
    // Behind its text a run may be anything; what came of it so far is kept.
    if (odd > 2 && odd * 16 > seen) break
    if (into.length + written >= bytes.length - 1) break
    bytes[into.length + written] = byte
    written += 1
  }
  return written < PROBE_BYTES ? 0 : written
}

function keep(into: Decoded, written: number, kind: number): boolean {
  if (written === 0) return false
  into.length += written
  into.bytes[into.length] = NEWLINE
  into.length += 1
  into.techniques |= kind
  return true
}

/** Runs of letters and digits, with the signs that the encodings have, over lines that are full of them. */
export function decodeRuns(into: Decoded, codes: Uint16Array, length: number): void {
  let at = 0
  while (at < length) {
    const start = at
    let lineStart = at
    let upper = true
    let hex = true
    for (; at < length; at += 1) {
      const code = codes[at] ?? 0
      if (code < 128 && BASE64_VALUES[code] !== OUTSIDE) {
        if (BASE32_VALUES[code] === OUTSIDE) upper = false
        if (HEX_VALUES[code] === OUTSIDE) hex = false
        continue
      }
      if ((code !== NEWLINE && code !== 0x0d) || at - lineStart < 48) break
      lineStart = at + 1
    }
    if (at - start >= RUN_MIN) decodeRun(into, codes, start, at, upper, hex)
    at += 1
  }
}

function decodeRun(
  into: Decoded,
  codes: Uint16Array,
  start: number,
  end: number,
  upper: boolean,
  hex: boolean,
): void {
  if (hex && keep(into, decodeSymbols(into, codes, start, end, HEX_VALUES, 4), technique.HEX)) return
  if (upper && keep(into, decodeSymbols(into, codes, start, end, BASE32_VALUES, 5), technique.BASE32)) return
  // A word or a path before it moves its groups of four; so does a window that begins within it.
  for (let offset = 0; offset < 4; offset += 1)
    if (keep(into, decodeSymbols(into, codes, start + offset, end, BASE64_VALUES, 6), technique.BASE64))
      return
}

function hexAt(codes: Uint16Array, at: number, length: number): number {
  const code = at < length ? (codes[at] ?? 0) : 0
  return code < 128 ? (HEX_VALUES[code] ?? OUTSIDE) : OUTSIDE
}

/** Bytes as two digits each with one to four signs between them: `49 67`, `49:67`, `0x49, 0x67`, `\x49\x67`, `%49%67`. */
export function decodePairs(into: Decoded, codes: Uint16Array, length: number): void {
  const { bytes } = into
  let written = 0
  let signs = 0
  let good = 0
  let at = 0
  const end = (): void => {
    if (good >= PROBE_BYTES && good * 10 >= written * 9) keep(into, written, technique.HEX)
    written = 0
    good = 0
    signs = 0
  }
  while (at < length) {
    const code = codes[at] ?? 0
    const high = hexAt(codes, at, length)
    if (high !== OUTSIDE) {
      // `0x` is a sign.
      if (code === 0x30 && ((codes[at + 1] ?? 0) | 0x20) === 0x78) {
        at += 2
        signs += 1
        continue
      }
      const low = hexAt(codes, at + 1, length)
      const third = hexAt(codes, at + 2, length)
      if (low === OUTSIDE || third !== OUTSIDE) {
        end()
        while (hexAt(codes, at, length) !== OUTSIDE) at += 1
        continue
      }
      if (written > 0 && signs === 0) end()
      const byte = (high << 4) | low
      if (into.length + written < bytes.length - 1) {
        bytes[into.length + written] = byte
        written += 1
        if (isText(byte)) good += 1
      }
      signs = 0
      at += 2
      continue
    }
    // Letters end it but for the x of an escape; so do more than four signs.
    const small = code | 0x20
    if (signs >= 4 || code >= 0x80 || (small >= 0x61 && small <= 0x7a && small !== 0x78)) end()
    else signs += 1
    at += 1
  }
  end()
}

const ENTITIES: readonly (readonly [string, number])[] = [
  ['amp;', 0x26],
  ['lt;', 0x3c],
  ['gt;', 0x3e],
  ['nbsp;', 0x20],
]

function startsWith(codes: Uint16Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (codes[at + index] !== text.charCodeAt(index)) return false
  return true
}

/** A code point of up to `most` digits at `at` and the index behind it in the upper bits; 0 where there is none. */
function digits(
  codes: Uint16Array,
  at: number,
  length: number,
  base: number,
  most: number,
): readonly [number, number] {
  let value = 0
  let index = at
  for (; index < length && index < at + most; index += 1) {
    const digit = hexAt(codes, index, length)
    if (digit >= base) break
    value = value * base + digit
  }
  return [index === at || value > 0x10ffff ? 0 : value, index]
}

function putUtf8(into: Decoded, code: number): void {
  const { bytes } = into
  if (into.length + 5 > bytes.length) return
  const tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3
  bytes[into.length] = tails === 0 ? code : ((0xff00 >> (tails + 1)) & 0xff) | (code >> (6 * tails))
  for (let tail = 1; tail <= tails; tail += 1)
    bytes[into.length + tail] = 0x80 | ((code >> (6 * (tails - tail))) & 0x3f)
  into.length += tails + 1
}

/** Whether the text has as many escapes as make it another text. */
export function hasEscapes(codes: Uint16Array, length: number): boolean {
  let count = 0
  for (let at = 0; at < length && count < 3; at += 1) {
    const code = codes[at] ?? 0
    // Letters are the most of a text: one look for them.
    if (code > 0x5c || (code !== 0x25 && code !== 0x26 && code !== 0x5c)) continue
    const next = codes[at + 1] ?? 0
    if (code === 0x25)
      count += hexAt(codes, at + 1, length) !== OUTSIDE && hexAt(codes, at + 2, length) !== OUTSIDE ? 1 : 0
    // # or a letter; x, u, U or a digit.
    else if (code === 0x26) count += next === 0x23 || (next >= 0x61 && next <= 0x7a) ? 1 : 0
    else count += next === 0x78 || (next | 0x20) === 0x75 || (next >= 0x30 && next <= 0x33) ? 1 : 0
  }
  return count >= 3
}

/** The text with its escapes resolved; kept when at least two of them are letters or spaces, which nobody need escape. */
export function decodeEscapes(into: Decoded, codes: Uint16Array, length: number): void {
  const before = into.length
  let needless = 0
  let at = 0
  while (at < length) {
    const code = codes[at] ?? 0
    let value = 0
    let next = at + 1
    if (code === 0x25) {
      const byte = hexAt(codes, next + 1, length) === OUTSIDE ? OUTSIDE : hexAt(codes, next, length)
      if (byte !== OUTSIDE) {
        value = (byte << 4) | hexAt(codes, next + 1, length)
        next += 2
        // A byte of UTF-8 is written as it is.
        if (value >= 0x80 && into.length < into.bytes.length) {
          into.bytes[into.length] = value
          into.length += 1
          needless += 1
          at = next
          continue
        }
      }
    } else if (code === 0x26) {
      if (codes[next] === 0x23) {
        const hex = ((codes[next + 1] ?? 0) | 0x20) === 0x78
        const [point, behind] = digits(codes, next + (hex ? 2 : 1), length, hex ? 16 : 10, 7)
        value = point
        next = codes[behind] === 0x3b ? behind + 1 : behind
      } else {
        for (const [name, point] of ENTITIES)
          if (startsWith(codes, next, name)) {
            value = point
            next += name.length
            break
          }
      }
    } else if (code === 0x5c) {
      const kind = codes[next] ?? 0
      if (kind === 0x78) [value, next] = digits(codes, next + 1, length, 16, 2)
      else if (kind === 0x75 && codes[next + 1] === 0x7b) {
        ;[value, next] = digits(codes, next + 2, length, 16, 6)
        next += 1
      } else if (kind === 0x75) [value, next] = digits(codes, next + 1, length, 16, 4)
      else if (kind === 0x6e || kind === 0x74 || kind === 0x72) {
        // A line end that is written down separates words, but is no reason to read the text again.
        value = NEWLINE
        next += 1
        needless -= 1
      }
    }
    if (value === 0) {
      // Where the cursor was moved, the screen was read before.
      putUtf8(into, code < 0x20 && code !== 9 && code !== NEWLINE ? 0x20 : code)
      at += 1
      continue
    }
    const small = value | 0x20
    if ((small >= 0x61 && small <= 0x7a) || value === 0x20 || value === NEWLINE || value >= 0x80)
      needless += 1
    putUtf8(into, value)
    at = next
  }
  if (needless < 2) {
    into.length = before
    return
  }
  keep(into, 0, technique.ESCAPES)
  into.techniques |= technique.ESCAPES
}
