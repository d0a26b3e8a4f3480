/**
 * The whole terminal for a view that is drawn again and again: the alternate screen, the cursor hidden, keys one by one.
 * However it ends, by `q`, ^C, a signal or an error, the terminal is what it was. stdout must be a terminal.
 * Sources: xterm's control sequences (DECSET 1049 and 25), ECMA-48 (CUP, EL, ED).
 * @module
 */
import { constants } from 'node:os'
import { writeAll } from './output.node.ts'

export type Screen = {
  readonly size: { readonly rows: number; readonly columns: number }
  draw(lines: readonly string[]): void
  /** Resolves with 0 where a person ended it, else with 128 and the number of the signal. */
  readonly over: Promise<number>
  /** Gives the terminal back; may be called again. */
  close(): void
}

const STDOUT_FD = 1
const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const REST_OF_LINE = '\u001b[K'
const REST_OF_SCREEN = '\u001b[J'
/** The keys that end it; ^C and ^D come as bytes, since the terminal is raw. */
const QUIT: readonly string[] = ['q', 'Q', '\u0003', '\u0004']
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Where the terminal does not say how large it is. */
const USUAL = Object.freeze({ rows: 24, columns: 80 })

/** @param resized the terminal has another size now */
export function openScreen(resized: () => void): Screen {
  const { stdin, stdout } = process
  const { promise: over, resolve } = Promise.withResolvers<number>()
  const isKeyed = stdin.isTTY === true
  let isOpen = true

  const keyed = (bytes: Buffer) => {
    if (QUIT.some((key) => bytes.toString('latin1').includes(key))) resolve(0)
  }
  const signalled = (name: NodeJS.Signals) => resolve(name === 'SIGINT' ? 0 : 128 + constants.signals[name])

  function close(): void {
    if (!isOpen) return
    isOpen = false
    stdout.off('resize', resized)
    for (const name of SIGNALS) process.off(name, signalled)
    process.off('exit', close)
    process.off('uncaughtException', close)
    if (isKeyed) {
      stdin.off('data', keyed)
      stdin.setRawMode(false)
      stdin.pause()
    }
    writeAll(STDOUT_FD, LEAVE)
  }

  for (const name of SIGNALS) process.on(name, signalled)
  process.on('exit', close)
  // Before whoever tells of it: what is told is to be read.
  process.prependListener('uncaughtException', close)
  stdout.on('resize', resized)
  if (isKeyed) {
    stdin.setRawMode(true)
    stdin.on('data', keyed)
    stdin.once('end', () => resolve(0))
  }
  writeAll(STDOUT_FD, ENTER)
  return {
    over,
    close,
    get size() {
      const { rows, columns } = stdout
      return rows > 0 && columns > 0 ? { rows, columns } : USUAL
    },
    draw(lines) {
      if (isOpen)
        writeAll(STDOUT_FD, `${HOME}${lines.join(`${REST_OF_LINE}\r\n`)}${REST_OF_LINE}${REST_OF_SCREEN}`)
    },
  }
}
