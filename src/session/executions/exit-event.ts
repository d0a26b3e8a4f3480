/**
 * What the audit says of a command that has ended, or that a daemon did not live to see the end of: ids, how it ended,
 * sizes and times, and nothing of what it was.
 * Rules: docs/responses.md (what is recorded).
 * @module
 */
import type { AuditEvent } from '../../ports.ts'
import { type Execution, namedBy, type StartRecord } from './execution.ts'

export function exitEvent(execution: Execution): Record<string, string | number | boolean | null> {
  const { exit } = execution
  return {
    ...namedBy(execution),
    warrant: execution.warrantId,
    state: execution.state,
    exit_code: exit?.kind === 'exited' ? exit.code : null,
    signal: exit?.kind === 'signalled' ? exit.signal : null,
    errno: execution.errno,
    isolation: execution.isolation ?? null,
    timed_out: execution.timedOut,
    killed: execution.why ?? null,
    stdout_bytes: execution.outputBytes[0],
    stderr_bytes: execution.outputBytes[1],
    discarded_bytes: execution.discardedBytes,
    duration_ms: Math.round(execution.endedAtMs - execution.startedAtMs),
  }
}

export function lostEvent(start: StartRecord): AuditEvent {
  return {
    type: 'execution_lost',
    ...namedBy(start),
    warrant: start.warrantId,
    isolation: start.isolation ?? null,
    started_at: Math.floor(start.startedAtMs / 1_000),
  }
}
