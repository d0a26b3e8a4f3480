/**
 * What a stranger's offence costs its address, counted and, where a penalty begins with it, told in the log.
 * Rules: docs/responses.md, layer 1; defense/penalties.ts.
 * @module
 */
import type { PenaltyReason } from '../../defense/penalties.ts'
import type { Rooms } from './rooms.ts'

export function penalise(
  { penalties, counts, clock, log }: Pick<Rooms, 'penalties' | 'counts' | 'clock' | 'log'>,
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
