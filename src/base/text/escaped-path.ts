/**
 * Paths and names of files as text, whatever their bytes: what is UTF-8 stands for itself, and every other byte is half a
 * surrogate pair, U+DC80 to U+DCFF. Such text is cut, compared and put together as any other is; it is turned into bytes
 * again where it meets the kernel, and is no text to send or to write down.
 * Rules: PEP 383 (surrogateescape), path_resolution(7): a name is bytes.
 * @module
 */
import { decodeUtf8, encodeUtf8, isUtf8, isWellFormed } from '../encoding/utf8.ts'

const ESCAPE = 0xdc00
/** RFC 3629. */
const SEQUENCE_MAX_BYTES = 4

/** The text of any bytes; `bytesOfEscaped` gives the same ones back. */
export function escapedText(bytes: Uint8Array): string {
  const whole = decodeUtf8(bytes)
  if (whole !== undefined) return whole
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    let length = 1
    while (length <= SEQUENCE_MAX_BYTES && !isUtf8(bytes, at, at + length)) length++
    if (length > SEQUENCE_MAX_BYTES) text += String.fromCharCode(ESCAPE | (bytes[at++] ?? 0))
    else {
      text += decodeUtf8(bytes, at, at + length) ?? ''
      at += length
    }
  }
  return text
}

/** @throws SassError FRAME_MALFORMED for half a surrogate pair that stands for no byte */
export function bytesOfEscaped(text: string): Uint8Array {
  if (isWellFormed(text)) return encodeUtf8(text)
  const bytes: number[] = []
  for (const char of text) {
    const unit = char.charCodeAt(0)
    if (unit >= (ESCAPE | 0x80) && unit <= (ESCAPE | 0xff)) bytes.push(unit & 0xff)
    else bytes.push(...encodeUtf8(char))
  }
  return Uint8Array.from(bytes)
}
