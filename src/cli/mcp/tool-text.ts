/**
 * Bytes of a device as a result carries them: text where they are UTF-8, else base64; and text for the eyes of whoever
 * sits at the host, in which nothing steers a terminal.
 * @module
 */
import { encodeBase64 } from '../../base/encoding/base64.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { visible } from '../../base/text/visible.ts'
import type { Kept } from './kept-output.ts'

export type Content = {
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly offset: number
  /** Of `content`, before its encoding. */
  readonly bytes: number
}

/** The longest beginning or end of a character that a cut leaves. */
const CUT_BYTES = 3

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** Where a character that began before is over. */
function firstWhole(bytes: Uint8Array): number {
  let at = 0
  while (at < CUT_BYTES && isContinuation(bytes[at])) at++
  return at
}

/**
 * `isCutBefore`, `isCutAfter`: there is more on that side, so that a character may lie across the edge; what of it is
 * here is left out.
 */
export function contentOf(
  { bytes, offset }: Pick<Kept, 'bytes' | 'offset'>,
  isCutBefore: boolean,
  isCutAfter: boolean,
): Content {
  const from = isCutBefore ? firstWhole(bytes) : 0
  for (let cut = 0; cut <= (isCutAfter ? CUT_BYTES : 0) && from + cut <= bytes.length; cut++) {
    const end = bytes.length - cut
    const text = decodeUtf8(bytes, from, end)
    if (text === undefined || (end === from && bytes.length > 0)) continue
    return { content: text, encoding: 'utf8', offset: offset + from, bytes: end - from }
  }
  return { content: encodeBase64(bytes), encoding: 'base64', offset, bytes: bytes.length }
}

/** Several lines, each safe for a terminal. */
export function shownText(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\t').map(visible).join('\t'))
    .join('\n')
}

/**
 * The text between marks that whoever made it does not know, so that it cannot end them. What happens to have the marker
 * in it, since a model has passed it on, loses it.
 */
export function delimited(text: string, marker: string): string {
  return `<outside ${marker}>\n${text.replaceAll(marker, 'marker')}\n</outside ${marker}>`
}

export function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
}
