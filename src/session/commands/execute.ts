/**
 * Execute and ExecuteStream: from the request to a running process, or to one that already runs. The same id never
 * starts twice; it attaches, or returns what was kept.
 * Rules: docs/protocol.md, sections 3 and 6.
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8, utf8Length } from '../../base/encoding/utf8.ts'
import type { ExecuteAction } from '../../defense/facts.ts'
import { INJECTION_WINDOW_BYTES } from '../../defense/firewall/injections/limits.ts'
import type { Warrant } from '../../defense/warrant.ts'
import type { SassError } from '../../errors.ts'
import { reasonOf } from '../../errors.ts'
import { EXECUTION_ID_BYTES, PROGRAM_ARGUMENTS_BYTES, UNARY_OUTPUT_BYTES } from '../../limits.ts'
import { isOnTerms, noPlace, type Place } from '../../sandbox/places/place.ts'
import { makePlan, type Planned } from '../../sandbox/places/plan.ts'
import type { ExecuteRequest } from '../../wire/messages.ts'
import { openPayload } from '../../wire/payload-gate.ts'
import { type Call, ownScope, type Peer } from '../common/peer.ts'
import { setOf, tenantOf } from '../common/rooms.ts'
import { type Aim, attempt, lookAt, shownRuns } from '../decisions/attempt.ts'
import { haltWithoutRoom } from '../decisions/kept-first.ts'
import { park } from '../decisions/parking.ts'
import { failPermitted, mistake } from '../decisions/permitted.ts'
import type { Execution, StartRequest } from '../executions/execution.ts'
import { askedInjectionEvent } from '../executions/injection-event.ts'
import { executeAction, smallest } from '../standing/execute-action.ts'
import { createAttachment } from './attachment.ts'
import { joinedStream } from './joined-stream.ts'
import { attachAction, attachAim } from './reattach.ts'
import { holdViScreen } from './vi-swap.ts'

export function execute(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as ExecuteRequest
  if (request.session_id !== undefined && encodeHex(request.session_id) !== peer.session?.id) {
    return mistake(peer, call, 'session_id is not the session of this connection')
  }
  if (call.method.name === 'Execute' && (request.pty !== undefined || request.stdin)) {
    return mistake(peer, call, 'pty and stdin need ExecuteStream')
  }
  const known =
    request.execution_id === undefined
      ? undefined
      : peer.rooms.executions.find(ownScope(peer), encodeHex(request.execution_id))
  if (known !== undefined && (request.is_reattach || !mayStartAgain(known)))
    return attempt(peer, call, attachAim(peer, call, request, known))
  if (request.is_reattach) {
    if (request.execution_id === undefined) return mistake(peer, call, 'execution_id is missing')
    const action = attachAction(encodeHex(request.execution_id), request)
    return attempt(peer, call, {
      action,
      go() {
        // To its caller a refused command is one that runs: the screen comes back.
        if (peer.rooms.screens.has(`${peer.caller?.name ?? ''}/${action.executionId}`))
          return holdViScreen(peer, call)
        peer.connection.fail(
          call.streamId,
          'PROCESS_NOT_FOUND',
          'There is no such execution; it was never started here or is forgotten.',
        )
      },
    })
  }
  begin(peer, call, request)
}

/** It is proven that nothing ran: whoever asks for it again, and not for what became of it, has it tried again. */
function mayStartAgain({ state }: Execution): boolean {
  return state === 'not_started'
}

function begin(peer: Peer, call: Call, request: ExecuteRequest): void {
  const { raw_payload } = request
  if (raw_payload === undefined) return beginWith(peer, call, request, [request.command, ...request.args])
  // All callers' are unpacked one after the other: so nobody has many of them there, not even by giving them up.
  const goOn = peer.holdIntake()
  const unpacking = openPayload(raw_payload, peer.rooms.decoder).finally(goOn)
  whileParked(peer, call, unpacking, (opened) => {
    if (opened.ok) return beginWith(peer, call, request, opened.argv)
    const overExpanded = opened.code === 'DECOMPRESSION_LIMIT_EXCEEDED'
    mistake(peer, call, `raw_payload: ${opened.problem}`, overExpanded)
  })
}

function beginWith(peer: Peer, call: Call, request: ExecuteRequest, argv: readonly string[]): void {
  const weight = weightOf(argv, request)
  if (weight > PROGRAM_ARGUMENTS_BYTES) {
    const problem = `the arguments and variables are ${weight} bytes long, and a program can be given ${PROGRAM_ARGUMENTS_BYTES}`
    return mistake(peer, call, problem)
  }
  const idBytes = request.execution_id ?? peer.rooms.random.bytes(EXECUTION_ID_BYTES)
  inPlace(peer, call, (place) =>
    attempt(peer, call, () => aimOf(peer, call, { request, argv, weight, idBytes, place })),
  )
}

/** Goes on where the session's commands run; at its first one that place is made. Strangers have none. */
function inPlace(peer: Peer, call: Call, go: (place: Place | undefined) => void): void {
  const { session, rooms } = peer
  if (session === undefined) return go(undefined)
  const place = rooms.places.find(session.id)
  if (place !== undefined && isOnTerms(place, tenantOf(rooms, session))) return go(place)
  const made = rooms.places.open(tenantOf(rooms, session))
  whileParked(peer, call, made, go, (cause) => withoutPlace(peer, call, noPlace(cause)))
}

/** Goes on once `awaited` has settled, unless the caller has left by then. */
function whileParked<T>(
  peer: Peer,
  call: Call,
  awaited: Promise<T>,
  go: (value: T) => void,
  failed = (cause: unknown): void => peer.fail(call, cause),
): void {
  let isLeft = false
  const left = () => {
    isLeft = true
  }
  // What is typed meanwhile is bounded by the credit that the stream was given.
  const parked = park(call, left, () => Number.POSITIVE_INFINITY, left)
  peer.join(call.streamId, parked)
  const next = (step: () => void) => {
    if (isLeft || peer.user(call.streamId) !== parked) return
    peer.streamDone(call.streamId)
    try {
      step()
      const user = peer.user(call.streamId)
      if (user !== undefined) parked.replay(user)
    } catch (cause) {
      peer.fail(call, cause)
    }
  }
  awaited.then(
    (value) => next(() => go(value)),
    (cause: unknown) => next(() => failed(cause)),
  )
}

/** Whoever may run commands here hears why none can; whoever is responsible does in any case. */
function withoutPlace(peer: Peer, call: Call, { code, message, cause }: SassError): void {
  const reason = cause instanceof Error ? cause.message : message
  peer.rooms.log.write('warn', 'no_place', { session: peer.session?.id ?? '', reason })
  failPermitted(peer, call, code, message)
}

function weightOf(argv: readonly string[], request: ExecuteRequest): number {
  let weight = argv.reduce((sum, word) => sum + utf8Length(word), 0)
  for (const [name, value] of request.env ?? []) weight += utf8Length(name) + utf8Length(value)
  return weight
}

type Wish = {
  readonly request: ExecuteRequest
  readonly argv: readonly string[]
  readonly weight: number
  readonly idBytes: Uint8Array
  readonly place: Place | undefined
}

/** What would run as things are now: the file, the directory, the variables and the limits. */
function aimOf(peer: Peer, call: Call, { request, argv, weight, idBytes, place }: Wish): Aim {
  const { rooms, caller } = peer
  const id = encodeHex(idBytes)
  // Two requests with one id may both wait: the second finds what the first has started, whatever is answered to it.
  const known = rooms.executions.find(ownScope(peer), id)
  if (known !== undefined && !mayStartAgain(known)) return attachAim(peer, call, request, known)
  const { policy, planner, settings } = rooms
  const set = setOf(rooms, caller, peer.session)
  const result = makePlan(planner, place, request, argv, set?.allowed_env ?? [], policy.security.pins)
  if (!result.ok) return { action: undefined, problem: result.problem, go() {} }
  const { planned } = result
  const timeout = smallest(request.timeout_seconds, set?.timeout_seconds, settings.toolTimeoutSeconds)
  const outputBytes = smallest(set?.output_bytes, settings.outputBytes)
  const action = executeAction(planned, request, id, timeout, outputBytes, place)
  const goal = request.declared_goal
  return {
    action,
    task: goal === undefined ? undefined : encodeHex(sha256(encodeUtf8(goal))),
    look: lookAt(rooms, place, action),
    weight,
    shown: () => ({
      goal: goal ?? null,
      runs: shownRuns(rooms, action),
    }),
    go: (warrant) => start(peer, call, { request, idBytes, planned, place, timeout, action }, warrant),
  }
}

type Permitted = {
  readonly request: ExecuteRequest
  readonly idBytes: Uint8Array
  readonly planned: Planned
  readonly place: Place | undefined
  readonly timeout: number | undefined
  readonly action: ExecuteAction
}

function start(
  peer: Peer,
  call: Call,
  { request, idBytes, planned, place, timeout, action }: Permitted,
  warrant: Warrant,
): void {
  const { rooms, session, caller } = peer
  if (session === undefined || caller === undefined) return
  // It was given up while the request waited, or is one on other terms than hold now.
  if (
    rooms.places.find(session.id) !== place ||
    (place !== undefined && !isOnTerms(place, tenantOf(rooms, session)))
  ) {
    recordNotStarted(peer, action.executionId, 'its branch was given up meanwhile')
    return peer.connection.fail(call.streamId, 'SANDBOX_UNAVAILABLE', noPlace(undefined).message)
  }
  const isUnary = call.method.name === 'Execute'
  const headBytes = isUnary
    ? Math.min(UNARY_OUTPUT_BYTES, rooms.settings.ringBytes)
    : Number.POSITIVE_INFINITY
  let execution: Execution | undefined
  const attachment = createAttachment(peer, call.streamId, rooms.executions, () => execution, isUnary, {
    stdoutOffset: 0,
    stderrOffset: 0,
    accept: request.accept,
  })
  rooms.sessions.apply(session, 'started', rooms.clock.monotonicMs())
  peer.join(
    call.streamId,
    joinedStream(peer, call.streamId, attachment, () => execution, request.stdin),
  )
  const started = {
    id: action.executionId,
    idBytes,
    owner: caller.name,
    scope: ownScope(peer),
    instance: session.instance,
    sessionId: session.id,
    keepsHead: isUnary,
    acceptBytes: Math.min(headBytes, action.outputBytes ?? Number.POSITIVE_INFINITY),
    timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
    plan: planned.plan,
    warrant,
    action,
  }
  try {
    execution = rooms.executions.start(started, attachment)
  } catch (cause) {
    rooms.sessions.executionEnded(session.id, rooms.clock.monotonicMs())
    haltWithoutRoom(rooms, cause)
    recordNotStarted(peer, action.executionId, reasonOf(cause))
    throw cause
  }
  // While it is being started.
  lookAtWords(peer, started, [...action.argv, request.declared_goal ?? ''])
}

/** What its caller has written is read as output is: on the record alone, since nobody but the program reads it. */
function lookAtWords(
  { rooms }: Peer,
  started: Pick<StartRequest, 'id' | 'owner' | 'instance' | 'sessionId'>,
  words: readonly string[],
): void {
  let text = ''
  for (const word of words) if (text.length < INJECTION_WINDOW_BYTES) text += `${word} `
  const found = rooms.firewall.assess(encodeUtf8(text))
  if (found.permille < rooms.firewall.flagPermille) return
  rooms.audit.append(askedInjectionEvent(started, found), true)
}

/** The chain says that it was permitted: it must also say that nothing came of it. */
function recordNotStarted({ rooms, session }: Peer, execution: string, reason: string): void {
  const instance = session?.instance ?? null
  rooms.audit.append({ type: 'execution_not_started', execution, instance, reason })
}
