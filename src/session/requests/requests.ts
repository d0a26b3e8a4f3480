/**
 * What each method does, as a table: gather the facts, ask for the decision, carry it out. The commands' two methods
 * are in execute.ts; the rest answer from what the rooms know.
 * Rules: docs/protocol.md, sections 3 and 4.
 * @module
 */

import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { ADMIN_NAME } from '../../base/text/name.ts'
import { capabilityHash, NO_CAPABILITY } from '../../defense/capability.ts'
import type { Action } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import { INITIAL_WINDOW_BYTES, MAX_WINDOW_BYTES, MIN_WINDOW_BYTES, SIGNALS_REMEMBERED } from '../../limits.ts'
import type { BranchWish } from '../../sandbox/places/place.ts'
import type { AuthRequest } from '../../wire/messages.ts'
import * as m from '../../wire/messages.ts'
import type { MethodName } from '../../wire/methods.ts'
import { BRANCH_HANDLERS } from '../branches/branches.ts'
import { showChanges } from '../branches/own-changes.ts'
import { type Caller, checkProof, factsOf, type Proof } from '../callers/identities.ts'
import { createSession, instanceOf } from '../callers/new-session.ts'
import type { Session } from '../callers/sessions.ts'
import { execute } from '../commands/execute.ts'
import { type Call, type Handler, namesOf, ownScope, type Peer, sessionOf } from '../common/peer.ts'
import { type Rooms, setOf } from '../common/rooms.ts'
import { attempt, NO_CIRCUMSTANCES, requestFacts } from '../decisions/attempt.ts'
import { permitted, telling } from '../decisions/permitted.ts'
import type { Execution, Permit } from '../executions/execution.ts'
import { decideProposals } from '../intent/decide-request.ts'
import { INTENT_HANDLERS } from '../intent/envelope-requests.ts'
import { PLAN_HANDLERS } from '../intent/plan-requests.ts'
import { download } from '../transfers/transfers-download.ts'
import { upload } from '../transfers/transfers-upload.ts'
import { deceive } from './deceive.ts'
import { delegate, shownToken, tokenUsed } from './delegation-requests.ts'
import { listHandoffs, sendHandoff, takeHandoff } from './handoff-requests.ts'
import { enroll, inviteAgent, refuseProof, retireKeyBefore, rotateKey } from './identity-requests.ts'
import { OPERATOR_HANDLERS } from './operator-requests.ts'
import { showRules } from './show-rules.ts'
import { auditFields, auditPublicKey, capabilities, listExecutions, ping, securityStatus } from './telling.ts'

/** The admin socket's peer is who the kernel says: root or the daemon's own user, or nobody. */
function adminProof(peer: Peer): Proof {
  const user = peer.transport.peerUserId
  if (user === undefined || !peer.rooms.settings.adminUserIds.includes(user)) {
    return {
      ok: false,
      code: 'AUTH_INVALID',
      why: 'The peer of the admin socket is neither root nor the user of the daemon, or connected from another process namespace.',
    }
  }
  return {
    ok: true,
    caller: {
      name: ADMIN_NAME,
      role: 'operator',
      capability: '',
      tier: 'T1',
      tools: [],
      delegatedBy: undefined,
      publicKey: new Uint8Array(0),
    },
  }
}

function prove(peer: Peer, call: Call): Proof {
  if (!call.message.ok)
    return { ok: false, code: 'AUTH_INVALID', why: 'The Authenticate request was not complete.' }
  if (peer.source.transport === 'admin') return adminProof(peer)
  return checkProof(
    call.message.value as AuthRequest,
    peer.rooms.identities,
    peer.channelBinding,
    peer.rooms.verify,
    peer.transport.clientName,
    peer.rooms.enrolments,
  )
}

function authenticate(peer: Peer, call: Call): void {
  if (peer.caller !== undefined) {
    const action: Action = { kind: 'read', method: 'Authenticate' }
    return permitted(peer, call, action, () => {}, 'this connection has authenticated already')
  }
  const proof = prove(peer, call)
  // What judges commands is loaded for the first caller since the start, and for no stranger.
  if (!proof.ok || peer.rooms.isReady) return settle(peer, call, proof)
  const goOn = peer.holdIntake()
  peer.rooms
    .prepare()
    .then(() => settle(peer, call, proof))
    .catch((cause: unknown) => peer.fail(call, cause))
    .finally(goOn)
}

function settle(peer: Peer, call: Call, proof: Proof): void {
  // Whoever goes while the rules are loaded, or asks twice.
  if (peer.caller !== undefined || peer.connection.phase !== 'silent') return
  if (!proof.ok) return refuseProof(peer, call, proof.code, proof.why)
  const request = (call.message.ok ? call.message.value : undefined) as AuthRequest
  if (proof.invitation === undefined) return enter(peer, call, proof.caller, request)
  enroll(peer, call, { caller: proof.caller, invitation: proof.invitation }, (caller) =>
    welcome(peer, call, caller, request),
  )
}

/** Once a new key is used, the one before it is not taken any more. */
function enter(peer: Peer, call: Call, caller: Caller, request: AuthRequest): void {
  retireKeyBefore(peer.rooms, caller)
  welcome(peer, call, caller, request)
}

function welcome(peer: Peer, call: Call, caller: Caller, request: AuthRequest): void {
  const { rooms } = peer
  const now = rooms.clock.monotonicMs()
  const resumeId = request.resume_session_id === undefined ? undefined : encodeHex(request.resume_session_id)
  const resumed =
    resumeId === undefined ? undefined : rooms.sessions.find(resumeId, caller, peer.source.address)
  const shown = shownToken(peer, caller, request.delegation, resumed)
  const action: Action = {
    kind: 'authenticate',
    name: caller.name,
    isNew: resumed === undefined,
    ...(shown === undefined ? {} : { token: shown.state }),
  }
  const instance = resumed?.instance ?? instanceOf(rooms, caller)
  const handed = resumed === undefined ? shown?.handed : resumed.handed
  const verdict = peer.decide(
    requestFacts(call),
    action,
    factsOf(caller, rooms.identities, { instance, handed }),
  )
  const isSuspect = verdict.kind === 'response' && verdict.response === 'CHALLENGE'
  if (!isSuspect && (verdict.kind !== 'response' || verdict.response !== 'EXECUTE')) {
    peer.refuse(verdict, call)
    return peer.transport.end()
  }
  if (verdict.kind === 'response' && verdict.response === 'EXECUTE')
    Warrant.redeem(verdict.warrant, action, sessionOf(peer))
  const session =
    resumed === undefined
      ? createSession(rooms, caller, peer.source.address, {
          instance,
          handed,
          // What its caller does elsewhere is not for it, and its network is narrower.
          wish: handed === undefined ? wishOf(rooms, caller, request.branch, resumeId) : { kind: 'new' },
          isProven: !isSuspect,
        })
      : takeBack(peer, { session: resumed, caller }, !isSuspect, now)
  if (session === undefined) return peer.transport.reset()
  const window = Math.min(
    Math.max(request.window ?? INITIAL_WINDOW_BYTES, MIN_WINDOW_BYTES),
    MAX_WINDOW_BYTES,
  )
  if (resumed === undefined && handed !== undefined) tokenUsed(peer, handed, session)
  session.head = rooms.audit.head
  if (caller.role === 'agent') {
    rooms.places.prepare()
    rooms.firewall.prepare()
  }
  peer.becomeKnown(caller, session, window, !isSuspect)
  const challenge = isSuspect ? peer.challenge(() => {}) : undefined
  // Undefined for a suspect: this transport cannot be challenged, and nothing else would prove it.
  if (isSuspect && challenge === undefined) return peer.transport.reset()
  const set = setOf(rooms, caller, session)
  peer.connection.end(
    call.streamId,
    m.authResponse.encode({
      success: true,
      session_id: session.idBytes,
      capability_hash: capabilityHash(set ?? NO_CAPABILITY),
      window,
      expires_at: expiryOf(peer, session),
      daemon_version: rooms.settings.version,
      metered: rooms.settings.isMetered,
      branch: session.wish.kind === 'named' ? decodeHex(session.wish.branch) : undefined,
      next_key: rooms.settings.nextKeyDigest,
      audit_key: request.enrolment && rooms.audit.genesisKey(),
      challenge_id: challenge?.challenge_id,
      challenge_nonce: challenge?.nonce,
      challenge_ciphertext: challenge?.ciphertext,
      ...auditFields(peer),
    }),
  )
}

/**
 * Who comes back to a session that is not known any more goes on in the branch that it names, or in that of the session.
 * Neither is there where nothing was changed in it: an empty one goes with its last session.
 */
function wishOf(
  { places }: Rooms,
  { name }: Caller,
  branch: Uint8Array | undefined,
  resumed: string | undefined,
): BranchWish {
  if (branch === undefined) return { kind: 'new' }
  if (branch.length === 0) return { kind: 'latest' }
  const named = encodeHex(branch)
  if (resumed === undefined || places.has(named, name)) return { kind: 'named', branch: named }
  return places.has(resumed, name) ? { kind: 'named', branch: resumed } : { kind: 'new' }
}

function takeBack(
  peer: Peer,
  { session, caller }: { readonly session: Session; readonly caller: Caller },
  isProven: boolean,
  now: number,
): Session {
  session.dismissHolder?.()
  session.caller = caller
  session.isHeld = true
  // A suspect's proof is still to come: until then nothing is renewed.
  if (isProven) peer.rooms.sessions.renew(session, now)
  return session
}

/** Sessions are kept on the monotonic clock; what a client is told is wall time. */
function expiryOf(peer: Peer, session: Session): number {
  const { clock } = peer.rooms
  return Math.floor((clock.wallMs() + session.expiresAtMs - clock.monotonicMs()) / 1_000)
}

function renew(peer: Peer, call: Call): void {
  permitted(peer, call, { kind: 'renew' }, () => {
    const { session } = peer
    if (session === undefined) return
    peer.rooms.sessions.renew(session, peer.rooms.clock.monotonicMs())
    peer.connection.end(
      call.streamId,
      m.renewal.encode({ success: true, expires_at: expiryOf(peer, session) }),
    )
  })
}

/** The caller's own execution; an operator's reach is all of them. */
function reachable(peer: Peer, id: string): Execution | undefined {
  const { executions } = peer.rooms
  return (
    executions.find(ownScope(peer), id) ??
    (peer.caller?.role === 'operator' ? executions.findAnywhere(id) : undefined)
  )
}

const NAMED_SIGNALS: readonly number[] = [2, 15, 9, 1]

/** 0 INT, 1 TERM, 2 KILL, 3 HUP, from 16 on 16 + the POSIX number; undefined for the numbers between. */
function posixSignal(wire: number): number | undefined {
  if (wire >= 16) return wire - 16 >= 1 && wire - 16 <= 64 ? wire - 16 : undefined
  return NAMED_SIGNALS[wire]
}

function signal(peer: Peer, call: Call): void {
  const request = call.message.ok
    ? (call.message.value as { execution_id: Uint8Array; signal: number; signal_id?: number })
    : undefined
  const number = request === undefined ? undefined : posixSignal(request.signal)
  const id = request === undefined ? '' : encodeHex(request.execution_id)
  const action = { kind: 'signal', executionId: id, signal: number ?? 0 } as const
  const problem = number === undefined ? 'signal is not one of the numbers of section 3' : ''
  reach(peer, call, action, problem, (execution, permit) => {
    const deliver = () => number !== undefined && peer.rooms.executions.signal(execution, number, permit)
    return once(execution, request?.signal_id, deliver)
  })
}

/** Does it to the execution that is meant, once that is permitted. */
function reach(
  peer: Peer,
  call: Call,
  action: Action & { readonly executionId: string },
  problem: string,
  deed: (execution: Execution, permit: Permit) => boolean,
): void {
  attempt(peer, call, {
    action,
    problem,
    go(warrant) {
      const id = action.executionId
      const execution = reachable(peer, id)
      const done = execution !== undefined && deed(execution, { warrant, action, sessionId: sessionOf(peer) })
      answerReach(peer, call, execution, done || isScreen(peer, id))
    },
  })
}

/** Whoever did not hear that it was delivered asks again with the same number: it is answered, and not done twice. */
function once(execution: Execution, signalId: number | undefined, deliver: () => boolean): boolean {
  const { signalIds } = execution
  if (signalId !== undefined && signalIds.includes(signalId)) return true
  const done = deliver()
  if (done && signalId !== undefined) signalIds.push(signalId)
  if (signalIds.length > SIGNALS_REMEMBERED) signalIds.shift()
  return done
}

function cancel(peer: Peer, call: Call): void {
  const request = call.message.ok ? (call.message.value as { execution_id: Uint8Array }) : undefined
  const id = request === undefined ? '' : encodeHex(request.execution_id)
  const action = { kind: 'cancel', executionId: id } as const
  reach(peer, call, action, '', (execution, permit) => peer.rooms.executions.cancel(execution, permit))
}

/** A refused command is one that runs, to its caller: it takes every signal, as an editor does that goes on. */
function isScreen(peer: Peer, id: string): boolean {
  return peer.rooms.screens.has(`${peer.caller?.name ?? ''}/${id}`)
}

function answerReach(peer: Peer, call: Call, execution: Execution | undefined, done: boolean): void {
  if (done)
    return peer.connection.end(
      call.streamId,
      m.outcome.encode({ success: true, message: 'The signal was delivered.' }),
    )
  const text =
    execution === undefined
      ? 'There is no such execution.'
      : 'The execution has ended; there is nothing to signal.'
  peer.connection.fail(call.streamId, 'PROCESS_NOT_FOUND', text)
}

/** One answer to one challenge. Whatever is not right is decided like any other attempt to be somebody else. */
function answerChallenge(peer: Peer, call: Call): void {
  const action: Action = { kind: 'read', method: call.method.name }
  if (!call.message.ok) return peer.refuse(peer.decide(requestFacts(call), action), call)
  const { outcome, settle } = peer.answerChallenge(call.message.value as m.ChallengeAnswer)
  const verdict = peer.decide(requestFacts(call, {}, { ...NO_CIRCUMSTANCES, challenge: outcome }), action)
  if (verdict.kind !== 'response' || verdict.response !== 'EXECUTE') return peer.refuse(verdict, call)
  try {
    peer.rooms.audit.append({ type: 'challenge', what: outcome, ...namesOf(peer) })
    const session_token = peer.session?.idBytes
    peer.connection.end(call.streamId, m.challengeResult.encode({ passed: true, session_token }))
  } finally {
    // What waited for it is recorded itself or fails, and must not wait for ever.
    settle()
  }
}

const HANDLERS: Readonly<Record<MethodName, Handler>> = Object.freeze({
  Execute: execute,
  ExecuteStream: execute,
  Cancel: cancel,
  Signal: signal,
  FileUpload: upload,
  FileDownload: download,
  RawFileTransfer: upload,
  Authenticate: authenticate,
  CognitiveChallenge: answerChallenge,
  SecurityStatus: telling(securityStatus),
  Ping: telling(ping),
  RenewSession: renew,
  GetCapabilities: telling(capabilities),
  ShowRules: telling(showRules),
  GetAuditPublicKey: telling(auditPublicKey),
  ListExecutions: telling(listExecutions),
  ShowChanges: showChanges,
  RotateKey: rotateKey,
  Delegate: delegate,
  InviteAgent: inviteAgent,
  SendHandoff: sendHandoff,
  ListHandoffs: listHandoffs,
  TakeHandoff: takeHandoff,
  ...PLAN_HANDLERS,
  Decide: decideProposals,
  ...OPERATOR_HANDLERS,
  ...BRANCH_HANDLERS,
  ...INTENT_HANDLERS,
})

function refuseOperators(peer: Peer, call: Call): void {
  const action: Action = { kind: 'read', method: call.method.name }
  peer.refuse(peer.decide({ ...requestFacts(call), problems: '' }, action), call)
}

/** Answers one request. Throws only for defects and for an audit that cannot be written. */
export function handle(peer: Peer, call: Call): void {
  // What is wrong with a message that it may not send is nothing that an agent learns.
  if (peer.caller?.role === 'agent' && call.method.audience === 'operator') return refuseOperators(peer, call)
  if (peer.caller !== undefined || call.method.name === 'Authenticate')
    return HANDLERS[call.method.name](peer, call)
  const isLocal = peer.source.transport === 'tls' && peer.source.isLoopback
  if (isLocal && DECEIVED.includes(call.method.name)) return deceive(peer, call)
  // Before Authenticate there is only one answer, whatever was asked and however well.
  peer.refuse(
    peer.decide(requestFacts({ ...call, message: { ok: true, value: undefined } }), undefined),
    call,
  )
}

/** What a stranger of this host may be answered with what is not true. */
const DECEIVED: readonly MethodName[] = Object.freeze(['Execute', 'ExecuteStream', 'FileDownload'])
