/**
 * The structured log: one line an event, stable key=value text or JSON. Values are cut and escaped, so that nothing a
 * peer sent can break a line or steer a terminal. Where lines go is log-sink.node.ts.
 * @module
 */
import { LOG_FIELD_CHARS, LOG_LINES_PER_SECOND } from '../../limits.ts'
import type { Clock, Log, LogLevel } from '../../ports.ts'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** JSON in printable ASCII alone: all else is escaped, C1 controls and line separators too. */
function toAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** One event as it goes to whoever keeps the log: the line without its time and line feed, and what it is made of. */
export type LogEntry = {
  readonly level: LogLevel
  readonly event: string
  readonly said: string
  /** Printable ASCII, escaped. */
  readonly fields: readonly (readonly [key: string, value: string])[]
}
/** Takes a whole line; false: it went elsewhere than it should, or nowhere. */
export type WriteLine = (line: string, entry: LogEntry) => boolean

/** Lines since the start: written by level, too many in a second, and those that could not go where they belong. */
export type LogCounts = {
  readonly written: Readonly<Record<LogLevel, number>>
  readonly suppressed: number
  readonly missed: number
}

function cut(value: string | number | boolean): string | number | boolean {
  return typeof value === 'string' ? value.slice(0, LOG_FIELD_CHARS) : value
}

/** Printable ASCII stays, all else is escaped; a value with a space, a quote, `=` or a backslash is quoted. */
function show(value: string | number | boolean): string {
  const text = String(cut(value))
  return /^[\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]+$/.test(text) ? text : toAscii(text)
}

/** The same as a value of its own, which needs no quotes. */
function plain(value: string | number | boolean): string {
  return toAscii(String(cut(value))).slice(1, -1)
}

/**
 * `write` gets whole lines. More than LOG_LINES_PER_SECOND of `info` and `warn` are counted and told once a second,
 * so that a scanner cannot fill a disk through the log. `tick` tells of a second that is over where nothing follows it.
 */
export function createLog(
  format: 'text' | 'json',
  level: LogLevel,
  clock: Clock,
  write: WriteLine,
): Log & { readonly counts: LogCounts; tick(): void } {
  const least = ORDER.indexOf(level)
  const written = { debug: 0, info: 0, warn: 0, error: 0 }
  const counts = { written, suppressed: 0, missed: 0 }
  let second = -1
  let lines = 0
  let suppressed = 0
  let missed = 0

  function line(
    at: LogLevel,
    event: string,
    fields: Readonly<Record<string, string | number | boolean>>,
  ): void {
    const time = new Date(clock.wallMs()).toISOString()
    const entries = Object.entries(fields)
    const pairs = entries.map(([key, value]) => `${key}=${show(value)}`)
    const said = [at, event, ...pairs].join(' ')
    const values = Object.fromEntries(entries.map(([key, value]) => [key, cut(value)]))
    const text = format === 'json' ? toAscii({ time, level: at, event, ...values }) : `${time} ${said}`
    const told = entries.map(([key, value]) => [key, plain(value)] as const)
    written[at]++
    if (write(`${text}\n`, { level: at, event, said, fields: told })) return
    counts.missed++
    missed++
  }

  /** Tells what a second that is over has kept back. */
  function turn(): void {
    const now = Math.floor(clock.monotonicMs() / 1_000)
    if (now === second) return
    const told = { suppressed, missed }
    second = now
    lines = 0
    suppressed = 0
    missed = 0
    if (told.suppressed > 0) line('warn', 'log_suppressed', { lines: told.suppressed })
    if (told.missed > 0) line('warn', 'log_missed', { lines: told.missed })
  }

  return {
    counts,
    tick: turn,
    write(at, event, fields = {}) {
      if (ORDER.indexOf(at) < least) return
      turn()
      if (at !== 'error' && ++lines > LOG_LINES_PER_SECOND) {
        suppressed++
        counts.suppressed++
        return
      }
      line(at, event, fields)
    },
  }
}
