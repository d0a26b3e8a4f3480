/**
 * Text of files that would steer a terminal: controls but the tab and the ends of lines, and what turns the reading
 * direction. A patch has none of it, wherever somebody sends it to: such a file is in it as binary content, and before
 * that as lines of a comment for the eye, which git passes over.
 * Text has one character for each byte.
 * @module
 */

import { decodeUtf8 } from '../../../base/encoding/utf8.ts'
import { type BytePath, pathBytes } from './paths.ts'
import { shownBytes } from './text.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)/
/** Of eight bits: where the text is no UTF-8, these bytes are controls to some terminals. */
const EIGHT_BITS = /[\x80-\x9f]/
const OF_UNICODE = /[\u0080-\u009f\u2028\u2029\p{Bidi_Control}]/u

export function steersTerminal(text: string): boolean {
  if (CONTROL.test(text)) return true
  if (!EIGHT_BITS.test(text)) return false
  const decoded = decodeUtf8(pathBytes(text))
  return decoded === undefined || OF_UNICODE.test(decoded)
}

/** Lines that begin with `#`, each without anything that steers. */
export function escapedHunks(path: BytePath, hunks: string): string {
  const lines = hunks.endsWith('\n') ? hunks.slice(0, -1).split('\n') : hunks.split('\n')
  const shown = lines.map((line) => `# ${shownBytes(pathBytes(line.replaceAll('\t', '    ')))}\n`)
  return `# ${shownBytes(pathBytes(path))} has characters that steer a terminal; escaped they are:\n${shown.join('')}`
}
