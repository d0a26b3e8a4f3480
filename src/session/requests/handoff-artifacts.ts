/**
 * The files that a handoff brings: each is decided as the download that it is for its sender, read by descriptor in the
 * view of the sender's session, past the firewall, and kept with its SHA-256. What may not be brought is named alone, and
 * sender and recipient are told why.
 * Rules: docs/handoffs.md, "What comes with it".
 * @module
 */
import { defer } from '../../base/deferred.ts'
import type { FileAction, HandoffAction } from '../../defense/facts.ts'
import { ARTIFACT_BYTES, ARTIFACTS_BYTES } from '../../defense/handoffs/limits.ts'
import { Warrant } from '../../defense/warrant.ts'
import { asSassError, SassError } from '../../errors.ts'
import { CHUNK_BYTES } from '../../limits.ts'
import type { CopyWriter, FileReader, SessionView } from '../../ports.ts'
import { methodNamed } from '../../wire/methods.ts'
import { type Asker, type Call, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { setOf } from '../common/rooms.ts'
import { attempt, NOT_LOOKED } from '../decisions/attempt.ts'
import { type Artifact, copyName } from '../standing/handoff-record.ts'
import type { Coming } from '../standing/handoffs.ts'
import { createFileScreen } from '../transfers/screened-file.ts'
import { movedMeanwhile, recordEnd, type TransferEnd } from '../transfers/transfers-start.ts'

type DownloadAction = Extract<FileAction, { kind: 'download' }>
type Permitted = { readonly action: DownloadAction; readonly warrant: Warrant }

export type BringGround = {
  readonly peer: Peer
  readonly call: Call
  readonly action: HandoffAction
  /** As they are delivered. */
  readonly paths: readonly string[]
  readonly id: string
  /** What is brought is counted here before anything is read. */
  readonly coming: Coming
  /** Whether its sender has given it up. */
  readonly isGone: () => boolean
}

/** What to copy of it, or why nothing. */
type Chosen = { readonly path: string; readonly from: string; readonly size: number; readonly why: string }

/** Of what is there now, what there is room for; in the order of the message. */
function choose({ peer, action, paths, coming }: BringGround, view: SessionView): readonly Chosen[] {
  const { rooms, caller, session } = peer
  const most = Math.min(ARTIFACT_BYTES, setOf(rooms, caller, session)?.max_file_size_bytes ?? 0)
  const left = rooms.handoffs.roomOf(coming.sender)
  const seen = new Set<string>()
  return action.artifacts.map(({ path: from }, index) => {
    const { real, kind, size } = rooms.files.look(view, from)
    const path = paths[index] ?? from
    const whyNot = (): string => {
      if (kind === 'directory') return 'It is a directory: pack it into a file to bring it.'
      if (kind !== 'file') return 'It is no longer there.'
      if (seen.has(real) || seen.has(path)) return 'It is named twice.'
      if (size > most) return `It has ${size} bytes, and a file that is brought may have ${most}.`
      if (coming.bytes + size > ARTIFACTS_BYTES)
        return `With it the handoff would bring more than ${ARTIFACTS_BYTES} bytes.`
      return coming.files >= left.files || coming.bytes + size > left.bytes
        ? 'As much as may be is kept of what handoffs have brought; send it again when some of them are over.'
        : ''
    }
    const why = whyNot()
    seen.add(real).add(path)
    if (why === '') {
      coming.files++
      coming.bytes += size
    }
    return { path, from, size: kind === 'file' ? size : 0, why }
  })
}

/** The warrant of one file is spent before anything of it is read. */
function begin(peer: Peer, action: DownloadAction, warrant: Warrant): Permitted {
  Warrant.redeem(warrant, action, sessionOf(peer))
  return { action, warrant }
}

/** Decided as what it is: this sender fetches this file. Undefined: it might not, or not without being asked. */
function permit(peer: Peer, { streamId }: Call, { from, size }: Chosen, view: SessionView) {
  const answer = defer<Permitted | undefined>()
  const no = () => answer.resolve(undefined)
  let user: StreamUser | undefined
  const asker: Asker = {
    ...{ rooms: peer.rooms, caller: peer.caller, session: peer.session, decide: peer.decide },
    get level() {
      return peer.level
    },
    // What waits for the record alone goes on; whatever else it would wait for is a no here.
    connection: { message() {}, fail: no },
    join(_id, joined) {
      user = joined
    },
    streamDone() {
      user = undefined
    },
    user: () => user,
    refuse(verdict) {
      no()
      if (verdict.kind === 'response' && (verdict.response === 'TARPIT' || verdict.response === 'DROP'))
        peer.refuse(verdict, undefined)
    },
    fail: (_call, cause) => answer.reject(cause),
    challenge: () => undefined,
    forgetChallenge() {},
  }
  const call = { streamId, method: methodNamed('FileDownload'), message: { ok: true, value: {} } } as const
  attempt(asker, call, () => {
    const { real } = peer.rooms.files.look(view, from)
    const action: DownloadAction = { kind: 'download', path: from, real, size, offset: 0 }
    return {
      ...{ action, look: NOT_LOOKED },
      go: (warrant) => answer.resolve(begin(peer, action, warrant)),
    }
  })
  return answer.promise
}

/** Reads it past the firewall into its copy; gives the digest of that, or why there is none. */
async function copy(
  { peer, id, isGone }: BringGround,
  permitted: Permitted,
  name: string,
): Promise<{ readonly sha256: string } | { readonly why: string }> {
  const { rooms, session, caller } = peer
  const { path, real, size } = permitted.action
  if (session === undefined || caller === undefined) throw new TypeError('A handoff without a session.')
  const stopped = defer<undefined>()
  let isStopped = false
  const place = rooms.transfers.begin({
    owner: caller.name,
    branch: rooms.places.find(session.id)?.branch || session.id,
    key: undefined,
    stop() {
      isStopped = true
      stopped.resolve(undefined)
    },
  })
  let reader: FileReader | undefined
  let writer: CopyWriter | undefined
  let end: TransferEnd = { outcome: 'left', bytes: 0, sha256: null }
  try {
    // Whoever works on the branch waits for us, and would give no view before.
    const view = await Promise.race([rooms.viewOf(session), stopped.promise])
    if (view === undefined) throw busy()
    if (rooms.files.look(view, path).real !== real) throw movedMeanwhile()
    reader = await rooms.files.read(view, real, 0, undefined, size ?? 0)
    if (reader.kind !== 'file' || reader.size !== size) throw movedMeanwhile()
    const kept = rooms.handoffs.copies.create(name)
    writer = kept
    const send = async (bytes: Uint8Array) => {
      await kept.write(bytes)
      return true
    }
    const screen =
      caller.role === 'operator' || !rooms.firewall.asksAboutFiles
        ? { push: send, finish: async () => true }
        : createFileScreen({ open: () => rooms.firewall.open(true), send, ask: async () => false })
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, size)))
    for (let left = size; left > 0; ) {
      if (isStopped) throw busy()
      if (isGone()) return { why: '' }
      const count = await reader.read(buffer)
      await screen.push(buffer.subarray(0, count))
      left -= count
    }
    await screen.finish()
    await reader.finish()
    const sha256 = await kept.finish()
    end = { outcome: 'done', bytes: size, sha256 }
    return { sha256 }
  } catch (cause) {
    const code = asSassError(cause)?.code
    end = { outcome: code ?? 'FILE_IO', bytes: 0, sha256: null }
    if (code === 'OUTPUT_BLOCKED')
      return { why: 'It holds what output may not, secrets or orders to whoever reads it.' }
    if (code?.startsWith('FILE_')) return { why: (cause as Error).message }
    throw cause
  } finally {
    reader?.close()
    writer?.close()
    place.end()
    recordEnd(peer, { ...permitted, handoff: id }, end)
  }
}

function busy(): SassError {
  return new SassError(
    'RESPONSE_THROTTLED',
    'Somebody decides about the branch of this session just now; send the handoff again in a moment.',
  )
}

/**
 * Copies what may be brought, one file after the other, each whole and on the disk. Whoever calls removes what is there
 * where it rejects, or where the handoff is given up.
 * @throws SassError STATE_UNWRITABLE, RESPONSE_THROTTLED, SANDBOX_UNAVAILABLE
 */
export async function bringArtifacts(ground: BringGround): Promise<readonly Artifact[]> {
  const { peer, call, id, isGone } = ground
  const { session, rooms } = peer
  if (session === undefined) throw new TypeError('A handoff without a session.')
  const artifacts: Artifact[] = []
  for (const [index, chosen] of choose(ground, await rooms.viewOf(session)).entries()) {
    if (isGone()) break
    const { path, size, why } = chosen
    const named = (reason: string) => artifacts.push({ path, size, sha256: '', why: reason })
    if (why !== '') {
      named(why)
      continue
    }
    const permitted = await permit(peer, call, chosen, await rooms.viewOf(session))
    if (permitted === undefined) {
      named('Its sender may not fetch it, not without being asked, or not just now.')
      continue
    }
    const copied = await copy(ground, permitted, copyName(id, index))
    if ('why' in copied) {
      rooms.handoffs.copies.remove([copyName(id, index)], false)
      named(copied.why)
    } else artifacts.push({ path, size, sha256: copied.sha256, why: '' })
  }
  return artifacts
}
