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
  Look,
  RequestFacts,
  Source,
  TransportFacts,
} from '../../defense/facts.ts'
import type { Verdict } from '../../defense/verdict.ts'
import { mayTellAgent, reasonOf, SassError } from '../../errors.ts'
import {
  CHANNEL_BINDING_BYTES,
  CHANNEL_BINDING_LABEL,
  END_LINGER_MS,
  OPERATOR_METHODS_FROM,
  OPERATOR_METHODS_TO,
} from '../../limits.ts'
import type { Transport } from '../../ports.ts'
import { type ConnectionEvent, createConnection } from '../../wire/connection.ts'
import { describeProblems } from '../../wire/schema.ts'
import { type ChallengeOutcome, createChallenges } from '../callers/challenges.ts'
import { type Caller, callerAsListed, factsOf } from '../callers/identities.ts'
import { holdViScreen } from '../commands/vi-swap.ts'
import { createAnswers } from '../common/answers.ts'
import { createBufferShare } from '../common/buffer-share.ts'
import type { Call, Peer, PeerHandle, StreamUser } from '../common/peer.ts'
import { penalise } from '../common/penalise.ts'
import { decide, nextCycle, type Rooms } from '../common/rooms.ts'
import { NO_CIRCUMSTANCES, NOT_LOOKED } from '../decisions/attempt.ts'
import { handle } from '../requests/requests.ts'
import type { Place } from './gate.ts'
import { createIntake } from './intake.ts'
import { createKeepalive } from './keepalive.ts'
import { createSessionHold } from './session-hold.ts'

const NO_CONTEXT = new Uint8Array(0)

/** A peer past its handshake. `place` is its place among those that have not authenticated; `gone` is told once. */
export function createPeer(
  rooms: Rooms,
  transport: Transport,
  source: Source,
  place: Place,
  gone: () => void,
): PeerHandle {
  const users = new Map<number, StreamUser>()
  const binding = transport.exportKeyingMaterial(CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, NO_CONTEXT)
  const transportFacts: TransportFacts = {
    ...transport.agreement,
    hasExporter: binding !== undefined,
    frameProblem: undefined,
  }
  let caller: Caller | undefined
  const hold = createSessionHold(rooms, drop)
  let isOver = false
  let tarpit: { release(): void } | undefined
  const buffers = createBufferShare(rooms.buffers, transport)
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

  const answers = createAnswers(transport, () => intake.goOn())
  const connection = createConnection('daemon', answers.send, takeGuarded)
  const intake = createIntake(transport, answers, rooms.clock, (bytes, mustWait) => {
    try {
      return connection.receive(bytes, mustWait)
    } catch (cause) {
      fail(cause)
      return bytes.length
    }
  })

  const callerNow = () => caller && callerAsListed(caller, rooms.identities)

  function identityNow(): Identity {
    const now = callerNow()
    if (now === undefined) return { kind: 'none', dismissed: 'no' }
    return factsOf(now, rooms.identities, hold.session)
  }

  function factsFor(
    request: RequestFacts | undefined,
    action: Action | undefined,
    identity: Identity,
    look: Look = NOT_LOOKED,
    frameProblem?: string,
  ): Facts {
    return {
      cycle: nextCycle(rooms),
      source,
      transport: frameProblem === undefined ? transportFacts : { ...transportFacts, frameProblem },
      identity,
      session: hold.facts(),
      request,
      action,
      ...look,
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
    buffers.end()
    const leaving = [...users.values()]
    // First: what one of them gives back may be the turn of another one, which must find that it is too late.
    users.clear()
    for (const user of leaving) user.leave()
  }

  function drop(): void {
    over()
    hold.letGo(destroysSession)
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
    // A timer has nobody above it.
    try {
      refuse(peer.decide(request, undefined), undefined)
    } catch (cause) {
      fail(cause)
    }
  }

  /**
   * An orderly end. Until all of it is taken the connection keeps its session's place: what it holds of sockets and
   * buffers is bounded by the number of sessions.
   */
  function finish(): void {
    endedAtMs = rooms.clock.monotonicMs()
    if (transport.waitingBytes === 0) hold.letGo(destroysSession)
    transport.end()
  }

  function refuse(verdict: Verdict, call: Call | undefined): void {
    if (verdict.kind === 'status') {
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
        return throttle(verdict, call)
      case 'VI_SWAP':
        if (call === undefined) return drop()
        // An operator learns why; an agent only in a lab that asked for it.
        if (callerNow()?.role === 'operator' || rooms.settings.denyResponse === 'reason') {
          return connection.fail(call.streamId, verdict.code ?? 'INTERNAL', verdict.reason)
        }
        return holdViScreen(peer, call)
      case 'TARPIT':
        over()
        // Whoever gets this has nothing to come back to.
        hold.end()
        tarpit = rooms.tarpits.hold(transport)
        if (tarpit === undefined) transport.reset()
        return
      case 'DROP':
        return drop()
    }
  }

  function throttle({ code = 'RESPONSE_THROTTLED', reason }: Verdict, call: Call | undefined): void {
    if (call === undefined) return
    // That a question about it has no place is no refusal of what was asked.
    const isUnasked = code.startsWith('CAPABILITY_')
    if ((mayTellAgent(code) && !isUnasked) || callerNow()?.role === 'operator')
      return connection.fail(call.streamId, code, reason)
    connection.fail(
      call.streamId,
      'RESPONSE_THROTTLED',
      'As many requests as may wait for an operator do so already; send it again later.',
    )
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
      reason: reasonOf(cause),
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
        return failStream(event.stream.id, describeProblems(event.message.problems))
      }
      case 'ended': {
        const user = users.get(event.stream.id)
        if (event.message === undefined) return user?.ended()
        if (!event.message.ok) return failStream(event.stream.id, describeProblems(event.message.problems))
        user?.message(event.message.value, event.dataBytes)
        return user?.ended()
      }
      case 'credit':
        return users.get(event.stream.id)?.credit()
      case 'reset':
        return endStream(event.stream.id)
      case 'fatal':
        return refuse(
          decide(rooms, factsFor(undefined, undefined, identityNow(), NOT_LOOKED, event.problem)),
          undefined,
        )
      case 'pong':
        return keepalive.answered()
      default:
        // STATUS and GOAWAY never reach a daemon: the phase table has no cell for them.
        return drop()
    }
  }

  function failStream(streamId: number, problems: string): void {
    endStream(streamId)
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
      reason: reasonOf(cause),
    })
    if (caller === undefined) return drop()
    const isTold = cause instanceof SassError && cause.code === 'PTY_UNAVAILABLE'
    connection.fail(
      call.streamId,
      isTold ? cause.code : 'SANDBOX_UNAVAILABLE',
      isTold ? cause.message : 'The device could not handle the request; nothing was done.',
    )
    endStream(call.streamId)
  }

  /** What a stream is joined to leaves it, and is asked nothing any more. */
  function endStream(streamId: number): void {
    const user = users.get(streamId)
    users.delete(streamId)
    user?.leave()
  }

  /** A number that no method has. An agent that tries an operator's number gets R4 like any violation. */
  function takeUnknown(streamId: number, number: number): void {
    const isOperators = number >= OPERATOR_METHODS_FROM && number < OPERATOR_METHODS_TO
    const isViolation = isOperators && callerNow()?.role === 'agent'
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
    if (verdict.kind === 'status')
      return connection.refuseUnknown(streamId, verdict.code ?? 'FRAME_MALFORMED', verdict.reason)
    switch (verdict.response) {
      case 'CHALLENGE':
      case 'THROTTLE':
        // It could not be answered with what it asks for, whatever else it waited for.
        return connection.refuseUnknown(streamId, verdict.code ?? 'INTERNAL', verdict.reason)
      case 'VI_SWAP':
        // There is no stream to hold: silence is what a held one would give.
        return
      default:
        refuse(verdict, undefined)
    }
  }

  const peer: Peer = {
    rooms,
    connection,
    source,
    transport,
    get caller() {
      return callerNow()
    },
    get session() {
      return hold.session
    },
    get level() {
      const who = identityNow()
      if (who.kind !== 'known' || who.role === 'operator') return 'NORMAL'
      const actsFor = who.delegation?.chain.map(({ name }) => name) ?? []
      return rooms.levels.of(who.name, hold.session?.id ?? '', actsFor, hold.session?.handed?.session)
    },
    channelBinding: binding,
    takeBuffer: buffers.take,
    sendBuffer: buffers.send,
    join: (streamId, user) => users.set(streamId, user),
    streamDone: (streamId) => users.delete(streamId),
    stdinDrained: (streamId) => users.get(streamId)?.stdinDrained(),
    user: (streamId) => users.get(streamId),
    decide(request, action, identity = identityNow(), look = NOT_LOOKED) {
      const verdict = decide(rooms, factsFor(request, action, identity, look), hold.session)
      if (identity.kind === 'known') intake.waitUntil(rooms.recordShares.nextMs(identity.name))
      return verdict
    },
    refuse,
    fail: failCall,
    challenge(settled) {
      if (hold.session === undefined) return undefined
      const issued = challenges.issue(hold.session.idBytes, (outcome) => {
        if (outcome === 'passed') hold.proven()
        settled(outcome)
        challengeEnded(outcome)
      })
      if (issued !== undefined) rooms.challengeRates.count(caller?.name ?? '')
      return issued
    },
    forgetChallenge: challenges.forget,
    holdIntake: intake.hold,
    answerChallenge: challenges.answer,
    becomeKnown(who, held, windowBytes, isProven) {
      caller = who
      hold.take(held, isProven)
      transport.meter?.charge(held.wire)
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
    ended() {
      // What is over already may have given its session to another connection.
      destroysSession ||= !isOver && users.size === 0
      over()
      finish()
    },
    closed() {
      tarpit?.release()
      // It came, and went without having said who it is: as cheap as it is for it, a little for its address.
      if (!isOver && caller === undefined && source.transport === 'tls')
        penalise(rooms, source.address, 'no_auth')
      over()
      hold.letGo(destroysSession)
      gone()
    },
    tick(nowMs) {
      if (endedAtMs !== undefined && nowMs - endedAtMs >= END_LINGER_MS) {
        endedAtMs = undefined
        return drop()
      }
      if (isOver || caller === undefined) return
      for (const user of users.values()) user.tick?.()
      const due = keepalive.tick(nowMs)
      if (due === 'nothing') return
      if (due === 'ping') return connection.ping()
      rooms.log.write('info', 'peer_lost', { source: source.address, agent: caller.name })
      drop()
    },
    drain(seconds) {
      const details = new Map([[1, seconds]])
      // Who has not authenticated is told nothing, not even this.
      if (isOver) return
      if (caller === undefined) return drop()
      for (const [streamId, user] of [...users]) {
        if (user.waits !== true) continue
        endStream(streamId)
        const text = 'The device is going down; nothing was done.'
        connection.fail(streamId, 'DAEMON_SHUTTING_DOWN', text, details)
      }
      connection.goAway('DAEMON_SHUTTING_DOWN', 'The device is going down.', details)
    },
    get phase() {
      if (!isOver) return caller === undefined ? 'unauthenticated' : 'open'
      return tarpit === undefined ? 'ending' : 'tarpit'
    },
    get hasOpenStreams() {
      return [...users.values()].some(({ isHeld }) => isHeld !== true)
    },
    end() {
      over()
      finish()
    },
    reset: drop,
  }
}
