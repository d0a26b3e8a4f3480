/**
 * What the audit says of a command that has ended, or that a daemon did not live to see the end of: ids, how it ended,
 * sizes and times, and nothing of what it was.
 * Rules: docs/responses.md (what is recorded).
 * @module
 */
import type { AuditEvent } from '../../ports.ts'
import type { Execution, StartRecord } from './execution.ts'

export function exitEvent(execution: Execution): Record<string, string | number | boolean | null> {
  const { exit } = execution
  return {
    execution: execution.id,
    agent: execution.owner,
    instance: execution.instance,
    session: execution.sessionId,
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
    execution: start.id,
    agent: start.owner,
    instance: start.instance,
    session: start.sessionId,
    warrant: start.warrantId,
    isolation: start.isolation ?? null,
    started_at: Math.floor(start.startedAtMs / 1_000),
  }
}
