/**
 * Base64 and base64url (RFC 4648 sections 4 and 5), strict in both directions.
 * The standard form is padded, the URL form never is. Refused: white space and any other stray character, missing or
 * surplus padding, trailing bits that are not zero (RFC 4648 section 3.5), text that would decode to more than the
 * caller's limit (known from the length alone, before anything is allocated).
 * @module
 */

const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const PAD = 0x3d
/** Marks a byte that is not in the alphabet; a valid value has six bits. */
const OUTSIDE = 0xff

function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(256).fill(OUTSIDE)
  for (let value = 0; value < 64; value += 1) values[alphabet.charCodeAt(value)] = value
  return values
}

const STANDARD_VALUES = valuesOf(STANDARD)
const URL_SAFE_VALUES = valuesOf(URL_SAFE)

/** The text's code units as bytes, or undefined where one is not ASCII. */
function asciiBytes(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit > 0x7f) return undefined
    bytes[at] = unit
  }
  return bytes
}

/** Decodes `symbols` symbols from the start of `input`; the caller has taken the padding away. */
function decodeSymbols(input: Uint8Array, symbols: number, values: Uint8Array): Uint8Array | undefined {
  const tail = symbols % 4
  const whole = symbols - tail
  const output = new Uint8Array((whole / 4) * 3 + (tail === 0 ? 0 : tail - 1))
  let filled = 0
  for (let at = 0; at < whole; at += 4) {
    const a = values[input[at] ?? 0] ?? OUTSIDE
    const b = values[input[at + 1] ?? 0] ?? OUTSIDE
    const c = values[input[at + 2] ?? 0] ?? OUTSIDE
    const d = values[input[at + 3] ?? 0] ?? OUTSIDE
    // Only OUTSIDE has a bit above the sixth.
    if ((a | b | c | d) > 63) return undefined
    output[filled] = (a << 2) | (b >> 4)
    output[filled + 1] = (b << 4) | (c >> 2)
    output[filled + 2] = (c << 6) | d
    filled += 3
  }
  if (tail === 0) return output
  const a = values[input[whole] ?? 0] ?? OUTSIDE
  const b = values[input[whole + 1] ?? 0] ?? OUTSIDE
  const c = tail === 3 ? (values[input[whole + 2] ?? 0] ?? OUTSIDE) : 0
  if ((a | b | c) > 63) return undefined
  // RFC 4648 3.5: the bits that say nothing are zero, so that one value has one text.
  if (tail === 2 ? (b & 15) !== 0 : (c & 3) !== 0) return undefined
  output[filled] = (a << 2) | (b >> 4)
  if (tail === 3) output[filled + 1] = (b << 4) | (c >> 2)
  return output
}

/**
 * The bytes of standard, padded base64, or undefined where it is not exactly that or would give more than
 * `limitBytes` bytes. `input` is the text, or its bytes as they came.
 */
export function decodeBase64(input: Uint8Array | string, limitBytes: number): Uint8Array | undefined {
  const length = input.length
  if (length % 4 !== 0) return undefined
  // Padding takes at most two bytes off; the exact count follows once the end has been read.
  if ((length / 4) * 3 - 2 > limitBytes) return undefined
  const bytes = typeof input === 'string' ? asciiBytes(input) : input
  if (bytes === undefined) return undefined
  let symbols = length
  if (symbols > 0 && bytes[symbols - 1] === PAD) symbols -= 1
  if (symbols < length && bytes[symbols - 1] === PAD) symbols -= 1
  if (Math.floor((symbols * 3) / 4) > limitBytes) return undefined
  return decodeSymbols(bytes, symbols, STANDARD_VALUES)
}

/** As `decodeBase64`, for the URL alphabet without padding. */
export function decodeBase64Url(input: Uint8Array | string, limitBytes: number): Uint8Array | undefined {
  const length = input.length
  if (length % 4 === 1 || Math.floor((length * 3) / 4) > limitBytes) return undefined
  const bytes = typeof input === 'string' ? asciiBytes(input) : input
  return bytes === undefined ? undefined : decodeSymbols(bytes, length, URL_SAFE_VALUES)
}

function encode(bytes: Uint8Array, alphabet: string, pad: string): string {
  let text = ''
  let at = 0
  for (; at + 2 < bytes.length; at += 3) {
    const triple = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    text += alphabet.charAt(triple >> 18) + alphabet.charAt((triple >> 12) & 63)
    text += alphabet.charAt((triple >> 6) & 63) + alphabet.charAt(triple & 63)
  }
  const left = bytes.length - at
  if (left === 0) return text
  const rest = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8)
  text += alphabet.charAt(rest >> 18) + alphabet.charAt((rest >> 12) & 63)
  return left === 2 ? text + alphabet.charAt((rest >> 6) & 63) + pad : text + pad + pad
}

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return encode(bytes, STANDARD, '=')
}

/** Base64url without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE, '')
}
