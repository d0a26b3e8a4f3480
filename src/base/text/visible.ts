/**
 * Text of somebody else, made safe to show: nothing in it steers a terminal, turns the reading direction, hides or
 * joins lines. What is taken out is shown by its number, so that two texts that differ still look different.
 * Follows the general categories of Unicode: C (controls, formats, surrogates, private use, unassigned) and Z, of which
 * only the plain space is let through: the others could pass for it.
 * @module
 */

const UNSEEN = /[\p{C}\p{Z}]/u
const SPACE = ' '

const PLAIN_ASCII = /^[ -~]*$/

/** The text on one line; what cannot be seen is `\x1b` or `\u{202e}`. Linear in its length. */
export function visible(text: string): string {
  if (PLAIN_ASCII.test(text)) return text
  let shown = ''
  for (const char of text) {
    if (char === SPACE || !UNSEEN.test(char)) {
      shown += char
      continue
    }
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    shown += code <= 0xff ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex}}`
  }
  return shown
}
