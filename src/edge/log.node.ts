/**
 * The structured log: one line an event on stderr, stable key=value text or JSON. Values are cut and escaped, so
 * that nothing a peer sent can break a line or steer a terminal.
 * @module
 */
import { LOG_FIELD_CHARS, LOG_LINES_PER_SECOND } from '../limits.ts'
import type { Clock, Log, LogLevel } from '../ports.ts'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** JSON in printable ASCII alone: all else is escaped, C1 controls and line separators too. */
function toAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function cut(value: string | number | boolean): string | number | boolean {
  return typeof value === 'string' ? value.slice(0, LOG_FIELD_CHARS) : value
}

/** Printable ASCII stays, all else is escaped; a value with a space, a quote, `=` or a backslash is quoted. */
function show(value: string | number | boolean): string {
  const text = String(cut(value))
  return /^[\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]+$/.test(text) ? text : toAscii(text)
}

/**
 * `write` gets whole lines. More than LOG_LINES_PER_SECOND of `info` and `warn` are counted and told once a second,
 * so that a scanner cannot fill a disk through the log.
 */
export function createLog(
  format: 'text' | 'json',
  level: LogLevel,
  clock: Clock,
  write: (line: string) => void,
): Log {
  const least = ORDER.indexOf(level)
  let second = -1
  let lines = 0
  let suppressed = 0

  function line(
    at: LogLevel,
    event: string,
    fields: Readonly<Record<string, string | number | boolean>>,
  ): void {
    const time = new Date(clock.wallMs()).toISOString()
    if (format === 'json') {
      const values = Object.entries(fields).map(([key, value]) => [key, cut(value)] as const)
      return write(`${toAscii({ time, level: at, event, ...Object.fromEntries(values) })}\n`)
    }
    const pairs = Object.entries(fields).map(([key, value]) => `${key}=${show(value)}`)
    write(`${[time, at, event, ...pairs].join(' ')}\n`)
  }

  return {
    write(at, event, fields = {}) {
      if (ORDER.indexOf(at) < least) return
      const now = Math.floor(clock.monotonicMs() / 1_000)
      if (now !== second) {
        if (suppressed > 0) line('warn', 'log_suppressed', { lines: suppressed })
        second = now
        lines = 0
        suppressed = 0
      }
      if (at !== 'error' && ++lines > LOG_LINES_PER_SECOND) {
        suppressed++
        return
      }
      line(at, event, fields)
    },
  }
}
