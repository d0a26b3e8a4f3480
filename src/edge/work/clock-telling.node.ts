/**
 * What is said and done about a clock that was never set, or is set while the daemon works.
 * Rules: docs/operations.md (clock).
 * @module
 */
import type { Journal } from '../../audit/journal.node.ts'
import type { Clock, Log } from '../../ports.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import { createClockWatch } from '../../session/standing/clock-watch.ts'
import { isClockSet } from '../host/clock.node.ts'
import { record } from './work.node.ts'

type Ground = { readonly clock: Clock; readonly log: Log; readonly audit: Journal }

/** Says so where the clock was never set, and whenever it is set: in the log, on the record, and to whom it concerns. */
export function createClockTelling(
  { clock, log, audit }: Ground,
  rooms: Pick<Rooms, 'executions' | 'branches'>,
): () => void {
  const watch = createClockWatch(clock)
  const iso = (ms: number) => new Date(ms).toISOString()
  if (!isClockSet(clock.wallMs())) {
    log.write('warn', 'clock_not_set', { says: iso(clock.wallMs()) })
    record(audit, log, { type: 'clock', what: 'not_set' })
  }
  return () => {
    const step = watch.look()
    if (step === undefined) return
    const { byMs, expectedMs, nowMs } = step
    rooms.executions.clockSet(byMs)
    rooms.branches.clockSet()
    const told = { by_ms: byMs, from: iso(expectedMs), to: iso(nowMs), is_set: isClockSet(nowMs) }
    log.write('warn', 'clock_set', told)
    record(audit, log, { type: 'clock', what: 'set', ...told })
  }
}
