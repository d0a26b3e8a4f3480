/**
 * One connection from handshake to end: what its frames mean, which of the six responses it gets, and what its
 * streams are joined to. Holds no socket and no time of its own.
 * Rules: docs/protocol.md, sections 1, 2 and 8; docs/responses.md, section 1.
 * @module
 */
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
  OPERATOR_METHODS_FROM,
  OPERATOR_METHODS_TO,
  OUTPUT_BUFFERS_PER_CONNECTION,
} from '../limits.ts'
import type { Transport } from '../ports.ts'
import { type ConnectionEvent, createConnection } from '../wire/connection.ts'
import { describeProblems } from '../wire/schema.ts'
import { NO_CIRCUMSTANCES } from './attempt.ts'
import { type ChallengeOutcome, createChallenges } from './challenges.ts'
import type { Place } from './gate.ts'
import { type Caller, factsOf } from './identities.ts'
import { createIntake } from './intake.ts'
import { createKeepalive } from './keepalive.ts'
import { type Call, type Peer, type PeerHandle, SESSION_FACTS, type StreamUser } from './peer.ts'
import { handle } from './requests.ts'
import { decide, nextCycle, type Rooms } from './rooms.ts'
import type { Session } from './sessions.ts'
import { holdViScreen } from './vi-swap.ts'

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
  const keepalive = createKeepalive(rooms.settings.keepaliveMs, rooms.clock.monotonicMs())
  const challenges = createChallenges(
    transport,
    rooms.clock,
    rooms.random,
    () => rooms.settings.challengeTtlMs,
  )
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
    // By name: a reload may have changed what the caller may.
    return factsOf(rooms.identities.find(caller.name) ?? caller, rooms.identities, session?.instance)
  }

  function sessionNow(): SessionFacts | undefined {
    if (session === undefined) return undefined
    return {
      id: session.id,
      state: SESSION_FACTS[session.state],
    }
  }

  function factsFor(
    request: RequestFacts | undefined,
    action: Action | undefined,
    identity: Identity,
    realPaths: Facts['realPaths'] = [],
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
      realPaths,
    }
  }

  /** Ends what the peer had, once. */
  function over(): void {
    if (isOver) return
    isOver = true
    place.leave()
    intake.stop()
    challenges.end()
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

  function endSession(): void {
    const held = session
    letGoOfSession()
    if (held === undefined || held.state === 'DESTROYED') return
    rooms.executions.endWhere(({ sessionId }) => sessionId === held.id)
    rooms.sessions.apply(held, 'destroyed', rooms.clock.monotonicMs())
  }

  function drop(): void {
    over()
    letGoOfSession()
    transport.reset()
  }

  /** A challenge that nobody answered: there is no call to refuse, so the connection is. */
  function challengeEnded(outcome: ChallengeOutcome): void {
    if (outcome !== 'late') return
    const request: RequestFacts = {
      method: 'CognitiveChallenge',
      audience: 'anyone',
      problems: '',
      overExpanded: false,
      ...NO_CIRCUMSTANCES,
      challenge: outcome,
      task: undefined,
    }
    refuse(peer.decide(request, undefined), undefined)
  }

  function proven(): void {
    if (session === undefined) return
    const now = rooms.clock.monotonicMs()
    if (session.state === 'CREATED') rooms.sessions.apply(session, 'authenticated', now)
    else rooms.sessions.renew(session, now)
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
        // Only where this transport cannot be challenged: everywhere else the request waits.
        if (call !== undefined)
          connection.fail(
            call.streamId,
            'RESPONSE_CHALLENGE_REQUIRED',
            'The request needs a challenge, which this connection cannot carry; authenticate over TLS.',
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
        // Whoever gets this has nothing to come back to.
        endSession()
        tarpit = rooms.tarpits.hold(transport)
        if (tarpit === undefined) transport.reset()
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
        return refuse(
          decide(rooms, factsFor(undefined, undefined, identityNow(), [], event.problem)),
          undefined,
        )
      case 'pong':
        return keepalive.answered()
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
      failCall(call, cause)
    }
  }

  /** Deny on error: what could not be decided or recorded is not done. */
  function failCall(call: Call, cause: unknown): void {
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
        ...NO_CIRCUMSTANCES,
        task: undefined,
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
    user: (streamId) => users.get(streamId),
    decide: (request, action, identity = identityNow(), realPaths = []) =>
      decide(rooms, factsFor(request, action, identity, realPaths), session),
    refuse,
    fail: failCall,
    challenge(settled) {
      if (session === undefined) return undefined
      const issued = challenges.issue(session.idBytes, (outcome) => {
        if (outcome === 'passed') proven()
        settled(outcome)
        challengeEnded(outcome)
      })
      if (issued !== undefined) rooms.challengeRates.count(caller?.name ?? '')
      return issued
    },
    forgetChallenge: challenges.forget,
    answerChallenge: challenges.answer,
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
      keepalive.received(rooms.clock.monotonicMs())
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
      const due = keepalive.tick(nowMs)
      if (due === 'nothing') return
      if (due === 'ping') return connection.ping()
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
