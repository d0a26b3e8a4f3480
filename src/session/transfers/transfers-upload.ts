/**
 * FileUpload and RawFileTransfer: from the first message to a file in its place. It is decided before anything is
 * opened to be written; the bytes are written as they come, never more of them held than the credit allows, and the
 * file is in its place only when all of it is there and right.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { defer } from '../../base/deferred.ts'
import { decodeBase64 } from '../../base/encoding/base64.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { baseName } from '../../base/text/lexical-path.ts'
import type { FileAction } from '../../defense/facts.ts'
import { stricter } from '../../defense/level.ts'
import { Warrant } from '../../defense/warrant.ts'
import { asSassError, SassError } from '../../errors.ts'
import { CHUNK_BYTES, INITIAL_WINDOW_BYTES, PAYLOAD_PLAIN_BYTES } from '../../limits.ts'
import type { FileReceiver, SessionView } from '../../ports.ts'
import { readRemotePath } from '../../sandbox/files/remote-path.ts'
import { createStdinQueue, type StdinQueue } from '../../sandbox/launcher/stdin-queue.ts'
import { type FileChunk, type FileMetadata, fileOutcome } from '../../wire/file-messages.ts'
import { SYSTEM } from '../../wire/frame.ts'
import { streamResponse } from '../../wire/messages.ts'
import { openZstd } from '../../wire/zstd-open.ts'
import { type Call, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { type Aim, attempt, NOT_LOOKED, requestFacts } from '../decisions/attempt.ts'
import { failPermitted, mistake } from '../decisions/permitted.ts'
import type { WhyEnded } from '../executions/transfers.ts'
import {
  createWaker,
  endStream,
  failTransfer,
  movedMeanwhile,
  type TransferEnd,
  whenOver,
  withView,
} from './transfers-start.ts'

const isRaw = ({ method }: Call): boolean => method.name === 'RawFileTransfer'

type UploadAction = Extract<FileAction, { kind: 'upload' }>

const WHAT = Object.freeze(['file', 'directory', 'link'] as const)
/** Set-user-ID, set-group-ID and sticky are never given by a transfer. */
const GIVEN_BITS = 0o777
/** What ends the connection, and not the stream alone. */
const SEVERED = 'DECOMPRESSION_LIMIT_EXCEEDED'
/** So much of a digest names what is being written. */
const KEY_CHARS = 32

/** What is wrong with the metadata beyond their form; undefined: nothing. */
function problemOf({ kind, target, total_size, offset }: FileMetadata): string | undefined {
  if (kind === 2 && (target === undefined || target === '')) return 'metadata.target is missing'
  if (kind !== 2 && target !== undefined) return 'metadata.target is for symbolic links alone'
  if (kind !== 0 && (total_size !== 0 || offset !== 0)) return 'only a file has a size'
  return undefined
}

export function upload(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const { metadata, data } = call.message.value as FileChunk
  if (metadata === undefined)
    return failPermitted(
      peer,
      call,
      'FILE_METADATA_MISSING',
      'The first message of an upload must say what is uploaded, in metadata.',
    )
  const problem = problemOf(metadata)
  if (problem !== undefined) return mistake(peer, call, problem)
  const remote = readRemotePath(peer.rooms.planner.workspaceRoot, metadata.remote_path)
  if (!remote.ok) return mistake(peer, call, `remote_path ${remote.problem}`)
  if (metadata.offset > metadata.total_size)
    return failPermitted(peer, call, 'FILE_SEEK_FAILED', 'The offset lies beyond the end of the file.')
  const incoming = createIncoming(isRaw(call))
  if (data !== undefined) incoming.push(data)
  const waiting: StreamUser = {
    waits: true,
    message: (value) => incoming.take(value),
    ended: () => incoming.end(),
    credit() {},
    stdinDrained() {},
    leave() {},
  }
  withView(peer, call, waiting, (view) =>
    attempt(peer, call, () => aimOf(peer, call, { view, path: remote.path, metadata, incoming })),
  )
}

type Asked = {
  readonly view: SessionView
  readonly path: string
  readonly metadata: FileMetadata
  readonly incoming: Incoming
}

/** What would be written as things are now. */
function aimOf(peer: Peer, call: Call, asked: Asked): Aim {
  const { view, path, metadata } = asked
  const what = WHAT[metadata.kind] ?? 'file'
  const action: UploadAction = {
    kind: 'upload',
    path,
    real: realOf(peer, view, path, what),
    what,
    target: metadata.target ?? null,
    size: metadata.total_size,
    mode: metadata.mode === undefined ? null : metadata.mode & GIVEN_BITS,
    sha256: metadata.sha256 === undefined ? null : encodeHex(metadata.sha256),
    offset: metadata.offset,
  }
  return { action, look: NOT_LOOKED, go: (warrant) => begin(peer, call, asked, action, warrant) }
}

/** A link is made where it says: what may be there already is not followed. */
function realOf(peer: Peer, view: SessionView, path: string, what: UploadAction['what']): string {
  if (what !== 'link' || path === '/') return peer.rooms.files.look(view, path).real
  const name = baseName(path)
  const { real } = peer.rooms.files.look(view, path.slice(0, -name.length - 1) || '/')
  return real === '/' ? `/${name}` : `${real}/${name}`
}

/** What came and is not written yet: within the credit of its stream, so it needs no bound of its own. */
type Incoming = Pick<StdinQueue, 'bytes' | 'peek' | 'consume' | 'push'> & {
  take(value: unknown): void
  end(): void
  readonly hasEnded: boolean
  /** Something came that is no piece of a file. */
  readonly isOdd: boolean
}

function createIncoming(isRaw: boolean): Incoming {
  // What is compressed is so piece by piece.
  const queue = createStdinQueue(isRaw)
  let hasEnded = false
  let isOdd = false
  const push = (data: Uint8Array) => {
    // Borrowed bytes: they are gone when this returns.
    queue.push(new Uint8Array(data))
  }
  return {
    take(value) {
      const { data, metadata } = value as FileChunk
      isOdd ||= metadata !== undefined
      if (data !== undefined) push(data)
    },
    push,
    end() {
      hasEnded = true
    },
    peek: queue.peek,
    consume: queue.consume,
    get bytes() {
      return queue.bytes
    },
    get hasEnded() {
      return hasEnded
    },
    get isOdd() {
      return isOdd
    },
  }
}

/** Finds what was begun before: the same caller, place, size and content. */
function keyOf(caller: string, { real, size, sha256: digest }: UploadAction): string {
  const text = [caller, real, String(size), digest ?? ''].join('\0')
  return encodeHex(sha256(encodeUtf8(text))).slice(0, KEY_CHARS)
}

function begin(peer: Peer, call: Call, asked: Asked, action: UploadAction, warrant: Warrant): void {
  const { rooms, connection, session, caller } = peer
  const { streamId } = call
  const { incoming } = asked
  if (session === undefined || caller === undefined) return
  Warrant.redeem(warrant, action, sessionOf(peer))
  const { files } = rooms
  const gone = defer<undefined>()
  // Whoever works on the branch waits for us, and would give no view before: it is not waited for once we must end.
  const currentView = () => Promise.race([rooms.viewOf(session), gone.promise])
  const waker = createWaker()
  // What a human has allowed at that level goes on at that level.
  const permittedAt = peer.level
  /** Why nobody waits for it any more: the stream was given up, the link is gone, or it may not go on. */
  let left: 'reset' | 'lost' | WhyEnded | undefined
  let written = 0
  let consumed = 0

  const key = keyOf(caller.name, action)
  // Sessions may work in one branch: what they write meets there.
  const branch = rooms.places.find(session.id)?.branch || session.id
  const stop = (why: WhyEnded) => {
    if (left !== undefined) return
    left = why
    endStream(peer, streamId, why)
    gone.resolve(undefined)
    waker.wake()
  }
  const place = rooms.transfers.begin({ owner: caller.name, branch, key, stop })

  const user: StreamUser = {
    message(value) {
      incoming.take(value)
      waker.wake()
    },
    ended() {
      incoming.end()
      waker.wake()
    },
    credit() {},
    stdinDrained() {},
    leave() {
      left ??= connection.phase === 'dead' ? 'lost' : 'reset'
      gone.resolve(undefined)
      waker.wake()
    },
    tick: waker.wake,
  }
  peer.join(streamId, user)

  function grant(): void {
    const stream = connection.stream(streamId)
    const isStarved = stream !== undefined && stream.receiveLimitBytes - stream.receivedBytes <= consumed
    if (consumed < INITIAL_WINDOW_BYTES / 2 && !isStarved) return
    connection.grant(streamId, consumed)
    consumed = 0
  }

  /** What a piece of RawFileTransfer holds; measured before it is opened. */
  async function opened(piece: Uint8Array): Promise<Uint8Array> {
    if (!isRaw(call)) return piece
    const packed = decodeBase64(piece, CHUNK_BYTES)
    if (packed === undefined)
      throw new SassError('FRAME_MALFORMED', 'The data is not base64 as RFC 4648 has it.')
    const plain = await openZstd(packed, PAYLOAD_PLAIN_BYTES, rooms.decoder)
    if (plain.ok) return plain.plain
    throw new SassError(plain.code, `The data is refused: ${plain.problem}.`)
  }

  async function takeAll(receiver: FileReceiver): Promise<Uint8Array | undefined> {
    // What came before the link was lost is not asked for again.
    while (left === undefined || (left === 'lost' && incoming.bytes > 0)) {
      // While a stricter level of alarm stands nothing is written, and no credit is given.
      const isBarred = stricter(peer.level, permittedAt) !== permittedAt
      if (incoming.isOdd)
        throw new SassError('FRAME_MALFORMED', 'Metadata came a second time; a stream carries one file.')
      const piece = isBarred ? undefined : incoming.peek()
      if (piece === undefined) {
        if (left !== undefined) return undefined
        if (!isBarred && incoming.hasEnded) {
          const view = await currentView()
          return view === undefined ? undefined : receiver.finish(view)
        }
        await waker.wait()
        continue
      }
      const plain = await opened(piece)
      await receiver.write(plain)
      incoming.consume(piece.length)
      written += plain.length
      consumed += piece.length
      if (left === undefined) grant()
    }
    return undefined
  }

  /** A file; undefined where it was left. */
  async function receive(view: SessionView): Promise<Uint8Array | undefined> {
    const receiver = await files.receive(view, {
      real: action.real,
      size: action.size,
      mode: action.mode ?? undefined,
      sha256: action.sha256 ?? undefined,
      offset: action.offset,
      key,
    })
    let isDone = false
    try {
      const { offset } = receiver
      connection.message(streamId, streamResponse.encode({ source: SYSTEM, offset, sha256: receiver.sha256 }))
      const digest = await takeAll(receiver)
      isDone = digest !== undefined
      return digest
    } finally {
      // Whoever takes it back wants nothing of it; what was cut off is gone on with.
      if (!isDone) await receiver.stop(left !== 'reset')
    }
  }

  async function make(): Promise<Uint8Array | undefined> {
    // It may have waited, and the branch may have been mounted anew: what was decided upon must still be so.
    const view = await currentView()
    if (left !== undefined || view === undefined) return undefined
    if (realOf(peer, view, action.path, action.what) !== action.real) throw movedMeanwhile()
    if (action.what === 'file') return receive(view)
    if (action.what === 'directory') await files.makeDirectory(view, action.real, action.mode ?? undefined)
    else await files.makeLink(view, action.real, action.target ?? '')
    return new Uint8Array(0)
  }

  async function work(): Promise<TransferEnd> {
    try {
      await place.ready
      const digest = left === undefined ? await make() : undefined
      if (digest === undefined) return { outcome: 'left', bytes: written, sha256: null }
      if (left === undefined) {
        const hasDigest = digest.length > 0
        connection.end(
          streamId,
          fileOutcome.encode({
            success: true,
            message: action.what === 'file' ? 'The file is in its place.' : 'It is in its place.',
            bytes_written: written,
            ...(hasDigest ? { sha256: digest } : {}),
          }),
        )
        peer.streamDone(streamId)
      }
      return { outcome: 'done', bytes: written, sha256: encodeHex(digest) || null }
    } catch (cause) {
      if (left !== undefined) return { outcome: 'left', bytes: written, sha256: null }
      if (asSassError(cause)?.code === SEVERED) return sever()
      const outcome = failTransfer(peer, streamId, cause)
      peer.streamDone(streamId)
      return { outcome, bytes: written, sha256: null }
    }
  }

  /** As with any payload that expands too far: the connection ends. */
  function sever(): TransferEnd {
    peer.refuse(peer.decide(requestFacts(call, { overExpanded: true }), undefined), call)
    return { outcome: SEVERED, bytes: written, sha256: null }
  }

  whenOver(work(), peer, call, { place, action, warrant })
}
