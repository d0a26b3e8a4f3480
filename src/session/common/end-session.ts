/**
 * The end of a session that nobody may go on with: what runs in it ends, whoever holds it is dismissed, questions about
 *it are answered with no. What it has handed on ends with it (handed-on.ts).
 * Rules: docs/protocol.md, section 4.
 * @module
 */

import type { Session } from '../callers/sessions.ts'
import { NO_LONGER_PERMITTED } from '../executions/execution.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import type { Rooms } from './rooms.ts'

/** Why an instance is ended for good, as the record has it. */
export type WhyTerminated = 'operator' | 'identity' | 'forbidden_action'

/**
 * Ends the session for good, recorded first: its instance is never given again, and what it has handed on ends with it.
 * @param by the operator, or `daemon`
 */
export function terminate(
  rooms: Pick<Rooms, 'executions' | 'sessions' | 'clock' | 'confirmations' | 'audit' | 'log'>,
  session: Session,
  why: WhyTerminated,
  by: string,
): void {
  const { caller, instance, id } = session
  if (session.state === 'DESTROYED') return
  const told = { agent: caller.name, instance, session: id, why, by }
  // It ends whatever can be written: until the record can be, nothing else is decided.
  recordAnyway(rooms, { type: 'identity', what: 'terminated', ...told })
  rooms.log.write('warn', 'terminated', told)
  rooms.sessions.retire(instance)
  endSession(rooms, session, by)
}

/** Ends it at once; one that has ended already stays as it is. */
export function endSession(
  rooms: Pick<Rooms, 'executions' | 'sessions' | 'clock' | 'confirmations'>,
  session: Session,
  by: string,
): void {
  if (session.state === 'DESTROYED') return
  rooms.executions.endWhere(({ sessionId }) => sessionId === session.id, NO_LONGER_PERMITTED)
  session.dismissHolder?.()
  rooms.confirmations.refuseWhere(({ sessionId }) => sessionId === session.id, by)
  rooms.sessions.apply(session, 'destroyed', rooms.clock.monotonicMs())
}
