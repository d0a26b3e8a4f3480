/**
 * What an operator asks of a device about branches: which there are, what they would change, and what becomes of them.
 * Ids and digests are hex. Paths are absolute, or from the workspace; names of files need not be text, so
 * they may be given as bytes, and come as bytes. What the device did not do is an outcome with a sentence, not an error.
 * Rules: docs/protocol.md, section 3 (41 to 47).
 * @module
 */

import { defer } from '../base/deferred.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { SassError } from '../errors.ts'
import { EXECUTION_ID_BYTES } from '../limits.ts'
import * as m from '../wire/messages.ts'
import type { MethodName } from '../wire/methods.ts'
import type { Caller } from './calls/caller.ts'
import type { Link } from './calls/link.ts'
import type { TransferSignal } from './calls/transfers.ts'
import { hexBytes } from './hex-bytes.ts'
import type { Outcome } from './operator-client.ts'

const DIGEST_BYTES = 32

export type Branch = {
  /** Of the session that it was made for; names the branch. */
  readonly id: string
  readonly agent: string
  readonly level: string
  /** Unix seconds. */
  readonly openedAt: number
  /** Sessions that work in it, and commands that run in it. */
  readonly sessions: number
  readonly running: number
  /** Nothing was changed, or all of it is merged. */
  readonly isEmpty: boolean
  /** Its last merge can be taken back. */
  readonly canUndo: boolean
  /** Why its commands were ended and nothing more begins in it; may be cut. */
  readonly stopped: string | undefined
}
export type BranchList = { readonly branches: readonly Branch[]; readonly total: number }

/** text: for people; stat: one line a file; json: complete; patch: what `git apply` takes. */
export type DiffForm = 'text' | 'stat' | 'json' | 'patch'
const FORMS: readonly DiffForm[] = ['text', 'stat', 'json', 'patch']

export type NamedPath = string | Uint8Array
/** `bytes` are borrowed: copy to keep. A promise holds the next ones back until it is settled. */
export type TextSink = (bytes: Uint8Array) => unknown

/** What the work in a branch has reached, over connections that are over. */
export type TalkedTo = {
  /** A name or an address; undefined: all that are not listed. */
  readonly host: string | undefined
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
  /** Or flows of datagrams. */
  readonly connections: number
  readonly sentBytes: number
  readonly receivedBytes: number
}

export type DiffResult = {
  /** Of the whole list of changes, whatever paths were asked for. */
  readonly digest: string
  readonly changes: number
  readonly conflicts: number
  readonly heldBack: number
  /** Changes that the text is about. */
  readonly shown: number
  /** Commands run in the branch: what is shown may change. */
  readonly isPreview: boolean
  /** Why commands of the branch were ended and nothing more begins in it. */
  readonly stopped: string | undefined
  /** The most bytes first. */
  readonly talkedTo: readonly TalkedTo[]
}

export type OwnChangesOptions = {
  readonly form?: 'text' | 'stat' | undefined
  /** Each with all that is beneath it; none: everything. */
  readonly paths?: readonly NamedPath[] | undefined
  /** Ends it. */
  readonly signal?: TransferSignal | undefined
}
/** `branch` names it, to the operator who merges or drops it. */
export type OwnChanges = DiffResult & { readonly branch: string | undefined }

export type ToldPath = { readonly path: Uint8Array; readonly what: string }
/** `success` false: nothing was changed. The lists hold the first of so many as their totals say. */
export type BranchOutcome = {
  readonly success: boolean
  readonly message: string
  readonly merged: number
  readonly bytes: number
  readonly conflicts: readonly ToldPath[]
  readonly conflictsTotal: number
  readonly leftOut: readonly ToldPath[]
  readonly leftOutTotal: number
  /** Of the branch as it is, where another one was named. */
  readonly digest: string | undefined
}

export type MergeOptions = {
  /** Each with all that is beneath it; none: everything. */
  readonly paths?: readonly NamedPath[] | undefined
  /** Merged although the real file was changed since. */
  readonly force?: readonly NamedPath[] | undefined
  /** With what is merged only by name otherwise. */
  readonly heldBack?: boolean | undefined
}

export type Checkpoint = {
  readonly number: number
  readonly label: string
  /** Unix seconds. */
  readonly madeAt: number
  readonly files: number
  readonly bytes: number
}
export type BranchClient = {
  /** The latest first. */
  list(): Promise<BranchList>
  diff(id: string, form: DiffForm, output: TextSink, paths?: readonly NamedPath[]): Promise<DiffResult>
  /** Merges what was looked at: `digest` is that of the diff. Of a branch that is another by now nothing is merged. */
  merge(id: string, digest: string, options?: MergeOptions): Promise<BranchOutcome>
  /** Takes the last merge back. */
  undo(id: string): Promise<BranchOutcome>
  drop(id: string): Promise<Outcome>
  checkpoint(id: string, label?: string): Promise<Outcome>
  restore(id: string, checkpoint: number): Promise<Outcome>
  removeCheckpoint(id: string, checkpoint: number): Promise<Outcome>
  /** The oldest first. */
  checkpoints(id: string): Promise<readonly Checkpoint[]>
}

function idBytes(id: string): Uint8Array {
  return hexBytes(id, EXECUTION_ID_BYTES, 'The id of a branch', 'where it was shown')
}

function pathBytes(paths: readonly NamedPath[] = []): readonly Uint8Array[] {
  return paths.map((path) => (typeof path === 'string' ? encodeUtf8(path) : path))
}

function toOutcome(value: m.BranchOutcome): BranchOutcome {
  const { success, message, merged, bytes, conflicts, left_out, digest } = value
  return {
    ...{ success, message, merged, bytes, conflicts },
    conflictsTotal: value.conflicts_total,
    leftOut: left_out,
    leftOutTotal: value.left_out_total,
    digest: digest === undefined ? undefined : encodeHex(digest),
  }
}

/** A text as it comes, and what ends it. */
function read(
  link: Pick<Link, 'use'>,
  method: MethodName,
  request: ReturnType<typeof m.branchDiffRequest.encode>,
  output: TextSink,
  signal?: TransferSignal,
): Promise<m.BranchDiffEnd> {
  // Not again where it breaks off: what came of it has been given.
  return link.use((caller) => readOn(caller, method, request, output, signal), false)
}

function readOn(
  caller: Pick<Caller, 'open'>,
  method: MethodName,
  request: ReturnType<typeof m.branchDiffRequest.encode>,
  output: TextSink,
  signal: TransferSignal | undefined,
): Promise<m.BranchDiffEnd> {
  const { promise, resolve, reject } = defer<m.BranchDiffEnd>()
  let taken: Promise<void> = Promise.resolve()
  const stream = caller.open(method, request, false, {
    message(value, dataBytes) {
      const { data } = value as m.StreamResponse
      if (data === undefined) return
      const settled = output(data)
      if (settled === undefined) return stream.consumed(dataBytes)
      taken = Promise.all([taken, settled]).then(
        () => stream.consumed(dataBytes),
        (cause: unknown) => {
          stream.reset()
          reject(cause)
        },
      )
    },
    ended: (value) => void taken.then(() => resolve(value as m.BranchDiffEnd)),
    failed: reject,
    credit() {},
  })
  const leave = () => {
    stream.reset()
    reject(new SassError('CONNECTION_LOST', 'It was given up before its end.', {}, signal?.reason))
  }
  if (signal?.aborted) leave()
  else signal?.addEventListener('abort', leave, { once: true })
  const stop = () => signal?.removeEventListener('abort', leave)
  promise.then(stop, stop)
  return promise
}

function toResult(end: m.BranchDiffEnd): DiffResult {
  return {
    digest: encodeHex(end.digest),
    changes: end.changes,
    conflicts: end.conflicts,
    heldBack: end.held_back,
    shown: end.shown,
    isPreview: end.is_preview,
    stopped: end.stopped,
    talkedTo: end.talked_to.map(({ host, port, protocol, connections, sent, received }) => ({
      ...{ host: host === '' ? undefined : host, port, connections },
      protocol: protocol === 'udp' ? 'udp' : 'tcp',
      ...{ sentBytes: sent, receivedBytes: received },
    })),
  }
}

/** What the branch of the caller's own session would change, without contents; for whoever works in it. */
export async function readOwnChanges(
  link: Pick<Link, 'use'>,
  output: TextSink,
  { form = 'text', paths, signal }: OwnChangesOptions = {},
): Promise<OwnChanges> {
  const request = m.changesRequest.encode({ form: FORMS.indexOf(form), paths: pathBytes(paths) })
  const end = await read(link, 'ShowChanges', request, output, signal)
  return { ...toResult(end), branch: end.branch === undefined ? undefined : encodeHex(end.branch) }
}

/** The operator's methods for branches over a connection. */
export function createBranchClient(link: Pick<Link, 'call' | 'use'>): BranchClient {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await link.call(...args)) as T

  function change(id: string, more: { label?: string; restore?: number; remove?: number }): Promise<Outcome> {
    return ask<Outcome>('CheckpointBranch', m.branchCheckpoint.encode({ session_id: idBytes(id), ...more }))
  }

  return {
    async list() {
      const byId = new Map<string, m.BranchList['branches'][number]>()
      let total = 0
      // Those that are made meanwhile move the others on: what comes twice is taken once.
      for (let skip = 0; ; ) {
        const page = await ask<m.BranchList>('ListBranches', m.branchListRequest.encode({ skip }))
        for (const one of page.branches) byId.set(encodeHex(one.session_id), one)
        total = page.total
        skip += page.branches.length
        if (page.branches.length === 0 || skip >= total) break
      }
      return {
        branches: [...byId.values()].map((one) => ({
          id: encodeHex(one.session_id),
          agent: one.agent_name,
          level: one.level,
          openedAt: one.opened_at,
          sessions: one.sessions,
          running: one.running,
          isEmpty: one.is_empty,
          canUndo: one.can_undo,
          stopped: one.stopped,
        })),
        total,
      }
    },
    async diff(id, form, output, paths) {
      const request = m.branchDiffRequest.encode({
        session_id: idBytes(id),
        form: FORMS.indexOf(form),
        paths: pathBytes(paths),
      })
      return toResult(await read(link, 'DiffBranch', request, output))
    },
    async merge(id, digest, { paths, force, heldBack = false } = {}) {
      const request = m.branchMergeRequest.encode({
        session_id: idBytes(id),
        digest: hexBytes(digest, DIGEST_BYTES, 'A digest', 'where it was shown'),
        paths: pathBytes(paths),
        force: pathBytes(force),
        held_back: heldBack,
      })
      return toOutcome(await ask<m.BranchOutcome>('MergeBranch', request))
    },
    async undo(id) {
      const request = m.branchReference.encode({ session_id: idBytes(id) })
      return toOutcome(await ask<m.BranchOutcome>('UndoMerge', request))
    },
    async drop(id) {
      return ask<Outcome>('DropBranch', m.branchReference.encode({ session_id: idBytes(id) }))
    },
    checkpoint: async (id, label = '') => change(id, { label }),
    restore: async (id, checkpoint) => change(id, { restore: checkpoint }),
    removeCheckpoint: async (id, checkpoint) => change(id, { remove: checkpoint }),
    async checkpoints(id) {
      const request = m.branchReference.encode({ session_id: idBytes(id) })
      const { checkpoints } = await ask<m.CheckpointList>('ListCheckpoints', request)
      return checkpoints.map(({ number, label, made_at, files, bytes }) => ({
        ...{ number, label, files, bytes },
        madeAt: made_at,
      }))
    },
  }
}
