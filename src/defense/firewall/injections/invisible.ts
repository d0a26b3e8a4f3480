/**
 * What invisible characters say: Unicode tags (U+E0000..), variation selectors one after the other, and two characters
 * without width that stand for bits. A selector behind its character and the tags of a flag say nothing that is hidden.
 * Refuses nothing; what does not decode to text has no text.
 * Known uses: "ASCII smuggling" (tags, 2024), selectors behind an emoji (2025), "sneaky bits" (U+2062 and U+2064, 2025).
 * @module
 */
import { INJECTION_WINDOW_BYTES } from './limits.ts'
import * as technique from './techniques.ts'

const BLACK_FLAG = 0x1f3f4
/** The longest flag that Unicode has, `gbeng` and the cancel tag. */
const FLAG_TAGS = 6
/** Fewer bits say no word. */
const BITS_MIN = 24
const NEWLINE = 0x0a
/** Letters below have no variants; those of some scripts, ideographs and signs have. */
const SELECTED_FROM = 0x1000
/** Fewer bytes in flags and selectors say nothing. */
const SECRET_MIN = 12

export interface Invisible {
  /** Characters without width in their order, as indexes of SYMBOLS. */
  readonly symbols: Uint8Array
  count: number
  /** Bytes that were said in invisible characters. */
  readonly secret: Uint8Array
  secretLength: number
  /** Characters that say something that is not shown. */
  hidden: number
  /** Characters without width behind a letter. */
  gaps: number
  previous: number
  flagTags: number
  techniques: number
}

/** Room for the invisible characters of one window. */
export function newInvisible(): Invisible {
  return {
    symbols: new Uint8Array(INJECTION_WINDOW_BYTES),
    count: 0,
    secret: new Uint8Array(INJECTION_WINDOW_BYTES),
    secretLength: 0,
    hidden: 0,
    gaps: 0,
    previous: 0,
    flagTags: 0,
    techniques: 0,
  }
}

/** Forgets the window before. */
export function resetInvisible(into: Invisible): void {
  into.count = 0
  into.secretLength = 0
  into.hidden = 0
  into.gaps = 0
  into.previous = 0
  into.flagTags = 0
  into.techniques = 0
}

/** U+200B..U+200F are 0 to 4, U+2060..U+206F are 5 to 20, the byte order mark and the soft hyphen 21 and 22. */
function symbolOf(code: number): number {
  if (code >= 0x200b && code <= 0x200f) return code - 0x200b
  if (code >= 0x2060 && code <= 0x206f) return code - 0x2060 + 5
  if (code === 0xfeff) return 21
  return code === 0xad ? 22 : 23
}

const SYMBOL_KINDS = 24

function isSelector(code: number): boolean {
  return (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef)
}

/** Takes one code point in. @returns whether it shows nothing */
export function invisible(into: Invisible, code: number): boolean {
  const { previous } = into
  into.previous = code
  if (isSelector(code)) {
    // One stands behind an ideograph, an emoji or a sign; behind another one or a letter it says something else.
    if (isSelector(previous) || (code !== 0xfe0e && code !== 0xfe0f && previous < SELECTED_FROM)) {
      into.hidden += 1
      into.techniques |= technique.VARIATION_SELECTORS
    }
    into.secret[into.secretLength] = code < 0x10000 ? code - 0xfe00 : (code - 0xe0100) & 0xff
    into.secretLength += 1
    return true
  }
  if (code >= 0xe0000 && code <= 0xe007f) {
    into.flagTags =
      previous === BLACK_FLAG ? 1 : into.flagTags > 0 && previous >= 0xe0000 ? into.flagTags + 1 : 0
    if (into.flagTags === 0 || into.flagTags > FLAG_TAGS) {
      into.hidden += 1
      into.techniques |= technique.UNICODE_TAGS
    }
    into.secret[into.secretLength] = code & 0x7f
    into.secretLength += 1
    return true
  }
  if (code > 0xffff) return false
  into.symbols[into.count] = symbolOf(code)
  into.count += 1
  into.techniques |=
    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
      ? technique.BIDI_OVERRIDE
      : technique.ZERO_WIDTH
  return true
}

/** The bits of two symbols as characters of `width` bits; 0 where most of it is no text. @returns how many were written */
function readBits(from: Invisible, zero: number, one: number, width: number, at: number): number {
  let length = at
  let value = 0
  let bits = 0
  let good = 0
  for (let index = 0; index < from.count && length < from.secret.length; index += 1) {
    const symbol = from.symbols[index]
    if (symbol !== zero && symbol !== one) {
      // A third one between characters stands for the space that no bits were spent on.
      if (bits === 0 && length > at) {
        from.secret[length] = 0x20
        length += 1
        good += 1
      }
      continue
    }
    value = (value << 1) | (symbol === one ? 1 : 0)
    bits += 1
    if (bits < width) continue
    from.secret[length] = value
    length += 1
    if ((value >= 0x20 && value < 0x7f) || value === NEWLINE) good += 1
    value = 0
    bits = 0
  }
  return good >= 3 && good * 10 >= (length - at) * 9 ? length - at : 0
}

/** The two symbols that are there most often. */
function commonSymbols(from: Invisible): readonly [number, number, number] {
  const counts = new Uint16Array(SYMBOL_KINDS)
  for (let index = 0; index < from.count; index += 1) {
    const symbol = from.symbols[index] ?? 0
    counts[symbol] = (counts[symbol] ?? 0) + 1
  }
  let most = 0
  for (let symbol = 1; symbol < SYMBOL_KINDS; symbol += 1)
    if ((counts[symbol] ?? 0) > (counts[most] ?? 0)) most = symbol
  let second = most === 0 ? 1 : 0
  for (let symbol = 0; symbol < SYMBOL_KINDS; symbol += 1)
    if (symbol !== most && (counts[symbol] ?? 0) > (counts[second] ?? 0)) second = symbol
  const bits = (counts[most] ?? 0) + (counts[second] ?? 0)
  return [Math.min(most, second), Math.max(most, second), (counts[second] ?? 0) < 4 ? 0 : bits]
}

/**
 * Reads what was gathered: the bytes of bits are put behind the others, and those of selectors once more in the second
 * way to count them (the first sixteen are those below U+10000).
 * @returns the techniques
 */
export function readInvisible(from: Invisible): number {
  if (from.hidden > 0 && (from.techniques & technique.VARIATION_SELECTORS) !== 0) {
    const length = Math.min(from.secretLength, (from.secret.length >> 1) - 1)
    from.secret[length] = NEWLINE
    for (let at = 0; at < length; at += 1) from.secret[length + 1 + at] = ((from.secret[at] ?? 0) + 16) & 0xff
    from.secretLength = 2 * length + 1
  } else if (from.hidden === 0 && from.secretLength < SECRET_MIN) from.secretLength = 0
  if (from.count >= BITS_MIN) {
    const [low, high, bits] = commonSymbols(from)
    if (bits >= BITS_MIN)
      for (const [zero, one, width] of [
        [low, high, 8],
        [high, low, 8],
        [low, high, 7],
        [high, low, 7],
      ] as const) {
        const written = readBits(from, zero, one, width, from.secretLength)
        if (written === 0) continue
        from.secretLength += written
        from.hidden += written
        from.techniques |= technique.SNEAKY_BITS
        break
      }
  }
  return from.techniques
}
