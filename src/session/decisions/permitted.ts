/**
 * What most handlers are: an action that is decided about, whose warrant is spent, and that is then done at once. What
 * has to wait, or to spend its warrant later, asks `attempt` itself.
 * Rules: docs/responses.md; the order of decision and deed: docs/security.md.
 * @module
 */
import type { CborValue } from '../../base/encoding/cbor.ts'
import type { Action } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import type { Code } from '../../errors.ts'
import { type Call, type Handler, type Peer, sessionOf } from '../common/peer.ts'
import { type Aim, attempt } from './attempt.ts'

/** Refuses with a plain reason, through the decision, so that it is counted and recorded like any other. */
export function mistake(peer: Peer, call: Call, problem: string, overExpanded = false): void {
  attempt(peer, call, { action: undefined, problem, overExpanded, go() {} })
}

/** What is done as soon as it is permitted, with its warrant spent. */
export function aimAt(peer: Peer, action: Action, go: (warrant: Warrant) => void, problem = ''): Aim {
  return {
    action,
    problem,
    go(warrant) {
      Warrant.redeem(warrant, action, sessionOf(peer))
      go(warrant)
    },
  }
}

/** Goes on once the action is permitted, however long it has to wait for that; its warrant is spent by then. */
export function permitted(
  peer: Peer,
  call: Call,
  action: Action,
  go: (warrant: Warrant) => void,
  problem = '',
): void {
  attempt(peer, call, aimAt(peer, action, go, problem))
}

/** The same for what a request says; one that cannot be read is refused as that. */
export function requested<T>(
  peer: Peer,
  call: Call,
  actionOf: (request: T) => Action,
  go: (request: T) => void,
  problemOf: (request: T) => string = () => '',
): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as T
  permitted(peer, call, actionOf(request), () => go(request), problemOf(request))
}

/** Goes on where the method may be asked at all: it only tells. */
export function whenReading(peer: Peer, call: Call, go: () => void, problem = ''): void {
  permitted(peer, call, { kind: 'read', method: call.method.name }, go, problem)
}

/** A method that only tells, and knows what at once. */
export function telling(answer: (peer: Peer) => CborValue): Handler {
  return (peer, call) => whenReading(peer, call, () => peer.connection.end(call.streamId, answer(peer)))
}

/** Says what keeps it from being done, to whoever may use the method at all. */
export function failPermitted(peer: Peer, call: Call, code: Code, text: string): void {
  whenReading(peer, call, () => peer.connection.fail(call.streamId, code, text))
}
