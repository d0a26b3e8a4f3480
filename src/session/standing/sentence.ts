/**
 * What an operator is told, as long as a sentence of a message may be.
 * @module
 */
import { utf8Length } from '../../base/encoding/utf8.ts'

/** A little less than what a sentence of a message holds. */
const TEXT_BYTES = 1_000
const ELLIPSIS = '…'

/** Cut to the bytes of UTF-8 that a message holds, at the end of a character. */
export function sentence(text: string, limitBytes = TEXT_BYTES): string {
  if (utf8Length(text) <= limitBytes) return text
  let bytes = utf8Length(ELLIPSIS)
  let end = 0
  for (const character of text) {
    bytes += utf8Length(character)
    if (bytes > limitBytes) break
    end += character.length
  }
  return `${text.slice(0, end)}${ELLIPSIS}`
}
