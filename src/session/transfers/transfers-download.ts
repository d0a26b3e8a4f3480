/**
 * FileDownload: a file, the list of a directory, or what came with a handoff, from where the client goes on. It is decided before anything is
 * opened; what cannot be sent now is not read.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */

import { defer } from '../../base/deferred.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import type { FileAction, TakenArtifact } from '../../defense/facts.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import { stricter } from '../../defense/level.ts'
import { Warrant } from '../../defense/warrant.ts'
import { SassError } from '../../errors.ts'
import { CHUNK_BYTES } from '../../limits.ts'
import type { FileReader, SessionView } from '../../ports.ts'
import { readRemotePath } from '../../sandbox/files/remote-path.ts'
import { type ContentSource, contentSourceNumber } from '../../wire/content-source.ts'
import { type FileDownloadRequest, fileChunk, fileDownloadEnd } from '../../wire/file-messages.ts'
import { recipientOf } from '../callers/identities.ts'
import { type Call, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { setOf } from '../common/rooms.ts'
import { type Aim, attempt, NOT_LOOKED } from '../decisions/attempt.ts'
import { mistake } from '../decisions/permitted.ts'
import { fileQuestion, findingsIn } from '../executions/injection-event.ts'
import type { WhyEnded } from '../executions/transfers.ts'
import { askMeanwhile } from '../standing/asking-meanwhile.ts'
import type { ConfirmationOutcome } from '../standing/confirmations.ts'
import { copyName, handoffEvent } from '../standing/handoff-record.ts'
import { isFor } from '../standing/handoffs.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import { createFileScreen } from './screened-file.ts'
import {
  createWaker,
  endStream,
  failTransfer,
  movedMeanwhile,
  type TransferEnd,
  whenOver,
  withView,
} from './transfers-start.ts'

type DownloadAction = Extract<FileAction, { kind: 'download' }>

type Opened = {
  readonly reader: FileReader
  readonly source: ContentSource
  /** Whether the whole is what it must be; throws where not. */
  readonly check?: (sha256: Uint8Array) => void
}

/** What may be given, and how it is opened once it may. */
type Given = {
  readonly action: DownloadAction | TakenArtifact
  readonly path: string
  /** Undefined: nobody is there any more. `currentView` waits for whoever works on the branch. */
  open(currentView: () => Promise<SessionView | undefined>, limitBytes: number): Promise<Opened | undefined>
}

export function download(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as FileDownloadRequest
  if (request.handoff_id !== undefined)
    return attempt(peer, call, handedAim(peer, call, encodeHex(request.handoff_id), request))
  const remote = readRemotePath(peer.rooms.planner.workspaceRoot, request.remote_path)
  if (!remote.ok) return mistake(peer, call, `remote_path ${remote.problem}`)
  const nothing = () => {}
  const waiting: StreamUser = {
    waits: true,
    message: nothing,
    ended: nothing,
    credit: nothing,
    stdinDrained: nothing,
    leave: nothing,
  }
  withView(peer, call, waiting, (view) =>
    attempt(peer, call, () => aimOf(peer, call, view, remote.path, request)),
  )
}

function begin(
  peer: Peer,
  call: Call,
  request: FileDownloadRequest,
  { action, path, open }: Given,
  warrant: Warrant,
): void {
  const { rooms, connection, caller, session } = peer
  const { streamId } = call
  if (caller === undefined || session === undefined) return
  Warrant.redeem(warrant, action, sessionOf(peer))
  const limitBytes = setOf(rooms, caller, session)?.max_file_size_bytes ?? 0
  const gone = defer<undefined>()
  // Whoever works on the branch waits for us, and would give no view before: it is not waited for once we must end.
  const currentView = () => Promise.race([rooms.viewOf(session), gone.promise])
  const waker = createWaker()
  let isLeft = false
  let sent = 0
  let withdraw: (() => void) | undefined

  const branch = rooms.places.find(session.id)?.branch || session.id
  const stop = (why: WhyEnded) => {
    if (isLeft) return
    isLeft = true
    withdraw?.()
    endStream(peer, streamId, why)
    gone.resolve(undefined)
    waker.wake()
  }
  const place = rooms.transfers.begin({ owner: caller.name, branch, key: undefined, stop })

  const user: StreamUser = {
    message() {},
    ended() {},
    credit: waker.wake,
    stdinDrained() {},
    leave() {
      isLeft = true
      withdraw?.()
      gone.resolve(undefined)
      waker.wake()
    },
    tick: waker.wake,
  }
  peer.join(streamId, user)

  // What a human has allowed at that level goes on at that level; what only reads, at RESTRICT too.
  const permittedAt = stricter(peer.level, 'RESTRICT')
  const isBarred = () => stricter(peer.level, permittedAt) !== permittedAt

  /** Waits for credit, and gives how much of it one message may take; 0 where nobody is there any more. */
  async function room(): Promise<number> {
    for (; !isLeft; await waker.wait()) {
      const credit = isBarred() ? 0 : connection.credit(streamId)
      if (credit > 0) return Math.min(credit, CHUNK_BYTES)
    }
    return 0
  }

  async function send(piece: Uint8Array): Promise<void> {
    for (; !isLeft; await waker.wait()) {
      const buffer = peer.takeBuffer(waker.wake)
      if (buffer === undefined) continue
      const length = connection.filePiece(buffer, streamId, piece.length, (target) => target.set(piece))
      sent += piece.length
      if (session !== undefined) session.deliveredBytes += piece.length
      return peer.sendBuffer(buffer, length)
    }
  }

  /** More than one message may take, where the firewall has kept some of it. */
  async function sendPieces(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length; ) {
      const length = await room()
      if (length === 0) return false
      const piece = bytes.subarray(at, at + length)
      await send(piece)
      at += piece.length
    }
    return !isLeft
  }

  /** Whether an operator releases the file. */
  function asked(of: Screen): Promise<boolean> {
    const answer = defer<boolean>()
    const isReleased = (outcome: ConfirmationOutcome) => answer.resolve(outcome === 'approved')
    withdraw = askMeanwhile(
      { ...rooms, record: (event) => rooms.audit.append(event, true) },
      fileQuestion({ agent: caller?.name ?? '', sessionId: session?.id ?? '', path }, of),
      isReleased,
    )
    return Promise.race([answer.promise, gone.promise.then(() => false)]).finally(() => {
      withdraw = undefined
    })
  }
  const screen =
    caller.role === 'operator' || !rooms.firewall.asksAboutFiles
      ? undefined
      : createFileScreen({ open: () => rooms.firewall.open(true), send: sendPieces, ask: asked })

  async function sendAll({ reader, source }: Opened): Promise<Uint8Array | undefined> {
    const { size, offset, mode, kind } = reader
    const metadata = {
      remote_path: request.remote_path,
      total_size: size,
      offset,
      mode,
      kind: kind === 'directory' ? 1 : 0,
      content_source: contentSourceNumber(source),
    }
    connection.message(streamId, fileChunk.encode({ metadata }))
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, size - offset)))
    const { push, finish } = screen ?? { push: sendPieces, finish: async () => true }
    for (let left = size - offset; left > 0; ) {
      const length = await room()
      if (length === 0) return undefined
      const count = await reader.read(buffer.subarray(0, Math.min(length, left)))
      if (!(await push(buffer.subarray(0, count)))) return undefined
      left -= count
    }
    return !(await finish()) || isLeft ? undefined : reader.finish()
  }

  async function work(): Promise<TransferEnd> {
    let reader: FileReader | undefined
    try {
      const opened = await open(currentView, limitBytes)
      reader = opened?.reader
      if (isLeft || opened === undefined) return { outcome: 'left', bytes: sent, sha256: null }
      const { size } = opened.reader
      const digest = await sendAll(opened)
      if (digest === undefined || isLeft) return { outcome: 'left', bytes: sent, sha256: null }
      opened.check?.(digest)
      const found = findingsIn(screen?.screens ?? [])
      const findings = found.length > 0 ? found : undefined
      connection.end(streamId, fileDownloadEnd.encode({ sha256: digest, total_size: size, findings }))
      peer.streamDone(streamId)
      return { outcome: 'done', bytes: sent, sha256: encodeHex(digest) }
    } catch (cause) {
      if (isLeft) return { outcome: 'left', bytes: sent, sha256: null }
      const outcome = failTransfer(peer, streamId, cause)
      peer.streamDone(streamId)
      return { outcome, bytes: sent, sha256: null }
    } finally {
      reader?.close()
    }
  }

  const handoff = action.kind === 'take_handoff' ? action.id : undefined
  whenOver(work(), peer, call, { place, action, warrant, handoff })
}

function aimOf(peer: Peer, call: Call, view: SessionView, path: string, request: FileDownloadRequest): Aim {
  const { real, kind, size } = peer.rooms.files.look(view, path)
  const { offset } = request
  const action: DownloadAction = { kind: 'download', path, real, size: kind === 'file' ? size : null, offset }
  const given: Given = {
    ...{ action, path },
    async open(currentView, limitBytes) {
      // It may have waited, and the branch may have been mounted anew: what was decided upon must still be so.
      const now = await currentView()
      if (now === undefined) return undefined
      if (peer.rooms.files.look(now, path).real !== real) throw movedMeanwhile()
      const isInternal = now.writable.some((root) => isWithin(root, real))
      return {
        reader: await peer.rooms.files.read(now, real, offset, request.sha256, limitBytes),
        source: isInternal ? 'FILE_INTERNAL' : 'FILE_EXTERNAL',
      }
    },
  }
  return { action, look: NOT_LOOKED, go: (warrant) => begin(peer, call, request, given, warrant) }
}

/** A file that came with a handoff, to whom it is for. */
function handedAim(peer: Peer, call: Call, id: string, request: FileDownloadRequest): Aim {
  const { rooms } = peer
  const { remote_path: artifact, offset, sha256 } = request
  const action: TakenArtifact = { kind: 'take_handoff', id, artifact }
  const given: Given = {
    ...{ action, path: artifact },
    async open(_currentView, limitBytes) {
      const found = rooms.handoffs.find(id)
      const isOwn = found !== undefined && isFor(found, recipientOf(peer.caller))
      const index = isOwn
        ? found.artifacts.findIndex((one) => one.path === artifact && one.sha256 !== '')
        : -1
      const kept = found?.artifacts[index]
      if (found === undefined || kept === undefined)
        throw new SassError(
          'PROCESS_NOT_FOUND',
          'No handoff with that id has brought you a file of that name: take it again, which says what there is.',
        )
      if (kept.size > limitBytes)
        throw new SassError(
          'FILE_TOO_LARGE',
          `The file has ${kept.size} bytes, and ${limitBytes} may be transferred.`,
        )
      return {
        reader: await rooms.handoffs.copies.open(copyName(id, index), offset, sha256),
        source: 'AGENT_HANDOFF',
        check(whole) {
          if (encodeHex(whole) === kept.sha256) return
          const event = { ...handoffEvent('rejected', found), rule: 'handoff.digest', is_critical: true }
          recordAnyway(peer.rooms, event)
          throw new SassError(
            'HANDOFF_REJECTED',
            'The file is not what was sent: its digest is another one; ask its sender to send it again.',
          )
        },
      }
    },
  }
  return { action, look: NOT_LOOKED, go: (warrant) => begin(peer, call, request, given, warrant) }
}
