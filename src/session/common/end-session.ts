/**
 * The end of a session that nobody may go on with: what runs in it ends, whoever holds it is dismissed, questions about
 *it are answered with no. What it has handed on ends with it (handed-on.ts).
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import type { Session } from '../callers/sessions.ts'
import { NO_LONGER_PERMITTED } from '../executions/execution.ts'
import type { Rooms } from './rooms.ts'

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
