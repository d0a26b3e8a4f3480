/**
 * Whoever is responsible for the device is told at once of what is critical: a program of the operator's own is run, as
 * smartd(8) and mdadm(8) do it, as the user of the daemon and outside of every session. It gets the records on its stdin,
 * a JSON object a line, and no word of an agent in its arguments. One runs at a time; what comes meanwhile goes to the
 * next one together, and more than it takes is counted.
 * Rules: docs/operations.md, "When something is critical"; JF-R30.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { AuditEvent, Clock, Log } from '../../ports.ts'
import { DEFAULT_PATH } from '../../sandbox/places/environment.ts'

/** A message is sent within seconds; what takes longer hangs, and others wait for it. */
export const ALERT_PROGRAM_MS = 30_000
/** Records of one call: who gets so many at once reads the chain. */
const RECORDS = 64

export type Alerts = { seen(event: AuditEvent): void }

export type AlertsGround = {
  /** Absolute; null: nobody is told. */
  readonly program: string | null
  readonly limitMs: number
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>
  readonly log: Log
  /** Of what has happened already. */
  readonly record: (event: AuditEvent) => void
}

/** With all that it has started: it leads a group of its own. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

export function createAlerts({ program, limitMs, clock, log, record }: AlertsGround): Alerts {
  let waiting: AuditEvent[] = []
  let more = 0
  let isRunning = false

  function tell(path: string): void {
    if (isRunning || waiting.length === 0) return
    isRunning = true
    const these = waiting
    const count = these.length + more
    waiting = []
    more = 0
    const sinceMs = clock.monotonicMs()

    function done(what: 'told' | 'failed', code: number | null, reason: string): void {
      if (!isRunning) return
      isRunning = false
      record({
        ...{ type: 'alert', what, records: count, first: these[0]?.['seq'] ?? null, exit_code: code },
        duration_ms: Math.round(clock.monotonicMs() - sinceMs),
      })
      if (what === 'failed') log.write('error', 'alert_failed', { program: path, records: count, reason })
      tell(path)
    }

    let child: ChildProcess
    try {
      child = spawn(path, [], {
        ...{ cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
        env: { PATH: DEFAULT_PATH, SASS_EDGE_RECORDS: String(count) },
      })
    } catch (cause) {
      return done('failed', null, cause instanceof Error ? cause.message : 'unknown')
    }
    const late = setTimeout(() => killGroup(child.pid), limitMs)
    child.once('error', ({ message }) => {
      clearTimeout(late)
      done('failed', null, message)
    })
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      done(code === 0 ? 'told' : 'failed', code, signal ?? `exit code ${code}`)
    })
    // It need not read.
    child.stdin?.on('error', () => {})
    child.stdin?.end(these.map((event) => `${JSON.stringify(event)}\n`).join(''))
  }

  return {
    seen(event) {
      if (program === null || event['risk'] !== 'critical') return
      if (waiting.length < RECORDS) waiting.push(event)
      else more++
      // After whatever wrote it: what is told together then goes together.
      if (waiting.length === 1) clock.after(0, () => tell(program))
    },
  }
}
