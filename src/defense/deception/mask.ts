/**
 * Makes a stream of bytes mean nothing and keep its shape: a digit becomes a digit, a letter a letter of the same
 * case; blanks, line breaks, punctuation and control characters stay, and so do all lengths. A UTF-8 sequence becomes
 * another valid one of its length, a stray byte of binary data another stray byte.
 *
 * Every character is drawn afresh, so the same word does not come out the same twice. That costs plausibility, and is
 * wanted: any fixed substitution, also one that moves with the position, could be undone by counting letters in a
 * long text or by asking for a known file first. What is left to learn is lengths, line breaks and punctuation, which
 * the specification wants kept.
 *
 * One byte in, one byte out, at once: nothing is held back, so it does not matter how the stream is cut, and the
 * memory is one block of random bytes.
 * Sources: draft 8.4; RFC 3629 for the sequences.
 * @module
 */

/** Random bytes asked for at once. */
const BLOCK_BYTES = 1_024
const DIGIT_ZERO = 0x30
const UPPER_A = 0x41
const LOWER_A = 0x61
const DIGITS = 10
const LETTERS = 26

export interface Mask {
  /** As many bytes as were given, in a fresh array. */
  push(bytes: Uint8Array): Uint8Array
}

/** What the continuation bytes of the sequence that is being read become. */
type Sequence =
  | { readonly kind: 'none' }
  /** Anything that continues a sequence: 64 values. */
  | { readonly kind: 'any'; readonly left: number }
  /** Signs of U+00A0 to U+00BF, without the blank and the soft hyphen. */
  | { readonly kind: 'sign' }
  /** The byte after E2: punctuation and drawing stay, the rest becomes letters. */
  | { readonly kind: 'symbol' }
  | { readonly kind: 'kept'; readonly left: number }
  /** The byte after F0. */
  | { readonly kind: 'plane' }

const NONE: Sequence = { kind: 'none' }

/** `randomBytes` gives that many bytes of a CSPRNG. */
export function createMask(randomBytes: (count: number) => Uint8Array): Mask {
  let block: Uint8Array = new Uint8Array(0)
  let used = 0
  let sequence: Sequence = NONE

  function byte(): number {
    if (used === block.length) {
      block = randomBytes(BLOCK_BYTES)
      used = 0
    }
    return block[used++] ?? 0
  }

  /** Uniform below `count`: what would favour the first values is drawn again. */
  function below(count: number): number {
    const limit = 256 - (256 % count)
    for (;;) {
      const drawn = byte()
      if (drawn < limit) return drawn % count
    }
  }

  function lead(value: number): number {
    // U+0080 to U+00BF: signs, not letters.
    if (value === 0xc2) {
      sequence = { kind: 'sign' }
      return value
    }
    // Latin letters of U+0100 to U+017F.
    if (value >= 0xc3 && value <= 0xdf) {
      sequence = { kind: 'any', left: 1 }
      return 0xc4 + below(2)
    }
    if (value === 0xe2) {
      sequence = { kind: 'symbol' }
      return value
    }
    // U+5000 to U+8FFF: every one is a letter, and no second byte is forbidden.
    if (value >= 0xe0 && value <= 0xef) {
      sequence = { kind: 'any', left: 2 }
      return 0xe5 + below(4)
    }
    // U+20000 to U+27FFF.
    if (value >= 0xf0 && value <= 0xf4) {
      sequence = { kind: 'plane' }
      return 0xf0
    }
    // No sequence begins or goes on like this: binary data.
    return value < 0xc0 ? 0x80 + below(64) : 0xf5 + below(11)
  }

  function continuation(value: number): number {
    const current = sequence
    switch (current.kind) {
      case 'none':
        return lead(value)
      case 'any':
        sequence = current.left > 1 ? { kind: 'any', left: current.left - 1 } : NONE
        return 0x80 + below(64)
      case 'sign': {
        sequence = NONE
        const drawn = 0xa1 + below(30)
        return drawn < 0xad ? drawn : drawn + 1
      }
      case 'symbol': {
        // Quotes and dashes; arrows, boxes and bullets.
        const isKept = value === 0x80 || (value >= 0x86 && value <= 0x9f)
        sequence = isKept ? { kind: 'kept', left: 1 } : { kind: 'any', left: 1 }
        return isKept ? value : 0xb0 + below(4)
      }
      case 'kept':
        sequence = NONE
        return value
      case 'plane':
        sequence = { kind: 'any', left: 2 }
        return 0xa0 + below(8)
    }
  }

  function one(value: number): number {
    if (value >= 0x80) {
      // A sequence that was cut short by another beginning is left as it is.
      if (value >= 0xc0) sequence = NONE
      return continuation(value)
    }
    sequence = NONE
    if (value >= DIGIT_ZERO && value < DIGIT_ZERO + DIGITS) return DIGIT_ZERO + below(DIGITS)
    if (value >= UPPER_A && value < UPPER_A + LETTERS) return UPPER_A + below(LETTERS)
    if (value >= LOWER_A && value < LOWER_A + LETTERS) return LOWER_A + below(LETTERS)
    return value
  }

  return {
    push: (bytes) => bytes.map(one),
  }
}
