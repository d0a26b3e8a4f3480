/**
 * How callers come to be listed and change their keys: an operator invites, whoever has the token enrols with a key of
 * its own, and a caller that is listed puts another key in the place of its own. Each is decided and recorded before it
 * takes effect; none gives a role or a set that the operator has not named.
 * Rules: docs/protocol.md, section 4; docs/security.md, "Enrolment".
 * @module
 */

import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { equalConstantTime, sha256 } from '../../base/crypto/hash.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { ADMIN_NAME, isName } from '../../base/text/name.ts'
import type { Action } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import type { Code } from '../../errors.ts'
import { reasonOf } from '../../errors.ts'
import { CONFIG_AGENTS, INVITATIONS_OPEN } from '../../limits.ts'
import { keyRotationInput } from '../../wire/auth-input.ts'
import type {
  Invitation as InvitationMessage,
  InviteRequest,
  KeyRotation,
} from '../../wire/identity-messages.ts'
import { invitation as invitationMessage } from '../../wire/identity-messages.ts'
import { outcome } from '../../wire/messages.ts'
import type { Invitation } from '../callers/enrolments.ts'
import { type Caller, factsOf, scopeOf } from '../callers/identities.ts'
import { endOverdue } from '../common/handed-on.ts'
import { type Call, type Peer, sessionOf } from '../common/peer.ts'
import { capabilityOf, type Rooms } from '../common/rooms.ts'
import { requestFacts } from '../decisions/attempt.ts'
import { recordNotDone } from '../decisions/kept-first.ts'
import { requested } from '../decisions/permitted.ts'

/** As the record names a key: never the whole of it, so that two records are compared by their digests alone. */
const keyName = (key: Uint8Array): string => `sha256:${encodeBase64Url(sha256(key))}`

type Invited = { readonly caller: Caller; readonly invitation: Invitation }

/**
 * Uses the invitation up, lists the caller, then `welcome`. A proof that came with an invitation that is used up
 * meanwhile is a failed one.
 */
export function enroll(
  peer: Peer,
  call: Call,
  { caller, invitation }: Invited,
  welcome: (caller: Caller) => void,
): void {
  const { rooms } = peer
  const { name, role, capability } = invitation
  const key = encodeBase64Url(caller.publicKey)
  const action: Action = { kind: 'enroll', name, role, capability, key }
  const verdict = peer.decide(requestFacts(call), action, factsOf(caller, rooms.identities, undefined))
  // Whoever is not listed yet has no screen and no queue to wait in.
  if (verdict.kind !== 'response' || verdict.response !== 'EXECUTE') return peer.transport.reset()
  const { warrant } = verdict

  function go(): void {
    Warrant.redeem(warrant, action, sessionOf(peer))
    if (!hasRoom(rooms) || !rooms.enrolments.enrol(invitation, key)) {
      recordNotDone(peer, action, warrant, 'the invitation was used up, or every place is taken')
      return refuseLate(peer, call, name)
    }
    rooms.audit.append(
      { type: 'identity', what: 'enrolled', agent: name, role, capability, key: keyName(caller.publicKey) },
      true,
    )
    rooms.log.write('info', 'enrolled', { agent: name, role, capability, source: peer.source.address })
    const listed = rooms.identities.find(name)
    if (listed === undefined) return refuseLate(peer, call, name)
    welcome(listed)
  }

  const { whenKept } = rooms.audit
  if (whenKept === undefined) return go()
  // Its cycle goes on until its record is kept.
  rooms.openWarrant = undefined
  const goOn = peer.holdIntake()
  whenKept((problem) => {
    try {
      if (problem !== undefined) peer.fail(call, problem)
      else if (peer.caller !== undefined || peer.connection.phase !== 'silent')
        recordNotDone(peer, action, warrant, 'its connection ended before its record was kept')
      else go()
    } catch (cause) {
      peer.fail(call, cause)
    }
    goOn()
  })
}

/** One of two that came with the same line: it has proven nothing. */
function refuseLate(peer: Peer, call: Call, name: string): void {
  const why = `The invitation of ${name} was used up by somebody else, or every place is taken.`
  refuseProof(peer, call, 'AUTH_KEY_NOT_FOUND', why)
}

/** To whoever has not proven who it is. */
export function refuseProof(peer: Peer, call: Call, code: Code, why: string): void {
  const identity = { kind: 'failed', code, why } as const
  peer.refuse(
    peer.decide(requestFacts({ ...call, message: { ok: true, value: undefined } }), undefined, identity),
    call,
  )
}

const hasRoom = ({ identities }: Rooms): boolean => identities.size < CONFIG_AGENTS

/** Why nobody can be invited so; undefined: somebody can. */
function whyNot({ rooms }: Peer, request: InviteRequest): string | undefined {
  const { agent_name: name, capability, ttl_seconds: ttl } = request
  if (!isName(name) || name === ADMIN_NAME)
    return `This name cannot be given: use 1 to 64 of the characters A-Z a-z 0-9 . _ -, and not ${ADMIN_NAME}.`
  if (rooms.identities.find(name) !== undefined)
    return `${name} is listed already: remove it first (sass-edge agent remove ${name}), or choose another name.`
  if (capabilityOf(rooms, capability) === undefined)
    return 'The configuration has no capability set of this name: add it to capabilities first.'
  if (ttl < 1) return 'An invitation is open for at least one second.'
  return hasRoom(rooms) ? undefined : `${CONFIG_AGENTS} callers are listed, and no more can be: remove some.`
}

export function inviteAgent(peer: Peer, call: Call): void {
  const { rooms } = peer
  const roleOf = ({ is_operator }: InviteRequest) => (is_operator ? 'operator' : 'agent')
  const actionOf = (request: InviteRequest): Action => ({
    kind: 'invite',
    name: request.agent_name,
    role: roleOf(request),
    capability: request.capability,
    ttlSeconds: request.ttl_seconds,
  })
  requested<InviteRequest>(peer, call, actionOf, (request) => {
    const answer = (value: Partial<InvitationMessage>) =>
      peer.connection.end(call.streamId, invitationMessage.encode(value))
    const problem = whyNot(peer, request)
    if (problem !== undefined) return answer({ message: problem })
    const { agent_name: name, capability, ttl_seconds: ttl } = request
    const role = roleOf(request)
    const by = peer.caller?.name ?? ''
    const made = rooms.enrolments.invite({ name, role, capability, by }, ttl)
    if (made === undefined)
      return answer({
        message: `${INVITATIONS_OPEN} invitations are open, and no more can be: wait, or withdraw one with sass-edge agent remove NAME.`,
      })
    rooms.audit.append(
      { type: 'identity', what: 'invited', agent: name, role, capability, seconds: ttl, by },
      true,
    )
    answer({ success: true, token: made.token, expires_at: made.expiresAt })
  })
}

/** Why the key cannot follow; empty: it can. */
function rotationProblem(peer: Peer, { public_key: next, signature }: KeyRotation): string {
  const { rooms, caller, channelBinding } = peer
  if (caller === undefined || caller.publicKey.length === 0 || channelBinding === undefined)
    return 'whoever comes through the admin socket has no key'
  if (!checkPublicKey(next).ok) return 'public_key is not usable'
  if (!rooms.verify(next, keyRotationInput(caller.name, channelBinding), signature))
    return 'signature is not made with public_key for this connection'
  return ''
}

/** Whether it is the caller's own key already: its answer was lost, or the caller has come with it. */
function isCurrent({ rooms, caller }: Peer, key: Uint8Array): boolean {
  const listed = rooms.identities.find(caller?.name ?? '')
  return listed !== undefined && equalConstantTime(listed.publicKey, key)
}

export function rotateKey(peer: Peer, call: Call): void {
  const { rooms } = peer
  const actionOf = ({ public_key }: KeyRotation): Action => ({
    kind: 'rotate_key',
    name: peer.caller?.name ?? '',
    key: encodeBase64Url(public_key),
  })
  const go = ({ public_key: next }: KeyRotation): void => {
    const { caller } = peer
    if (caller === undefined) return
    const answer = (success: boolean, message: string) =>
      peer.connection.end(call.streamId, outcome.encode({ success, message }))
    if (isCurrent(peer, next)) return answer(true, 'This is the key already.')
    // The old one is only still let in: what follows the new one is for whoever has that.
    if (!isCurrent(peer, caller.publicKey))
      return answer(false, 'Another key has taken the place of this one already: change that one.')
    if (rooms.identities.hasKey(next))
      return answer(false, 'This key is, or was, somebody’s: make a new one.')
    rooms.enrolments.changeKey(
      caller.name,
      scopeOf(caller),
      encodeBase64Url(next),
      (name) => rooms.identities.find(name) !== undefined,
    )
    const [from, key] = [keyName(caller.publicKey), keyName(next)]
    rooms.audit.append({ type: 'identity', what: 'key_changed', agent: caller.name, from, key }, true)
    rooms.log.write('info', 'key_changed', { agent: caller.name, source: peer.source.address })
    answer(true, 'Both keys are taken until the new one is used.')
  }
  requested(peer, call, actionOf, go, (request) => rotationProblem(peer, request))
}

/** The old key is taken no more: what is still connected with it is told to come again, and its commands run on. */
export function keyRetired(rooms: Rooms, name: string, previous: string): void {
  rooms.audit.append({ type: 'identity', what: 'key_retired', agent: name }, true)
  rooms.log.write('info', 'key_retired', { agent: name })
  for (const { caller, dismissHolder } of [...rooms.sessions.all()])
    if (caller.name === name && encodeBase64Url(caller.publicKey) === previous) dismissHolder?.()
}

/** A caller that has proven its new key: the one before is taken no more. */
export function retireKeyBefore(rooms: Rooms, { name, publicKey, previousKey }: Caller): void {
  if (previousKey === undefined || equalConstantTime(previousKey, publicKey)) return
  // A full disk must not keep the right key out: the old one goes when its time is over.
  retiring(rooms, () => {
    const previous = rooms.enrolments.used(name, encodeBase64Url(publicKey))
    if (previous !== undefined) keyRetired(rooms, name, previous)
  })
}

function retiring(rooms: Rooms, step: () => void): void {
  try {
    step()
  } catch (cause) {
    rooms.log.write('error', 'key_not_retired', { reason: reasonOf(cause) })
  }
}

/** As time passes: old keys whose overlap is over. */
function retireOldKeys(rooms: Rooms, nowMs: number): void {
  retiring(rooms, () => {
    for (const { name, previous } of rooms.enrolments.tick(nowMs)) keyRetired(rooms, name, previous)
  })
}

/**
 * What time does to those who have come: sessions expire, keys that were replaced are taken no more, work that was
 * handed on is over, what was handed over is forgotten, and what is held against somebody fades.
 */
export function tickCallers(rooms: Rooms, nowMs: number): void {
  rooms.sessions.tick(nowMs)
  rooms.challengeRates.tick(nowMs)
  rooms.penalties.tick(nowMs)
  retireOldKeys(rooms, nowMs)
  endOverdue(rooms, nowMs)
  rooms.handoffs.tick()
}
