/**
 * Sessions and their life: CREATED, ACTIVE, EXECUTING, EXPIRED, DESTROYED. What leads from where to where is a
 * table; anything absent is refused. A session belongs to one caller and, unless configured otherwise, to one
 * address; it outlives its connection until it expires, is resumed or makes room.
 * Pure: time comes in, ids come in, nothing goes out but what the functions return.
 * Rules: docs/protocol.md, section 4; draft 5.2.
 * @module
 */
import { SESSION_KEPT_EXPIRED_MS } from '../../limits.ts'
import type { AuditHead, WireBytes } from '../../ports.ts'
import type { BranchWish } from '../../sandbox/places/place.ts'
import type { Handed } from './delegations.ts'
import { type Caller, scopeOf } from './identities.ts'
import { newMemory, type SessionMemory } from './session-memory.ts'

export type SessionState = 'CREATED' | 'ACTIVE' | 'EXECUTING' | 'EXPIRED' | 'DESTROYED'
export type SessionEvent = 'authenticated' | 'started' | 'all_ended' | 'time_out' | 'renewed' | 'destroyed'

/** Absent: the event means nothing in that state and changes nothing. */
export const SESSION_TABLE: Readonly<
  Record<SessionState, Readonly<Partial<Record<SessionEvent, SessionState>>>>
> = Object.freeze({
  CREATED: { authenticated: 'ACTIVE', destroyed: 'DESTROYED' },
  ACTIVE: { started: 'EXECUTING', time_out: 'EXPIRED', renewed: 'ACTIVE', destroyed: 'DESTROYED' },
  EXECUTING: {
    started: 'EXECUTING',
    all_ended: 'ACTIVE',
    time_out: 'EXPIRED',
    renewed: 'EXECUTING',
    destroyed: 'DESTROYED',
  },
  EXPIRED: { renewed: 'ACTIVE', all_ended: 'EXPIRED', destroyed: 'DESTROYED' },
  DESTROYED: {},
})

export type Session = SessionMemory & {
  /** Hex of the 16 bytes. */
  readonly id: string
  readonly idBytes: Uint8Array
  /** With the key that it has proven last. */
  caller: Caller
  readonly address: string
  state: SessionState
  expiresAtMs: number
  /** Executions that have not ended. */
  running: number
  /** True while a connection holds it; another one that takes it back dismisses that first. */
  isHeld: boolean
  /** Its caller has gone in order, and will not come back for what runs in it: it ends with that. */
  isLeft: boolean
  dismissHolder: (() => void) | undefined
  lastSeenMs: number
  /** Name of this instance of the agent: `NAME-TIMESTAMP-NONCE`, never used again. */
  readonly instance: string
  /** What was handed on to it by another agent's session; undefined: it acts as its caller is listed. */
  readonly handed: Handed | undefined
  /** The branch that its commands run in. */
  readonly wish: BranchWish
  /** The chain as its caller was told at the last Authenticate; undefined before. */
  head: AuditHead | undefined
  /** Output that has left for the caller. */
  deliveredBytes: number
  /** What its connections have carried, handshakes included. */
  readonly wire: WireBytes
}

export type SessionChange = {
  readonly session: Session
  readonly from: SessionState
  readonly to: SessionState
}

export type SessionLimits = {
  readonly maxSessions: number
  readonly maxDurationMs: number
  readonly bindAddress: boolean
}

const INSTANCES_KEPT = 4_096

export type NewSession = {
  readonly idBytes: Uint8Array
  readonly id: string
  readonly instance: string
  /** Absent: a branch of its own. */
  readonly wish?: BranchWish | undefined
  readonly handed?: Handed | undefined
  /** False: a challenge must be met first. */
  readonly isProven: boolean
}

export type Sessions = {
  readonly size: number
  /** Undefined: all places are taken by sessions that are held or at work. */
  create(made: NewSession, caller: Caller, address: string, nowMs: number): Session | undefined
  /** No session has that instance again, however long the daemon lives. */
  retire(instance: string): void
  /** Whether a session has, or lately had, an instance of that name. */
  hasHadInstance(instance: string): boolean
  /** True where `create` would find a place. */
  hasRoom(): boolean
  /** Sessions of that caller that are held or at work: the others make room. */
  countOf(caller: string): number
  /** The caller's own live or expired session of that id, from the same address where that is asked for. */
  find(id: string, caller: Caller, address: string): Session | undefined
  apply(session: Session, event: SessionEvent, nowMs: number): void
  stateOf(id: string): SessionState | undefined
  /** One execution less; returns the state that the session is in then, undefined when it is gone. */
  executionEnded(id: string, nowMs: number): SessionState | undefined
  renew(session: Session, nowMs: number): void
  /** Expires what is due and destroys what nobody can want any more. */
  tick(nowMs: number): void
  all(): Iterable<Session>
}

/** `changed` hears of every transition, in order, before anything else is done with the session. */
export function createSessions(limits: SessionLimits, changed: (change: SessionChange) => void): Sessions {
  const sessions = new Map<string, Session>()
  /** Names carry the second that they were given in: those of the last thousands are enough to tell a second one. */
  const instances = new Set<string>()
  /** Those that were ended for good are not pushed out by others. */
  const retired = new Set<string>()

  function apply(session: Session, event: SessionEvent, nowMs: number): void {
    if (event === 'all_ended' && session.running > 0) return
    const to = SESSION_TABLE[session.state][event]
    if (to === undefined) return
    if (event === 'started') session.running++
    const from = session.state
    session.state = to
    session.lastSeenMs = nowMs
    if (to === 'DESTROYED') sessions.delete(session.id)
    if (from !== to) changed({ session, from, to })
  }

  function isIdle(session: Session): boolean {
    return !session.isHeld && session.running === 0
  }

  /** The one that has been away longest and runs nothing. */
  function longestAway(): Session | undefined {
    let oldest: Session | undefined
    for (const session of sessions.values()) {
      if (isIdle(session) && (oldest === undefined || session.lastSeenMs < oldest.lastSeenMs))
        oldest = session
    }
    return oldest
  }

  return {
    get size() {
      return sessions.size
    },
    retire(instance) {
      retired.add(instance)
      const [oldest] = retired
      if (retired.size > INSTANCES_KEPT && oldest !== undefined) retired.delete(oldest)
    },
    hasHadInstance: (instance) => instances.has(instance) || retired.has(instance),
    hasRoom: () => sessions.size < limits.maxSessions || longestAway() !== undefined,
    countOf(caller) {
      let count = 0
      for (const session of sessions.values()) if (session.caller.name === caller && !isIdle(session)) count++
      return count
    },
    create({ idBytes, id, instance, wish, handed, isProven }, caller, address, nowMs) {
      if (sessions.size >= limits.maxSessions) {
        const away = longestAway()
        if (away === undefined) return undefined
        apply(away, 'destroyed', nowMs)
      }
      const session: Session = {
        id,
        idBytes,
        caller,
        address,
        state: 'CREATED',
        expiresAtMs: nowMs + limits.maxDurationMs,
        running: 0,
        isHeld: true,
        isLeft: false,
        dismissHolder: undefined,
        lastSeenMs: nowMs,
        instance,
        handed,
        wish: wish ?? { kind: 'new' },
        head: undefined,
        deliveredBytes: 0,
        wire: { received: 0, sent: 0 },
        ...newMemory(),
      }
      sessions.set(id, session)
      instances.add(instance)
      const [oldest] = instances
      if (instances.size > INSTANCES_KEPT && oldest !== undefined) instances.delete(oldest)
      if (isProven) apply(session, 'authenticated', nowMs)
      return session
    },
    find(id, caller, address) {
      const session = sessions.get(id)
      // By the key that is listed, which rotation keeps: a name whose key was replaced is somebody else.
      if (session?.caller.name !== caller.name || scopeOf(session.caller) !== scopeOf(caller))
        return undefined
      return limits.bindAddress && session.address !== address ? undefined : session
    },
    apply,
    executionEnded(id, nowMs) {
      const session = sessions.get(id)
      if (session === undefined) return undefined
      session.running--
      apply(session, 'all_ended', nowMs)
      if (session.isLeft && isIdle(session)) apply(session, 'destroyed', nowMs)
      return session.state
    },
    stateOf: (id) => sessions.get(id)?.state,
    renew(session, nowMs) {
      if (SESSION_TABLE[session.state].renewed === undefined) return
      session.expiresAtMs = nowMs + limits.maxDurationMs
      apply(session, 'renewed', nowMs)
      if (session.state === 'ACTIVE' && session.running > 0) {
        session.state = 'EXECUTING'
        changed({ session, from: 'ACTIVE', to: 'EXECUTING' })
      }
    },
    tick(nowMs) {
      for (const session of sessions.values()) {
        // Nobody ever answered its challenge, and the connection is gone.
        if (session.state === 'CREATED' && !session.isHeld) apply(session, 'destroyed', nowMs)
        else if (session.state !== 'EXPIRED' && nowMs >= session.expiresAtMs)
          apply(session, 'time_out', nowMs)
        else if (
          session.state === 'EXPIRED' &&
          isIdle(session) &&
          nowMs >= session.expiresAtMs + SESSION_KEPT_EXPIRED_MS
        ) {
          apply(session, 'destroyed', nowMs)
        }
      }
    },
    all: () => sessions.values(),
  }
}
