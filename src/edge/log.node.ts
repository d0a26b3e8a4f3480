/**
 * The structured log: one line an event on stderr, stable key=value text or JSON. Values are cut and escaped, so
 * that nothing a peer sent can break a line or steer a terminal.
 * @module
 */
import { LOG_FIELD_CHARS, LOG_LINES_PER_SECOND } from '../limits.ts'
import type { Clock, Log, LogLevel } from '../ports.ts'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Printable ASCII stays, all else is escaped; a value with a space or a quote is quoted. */
function show(value: string | number | boolean): string {
  const text = String(value).slice(0, LOG_FIELD_CHARS)
  const plain = /^[\x21\x23-\x3c\x3e-\x7e]+$/.test(text)
  return plain
    ? text
    : JSON.stringify(text).replace(
        /[^\x20-\x7e]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
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
    if (format === 'json') return write(`${JSON.stringify({ time, level: at, event, ...fields })}\n`)
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
