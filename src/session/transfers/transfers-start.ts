/**
 * What an upload and a download have in common: the session's view of the files before anything is decided, what is
 * recorded when one is over, and how an error is told.
 * Rules: docs/protocol.md, section 3 (files); docs/responses.md, section 7 (what is recorded).
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { FileAction, TakenArtifact } from '../../defense/facts.ts'
import type { Warrant } from '../../defense/warrant.ts'
import { asSassError, type Code, mayTellAgent, reasonOf, SassError } from '../../errors.ts'
import type { SessionView } from '../../ports.ts'
import { type Call, namesOf, type Peer, type StreamUser } from '../common/peer.ts'
import { failPermitted } from '../decisions/permitted.ts'
import type { TransferPlace, WhyEnded } from '../executions/transfers.ts'
import { recordAnyway } from '../standing/record-anyway.ts'

/** Goes on with what the session sees, while `waiting` has the stream; where it sees nothing, says so. */
export function withView(peer: Peer, call: Call, waiting: StreamUser, go: (view: SessionView) => void): void {
  const { session, rooms } = peer
  if (session === undefined) return peer.fail(call, new TypeError('A transfer without a session.'))
  peer.join(call.streamId, waiting)
  const next = (step: () => void) => {
    // It was given up meanwhile, or the connection has ended.
    if (peer.user(call.streamId) !== waiting) return
    peer.streamDone(call.streamId)
    try {
      step()
    } catch (cause) {
      peer.fail(call, cause)
    }
  }
  rooms.viewOf(session).then(
    (view) => next(() => go(view)),
    (cause: unknown) =>
      next(() => {
        const known = asSassError(cause)
        if (known?.code !== 'SANDBOX_UNAVAILABLE') throw cause
        failPermitted(peer, call, known.code, known.message)
      }),
  )
}

/** How it ended: the name of a code where it failed. */
export type TransferEnd = {
  readonly outcome: 'done' | 'left' | Code
  readonly bytes: number
  readonly sha256: string | null
}

/** What is transferred, once that is permitted. */
export type Permitted = {
  readonly action: FileAction | TakenArtifact
  readonly warrant: Warrant
  /** The handoff that it goes with. */
  readonly handoff?: string | undefined
}

/** Digests and sizes: neither the name nor the content ever enters the chain. */
export function recordEnd(
  peer: Pick<Peer, 'rooms' | 'caller' | 'session'>,
  { action, warrant, handoff }: Permitted,
  { outcome, bytes, sha256: digest }: TransferEnd,
): void {
  recordAnyway(peer.rooms, {
    type: 'transfer_ended',
    what: action.kind,
    ...namesOf(peer),
    warrant: warrant.id,
    path_digest: encodeHex(sha256(encodeUtf8('path' in action ? action.path : action.artifact))),
    outcome,
    bytes,
    sha256: digest,
    ...(handoff === undefined ? {} : { handoff }),
  })
}

/** When the work on a transfer is over its place is free, and its end is recorded. */
export function whenOver(
  work: Promise<TransferEnd>,
  peer: Peer,
  call: Call,
  { place, ...permitted }: Permitted & { readonly place: TransferPlace },
): void {
  work.then(
    (end) => {
      place.end()
      recordEnd(peer, permitted, end)
    },
    (cause: unknown) => {
      place.end()
      peer.fail(call, cause)
    },
  )
}

/** Ends the stream with what went wrong, in words for the caller; gives the code. */
export function failTransfer(peer: Peer, streamId: number, cause: unknown): Code {
  const known = asSassError(cause)
  const code = known !== undefined && mayTellAgent(known.code) ? known.code : 'FILE_IO'
  if (known === undefined || code !== known.code)
    peer.rooms.log.write('error', 'transfer_failed', { reason: reasonOf(cause) })
  const text =
    known !== undefined && code === known.code ? known.message : 'The device could not transfer the file.'
  const errno = known?.details['errno']
  peer.connection.fail(streamId, code, text, typeof errno === 'number' ? new Map([[1, errno]]) : undefined)
  return code
}

/** The decision was about another place. */
export function movedMeanwhile(): SassError {
  return new SassError('FILE_IO', 'The path leads elsewhere by now than when it was decided upon; ask again.')
}

/** Another one writes the same file, or the branch was taken out of use. */
export function endStream(peer: Peer, streamId: number, why: WhyEnded): void {
  if (why === 'replaced') peer.connection.reset(streamId)
  else
    peer.connection.fail(
      streamId,
      'RESPONSE_THROTTLED',
      'The branch of this session was taken out of use, since somebody decides about it or it has more than it may have, so the transfer was stopped; ask again in a moment: the answer says which.',
    )
  peer.streamDone(streamId)
}

/** What waits until somebody says that there is something to do. */
export type Waker = { wake(): void; wait(): Promise<void> }

export function createWaker(): Waker {
  let isAwake = false
  let resume: (() => void) | undefined
  return {
    wake() {
      isAwake = true
      resume?.()
    },
    async wait() {
      if (!isAwake)
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      isAwake = false
      resume = undefined
    },
  }
}
