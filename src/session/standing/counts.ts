/**
 * What has happened since the start of the daemon, counted for whoever watches it. Every key is one of a set that is
 * fixed: nobody outside can make one more.
 * @module
 */
import type { PenaltyReason } from '../../defense/penalties.ts'
import type { Response, Verdict } from '../../defense/verdict.ts'
import type { Transport } from '../../ports.ts'
import type { Execution } from '../executions/execution.ts'

/** How an execution ended: 0, another exit code, a signal, its time was over, or it never started. */
export type Outcome = 'succeeded' | 'failed' | 'signalled' | 'timed_out' | 'not_started'

export type Counts = {
  /** Decisions, by `layer response`; what is refused with a sentence is `STATUS`. */
  readonly verdicts: Map<string, number>
  /** Connections that came, and those of them that were turned away before a byte was read. */
  readonly arrived: Record<Transport['kind'], number>
  readonly turnedAway: Record<Transport['kind'], number>
  /** What cost an address seconds, and how often that became a penalty. */
  readonly offences: Record<PenaltyReason, number>
  penalties: number
  started: number
  readonly ended: Record<Outcome, number>
  /** Cut off with an earlier daemon. */
  lost: number
  readonly reloads: { ok: number; failed: number }
  /** Unix milliseconds; of the start where there was no reload since. */
  configuredAtMs: number
}

export function createCounts(nowMs: number): Counts {
  return {
    verdicts: new Map(),
    arrived: { tls: 0, admin: 0 },
    turnedAway: { tls: 0, admin: 0 },
    offences: { auth_failed: 0, no_auth: 0, grace_exceeded: 0, refused: 0, violation: 0 },
    penalties: 0,
    started: 0,
    ended: { succeeded: 0, failed: 0, signalled: 0, timed_out: 0, not_started: 0 },
    lost: 0,
    reloads: { ok: 0, failed: 0 },
    configuredAtMs: nowMs,
  }
}

export function countVerdict({ verdicts }: Counts, verdict: Verdict): void {
  const response: Response | 'STATUS' = verdict.kind === 'response' ? verdict.response : 'STATUS'
  const key = `${verdict.layer} ${response}`
  verdicts.set(key, (verdicts.get(key) ?? 0) + 1)
}

export function outcomeOf({ state, timedOut, exit }: Execution): Outcome {
  if (state === 'not_started') return 'not_started'
  if (timedOut) return 'timed_out'
  if (exit?.kind !== 'exited') return 'signalled'
  return exit.code === 0 ? 'succeeded' : 'failed'
}
