/**
 * A connection that comes back by itself. What runs is gone back to, and what was asked is asked again where that can
 * do no harm; where it could, the caller learns that the outcome is not known. Between tries is a pause of chance
 * that grows, so that a thousand clients of a router that starts anew do not come back at once. A device that lets us
 * in no more, or shows another key, is not asked for ever.
 * Rules: docs/protocol.md, section 6.
 * @module
 */
import { defer } from '../../base/deferred.ts'
import { asSassError, SassError } from '../../errors.ts'
import type { MethodName } from '../../wire/methods.ts'
import {
  PLACE_TAKEN_MS,
  RECONNECT_PAUSE_MAX_MS,
  RECONNECT_PAUSE_MS,
  REFUSED_MS,
  REFUSED_TRIES,
} from '../limits.ts'
import type { Caller } from './caller.ts'
import { lostError } from './caller-errors.ts'
import { lostForGood, type Member } from './running.ts'

/** One connection, authenticated. */
export type Connected = {
  readonly caller: Caller
  readonly sessionId: string
  /** Where the record of the device contradicts what is remembered of it. */
  readonly recordProblem: string | undefined
  /** Forms of output that requests on it accept. */
  readonly accept: number
  /** Resolves when it is gone, whoever ended it. */
  readonly closed: Promise<void>
  /** An orderly end. */
  end(): void
  destroy(): void
  /** Whether somebody waits for an answer: only then a silence is looked into. */
  watch(isAwaited: () => boolean): void
  /** Somebody has done something that should be answered soon. */
  poke(): void
}

/** Asks for something in the same flight as Authenticate; `accept`: forms of output that requests accept. */
export type AskAlong = (caller: Caller, accept: number) => void

export type LinkEvent =
  /** The device goes down in order: what runs there may end, nothing new begins. */
  | { readonly kind: 'leaving'; readonly withinSeconds: number | undefined }
  /** `reason` is one sentence. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** A try to come back that failed. */
  | { readonly kind: 'tried'; readonly tries: number; readonly awayMs: number; readonly reason: string }
  | {
      readonly kind: 'back'
      readonly awayMs: number
      /** False: the daemon was started anew, or we came from another address. */
      readonly isSameSession: boolean
      readonly recordProblem: string | undefined
    }
  /** There will be no further try. */
  | { readonly kind: 'gaveUp'; readonly awayMs: number; readonly reason: string }

export type OnLink = (event: LinkEvent) => void

export type LinkOptions = {
  readonly first: Connected
  /** Connects again and takes the session back; absent: it is never tried. */
  readonly dial?: ((before: Connected, along: AskAlong) => Promise<Connected>) | undefined
  readonly giveUpMs: number
  readonly nowMs: () => number
  readonly pause: (ms: number) => Promise<void>
  /** From 0 to 1. */
  readonly chance: () => number
  readonly onLink?: OnLink | undefined
}

/** `accept`: forms of output that requests on this connection accept. */
export type Work<Result> = (caller: Caller, accept: number) => Promise<Result>

export type Link = {
  /** One question, one answer. */
  readonly call: Caller['call']
  /**
   * Does it with a connection. `mayRepeat`: once more with the next one where that breaks; else it fails with
   * CONNECTION_LOST, unless nothing was sent.
   */
  use<Result>(work: Work<Result>, mayRepeat: boolean): Promise<Result>
  /** Joins it to this connection and to every further one, until it leaves. `isJoined`: it was joined to this one. */
  add(member: Member, isJoined?: boolean): void
  leave(member: Member): void
  poke(): void
  /** The present one, or the last one that was. */
  readonly connected: Connected
  /** It connects again where a connection ends. */
  readonly comesBack: boolean
  /** False while there is no connection. */
  readonly isUp: boolean
  /** Resolves when there is no connection and never will be. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

/** What tells only, or sets what is the same when it is set again. */
const REPEATED: ReadonlySet<MethodName> = new Set([
  'Cancel',
  'Signal',
  'SecurityStatus',
  'Ping',
  'RenewSession',
  'GetCapabilities',
  'ShowRules',
  'GetAuditPublicKey',
  'ListExecutions',
  'ListHandoffs',
  'TakeHandoff',
  'PlanStatus',
  'ShowTools',
  'ListConfirmations',
  'ShowLevels',
  'ListPenalties',
  'Explain',
  'ListBranches',
  'ListCheckpoints',
  'ShowMetrics',
] satisfies MethodName[])

/** What would be the same the next time, and can only get worse. */
const FINAL: ReadonlySet<string> = new Set([
  'PIN_MISMATCH',
  'PIN_UNKNOWN',
  'USAGE',
  'KEY_FILE_INVALID',
  'CHALLENGE_FAILED',
])

/** Whether to try again after tries that failed so; `refused` in the details marks those after the handshake. */
function createPatience(giveUpMs: number) {
  let refused = 0
  let refusedSinceMs = 0
  return (error: SassError, triedMs: number): boolean => {
    if (triedMs >= giveUpMs || FINAL.has(error.code)) return false
    if (error.code === 'SESSION_LIMIT') return triedMs < PLACE_TAKEN_MS
    if (error.code === 'CONNECT_FAILED' && error.details['refused'] === undefined) return true
    // Noise is the answer to somebody who is not let in, and no link makes it.
    if (error.details['refused'] === 'noise') return false
    if (refused++ === 0) refusedSinceMs = triedMs
    return refused < REFUSED_TRIES || triedMs - refusedSinceMs < REFUSED_MS
  }
}

function sentenceOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function closedError(): SassError {
  return new SassError('CONNECT_FAILED', 'The connection was closed on this side, so nothing was sent.')
}

export function createLink({ first, dial, giveUpMs, nowMs, pause, chance, onLink }: LinkOptions): Link {
  const members = new Set<Member>()
  const ended = defer<void>()
  let connected = first
  let uses = 0
  /** Resolves with the next connection; undefined while there is one, or while nobody asks for one. */
  let returning: Promise<Caller> | undefined
  let gone: SassError | undefined
  let isClosing = false
  let lostAtMs: number | undefined

  function adopt(next: Connected): void {
    connected = next
    next.watch(() => members.size > 0 || uses > 0)
    void next.caller.leaving.then((withinSeconds) => {
      if (connected === next && !isClosing) onLink?.({ kind: 'leaving', withinSeconds })
    })
    void next.closed.then(() => {
      if (connected === next) broke()
    })
  }

  function broke(): void {
    if (isClosing || gone !== undefined) return
    lostAtMs = nowMs()
    if (connected.caller.broken !== undefined) return giveUp(connected.caller.broken)
    if (dial === undefined) return end(lostError(undefined, false))
    // Who waits for nothing needs no connection until it asks for something.
    if (members.size > 0) current().catch(() => {})
  }

  function giveUp(error: SassError): void {
    const awayMs = lostAtMs === undefined ? 0 : nowMs() - lostAtMs
    onLink?.({ kind: 'gaveUp', awayMs, reason: error.message })
    end(error, error)
  }

  function end(error: SassError, why?: SassError): void {
    gone = error
    for (const member of [...members]) member.giveUp(why)
    members.clear()
    ended.resolve()
  }

  async function comeBack(): Promise<Caller> {
    const before = connected
    const beganMs = nowMs()
    const sinceMs = lostAtMs ?? beganMs
    const isPatient = createPatience(giveUpMs)
    onLink?.({ kind: 'lost', reason: 'The connection was lost.' })
    for (let tries = 1; ; tries++) {
      await pause(
        chance() * Math.min(RECONNECT_PAUSE_MS * 2 ** Math.min(tries - 1, 30), RECONNECT_PAUSE_MAX_MS),
      )
      if (isClosing) throw closedError()
      try {
        const joined = new Set<Member>()
        const next = await (dial as NonNullable<typeof dial>)(before, (caller, accept) => {
          for (const member of [...members]) {
            joined.add(member)
            member.join(caller, accept)
          }
        })
        if (isClosing) {
          next.destroy()
          throw closedError()
        }
        return welcome(before, next, nowMs() - sinceMs, joined)
      } catch (cause) {
        if (isClosing) throw closedError()
        const error =
          asSassError(cause) ??
          new SassError('INTERNAL', `The device cannot be gone back to: ${sentenceOf(cause)}`, {}, cause)
        if (!isPatient(error, nowMs() - beganMs)) {
          giveUp(error)
          throw error
        }
        onLink?.({ kind: 'tried', tries, awayMs: nowMs() - sinceMs, reason: error.message })
      }
    }
  }

  function welcome(before: Connected, next: Connected, awayMs: number, joined: ReadonlySet<Member>): Caller {
    lostAtMs = undefined
    adopt(next)
    const isSameSession = next.sessionId === before.sessionId
    onLink?.({ kind: 'back', awayMs, isSameSession, recordProblem: next.recordProblem })
    next.caller.goOn()
    for (const member of [...members]) if (!joined.has(member)) member.join(next.caller, next.accept)
    return next.caller
  }

  function isUp(): boolean {
    return gone === undefined && !isClosing && !connected.caller.isLost
  }

  /** A connection: the present one, or the next. */
  async function current(): Promise<Caller> {
    if (gone !== undefined) throw gone
    if (isClosing) throw closedError()
    if (isUp()) return connected.caller
    if (dial === undefined)
      throw new SassError('CONNECT_FAILED', 'The connection is closed, so nothing was sent.')
    returning ??= connected.closed.then(comeBack).finally(() => {
      returning = undefined
    })
    return returning
  }

  async function next(lost: SassError | undefined): Promise<Caller> {
    try {
      return await current()
    } catch (cause) {
      const error = asSassError(cause)
      throw lost === undefined || error === undefined ? cause : lostForGood(undefined, error)
    }
  }

  async function use<Result>(work: Work<Result>, mayRepeat: boolean): Promise<Result> {
    let lost: SassError | undefined
    uses++
    try {
      for (;;) {
        // At once where it can be: what is asked in one turn travels together.
        const caller = isUp() ? connected.caller : await next(lost)
        try {
          return await work(caller, connected.accept)
        } catch (cause) {
          const error = asSassError(cause)
          if (error === undefined || !caller.isLost || caller.broken !== undefined) throw cause
          if (error.code !== 'CONNECTION_LOST' && error.code !== 'CONNECT_FAILED') throw cause
          if (dial === undefined || (!mayRepeat && error.code === 'CONNECTION_LOST')) throw cause
          if (error.code === 'CONNECTION_LOST') lost = error
        }
      }
    } finally {
      uses--
    }
  }

  adopt(first)
  return {
    use,
    call: (method, request, onWaiting) =>
      use((caller) => caller.call(method, request, onWaiting), REPEATED.has(method)),
    add(member, isJoined = false) {
      if (gone !== undefined) return member.giveUp(gone)
      members.add(member)
      if (!connected.caller.isLost) {
        if (!isJoined) member.join(connected.caller, connected.accept)
      } else current().catch((cause: SassError) => member.giveUp(cause))
    },
    leave: (member) => members.delete(member),
    poke: () => connected.poke(),
    comesBack: dial !== undefined,
    get connected() {
      return connected
    },
    get isUp() {
      return !connected.caller.isLost
    },
    closed: ended.promise,
    async close() {
      isClosing = true
      connected.end()
      await connected.closed
      end(closedError())
    },
  }
}
