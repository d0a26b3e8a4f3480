/**
 * SendHandoff, ListHandoffs and TakeHandoff: what one agent hands to another goes through the daemon alone. It is read,
 * its secrets are hidden, it is held against the chain that it belongs to and decided like any other request; kept, then
 * told. What a handoff says is in no record, only its digests.
 * Rules: docs/handoffs.md; docs/protocol.md, section 3 (24 to 26).
 * @module
 */

import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { utf8Length } from '../../base/encoding/utf8.ts'
import type { HandoffAction } from '../../defense/facts.ts'
import { depthOf, rejectedHandoff } from '../../defense/handoffs/judge.ts'
import {
  contentDigest,
  deliveredText,
  freeText,
  type Handoff,
  isWhole,
  persistentBlockers,
  readHandoff,
  sealOf,
  taskDigest,
  withTexts,
} from '../../defense/handoffs/message.ts'
import { stricter } from '../../defense/level.ts'
import { Warrant } from '../../defense/warrant.ts'
import { asSassError, SassError } from '../../errors.ts'
import { DELIVERED_BYTES, EXECUTION_ID_BYTES, HANDOFF_KEPT_MS, LISTED_ENTRIES } from '../../limits.ts'
import type { SessionView } from '../../ports.ts'
import { readRemotePath } from '../../sandbox/files/remote-path.ts'
import { handoffContent, handoffEntry, handoffList } from '../../wire/handoff-messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import { createWaiter, GOES_ON } from '../branches/branches.ts'
import { recipientOf } from '../callers/identities.ts'
import { type Call, namesOf, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { type Aim, attempt } from '../decisions/attempt.ts'
import { recordNotDone } from '../decisions/kept-first.ts'
import { mistake, permitted, telling } from '../decisions/permitted.ts'
import {
  type Artifact,
  copiesOf,
  copyName,
  type HandoffRecord,
  handoffEvent,
} from '../standing/handoff-record.ts'
import { beforeOf, isFor, type KeptHandoff } from '../standing/handoffs.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import { failTransfer, withView } from '../transfers/transfers-start.ts'
import { bringArtifacts } from './handoff-artifacts.ts'

const CONTENT_SOURCE = 'AGENT_HANDOFF'

/** What is to be sent, with its secrets hidden. */
type Draft = {
  readonly handoff: Handoff
  /** As the sender wrote them: what is looked for. */
  readonly artifacts: readonly string[]
  readonly hidden: number
  readonly injection: number
}

const bytes = (hex: string) => decodeHex(hex) ?? new Uint8Array(0)

function entryOf(handoff: KeptHandoff): MessageInput<typeof handoffEntry> {
  const { id, from, to, criticality, depth, sentAtMs, digest, isTaken, injection, hidden, previous } = handoff
  return {
    handoff_id: bytes(id),
    from_agent: from,
    to_agent: to,
    ...{ criticality, depth, injection, hidden },
    sent_at: Math.floor(sentAtMs / 1_000),
    expires_at: Math.floor((sentAtMs + HANDOFF_KEPT_MS) / 1_000),
    digest: bytes(digest),
    is_taken: isTaken,
    previous: previous === undefined ? undefined : bytes(previous),
  }
}

/** With what it has brought, which is not in a list: there may be many of those. */
function wholeEntryOf(handoff: KeptHandoff): MessageInput<typeof handoffEntry> {
  const artifacts = handoff.artifacts.map(({ path, size, sha256, why }) => ({
    ...{ path, size, why },
    sha256: sha256 === '' ? undefined : bytes(sha256),
  }))
  return { ...entryOf(handoff), artifacts: artifacts as never }
}

/** A rejection has a record of its own beside the decision, so that a chain shows where it stopped. */
function noteRejected(
  peer: Peer,
  rule: string,
  action: HandoffAction | undefined,
  isCritical: boolean,
): void {
  recordAnyway(peer.rooms, {
    ...{ type: 'handoff', what: 'rejected', rule, is_critical: isCritical },
    ...namesOf(peer),
    to: action?.isListed === true ? action.to : null,
    digest: action?.digest ?? null,
    task: action?.task ?? null,
    criticality: action === undefined ? null : `C${action.criticality}`,
    depth: action === undefined ? null : depthOf(action),
    previous: typeof action?.previous === 'object' ? (action.previous?.id ?? null) : null,
  })
}

/** Hides what is secret, then looks for orders in what is left of it. */
function draftOf({ rooms }: Peer, handoff: Handoff): Draft {
  let hidden = 0
  const clean = withTexts(handoff, (text) => {
    const screened = rooms.readText.hide(text)
    hidden += screened.hidden
    return screened.text
  })
  // As it was written: what stands for a secret says nothing, and might part what belongs together.
  return {
    handoff: clean,
    artifacts: handoff.artifacts,
    hidden,
    // A name can be a sentence, too.
    injection: rooms.readText.assess(`${freeText(handoff)}\n${handoff.taskId ?? ''}`),
  }
}

/** What it follows: as it says, else what the sender was given for the same task. */
function previousOf({ rooms, caller }: Peer, handoff: Handoff): HandoffAction['previous'] {
  const own = recipientOf(caller)
  const { previous, taskId } = handoff
  if (previous === undefined) {
    const found = rooms.handoffs.received(own, taskId, taskDigest(handoff))
    return found === undefined ? null : beforeOf(found)
  }
  const found = rooms.handoffs.find(previous)
  return found === undefined || !isFor(found, own) ? 'unknown' : beforeOf(found)
}

type Looked = HandoffAction['artifacts'][number]

function lookFor({ rooms }: Peer, view: SessionView | undefined, text: string): Looked {
  const remote = readRemotePath(rooms.planner.workspaceRoot, text)
  if (!remote.ok || view === undefined) return { path: text, real: text, isThere: false }
  const { real, kind } = rooms.files.look(view, remote.path)
  return { path: remote.path, real, isThere: kind === 'file' || kind === 'directory' }
}

/** What would be delivered as things are now. */
function actionOf(peer: Peer, draft: Draft, view: SessionView | undefined): HandoffAction {
  const { handoff, hidden, injection } = draft
  const { rooms, session, caller } = peer
  const task = taskDigest(handoff)
  const from = session?.instance ?? ''
  const previous = previousOf(peer, handoff)
  return {
    kind: 'handoff',
    to: handoff.to,
    isListed: rooms.identities.find(handoff.to) !== undefined,
    from,
    claims: handoff.claims ?? null,
    digest: contentDigest(textOf(handoff, from, previous)),
    sealed: sealOf(handoff),
    declared: handoff.declared ?? null,
    task,
    criticality: handoff.criticality,
    classification: handoff.classification,
    confidence: handoff.confidence ?? null,
    priorScore: handoff.priorScore ?? null,
    persistent: persistentBlockers(handoff),
    artifacts: draft.artifacts.map((text) => lookFor(peer, view, text)),
    previous,
    injection,
    hidden,
    rounds: rooms.handoffs.rounds(caller?.name ?? '', handoff.to, handoff.taskId, task),
  }
}

function textOf(handoff: Handoff, from: string, previous: HandoffAction['previous']): string {
  const id = previous === null || previous === 'unknown' ? undefined : previous.id
  return deliveredText(handoff, { from, depth: depthOf({ previous }), previous: id })
}

export function sendHandoff(peer: Peer, call: Call): void {
  const isFew = peer.rooms.handoffs.tried(peer.caller?.name ?? '')
  const malformed = (problem: string): void => {
    mistake(peer, call, problem)
    if (isFew) noteRejected(peer, 'handoff.schema', undefined, false)
  }
  if (!call.message.ok) return malformed('')
  const { content } = call.message.value as { content: Uint8Array }
  const read = readHandoff(content)
  if (!read.ok) return malformed(read.problem)
  // Hidden it would be no name any more, and the next one along the chain could not say it.
  const { taskId = '' } = read.handoff
  if (peer.rooms.readText.hide(taskId).hidden > 0)
    return malformed('task_id holds a secret: give the task another name')
  const draft = draftOf(peer, read.handoff)
  const { instance = '' } = peer.session ?? {}
  if (utf8Length(textOf(draft.handoff, instance, null)) > DELIVERED_BYTES - 64)
    return malformed('content is too long once its secrets are hidden')
  const go = (view: SessionView | undefined) => decide(peer, call, draft, view, isFew)
  if (draft.artifacts.length === 0) return go(undefined)
  withView(peer, call, { ...createWaiter(), waits: true }, go)
}

function decide(peer: Peer, call: Call, draft: Draft, view: SessionView | undefined, isFew: boolean): void {
  const aimOf = (): Aim => {
    const action = actionOf(peer, draft, view)
    return {
      action,
      shown: () => JSON.parse(textOf(draft.handoff, action.from, action.previous)),
      go: (warrant) => begin(peer, call, draft, action, warrant),
    }
  }
  const { action } = aimOf()
  attempt(peer, call, aimOf)
  const found = action?.kind === 'handoff' ? rejectedHandoff(action, peer.caller?.name ?? '') : undefined
  if (found !== undefined && isFew && action?.kind === 'handoff')
    noteRejected(peer, found.rule, action, found.severity === 'critical')
}

/** Answers when the disk has it, where anything waits for that. */
function whenKept(peer: Peer, call: Call, done: (problem?: Error) => void): void {
  const { whenKept: wait } = peer.rooms.handoffs
  if (wait === undefined) return done()
  peer.join(call.streamId, GOES_ON)
  wait((problem) => {
    // It was given up meanwhile; what was done is done.
    if (peer.user(call.streamId) !== GOES_ON) return
    peer.streamDone(call.streamId)
    done(problem)
  })
}

function begin(peer: Peer, call: Call, draft: Draft, action: HandoffAction, warrant: Warrant): void {
  Warrant.redeem(warrant, action, sessionOf(peer))
  const sending = { action, warrant, id: encodeHex(peer.rooms.random.bytes(EXECUTION_ID_BYTES)) }
  if (action.artifacts.length === 0) return keep(peer, call, draft, { ...sending, artifacts: [] })
  bring(peer, call, draft, sending).catch((cause: unknown) => peer.fail(call, cause))
}

type Sending = {
  readonly action: HandoffAction
  readonly warrant: Warrant
  readonly id: string
  readonly artifacts: readonly Artifact[]
}

/** First what it brings, then the handoff: whatever ends the daemon in between has sent nothing. */
async function bring(
  peer: Peer,
  call: Call,
  draft: Draft,
  sending: Omit<Sending, 'artifacts'>,
): Promise<void> {
  const { rooms, caller, level } = peer
  const { action, warrant, id } = sending
  const paths = draft.handoff.artifacts
  const waiter: StreamUser = { ...GOES_ON, waits: true }
  peer.join(call.streamId, waiter)
  const isGone = () => peer.user(call.streamId) !== waiter
  const coming = { sender: caller?.name ?? '', to: action.to, files: 0, bytes: 0 }
  const counted = rooms.handoffs.prepare(coming)
  let artifacts: readonly Artifact[] | undefined
  let problem: unknown = new SassError(
    'RESPONSE_THROTTLED',
    'What may be done has changed while the files of the handoff were copied; send it again.',
  )
  try {
    artifacts = await bringArtifacts({ peer, call, action, paths, id, coming, isGone })
  } catch (cause) {
    problem = cause
  } finally {
    counted()
  }
  const isHere = !isGone()
  if (isHere) peer.streamDone(call.streamId)
  if (isHere && artifacts !== undefined && stricter(peer.level, level) === level)
    return keep(peer, call, draft, { ...sending, artifacts })
  const names = paths.map((_path, index) => copyName(id, index))
  rooms.handoffs.copies.remove(names, false)
  recordNotDone(peer, action, warrant, 'what it brings was not kept, or its stream ended before')
  if (!isHere) return
  if (asSassError(problem)?.code === 'STATE_UNWRITABLE') return unwritten(peer, call, problem)
  failTransfer(peer, call.streamId, problem)
}

function keep(peer: Peer, call: Call, draft: Draft, { action, warrant, id, artifacts }: Sending): void {
  const { rooms, caller, session } = peer
  if (caller === undefined || session === undefined) return
  const { previous, from, to, digest, sealed, task, persistent, criticality, classification } = action
  const record: HandoffRecord = {
    ...{ id, artifacts },
    ...{ from, sender: caller.name, session: session.id, to, digest, sealed, task, persistent },
    ...{
      criticality,
      classification,
      depth: depthOf(action),
      injection: action.injection,
      hidden: action.hidden,
    },
    recipient: recipientOf(rooms.identities.find(to)).scope,
    taskId: draft.handoff.taskId,
    previous: previous === null || previous === 'unknown' ? undefined : previous.id,
    sentAtMs: rooms.clock.wallMs(),
  }
  try {
    rooms.handoffs.add(record, textOf(draft.handoff, from, previous))
  } catch (cause) {
    rooms.handoffs.copies.remove(copiesOf(record), false)
    recordNotDone(peer, action, warrant, 'it could not be kept')
    return unwritten(peer, call, cause)
  }
  recordAnyway(peer.rooms, {
    ...handoffEvent('sent', record),
    warrant: warrant.id,
    artifacts: artifacts.length,
    brought: copiesOf(record).length,
    // The sender says so, and nobody has measured it.
    declared: { confidence: action.confidence, prior_score: action.priorScore },
  })
  whenKept(peer, call, (problem) => {
    if (problem !== undefined) return peer.fail(call, problem)
    peer.connection.end(call.streamId, handoffEntry.encode(wholeEntryOf({ ...record, isTaken: false })))
  })
}

/** Where the disk takes nothing the sentence of the file names its place, which is for the log. */
function unwritten(peer: Peer, call: Call, cause: unknown): void {
  if (asSassError(cause)?.code !== 'STATE_UNWRITABLE') throw cause
  peer.rooms.log.write('error', 'handoff_failed', { reason: (cause as Error).message })
  peer.connection.fail(
    call.streamId,
    'RESPONSE_THROTTLED',
    'The device cannot keep the handoff just now; ask again later, or ask its operator, whose log says why.',
  )
}

export const listHandoffs = telling(({ caller, rooms }) => {
  const all = rooms.handoffs.listFor(caller?.role === 'operator' ? undefined : recipientOf(caller))
  const handoffs = all.slice(0, LISTED_ENTRIES).map(entryOf)
  return handoffList.encode({ handoffs: handoffs as never, total: all.length })
})

export function takeHandoff(peer: Peer, call: Call): void {
  const id = call.message.ok ? encodeHex((call.message.value as { handoff_id: Uint8Array }).handoff_id) : ''
  permitted(peer, call, { kind: 'take_handoff', id }, () => {
    const { rooms, caller } = peer
    const found = rooms.handoffs.find(id)
    if (found === undefined || !isFor(found, recipientOf(caller)))
      return peer.connection.fail(
        call.streamId,
        'PROCESS_NOT_FOUND',
        'No handoff with that id waits for you: list them again, they are kept for a day.',
      )
    give(peer, call, found)
  })
}

function give(peer: Peer, call: Call, found: KeptHandoff): void {
  let content: string
  try {
    content = peer.rooms.handoffs.take(found.id)
  } catch (cause) {
    return unwritten(peer, call, cause)
  }
  if (contentDigest(content) !== found.digest || !isWhole(content)) {
    recordAnyway(peer.rooms, {
      ...handoffEvent('rejected', found),
      rule: 'handoff.digest',
      is_critical: true,
    })
    return peer.connection.fail(
      call.streamId,
      'HANDOFF_REJECTED',
      'The handoff is not what was sent: its digest is another one; ask its sender to send it again.',
    )
  }
  if (!found.isTaken)
    recordAnyway(peer.rooms, {
      ...handoffEvent('taken', found),
      instance: peer.session?.instance ?? null,
    })
  const entry = wholeEntryOf({ ...found, isTaken: true })
  whenKept(peer, call, (problem) => {
    if (problem !== undefined) return peer.fail(call, problem)
    peer.connection.end(
      call.streamId,
      handoffContent.encode({ entry: entry as never, content, content_source: CONTENT_SOURCE }),
    )
  })
}
