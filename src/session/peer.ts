/**
 * One connection from handshake to end: what its frames mean, which of the six responses it gets, and what its
 * streams are joined to. Holds no socket and no time of its own.
 * Rules: docs/protocol.md, sections 1, 2 and 8; docs/responses.md, section 1.
 * @module
 */
import { isLoopback, parseIpAddress } from '../base/ip-address.ts'
import type {
  Action,
  Facts,
  Identity,
  RequestFacts,
  SessionFacts,
  Source,
  TransportFacts,
} from '../defense/facts.ts'
import type { Verdict } from '../defense/verdict.ts'
import { SassError } from '../errors.ts'
import {
  CHANNEL_BINDING_BYTES,
  CHANNEL_BINDING_LABEL,
  END_LINGER_MS,
  KEEPALIVE_MAX_MS,
  KEEPALIVE_UNANSWERED,
  OPERATOR_METHODS_FROM,
  OPERATOR_METHODS_TO,
  OUTPUT_BUFFERS_PER_CONNECTION,
} from '../limits.ts'
import type { Transport, TransportEvents } from '../ports.ts'
import {
  type Connection,
  type ConnectionEvent,
  createConnection,
  type ReadPayload,
} from '../wire/connection.ts'
import type { Method } from '../wire/methods.ts'
import { describeProblems } from '../wire/schema.ts'
import type { Place } from './gate.ts'
import type { Caller } from './identities.ts'
import { createIntake } from './intake.ts'
import { handle } from './requests.ts'
import { decide, nextCycle, type Rooms } from './rooms.ts'
import type { Session } from './sessions.ts'
import { holdViScreen } from './vi-swap.ts'

/** What a stream is joined to, if it is more than one question and one answer. */
export type StreamUser = {
  message(value: unknown, dataBytes: number): void
  ended(): void
  credit(): void
  /** The child took what was written. */
  stdinDrained(): void
  leave(): void
  /** A held screen: the daemon's end need not wait for it. */
  readonly isHeld?: true
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
  readonly channelBinding: Uint8Array | undefined
  /** A buffer for one frame of bulk output, or undefined: `again` is called when there may be one. */
  takeBuffer(again: () => void): Uint8Array | undefined
  sendBuffer(buffer: Uint8Array, length: number): void
  join(streamId: number, user: StreamUser): void
  streamDone(streamId: number): void
  stdinDrained(streamId: number): void
  /** The decision about this peer with what is known of it; recorded. */
  decide(request: RequestFacts | undefined, action: Action | undefined, identity?: Identity): Verdict
  /** Carries out any verdict but R1. */
  refuse(verdict: Verdict, call: Call | undefined): void
  becomeKnown(caller: Caller, session: Session, windowBytes: number): void
}

export type PeerHandle = TransportEvents & {
  tick(nowMs: number): void
  /** Tells the peer that the daemon goes down. */
  drain(): void
  readonly hasOpenStreams: boolean
  end(): void
  reset(): void
}

/** Where a connection comes from, as the decision sees it. */
export function sourceOf(kind: Transport['kind'], address: string, isAllowed: boolean): Source {
  if (kind === 'admin') return { transport: 'admin', address: 'local', isLoopback: true, isAllowed: true }
  const parsed = parseIpAddress(address)
  return { transport: 'tls', address, isLoopback: parsed !== undefined && isLoopback(parsed), isAllowed }
}

/** A peer past its handshake. `place` is its place among those that have not authenticated; `gone` is told once. */
export function createPeer(
  rooms: Rooms,
  transport: Transport,
  source: Source,
  place: Place,
  gone: () => void,
): PeerHandle {
  const users = new Map<number, StreamUser>()
  const binding = transport.exportKeyingMaterial(
    CHANNEL_BINDING_BYTES,
    CHANNEL_BINDING_LABEL,
    new Uint8Array(0),
  )
  const transportFacts: TransportFacts = {
    ...transport.agreement,
    hasExporter: binding !== undefined,
    frameProblem: undefined,
  }
  let caller: Caller | undefined
  let session: Session | undefined
  let buffersHeld = 0
  let wantsBuffer: Set<() => void> = new Set()
  let isOver = false
  let tarpit: { release(): void } | undefined
  let lastReceivedMs = rooms.clock.monotonicMs()
  let unanswered = 0
  /** Silence before the next PING: longer after each answer, as long as the link keeps idle connections. */
  let idleMs = rooms.settings.keepaliveMs
  // Since when the other side has been waited for after our orderly end; and whether the session ends with that.
  let endedAtMs: number | undefined
  let destroysSession = false

  const connection = createConnection('daemon', (frame) => transport.write(frame), takeGuarded)
  const intake = createIntake(transport, (bytes) => {
    try {
      connection.receive(bytes)
    } catch (cause) {
      fail(cause)
    }
  })

  function identityNow(): Identity {
    if (caller === undefined) return { kind: 'none', dismissed: 'no' }
    return { kind: 'known', name: caller.name, role: caller.role, capability: caller.capability }
  }

  function sessionNow(): SessionFacts | undefined {
    if (session === undefined) return undefined
    return {
      id: session.id,
      state: session.state === 'EXPIRED' ? 'expired' : session.state === 'DESTROYED' ? 'unknown' : 'live',
    }
  }

  function factsFor(
    request: RequestFacts | undefined,
    action: Action | undefined,
    identity: Identity,
    frameProblem?: string,
  ): Facts {
    return {
      cycle: nextCycle(rooms),
      source,
      transport: frameProblem === undefined ? transportFacts : { ...transportFacts, frameProblem },
      identity,
      session: sessionNow(),
      request,
      action,
    }
  }

  /** Ends what the peer had, once. */
  function over(): void {
    if (isOver) return
    isOver = true
    place.leave()
    intake.stop()
    connection.kill()
    for (const user of [...users.values()]) user.leave()
    users.clear()
    wantsBuffer.clear()
  }

  /** Gives the session's place away, unless another connection has it by now. */
  function letGoOfSession(): void {
    if (session === undefined || session.dismissHolder !== drop) return
    session.isHeld = false
    session.dismissHolder = undefined
    session.lastSeenMs = rooms.clock.monotonicMs()
    if (destroysSession && session.running === 0)
      rooms.sessions.apply(session, 'destroyed', session.lastSeenMs)
  }

  function drop(): void {
    over()
    letGoOfSession()
    transport.reset()
  }

  /**
   * An orderly end. Until all of it is taken the connection keeps its session's place: what it holds of sockets and
   * buffers is bounded by the number of sessions.
   */
  function finish(): void {
    endedAtMs = rooms.clock.monotonicMs()
    if (transport.waitingBytes === 0) letGoOfSession()
    transport.end()
  }

  function refuse(verdict: Verdict, call: Call | undefined): void {
    if (verdict.kind === 'mistake') {
      if (call !== undefined) connection.fail(call.streamId, verdict.code ?? 'INTERNAL', verdict.reason)
      if (!verdict.ends) return
      over()
      return finish()
    }
    switch (verdict.response) {
      case 'EXECUTE':
        return
      case 'CHALLENGE':
        if (call !== undefined)
          connection.fail(
            call.streamId,
            'SESSION_EXPIRED',
            'The session has expired; authenticate again to renew it.',
          )
        return
      case 'THROTTLE':
        if (call !== undefined)
          connection.fail(call.streamId, verdict.code ?? 'RESPONSE_THROTTLED', verdict.reason)
        return
      case 'VI_SWAP':
        if (call === undefined) return drop()
        // An operator learns why; an agent only in a lab that asked for it.
        if (caller?.role === 'operator' || rooms.settings.denyResponse === 'reason') {
          return connection.fail(call.streamId, verdict.code ?? 'INTERNAL', verdict.reason)
        }
        return holdViScreen(peer, call)
      case 'TARPIT':
        over()
        letGoOfSession()
        tarpit = rooms.tarpits.hold(transport)
        return
      case 'DROP':
        return drop()
    }
  }

  /** Deny on error: what could not be decided, recorded or carried out ends the connection, not the daemon. */
  function takeGuarded(event: ConnectionEvent): void {
    try {
      take(event)
    } catch (cause) {
      fail(cause)
    }
  }

  function fail(cause: unknown): void {
    rooms.log.write('error', 'connection_failed', {
      source: source.address,
      reason: cause instanceof Error ? cause.message : 'unknown',
    })
    drop()
  }

  function take(event: ConnectionEvent): void {
    switch (event.kind) {
      case 'opened':
        return takeCall({ streamId: event.stream, method: event.method, message: event.message })
      case 'unknown_method':
        return takeUnknown(event.stream, event.number)
      case 'message': {
        const user = users.get(event.stream.id)
        if (event.message.ok) return user?.message(event.message.value, event.dataBytes)
        return failStream(event.stream.id, user, describeProblems(event.message.problems))
      }
      case 'ended': {
        const user = users.get(event.stream.id)
        if (event.message === undefined) return user?.ended()
        if (!event.message.ok)
          return failStream(event.stream.id, user, describeProblems(event.message.problems))
        user?.message(event.message.value, event.dataBytes)
        return user?.ended()
      }
      case 'credit':
        return users.get(event.stream.id)?.credit()
      case 'reset': {
        const user = users.get(event.stream.id)
        users.delete(event.stream.id)
        return user?.leave()
      }
      case 'fatal':
        return refuse(decide(rooms, factsFor(undefined, undefined, identityNow(), event.problem)), undefined)
      case 'pong':
        idleMs = Math.max(idleMs, Math.min(idleMs + rooms.settings.keepaliveMs, KEEPALIVE_MAX_MS))
        return
      default:
        // STATUS and GOAWAY never reach a daemon: the phase table has no cell for them.
        return drop()
    }
  }

  function failStream(streamId: number, user: StreamUser | undefined, problems: string): void {
    user?.leave()
    users.delete(streamId)
    connection.fail(streamId, 'FRAME_MALFORMED', `The stream was ended: ${problems}.`)
  }

  function takeCall(call: Call): void {
    try {
      handle(peer, call)
    } catch (cause) {
      // Deny on error: what could not be decided or recorded is not done.
      rooms.log.write('error', 'request_failed', {
        method: call.method.name,
        reason: cause instanceof Error ? cause.message : 'unknown',
      })
      if (caller === undefined) return drop()
      const isTold = cause instanceof SassError && cause.code === 'PTY_UNAVAILABLE'
      connection.fail(
        call.streamId,
        isTold ? cause.code : 'SANDBOX_UNAVAILABLE',
        isTold ? cause.message : 'The device could not handle the request; nothing was done.',
      )
      users.delete(call.streamId)
    }
  }

  /** A number that no method has. An agent that tries an operator's number gets R4 like any violation. */
  function takeUnknown(streamId: number, number: number): void {
    const isOperators = number >= OPERATOR_METHODS_FROM && number < OPERATOR_METHODS_TO
    const isViolation = isOperators && caller?.role === 'agent'
    const verdict = peer.decide(
      {
        method: `#${number}`,
        audience: isOperators ? 'operator' : 'anyone',
        problems: isViolation ? '' : `there is no method ${number}`,
        overExpanded: false,
      },
      undefined,
    )
    if (verdict.kind === 'mistake')
      return connection.refuseUnknown(streamId, verdict.code ?? 'FRAME_MALFORMED', verdict.reason)
    // There is no stream to hold: silence is what a held one would give.
    if (verdict.response !== 'VI_SWAP') refuse(verdict, undefined)
  }

  function giveBack(buffer: Uint8Array): void {
    buffersHeld--
    rooms.buffers.give(buffer)
    const again = wantsBuffer
    wantsBuffer = new Set()
    for (const callback of again) callback()
  }

  const peer: Peer = {
    rooms,
    connection,
    source,
    transport,
    get caller() {
      return caller
    },
    get session() {
      return session
    },
    channelBinding: binding,
    takeBuffer(again) {
      if (isOver) return undefined
      if (buffersHeld >= OUTPUT_BUFFERS_PER_CONNECTION) {
        wantsBuffer.add(again)
        return undefined
      }
      const buffer = rooms.buffers.take()
      if (buffer === undefined) rooms.buffers.wait(again)
      else buffersHeld++
      return buffer
    },
    sendBuffer(buffer, length) {
      transport.write(buffer.subarray(0, length), () => giveBack(buffer))
    },
    join: (streamId, user) => users.set(streamId, user),
    streamDone: (streamId) => users.delete(streamId),
    stdinDrained: (streamId) => users.get(streamId)?.stdinDrained(),
    decide: (request, action, identity = identityNow()) => decide(rooms, factsFor(request, action, identity)),
    refuse,
    becomeKnown(who, held, windowBytes) {
      caller = who
      session = held
      held.dismissHolder = drop
      place.leave()
      connection.becomeOpen(windowBytes)
    },
  }

  return {
    data(bytes) {
      if (isOver) return
      lastReceivedMs = rooms.clock.monotonicMs()
      // It came after all, but late: the link does not keep idle connections that long.
      if (unanswered > 1) idleMs = rooms.settings.keepaliveMs
      unanswered = 0
      intake.push(bytes)
    },
    drained: () => intake.drained(),
    ended() {
      // What is over already may have given its session to another connection.
      destroysSession ||= !isOver && users.size === 0
      over()
      finish()
    },
    closed() {
      tarpit?.release()
      over()
      letGoOfSession()
      gone()
    },
    tick(nowMs) {
      if (endedAtMs !== undefined && nowMs - endedAtMs >= END_LINGER_MS) {
        endedAtMs = undefined
        return drop()
      }
      if (isOver || caller === undefined) return
      if (nowMs - lastReceivedMs < idleMs + rooms.settings.keepaliveMs * unanswered) return
      if (unanswered++ < KEEPALIVE_UNANSWERED) return connection.ping()
      rooms.log.write('info', 'peer_lost', { source: source.address, agent: caller.name })
      drop()
    },
    drain() {
      // Who has not authenticated is told nothing, not even this.
      if (isOver) return
      if (caller === undefined) return drop()
      connection.goAway('DAEMON_SHUTTING_DOWN', 'The device is going down.')
    },
    get hasOpenStreams() {
      for (const user of users.values()) if (user.isHeld !== true) return true
      return false
    },
    end() {
      over()
      finish()
    },
    reset: drop,
  }
}
