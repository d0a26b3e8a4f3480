/**
 * R4: what an agent sees in place of a refusal: the start screen of BusyBox vi, the editor of small devices, called
 * without a file. Of the editors called vi it is the one whose screen depends on nothing but the terminal's size: no
 * version, no name of a temporary file, no answers asked of the terminal. A terminal that has taken these bytes is in
 * the state that the editor leaves it in; a test runs both through an emulator and compares. The order of the
 * sequences is the draft's. Nothing in it names this daemon or a defence.
 * Rules: docs/protocol.md, section 8; draft 8.3.1 and C.5.
 * @module
 */
import { encodeUtf8 } from '../../base/encoding/utf8.ts'

/** A terminal that says nothing of its size, or that it has none, as the editor takes it. */
const DEFAULT_ROWS = 24
const DEFAULT_COLUMNS = 80
/** Below, there is no row for both text and status; above, the screen would not fit the smallest credit window. */
export const SCREEN_MIN_CELLS = 2
export const SCREEN_MAX_CELLS = 500

const ESC = '\x1b'
/** No file, its first line of one. */
const STATUS = '- No file 1/1 100%'

function bounded(cells: number, otherwise: number): number {
  if (!Number.isInteger(cells) || cells < SCREEN_MIN_CELLS) return otherwise
  return Math.min(cells, SCREEN_MAX_CELLS)
}

/** An empty line and tildes; the status line in the last row, cut at the edge; home again, and the cursor is back. */
function drawn(rows: number, columns: number): string {
  const lastRow = bounded(rows, DEFAULT_ROWS)
  const status = STATUS.slice(0, bounded(columns, DEFAULT_COLUMNS))
  return `${'\r\n~'.repeat(lastRow - 2)}${ESC}[${lastRow};1H${status}${ESC}[1;1H${ESC}[?25h`
}

/**
 * The start: alternate screen, clear, home, hidden cursor, and the picture. A size below the bounds counts as 24 rows
 * or 80 columns, one above as the bound. At most 1,600 bytes.
 */
export function viScreen(rows = DEFAULT_ROWS, columns = DEFAULT_COLUMNS): Uint8Array {
  return encodeUtf8(`${ESC}[?1049h${ESC}[2J${ESC}[H${ESC}[?25l${drawn(rows, columns)}`)
}

/** The same picture once more, as after a change of the terminal's size. */
export function viRedraw(rows: number, columns: number): Uint8Array {
  return encodeUtf8(`${ESC}[?25l${ESC}[H${ESC}[J${drawn(rows, columns)}`)
}
