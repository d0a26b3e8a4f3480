/**
 * Whoever runs a plan, to the decision: an agent with its session, its set, its instance and its levels, and no stream
 * that anybody reads. What it waits for is waited for as by a command; what is refused is told to the plan instead.
 * Rules: docs/plans.md; docs/responses.md, "The six responses".
 * @module
 */

import type { CborValue } from '../../base/encoding/cbor.ts'
import type { Source } from '../../defense/facts.ts'
import type { Verdict } from '../../defense/verdict.ts'
import type { Code } from '../../errors.ts'
import { reasonOf } from '../../errors.ts'
import { callerAsListed, factsOf } from '../callers/identities.ts'
import { type Asker, SESSION_FACTS, type StreamUser } from '../common/peer.ts'
import type { PlanRunner } from '../common/plan-room.ts'
import { decide, nextCycle, type Rooms } from '../common/rooms.ts'
import { NOT_LOOKED } from '../decisions/attempt.ts'

/** Nobody is connected: the plan came signed. */
export const SIGNED_SOURCE: Source = Object.freeze({
  transport: 'intent',
  address: 'intent',
  isLoopback: true,
  isAllowed: true,
  isPenalised: false,
  isSuspect: false,
  crowd: undefined,
})

export type AskerEvents = {
  /** It waits for a place or a human: the message that says so, with how many bytes of data it has. */
  waits(message: CborValue, dataBytes?: number): void
  /** Decided against, or it could not be done; with a code that may be told. */
  refused(code: Code, text: string): void
  /** Decided against by a response that tells nothing. */
  unanswered(verdict: Verdict): void
}

/** The asker of one call, and what gives up whatever the call waits for. */
export function createPlanAsker(
  rooms: Rooms,
  { caller, session, source, transport }: PlanRunner,
  events: AskerEvents,
): { readonly asker: Asker; leave(): void } {
  let user: StreamUser | undefined

  const callerNow = () => callerAsListed(caller, rooms.identities)
  const identityNow = () => factsOf(callerNow(), rooms.identities, session)

  function refuse(verdict: Verdict): void {
    if (verdict.kind === 'status') return events.refused(verdict.code ?? 'INTERNAL', verdict.reason)
    switch (verdict.response) {
      case 'EXECUTE':
        return
      case 'CHALLENGE':
        return events.refused(
          'RESPONSE_CHALLENGE_REQUIRED',
          'The call needs a challenge, which a plan cannot meet: renew the session, and run it as a command.',
        )
      case 'THROTTLE':
        return events.refused('RESPONSE_THROTTLED', 'As many requests as may wait do so already.')
      default:
        return events.unanswered(verdict)
    }
  }

  const asker: Asker = {
    rooms,
    connection: {
      message: (_id, message, dataBytes) => events.waits(message, dataBytes),
      fail: (_id, code, text) => events.refused(code, text),
    },
    get caller() {
      return callerNow()
    },
    session,
    get level() {
      const who = identityNow()
      if (who.kind !== 'known' || who.role === 'operator') return 'NORMAL'
      const actsFor = who.delegation?.chain.map(({ name }) => name) ?? []
      return rooms.levels.of(who.name, session.id, actsFor, session.handed?.session)
    },
    join(_id, joined) {
      user = joined
    },
    streamDone() {
      user = undefined
    },
    user: () => user,
    decide(request, action, identity = identityNow(), look = NOT_LOOKED) {
      const facts = {
        cycle: nextCycle(rooms),
        ...{ source, transport, identity, request, action, ...look },
        session: { id: session.id, state: SESSION_FACTS[session.state] },
      }
      return decide(rooms, facts, session)
    },
    refuse,
    fail(_call, cause) {
      rooms.log.write('error', 'plan_call_failed', { reason: reasonOf(cause) })
      events.refused('SANDBOX_UNAVAILABLE', 'The device could not handle the call; nothing of it was done.')
    },
    challenge: () => undefined,
    forgetChallenge() {},
  }
  return {
    asker,
    leave() {
      const left = user
      user = undefined
      left?.leave()
    },
  }
}
