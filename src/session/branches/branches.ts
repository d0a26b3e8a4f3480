/**
 * The operator's methods for branches: what there is, what it would change, and what becomes of it. Each that changes
 * something is an action of its own, decided and recorded with who does it and the digest of what was shown; a merge has
 * no other way than this one, so a human always stands behind it.
 * Rules: docs/protocol.md, section 3 (41 to 47); docs/sandbox.md (review and merge).
 * @module
 */

import type { CborValue } from '../../base/encoding/cbor.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import type { BranchAction } from '../../defense/facts.ts'
import type { Destination } from '../../egress/destinations.ts'
import { asSassError, CODES, reasonOf } from '../../errors.ts'
import {
  CHUNK_BYTES,
  LISTED_CHECKPOINTS,
  LISTED_DESTINATIONS,
  LISTED_ENTRIES,
  PATH_BYTES,
} from '../../limits.ts'
import { STDOUT } from '../../ports.ts'
import {
  DIFF_FORMS,
  type Looker,
  type NamedPath,
  type Review,
  type ToldPaths,
} from '../../sandbox/branch/threads/branch-work.ts'
import { choosePaths, shownPath } from '../../sandbox/branch/threads/chosen-paths.ts'
import type { TalkedTo } from '../../wire/egress-messages.ts'
import * as m from '../../wire/messages.ts'
import type { BranchPermit } from '../common/branch-deeds.ts'
import type { BranchOutcome } from '../common/branch-words.ts'
import { type Call, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { attempt } from '../decisions/attempt.ts'
import { mistake, whenReading } from '../decisions/permitted.ts'
import { sentence } from '../standing/sentence.ts'
import { createWaker } from '../transfers/transfers-start.ts'

const NOTHING = () => {}
/** So that a whole list fits a frame. */
const LISTED_WHY_BYTES = 160
/** What is under way goes on, whoever still waits for its end. */
export const GOES_ON: StreamUser = Object.freeze({
  message: NOTHING,
  ended: NOTHING,
  credit: NOTHING,
  stdinDrained: NOTHING,
  leave: NOTHING,
})

export function logFailed({ rooms }: Peer, { method }: Call, cause: unknown): void {
  rooms.log.write('error', 'branch_failed', { method: method.name, reason: reasonOf(cause) })
}

function fail(peer: Peer, call: Call, cause: unknown): void {
  const known = asSassError(cause)
  const isTold = known !== undefined && CODES[known.code].audience !== 'local'
  logFailed(peer, call, cause)
  peer.connection.fail(
    call.streamId,
    isTold ? known.code : 'FILE_IO',
    isTold ? sentence(known.message) : 'The device could not do it; see its log.',
  )
}

/** One who waits for a look; it ends when they leave. */
export function createWaiter(): StreamUser & { onLeave(stop: () => void): void; isGone(): boolean } {
  let isGone = false
  let end = NOTHING
  return {
    ...GOES_ON,
    leave() {
      isGone = true
      end()
    },
    onLeave(stop) {
      end = stop
      if (isGone) stop()
    },
    isGone: () => isGone,
  }
}

/** Ends the stream with what comes, later. */
function answerWith(peer: Peer, call: Call, coming: Promise<CborValue>): void {
  peer.join(call.streamId, GOES_ON)
  coming
    .then(
      (answer) => peer.connection.end(call.streamId, answer),
      (cause: unknown) => fail(peer, call, cause),
    )
    .then(() => peer.streamDone(call.streamId))
    .catch((cause: unknown) => peer.fail(call, cause))
}

function list(peer: Peer, call: Call): void {
  const skip = call.message.ok ? (call.message.value as m.BranchListRequest).skip : 0
  whenReading(peer, call, () => {
    const all = peer.rooms.branches.list()
    const branches = all
      .slice(skip, skip + LISTED_ENTRIES)
      .map(({ branch, sessions, running, isEmpty, canUndo, stopped }) => ({
        ...{ session_id: idOf(branch.session), agent_name: branch.agent, level: branch.level },
        opened_at: Math.floor(branch.openedAtMs / 1_000),
        ...{ sessions, running, is_empty: isEmpty, can_undo: canUndo },
        stopped: stopped === undefined ? undefined : sentence(stopped, LISTED_WHY_BYTES),
      }))
    peer.connection.end(call.streamId, m.branchList.encode({ branches, total: all.length }))
  })
}

function idOf(session: string): Uint8Array {
  return decodeHex(session) ?? new Uint8Array(16)
}

type Named =
  | { readonly ok: true; readonly paths: readonly NamedPath[] }
  | { readonly ok: false; readonly problem: string }

/** Where they lie; of a branch that is not there they are nowhere, and the deed says so. */
function namedIn(peer: Peer, session: string, paths: readonly Uint8Array[]): Named {
  const branch = peer.rooms.branches.find(session)
  if (branch === undefined) return { ok: true, paths: [] }
  return choosePaths(peer.rooms.planner.workspaceRoot, branch.roots, paths)
}

/** Those with the most bytes by name, and the rest as one. */
function talkedMessages(all: readonly Destination[]): readonly TalkedTo[] {
  const bytesOf = ({ sentBytes, receivedBytes }: Destination): number => sentBytes + receivedBytes
  const named = all
    .filter(({ host }) => host !== undefined)
    .toSorted((one, other) => bytesOf(other) - bytesOf(one))
  const isWhole = named.length === all.length && named.length <= LISTED_DESTINATIONS
  const shown = named.slice(0, isWhole ? LISTED_DESTINATIONS : LISTED_DESTINATIONS - 1)
  const rest = all.filter((one) => !shown.includes(one))
  const sum = (of: (one: Destination) => number): number => rest.reduce((total, one) => total + of(one), 0)
  const others: Destination = {
    ...{ host: undefined, port: undefined, protocol: 'tcp' },
    connections: sum(({ connections }) => connections),
    ...{
      sentBytes: sum(({ sentBytes }) => sentBytes),
      receivedBytes: sum(({ receivedBytes }) => receivedBytes),
    },
  }
  return [...shown, ...(isWhole ? [] : [others])].map(
    ({ host, port, protocol, connections, sentBytes, receivedBytes }) => ({
      ...{ host: host ?? '', port: port ?? 0, protocol, connections },
      ...{ sent: sentBytes, received: receivedBytes },
    }),
  )
}

/** Sends a text under credit, and then its end. */
async function sendReview(
  peer: Peer,
  call: Call,
  review: Review & { isPreview: boolean; branch?: string; stopped?: string | undefined },
  talkedTo: readonly Destination[],
): Promise<void> {
  const { connection } = peer
  const { streamId } = call
  const { text } = review
  const waker = createWaker()
  let isLeft = false
  peer.join(streamId, {
    ...GOES_ON,
    credit: waker.wake,
    tick: waker.wake,
    leave() {
      isLeft = true
      waker.wake()
    },
  })
  const piece = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, text.sizeBytes)))
  let offset = 0
  while (!isLeft && offset < text.sizeBytes) {
    const credit = connection.credit(streamId)
    if (credit <= 0) {
      await waker.wait()
      continue
    }
    const length = await text.read(piece.subarray(0, Math.min(piece.length, credit)))
    if (length === 0) break
    for (; !isLeft; await waker.wait()) {
      const buffer = peer.takeBuffer(waker.wake)
      if (buffer === undefined) continue
      const bytes = piece.subarray(0, length)
      const written = connection.output(buffer, streamId, STDOUT, offset, length, (target) =>
        target.set(bytes),
      )
      peer.sendBuffer(buffer, written)
      offset += length
      break
    }
  }
  if (isLeft) return
  connection.end(
    streamId,
    m.branchDiffEnd.encode({
      digest: decodeHex(review.digest) ?? new Uint8Array(32),
      changes: review.changes,
      conflicts: review.conflicts,
      held_back: review.heldBack,
      shown: review.shown,
      is_preview: review.isPreview,
      branch: review.branch === undefined ? undefined : idOf(review.branch),
      stopped: review.stopped === undefined ? undefined : sentence(review.stopped),
      talked_to: talkedMessages(talkedTo),
    }),
  )
  peer.streamDone(streamId)
}

/** Gives a look at a branch to whoever waits for it; it ends when they leave. `branch`: they are told that name. */
export function giveReview(
  peer: Peer,
  call: Call,
  session: string,
  look: (onLeave: Looker['onLeave']) => Promise<Review & { isPreview: boolean }>,
  { branch, failed = fail }: { readonly branch?: string; readonly failed?: typeof fail } = {},
): void {
  const { branches, egress } = peer.rooms
  const waiter = createWaiter()
  peer.join(call.streamId, waiter)
  const work = async () => {
    const review = await look(waiter.onLeave)
    try {
      // It was given up meanwhile.
      if (peer.user(call.streamId) !== waiter) return
      const more = { ...(branch === undefined ? {} : { branch }), stopped: branches.stopped(session) }
      await sendReview(peer, call, { ...review, ...more }, egress.destinations(session))
    } finally {
      review.text.close()
    }
  }
  work().catch((cause: unknown) => {
    if (waiter.isGone()) return
    failed(peer, call, cause)
    peer.streamDone(call.streamId)
  })
}

function diff(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as m.BranchDiffRequest
  const session = encodeHex(request.session_id)
  const named = namedIn(peer, session, request.paths)
  const go = (): void => {
    if (!named.ok) return
    const form = DIFF_FORMS[request.form] ?? 'text'
    // Its text lies on the disk: on a full one an operator looks before dropping.
    if (peer.caller?.role === 'operator') peer.rooms.roomToClear()
    giveReview(peer, call, session, (onLeave) =>
      peer.rooms.branches.review(session, form, named.paths, onLeave),
    )
  }
  whenReading(peer, call, go, named.ok ? '' : named.problem)
}

function told({ paths }: ToldPaths): readonly { path: Uint8Array; what: string }[] {
  return paths.map(({ path, what }) => ({ path: path.slice(0, PATH_BYTES), what }))
}

function outcomeMessage({ message, conflicts, leftOut, digest, ...more }: BranchOutcome): CborValue {
  return m.branchOutcome.encode({
    ...more,
    message: sentence(message),
    conflicts: told(conflicts),
    conflicts_total: conflicts.total,
    left_out: told(leftOut),
    left_out_total: leftOut.total,
    digest: digest === undefined ? undefined : decodeHex(digest),
  })
}

function plainOutcome({ success, message }: BranchOutcome): CborValue {
  return m.outcome.encode({ success, message: sentence(message) })
}

/** Decides about `action`, and has it done; a request that cannot be read says nothing of it. */
function deciding(
  peer: Peer,
  call: Call,
  action: BranchAction,
  deed: (permit: BranchPermit) => Promise<CborValue>,
  problem = '',
): void {
  if (!call.message.ok) return mistake(peer, call, '')
  attempt(peer, call, {
    action,
    problem,
    go(warrant) {
      const by = peer.caller?.name ?? ''
      const permit = { warrant, action, sessionId: sessionOf(peer), by, instance: peer.session?.instance }
      answerWith(peer, call, deed(permit))
    },
  })
}

function merge(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as m.BranchMergeRequest
  const branch = encodeHex(request.session_id)
  const paths = namedIn(peer, branch, request.paths)
  const force = namedIn(peer, branch, request.force)
  const action: BranchAction = {
    kind: 'merge',
    branch,
    digest: encodeHex(request.digest),
    paths: request.paths.map(shownPath),
    force: request.force.map(shownPath),
    heldBack: request.held_back,
  }
  const problem = [paths, force].map((named) => (named.ok ? '' : named.problem)).find((text) => text !== '')
  const wish = { paths: paths.ok ? paths.paths : [], force: force.ok ? force.paths : [] }
  const deed = async (permit: BranchPermit) => outcomeMessage(await peer.rooms.branches.merge(permit, wish))
  deciding(peer, call, action, deed, problem)
}

function branchIn(call: Call): string {
  return call.message.ok ? encodeHex((call.message.value as m.BranchReference).session_id) : ''
}

function undo(peer: Peer, call: Call): void {
  deciding(peer, call, { kind: 'undo_merge', branch: branchIn(call) }, async (permit) =>
    outcomeMessage(await peer.rooms.branches.undo(permit)),
  )
}

function drop(peer: Peer, call: Call): void {
  deciding(peer, call, { kind: 'drop_branch', branch: branchIn(call) }, async (permit) =>
    plainOutcome(await peer.rooms.branches.drop(permit)),
  )
}

function checkpoint(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const { session_id, label, restore, remove } = call.message.value as m.BranchCheckpoint
  const action: BranchAction = {
    kind: 'checkpoint',
    branch: encodeHex(session_id),
    what: restore !== undefined ? 'restore' : remove !== undefined ? 'remove' : 'make',
    number: restore ?? remove ?? 0,
    label,
  }
  const problem = restore !== undefined && remove !== undefined ? 'restore and remove exclude each other' : ''
  const deed = async (permit: BranchPermit) => plainOutcome(await peer.rooms.branches.checkpoint(permit))
  deciding(peer, call, action, deed, problem)
}

function checkpoints(peer: Peer, call: Call): void {
  const work = async () => {
    const all = await peer.rooms.branches.checkpoints(branchIn(call))
    const listed = all.slice(-LISTED_CHECKPOINTS).map(({ number, label, madeAtMs, files, sizeBytes }) => ({
      ...{ number, label, files, bytes: sizeBytes },
      made_at: Math.floor(madeAtMs / 1_000),
    }))
    return m.checkpointList.encode({ checkpoints: listed, total: all.length })
  }
  whenReading(peer, call, () => answerWith(peer, call, work()))
}

export const BRANCH_HANDLERS = Object.freeze({
  ListBranches: list,
  DiffBranch: diff,
  MergeBranch: merge,
  UndoMerge: undo,
  DropBranch: drop,
  CheckpointBranch: checkpoint,
  ListCheckpoints: checkpoints,
})
