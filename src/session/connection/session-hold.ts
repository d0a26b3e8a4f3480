/**
 * A connection's hold on its session: taken when the caller is known, given up when the connection is over, and told
 * to the decision as it stands. One session has one holder: whoever takes it back dismisses the one before.
 * Rules: docs/protocol.md, sections 4 to 6.
 * @module
 */

import type { SessionFacts } from '../../defense/facts.ts'
import type { Session } from '../callers/sessions.ts'
import { terminate } from '../common/end-session.ts'
import { SESSION_FACTS } from '../common/peer.ts'
import type { Rooms } from '../common/rooms.ts'

export type SessionHold = {
  readonly session: Session | undefined
  /** `isProven` false: a challenge must be met before anything else, though the session may be live. */
  take(session: Session, isProven: boolean): void
  facts(): SessionFacts | undefined
  /** A challenge was met: that begins the session, or renews it. */
  proven(): void
  /** Gives the place away, unless another connection has it by now; `destroys` also ends a session with nothing left to tell. */
  letGo(destroys: boolean): void
  /** Ends the session for good, and what runs in it: its caller is not who it was. */
  end(): void
}

/** `dismiss` is called when another connection takes the session. */
export function createSessionHold(
  rooms: Pick<Rooms, 'sessions' | 'executions' | 'clock' | 'confirmations' | 'audit' | 'log'>,
  dismiss: () => void,
): SessionHold {
  const { sessions, executions, clock } = rooms
  let session: Session | undefined
  let owesProof = false

  function letGo(destroys: boolean): void {
    if (session === undefined || session.dismissHolder !== dismiss) return
    session.isHeld = false
    session.dismissHolder = undefined
    session.lastSeenMs = clock.monotonicMs()
    // An end that a relay made of a link that broke must not take what the caller will come back for.
    if (!destroys || session.running > executions.leftIn(session.id) || executions.owesEnd(session.id)) return
    // What was asked to stay is the session's as long as it lives.
    session.isLeft = true
    if (session.running === 0) sessions.apply(session, 'destroyed', session.lastSeenMs)
  }

  return {
    get session() {
      return session
    },
    take(taken, isProven) {
      session = taken
      owesProof = !isProven
      taken.dismissHolder = dismiss
      taken.isLeft = false
    },
    facts() {
      if (session === undefined) return undefined
      const state = SESSION_FACTS[session.state]
      return { id: session.id, state: owesProof && state === 'live' ? 'unproven' : state }
    },
    proven() {
      if (session === undefined) return
      owesProof = false
      const now = clock.monotonicMs()
      if (session.state === 'CREATED') sessions.apply(session, 'authenticated', now)
      else sessions.renew(session, now)
    },
    letGo,
    end() {
      const held = session
      letGo(false)
      if (held === undefined || held.state === 'DESTROYED') return
      terminate(rooms, held, 'identity', 'daemon')
    },
  }
}
