/**
 * A terminal to look at: an xterm emulator that takes bytes and says what a person would see. And a real program's
 * bytes to compare with, recorded on a real pseudo-terminal.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'

// It is CommonJS whose names Node cannot read; its types say otherwise.
const { Terminal } = createRequire(import.meta.url)('@xterm/headless') as typeof import('@xterm/headless')

export type Shown = {
  /** Row by row, without the blanks at the end. */
  readonly rows: readonly string[]
  readonly isAlternateScreen: boolean
  readonly cursor: { readonly row: number; readonly column: number }
  readonly isCursorShown: boolean
  /** Every mode that the emulator knows, and whether a cell anywhere is styled. */
  readonly modes: Readonly<Record<string, unknown>>
  readonly isStyled: boolean
  /** What the terminal would have answered: a program that asks it something gives itself away. */
  readonly answers: string
}

/** What a terminal of that size shows after these bytes. */
export async function shown(rows: number, columns: number, bytes: Uint8Array): Promise<Shown> {
  const terminal = new Terminal({ rows, cols: columns, allowProposedApi: true })
  const take = (data: Uint8Array | string) =>
    new Promise<void>((resolve) => {
      terminal.write(data, resolve)
    })
  let said = ''
  terminal.onData((data) => {
    said += data
  })
  await take(bytes)
  const answers = said
  said = ''
  // DECRQM of the cursor's mode: 1 is set, 2 is reset.
  await take('\x1b[?25$p')
  const { active } = terminal.buffer
  const lines = Array.from({ length: rows }, (_, row) => active.getLine(active.baseY + row))
  const state: Shown = {
    rows: lines.map((line) => line?.translateToString(true) ?? ''),
    isAlternateScreen: active.type === 'alternate',
    cursor: { row: active.cursorY + 1, column: active.cursorX + 1 },
    isCursorShown: said === '\x1b[?25;1$y',
    modes: { ...terminal.modes },
    isStyled: lines.some((line) =>
      Array.from({ length: columns }, (_, column) => line?.getCell(column)).some(
        (cell) => cell !== undefined && !cell.isAttributeDefault(),
      ),
    ),
    answers,
  }
  terminal.dispose()
  return state
}

/** Output that has stopped for this long is a finished screen. */
const QUIET_MS = 300
const PATIENCE_MS = 10_000

/**
 * What a program writes on an xterm of that size until it waits for a key; undefined where it, or `script`, is
 * absent. It is killed then.
 */
export async function recorded(
  rows: number,
  columns: number,
  command: string,
  cwd: string,
): Promise<Buffer | undefined> {
  const [program = ''] = command.split(' ')
  for (const name of ['script', 'stty', program]) {
    if (spawnSync('/bin/sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status !== 0) return undefined
  }
  const child = spawn('script', ['-qec', `stty rows ${rows} cols ${columns}; exec ${command}`, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', TERM: 'xterm', HOME: cwd, LANG: 'C' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  // The program loses its terminal with it, and ends.
  const end = () => child.kill('SIGKILL')
  let timer = setTimeout(end, PATIENCE_MS)
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    clearTimeout(timer)
    timer = setTimeout(end, QUIET_MS)
  })
  await once(child, 'close')
  clearTimeout(timer)
  return Buffer.concat(chunks)
}
