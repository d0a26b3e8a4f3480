/**
 * What becomes of work that was handed on: it ends with the session that has handed it on, when its time is over, and
 * where that session has been away for too long without having said that it goes.
 * Rules: docs/protocol.md, section 4 (delegation).
 * @module
 */

import { ORPHANED_AFTER_MS } from '../../wire/limits.ts'
import type { Session } from '../callers/sessions.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import { endSession } from './end-session.ts'
import type { Rooms } from './rooms.ts'

/** Why handed-on work ends, as the record has it. */
type Why = 'time_over' | 'orchestrator_ended' | 'orchestrator_expired' | 'orchestrator_lost'

type Ground = Pick<
  Rooms,
  'sessions' | 'executions' | 'clock' | 'confirmations' | 'delegations' | 'audit' | 'log'
>

function end(rooms: Ground, session: Session, why: Why): void {
  const { handed, instance, caller } = session
  if (handed === undefined || session.state === 'DESTROYED') return
  const told = { agent: caller.name, instance, orchestrator: handed.orchestrator, why }
  // It is over whatever can be written: until the record can be, nothing else is decided.
  recordAnyway(rooms, { type: 'identity', what: 'delegation_ended', session: session.id, ...told })
  rooms.log.write('info', 'delegation_ended', told)
  endSession(rooms, session, 'delegation')
}

/** The session with that id is over: what it has handed on is, too. */
export function sessionOver(rooms: Ground & Pick<Rooms, 'levels'>, id: string, instance: string): void {
  rooms.levels.sessionEnded(id, instance)
  rooms.delegations.endOf(id)
  for (const session of [...rooms.sessions.all()])
    if (session.handed?.session === id) end(rooms, session, 'orchestrator_ended')
}

/** Why work that was handed on by that session is over; undefined: it is not. */
function whyOver(above: Session | undefined, nowMs: number): Why | undefined {
  if (above === undefined) return 'orchestrator_ended'
  if (above.state === 'EXPIRED') return 'orchestrator_expired'
  const isLost = !above.isHeld && nowMs - above.lastSeenMs >= ORPHANED_AFTER_MS
  return isLost ? 'orchestrator_lost' : undefined
}

/** As time passes: what is over, and whose orchestrator has gone without a trace. */
export function endOverdue(rooms: Ground, nowMs: number): void {
  rooms.delegations.tick(nowMs)
  const all = [...rooms.sessions.all()]
  if (!all.some(({ handed }) => handed !== undefined)) return
  const byId = new Map(all.map((session) => [session.id, session]))
  for (const session of all) {
    const { handed } = session
    if (handed === undefined) continue
    const why = nowMs >= handed.endsAtMs ? 'time_over' : whyOver(byId.get(handed.session), nowMs)
    if (why !== undefined) end(rooms, session, why)
  }
}
