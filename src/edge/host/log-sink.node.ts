/**
 * Where lines of the log go: into a file of their own, to the journal of systemd where stderr is that, or to stderr. What
 * a file or the journal does not take goes to stderr; what that does not take is counted and lost.
 *
 * The journal gets each line by its own protocol, so that `journalctl SASS_EVENT=refused SASS_SOURCE=192.0.2.7` finds
 * it; where it does not listen, and in JSON, lines on stderr say their priority as `<4>`.
 * Rules: systemd's "Native Journal Protocol", systemd.exec(5) ($JOURNAL_STREAM), sd-daemon(3).
 * @module
 */
import { fstatSync, writeSync } from 'node:fs'
import { errnoOf } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import type { LogLevel } from '../../ports.ts'
import { sendDatagram } from './datagram.node.ts'
import type { LogEntry, WriteLine } from './log.node.ts'
import { openLogFile } from './log-file.node.ts'

export type LogSink = {
  readonly write: WriteLine
  /** Somebody may have rotated the file; why it could not be opened anew. */
  reopen(): string | undefined
  close(): void
}

const STDERR_FD = 2
/** A pipe that is full is tried again after that, and so often: who reads the log must not stop the daemon. */
const RETRY_MS = 2
const RETRIES = 500
const JOURNAL_SOCKET = '/run/systemd/journal/socket'
/** syslog(3): LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = Object.freeze({ debug: 7, info: 6, warn: 4, error: 3 })

/** One that has not been read for a second is not waited for again until it is. */
function createStderr(): (text: string) => boolean {
  let isStuck = false
  let isTorn = false
  return (text) => {
    const bytes = Buffer.from(isTorn ? `\n${text}` : text)
    for (let written = 0, retries = isStuck ? RETRIES : 0; written < bytes.length; ) {
      try {
        written += writeSync(STDERR_FD, bytes, written)
      } catch (error) {
        isStuck = errnoOf(error) === 'EAGAIN'
        if (isStuck && ++retries <= RETRIES) {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
          continue
        }
        isTorn ||= written > 0
        return false
      }
    }
    isStuck = false
    isTorn = false
    return true
  }
}

/** Whether stderr is the journal: it is told so, and an environment is inherited further than that. */
function isJournal({ JOURNAL_STREAM: stream }: NodeJS.ProcessEnv): boolean {
  if (stream === undefined) return false
  try {
    const { dev, ino } = fstatSync(STDERR_FD, { bigint: true })
    return stream === `${dev}:${ino}`
  } catch {
    return false
  }
}

/** One entry of the journal; nothing in it has a line feed. */
export function journalEntry({ level, event, said, fields }: LogEntry): string {
  const own = fields.map(([key, value]) => `SASS_${key.toUpperCase()}=${value}`)
  const fixed = [`PRIORITY=${PRIORITIES[level]}`, 'SYSLOG_IDENTIFIER=sass-edge', `SASS_EVENT=${event}`]
  return [`MESSAGE=${said}`, ...fixed, ...own, ''].join('\n')
}

/**
 * @param journalSocket where the journal listens
 * @throws SassError STATE_UNWRITABLE where there is to be a file and cannot be
 */
export function openLogSink(
  { file, format, max_bytes, keep }: Config['log'],
  environment: NodeJS.ProcessEnv,
  journalSocket = JOURNAL_SOCKET,
): LogSink {
  const writeStderr = createStderr()
  if (file !== null) {
    const kept = openLogFile({ path: file, maxBytes: max_bytes, keep })
    return {
      write(line) {
        const isKept = kept.write(line)
        if (!isKept) writeStderr(line)
        return isKept
      },
      reopen: kept.reopen,
      close: kept.close,
    }
  }
  const still = { reopen: () => undefined, close: () => {} }
  if (!isJournal(environment)) return { ...still, write: writeStderr }
  return {
    ...still,
    write(line, entry) {
      const isNative = format === 'text' && sendDatagram(journalSocket, journalEntry(entry))
      const text = format === 'text' ? `${entry.said}\n` : line
      return isNative || writeStderr(`<${PRIORITIES[entry.level]}>${text}`)
    },
  }
}
