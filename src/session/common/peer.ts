/**
 * A connection as the rest of the daemon knows it: its calls, its streams, and what can be asked of it. The engine
 * behind it is peer-engine.ts.
 * Rules: docs/protocol.md, sections 1 and 2; docs/responses.md, section 1.
 * @module
 */
import { isLoopback, parseIpAddress } from '../../base/ip-address.ts'
import type { Action, Identity, Look, RequestFacts, SessionFacts, Source } from '../../defense/facts.ts'
import type { Level } from '../../defense/level.ts'
import type { Verdict } from '../../defense/verdict.ts'
import { NO_SESSION } from '../../defense/warrant.ts'
import type { Transport, TransportEvents } from '../../ports.ts'
import type { Connection, ReadPayload } from '../../wire/connection.ts'
import type { ChallengeAnswer } from '../../wire/messages.ts'
import type { Method } from '../../wire/methods.ts'
import type { ChallengeOutcome, IssuedChallenge } from '../callers/challenges.ts'
import { type Caller, scopeOf } from '../callers/identities.ts'
import type { Session, SessionState } from '../callers/sessions.ts'
import type { Rooms } from './rooms.ts'

/** What a stream is joined to, if it is more than one question and one answer. */
export type StreamUser = {
  message(value: unknown, dataBytes: number): void
  ended(): void
  credit(): void
  /** The child took what was written. */
  stdinDrained(): void
  leave(): void
  /** Time passes: something may be due. */
  tick?(): void
  /** A held screen: the daemon's end need not wait for it. */
  readonly isHeld?: true
  /** Nothing has begun: at the daemon's end it never will. */
  readonly waits?: true
}

export type Call = {
  readonly streamId: number
  readonly method: Method
  /** The request, already complete; `problems` says why it is not. */
  readonly message: ReadPayload
}

export type Peer = {
  readonly rooms: Rooms
  readonly connection: Connection
  readonly source: Source
  readonly transport: Transport
  readonly caller: Caller | undefined
  readonly session: Session | undefined
  /** The strictest level of alarm that holds for the caller; operators have none. */
  readonly level: Level
  readonly channelBinding: Uint8Array | undefined
  /** A buffer for one frame of output, or undefined: `again` is called when there may be one; see BufferShare. */
  takeBuffer(again: () => void, isUrgent?: boolean): Uint8Array | undefined
  sendBuffer(buffer: Uint8Array, length: number): void
  join(streamId: number, user: StreamUser): void
  streamDone(streamId: number): void
  user(streamId: number): StreamUser | undefined
  stdinDrained(streamId: number): void
  /** The decision about this peer with what is known of it; recorded. */
  decide(
    request: RequestFacts | undefined,
    action: Action | undefined,
    identity?: Identity,
    look?: Look,
  ): Verdict
  /** Carries out any verdict but R1. */
  refuse(verdict: Verdict, call: Call | undefined): void
  /** Something went wrong with a call outside of its own turn: deny on error. */
  fail(call: Call, cause: unknown): void
  /** Issues a challenge for the session; undefined where this transport cannot be challenged. */
  challenge(settled: (outcome: ChallengeOutcome) => void): IssuedChallenge | undefined
  forgetChallenge(challengeId: Uint8Array): void
  /** What comes on this connection waits until the returned function is called. */
  holdIntake(): () => void
  /** `settle` lets what waited for it go on; it is for whoever has decided about the answer. */
  answerChallenge(answer: ChallengeAnswer): { readonly outcome: ChallengeOutcome; settle(): void }
  /** `isProven` false: the challenge that goes with the answer must be met before anything else. */
  becomeKnown(caller: Caller, session: Session, windowBytes: number, isProven: boolean): void
}

/** What does a request of one method. */
export type Handler = (peer: Peer, call: Call) => void

/** Who has something decided and done: a connection, or a plan whose calls nobody waits for at a stream. */
export type Asker = Pick<
  Peer,
  | 'rooms'
  | 'caller'
  | 'session'
  | 'level'
  | 'join'
  | 'streamDone'
  | 'user'
  | 'decide'
  | 'refuse'
  | 'fail'
  | 'challenge'
  | 'forgetChallenge'
> & { readonly connection: Pick<Connection, 'message' | 'fail'> }

/** `ending`: all is said, and what was sent has yet to be taken. */
export type PeerPhase = 'unauthenticated' | 'open' | 'tarpit' | 'ending'

export type PeerHandle = TransportEvents & {
  readonly phase: PeerPhase
  tick(nowMs: number): void
  /** Tells the peer that the daemon goes down. */
  drain(seconds: number): void
  readonly hasOpenStreams: boolean
  end(): void
  reset(): void
}

export const SESSION_FACTS: Readonly<Record<SessionState, SessionFacts['state']>> = Object.freeze({
  CREATED: 'unproven',
  ACTIVE: 'live',
  EXECUTING: 'live',
  EXPIRED: 'expired',
  DESTROYED: 'unknown',
})
const QUIET = Object.freeze({ isPenalised: false, isSuspect: false, crowd: undefined })

/** Where a connection comes from, as the decision sees it. */
export function sourceOf(
  kind: Transport['kind'],
  address: string,
  past: Pick<Source, 'isAllowed' | 'isPenalised' | 'isSuspect' | 'crowd'>,
): Source {
  if (kind === 'admin')
    return { transport: 'admin', address: 'local', isLoopback: true, ...QUIET, isAllowed: true }
  const parsed = parseIpAddress(address)
  return { transport: 'tls', address, isLoopback: parsed !== undefined && isLoopback(parsed), ...past }
}

/**
 * Whose executions a connection reaches: those of its key; of work that was handed on those alone, since what its caller
 * runs elsewhere is not what was handed on.
 */
export function ownScope({ caller, session }: Pick<Peer, 'caller' | 'session'>): string {
  const scope = scopeOf(caller)
  return session?.handed === undefined ? scope : `${scope} ${session.handed.id}`
}

/** Who it was, as records name them. */
export function namesOf({ caller, session }: Pick<Peer, 'caller' | 'session'>): {
  readonly agent: string | null
  readonly instance: string | null
  readonly session: string | null
} {
  return {
    agent: caller?.name ?? null,
    instance: session?.instance ?? null,
    session: session?.id ?? null,
  }
}

/** The session that a warrant of this connection is bound to. */
export function sessionOf({ session }: Pick<Peer, 'session'>): string {
  return session?.id ?? NO_SESSION
}
