/**
 * What a stranger's offence costs its address, counted and, where a penalty begins with it, told in the log.
 * Rules: docs/responses.md, layer 1; defense/penalties.ts.
 * @module
 */
import type { Penalties, PenaltyReason } from '../../defense/penalties.ts'
import type { Clock, Log } from '../../ports.ts'
import type { Counts } from '../standing/counts.ts'

type Ground = {
  readonly penalties: Penalties
  readonly counts: Counts
  readonly clock: Clock
  readonly log: Log
}

export function penalise(
  { penalties, counts, clock, log }: Ground,
  address: string,
  reason: PenaltyReason,
): void {
  const change = penalties.add(address, reason, clock.monotonicMs())
  if (change === 'none') return
  counts.offences[reason]++
  if (change !== 'began') return
  counts.penalties++
  log.write('warn', 'penalty', { source: address, reason })
}
