/**
 * R4: what an agent sees in place of a refusal. A terminal program's start screen on the alternate screen, 24 rows
 * by 80 columns, cursor home; nothing in it names this daemon or a defence.
 * Rules: docs/protocol.md, section 8; draft 8.3.1 and C.5.
 * @module
 */
import { encodeUtf8 } from '../base/utf8.ts'

const ROWS = 24
const ESC = '\x1b'

/** Alternate screen, clear, home, hidden cursor; an empty line, tildes, the status line; home again. */
export function viScreen(): Uint8Array {
  const tildes = Array.from({ length: ROWS - 2 }, () => '~').join('\r\n')
  const status = `${ESC}[${ROWS};1H"[No Name]" 0 lines, 0 bytes`
  return encodeUtf8(`${ESC}[?1049h${ESC}[2J${ESC}[H${ESC}[?25l\r\n${tildes}${status}${ESC}[1;1H`)
}
