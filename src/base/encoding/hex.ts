/**
 * Base16 (RFC 4648 section 8) in lower case, the one form that digests and identifiers have here.
 * Refused: upper case, an odd number of digits, any other character. One value has one text.
 * @module
 */

const DIGITS = '0123456789abcdef'

/** Two lower-case digits a byte. */
export function encodeHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += DIGITS.charAt(byte >> 4) + DIGITS.charAt(byte & 15)
  return text
}

/** 0 to 15, or -1 for a unit that is not a lower-case digit. */
function digitValue(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30
  return unit >= 0x61 && unit <= 0x66 ? unit - 0x57 : -1
}

/** The bytes of lower-case hex, or undefined where the text is anything else. Half as many bytes as digits. */
export function decodeHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < text.length; at += 2) {
    const high = digitValue(text.charCodeAt(at))
    const low = digitValue(text.charCodeAt(at + 1))
    if (high < 0 || low < 0) return undefined
    bytes[at / 2] = high * 16 + low
  }
  return bytes
}
