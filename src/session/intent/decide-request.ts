/**
 * Decide: an agent proposes, the constitution decides, and what it permits is decided by the daemon's own rules as well
 * before it is done: a read as a download is, a write as an upload, each below the directory of proposals in the branch
 * of the session. Neither permits what the other does not.
 * Rules: docs/proposals.md, section on the daemon; docs/protocol.md, section 3 (80).
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { decodeUtf8, encodeUtf8 } from '../../base/encoding/utf8.ts'
import { isWithin, resolvePath } from '../../base/text/lexical-path.ts'
import type { FileAction } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import { asSassError, SassError } from '../../errors.ts'
import { askedPaths } from '../../intent/proposals/decide.ts'
import type { RealPaths } from '../../intent/proposals/gates.ts'
import { artifactOf } from '../../intent/proposals/streams.ts'
import type { SessionView } from '../../ports.ts'
import { PROPOSAL_CONTENT_BYTES } from '../../wire/limits.ts'
import { type DecideRequest, decided as decidedMessage } from '../../wire/proposal-messages.ts'
import { createWaiter, GOES_ON } from '../branches/branches.ts'
import { type Call, type Peer, sessionOf } from '../common/peer.ts'
import { setOf } from '../common/rooms.ts'
import { attempt, NOT_LOOKED } from '../decisions/attempt.ts'
import { failPermitted, mistake } from '../decisions/permitted.ts'
import type { ProposalRun } from '../standing/proposals.ts'
import { failTransfer, movedMeanwhile, withView } from '../transfers/transfers-start.ts'
import {
  actionOf,
  type Cycle,
  decidedCycle,
  finish,
  noteDecided,
  observed,
  redeem,
} from './proposal-cycle.ts'

/** Below the workspace: where artifacts, workspace and logs of proposals are. */
const DIRECTORY = 'proposals'
/** From so much certainty on, per mille, a text that was read is not handed to a model. */
const WITHHELD_PERMILLE = 900

type Told = { readonly content?: string; readonly hidden?: number; readonly injection?: number }

function placeOf({ rooms }: Peer): string {
  return resolvePath(rooms.planner.workspaceRoot, DIRECTORY)
}

/** Where each path leads below the directory of proposals, as the session sees it. */
function lookUp(peer: Peer, view: SessionView, paths: readonly string[]): RealPaths {
  const { files } = peer.rooms
  const place = placeOf(peer)
  const root = files.look(view, place).real
  const leads = (path: string): string | null => {
    const { real, kind } = files.look(view, resolvePath(place, path))
    return kind !== 'other' && isWithin(root, real) && real !== root ? real.slice(root.length + 1) : null
  }
  return Object.fromEntries(paths.map((path) => [path, leads(path)]))
}

export function decideProposals(peer: Peer, call: Call): void {
  const { rooms, session } = peer
  if (!call.message.ok || session === undefined) return mistake(peer, call, '')
  const request = call.message.value as DecideRequest
  const proposed = decodeUtf8(request.content)
  if (proposed === undefined) return mistake(peer, call, 'content is not valid UTF-8')
  const run = rooms.proposals.of(session)
  if (isBusy(run)) return refuseBusy(peer, call)
  if (run.state.lastDecision === 'EXIT')
    return failPermitted(
      peer,
      call,
      'INTENT_REJECTED',
      'The run of proposals of this session has ended with an exit; begin another session to propose again.',
    )
  const given = { session: session.id, observations: observed(rooms, request, run), proposed }
  const paths = askedPaths(rooms.proposals.law, { ...given, cycle: run.state.cycle })
  if (paths.length === 0) return propose(peer, call, run, { ...given, realPaths: {} })
  withView(peer, call, { ...createWaiter(), waits: true }, (view) =>
    propose(peer, call, run, { ...given, realPaths: lookUp(peer, view, paths) }),
  )
}

/** Whether a cycle is under way; one that nobody will end any more ends here. */
function isBusy(run: ProposalRun): boolean {
  if (run.open?.isAlive() === true) return true
  run.open?.giveUp()
  return false
}

function refuseBusy(peer: Peer, call: Call): void {
  failPermitted(
    peer,
    call,
    'RESPONSE_THROTTLED',
    'The cycle before is not over yet; propose again when it is.',
  )
}

/** What the constitution has decided is on the record before anything is done about it. */
function propose(peer: Peer, call: Call, run: ProposalRun, input: Cycle['input']): void {
  // Another one may have begun while the paths were looked up.
  if (isBusy(run)) return refuseBusy(peer, call)
  const cycle = decidedCycle(peer, run, input)
  const action = actionOf(peer, cycle)
  const open = {
    isAlive: () => peer.user(call.streamId) !== undefined,
    giveUp() {
      run.open = undefined
    },
  }
  run.open = open
  attempt(peer, call, {
    action,
    go(warrant) {
      Warrant.redeem(warrant, action, sessionOf(peer))
      if (run.open !== open) throw new TypeError('A cycle was given up before it was decided.')
      run.open = undefined
      noteDecided(peer, cycle)
      carryOut(peer, call, cycle)
    },
  })
  // Refused just now, and nothing of it has happened.
  if (run.open === open && !open.isAlive()) open.giveUp()
}

function answer(peer: Peer, call: Call, { run, decided, number }: Cycle, told: Told = {}): void {
  peer.connection.end(
    call.streamId,
    decidedMessage.encode({
      decision: decided.decision.type,
      cycle: number,
      artifact: canonicalize(artifactOf(decided)),
      state: decodeHex(run.state.stateHash) ?? new Uint8Array(0),
      ...told,
    }),
  )
}

function carryOut(peer: Peer, call: Call, cycle: Cycle): void {
  const { decision } = cycle.decided
  if (decision.type !== 'ACTION') {
    finish(peer, cycle, undefined)
    return answer(peer, call, cycle)
  }
  const { action_type: type, fields } = decision.bundle.action_request
  if (type === 'Notify') return notify(peer, call, cycle, String(fields['message']))
  const path = String(decision.warrant.scope_constraints['allowed_path'])
  const content = type === 'WriteLocal' ? encodeUtf8(String(fields['content'])) : undefined
  const open = { isAlive: () => peer.user(call.streamId) !== undefined, giveUp: () => giveUp(peer, cycle) }
  cycle.run.open = open
  withView(peer, call, { ...createWaiter(), waits: true }, (view) =>
    touch(peer, call, cycle, { view, path, content }),
  )
}

function giveUp(peer: Peer, cycle: Cycle): void {
  finish(peer, cycle, { result: 'failed', detail: 'LEFT' })
}

/** Says it to the agent itself, or to the log of the daemon. */
function notify(peer: Peer, call: Call, cycle: Cycle, message: string): void {
  redeem(peer, cycle)
  const { decision } = cycle.decided
  const isOwn = decision.type === 'ACTION' && decision.warrant.scope_constraints['target'] === 'stdout'
  if (!isOwn) {
    const warrant = cycle.decided.permit?.warrant.warrant_id ?? ''
    peer.rooms.log.write('info', 'proposal_notify', { agent: peer.caller?.name ?? '', warrant, message })
  }
  finish(peer, cycle, { result: 'committed', detail: '' })
  answer(peer, call, cycle, isOwn ? { content: message } : {})
}

type Touched = {
  readonly view: SessionView
  /** Where it leads, below the directory of proposals. */
  readonly path: string
  /** What would be written; undefined: it is read. */
  readonly content: Uint8Array | undefined
}

function fileAction(peer: Peer, { view, path: below, content }: Touched): FileAction {
  const path = resolvePath(placeOf(peer), below)
  const { real, kind, size } = peer.rooms.files.look(view, path)
  if (content === undefined)
    return { kind: 'download', path, real, size: kind === 'file' ? size : null, offset: 0 }
  return {
    ...{ kind: 'upload', path, real, what: 'file', target: null, mode: null, offset: 0 },
    size: content.length,
    sha256: encodeHex(sha256(content)),
  }
}

/** Decided as the transfer that it is, by the daemon's own rules; what these refuse fails, and ends the cycle. */
function touch(peer: Peer, call: Call, cycle: Cycle, touched: Touched): void {
  const { run } = cycle
  const action = fileAction(peer, touched)
  let isWorking = false
  const open = {
    isAlive: () => isWorking || peer.user(call.streamId) !== undefined,
    giveUp: () => giveUp(peer, cycle),
  }
  run.open = open
  const name = action.kind === 'upload' ? 'FileUpload' : 'FileDownload'
  attempt(
    peer,
    { ...call, method: { ...call.method, name } },
    {
      action,
      look: NOT_LOOKED,
      go(warrant) {
        if (run.open !== open) throw new TypeError('A cycle was given up before it was carried out.')
        isWorking = true
        begin(peer, call, cycle, { action, content: touched.content }, warrant)
      },
    },
  )
  // Neither done nor waiting: it was refused just now.
  if (!open.isAlive() && run.open === open) finish(peer, cycle, { result: 'failed', detail: 'REFUSED' })
}

type Work = { readonly action: FileAction; readonly content: Uint8Array | undefined }

/** Spends both warrants, that of the device and that of the proposal, and then does it. */
function begin(peer: Peer, call: Call, cycle: Cycle, asked: Work, warrant: Warrant): void {
  Warrant.redeem(warrant, asked.action, sessionOf(peer))
  redeem(peer, cycle)
  peer.join(call.streamId, GOES_ON)
  work(peer, call, cycle, asked).catch((cause: unknown) => peer.fail(call, cause))
}

async function work(peer: Peer, call: Call, cycle: Cycle, { action, content }: Work): Promise<void> {
  const { rooms, session, caller } = peer
  if (session === undefined || caller === undefined) return
  const branch = rooms.places.find(session.id)?.branch || session.id
  const key = cycle.decided.permit?.warrant.warrant_id.slice(0, 32) ?? ''
  const place = rooms.transfers.begin({
    owner: caller.name,
    branch,
    key: content === undefined ? undefined : key,
    stop() {},
  })
  let told: Told = {}
  try {
    await place.ready
    const view = await rooms.viewOf(session)
    if (rooms.files.look(view, action.path).real !== action.real) throw movedMeanwhile()
    if (content === undefined) told = await readText(peer, view, action)
    else await write(peer, view, { action, content, key })
  } catch (cause) {
    finish(peer, cycle, { result: 'failed', detail: asSassError(cause)?.code ?? 'FILE_IO' })
    // The stream may have been given up meanwhile: what was done is done.
    if (peer.user(call.streamId) !== GOES_ON) return
    failTransfer(peer, call.streamId, cause)
    return peer.streamDone(call.streamId)
  } finally {
    place.end()
  }
  finish(peer, cycle, { result: 'committed', detail: '' })
  if (peer.user(call.streamId) !== GOES_ON) return
  answer(peer, call, cycle, told)
  peer.streamDone(call.streamId)
}

/** The whole of a text, with what is secret hidden; what gives orders to its reader is withheld. */
async function readText(peer: Peer, view: SessionView, { real }: FileAction): Promise<Told> {
  const { rooms, caller, session } = peer
  const most = setOf(rooms, caller, session)?.max_file_size_bytes ?? 0
  const reader = await rooms.files.read(view, real, 0, undefined, Math.min(most, PROPOSAL_CONTENT_BYTES))
  try {
    if (reader.kind !== 'file')
      throw new SassError('FILE_IO', 'The path is a directory; propose to read a file in it.')
    const bytes = new Uint8Array(reader.size)
    for (let at = 0; at < bytes.length; ) {
      const count = await reader.read(bytes.subarray(at))
      if (count === 0) throw movedMeanwhile()
      at += count
    }
    await reader.finish()
    const text = decodeUtf8(bytes)
    if (text === undefined)
      throw new SassError('FILE_IO', 'The file is no text of UTF-8; fetch it with FileDownload instead.')
    const injection = rooms.readText.assess(text)
    if (injection >= WITHHELD_PERMILLE)
      throw new SassError(
        'OUTPUT_BLOCKED',
        'The file reads like orders to whoever reads it and is withheld; ask the operator.',
      )
    const { text: content, hidden } = rooms.readText.hide(text)
    if (session !== undefined) session.deliveredBytes += bytes.length
    return { content, hidden, injection }
  } finally {
    reader.close()
  }
}

type Writing = Work & { readonly content: Uint8Array; readonly key: string }

async function write({ rooms }: Peer, view: SessionView, { action, content, key }: Writing): Promise<void> {
  const { real } = action
  const directory = real.slice(0, real.lastIndexOf('/'))
  // One that the session may write in lies in nothing that it may, and is there.
  if (rooms.files.look(view, directory).kind !== 'directory')
    await rooms.files.makeDirectory(view, directory, undefined)
  const receiver = await rooms.files.receive(view, {
    ...{ real, size: content.length, mode: undefined, offset: 0, key },
    sha256: encodeHex(sha256(content)),
  })
  let isDone = false
  try {
    await receiver.write(content)
    await receiver.finish(view)
    isDone = true
  } finally {
    if (!isDone) await receiver.stop(false)
  }
}
