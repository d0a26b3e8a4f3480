/**
 * A thread that works on branches: surveys, texts, merges and what else reads or writes many files and would hold the
 * daemon up. It takes one order after the other; a look ends where nobody waits for it any more. A text goes into a
 * file without a name, whose descriptor is handed over: the daemon reads it as fast as its operator does.
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * Rules: docs/sandbox.md (review and merge).
 * @module
 */

import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { asSassError, SassError } from '../../../errors.ts'
import { TOLD_PATHS } from '../../../limits.ts'
import { loadSyscalls, O_CLOEXEC, O_RDWR, type Syscalls } from '../../kernel/syscalls.node.ts'
import { BRANCH_TEXT_BYTES, TOLD_PATHS_BYTES } from '../../limits.ts'
import type { Branch } from '../files/branch.ts'
import { absolutePath, type Change, changesJson, isHeldBack } from '../files/changes.ts'
import { createFiles, type Files } from '../files/files.node.ts'
import type { RootSurvey } from '../files/finding.ts'
import { bytePath, isBeneath } from '../files/paths.ts'
import { changesText } from '../files/text.ts'
import { removeDropped } from '../merge/drop.node.ts'
import { forgetMerge, mergeBranch, resumeMerge, undoMerge } from '../merge/merge.node.ts'
import { diffBranch } from '../shown/contents.node.ts'
import {
  listCheckpoints,
  makeCheckpoint,
  removeCheckpoint,
  restoreCheckpoint,
} from '../store/checkpoint.node.ts'
import { fillCopies } from '../store/fill.node.ts'
import { surveyFully } from '../survey/survey.node.ts'
import { unseenPaths } from '../survey/unseen.node.ts'
import { asSeenWithin, unseenIn } from '../survey/unseen.ts'
import type {
  BranchAnswer,
  BranchCall,
  BranchOrder,
  BranchResults,
  DiffForm,
  MergeReport,
  NamedPath,
  ToldPath,
  ToldPaths,
  UndoReport,
} from './branch-work.ts'
import { NO_PATHS } from './branch-work.ts'

/** A file without a name; some file systems have none of those. */
const O_TMPFILE = 0o20000000 | 0o200000
const MODE = 0o600
/** What is read by nobody file by file. */
const FOLDED: readonly string[] = ['.git', 'node_modules', 'target', '.venv', '__pycache__']
/** Pieces of a text are put together up to here before they are written. */
const WRITE_BYTES = 262_144

type Order<Kind extends BranchOrder['kind']> = Extract<BranchOrder, { kind: Kind }>

function openNameless(directory: string): number {
  try {
    return openSync(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE)
  } catch {
    const path = join(directory, `text-${process.pid}`)
    const descriptor = openSync(path, 'wx+', MODE)
    unlinkSync(path)
    return descriptor
  }
}

/** Takes a text piece by piece; what would fill the disk is refused. */
function createTextFile(directory: string): {
  put(piece: Uint8Array): void
  end(): { descriptor: number; sizeBytes: number }
  discard(): void
} {
  const descriptor = openNameless(directory)
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  let sizeBytes = 0

  function flush(): void {
    const block = Buffer.concat(waiting)
    for (let at = 0; at < block.length; ) at += writeSync(descriptor, block, at)
    waiting = []
    waitingBytes = 0
  }

  return {
    put(piece) {
      sizeBytes += piece.length
      if (sizeBytes > BRANCH_TEXT_BYTES)
        throw new SassError(
          'FILE_TOO_LARGE',
          `The text would have more than ${BRANCH_TEXT_BYTES} bytes; ask for some of the paths at a time, or for --stat.`,
        )
      // Whoever made the piece may use its memory again.
      waiting.push(piece.slice())
      waitingBytes += piece.length
      if (waitingBytes >= WRITE_BYTES) flush()
    },
    end() {
      flush()
      return { descriptor, sizeBytes }
    },
    discard: () => closeSync(descriptor),
  }
}

function isWanted({ root, path, from }: Change, paths: readonly NamedPath[]): boolean {
  if (paths.length === 0) return true
  return paths.some((named) => {
    if (named.root !== root) return false
    const directory = bytePath(named.path)
    return (
      isBeneath(directory, bytePath(path)) || (from !== undefined && isBeneath(directory, bytePath(from)))
    )
  })
}

function* piecesOf(
  files: Files,
  { branch, form }: { branch: Branch; form: DiffForm },
  surveys: readonly RootSurvey[],
  changes: readonly Change[],
): Generator<Uint8Array> {
  const roots = branch.roots.map(({ path }) => path)
  switch (form) {
    case 'json':
      for (const piece of changesJson(branch.session, roots, changes)) yield Buffer.from(piece)
      return
    case 'text':
      for (const line of changesText(roots, changes, { folded: FOLDED })) yield Buffer.from(`${line}\n`)
      return
    case 'stat':
    case 'patch':
      yield* diffBranch(files, branch, surveys, changes, form)
  }
}

/** What the branch's own agent may know of them: nothing of what was hidden from it. */
function seenWithin(directory: string, branch: Branch, changes: readonly Change[]): Change[] {
  const paths = unseenPaths(directory)
  const unseen = branch.roots.map(({ path }) => unseenIn(Buffer.from(path).toString('latin1'), paths))
  return changes.flatMap((change) => asSeenWithin(change, bytePath(change.path), unseen[change.root]) ?? [])
}

function review(
  syscalls: Syscalls,
  { directory, branch, form, paths, isOwn, left }: Order<'review'>,
): BranchResults['review'] {
  const flag = new Int32Array(left)
  const files = createFiles(syscalls, () => Atomics.load(flag, 0) !== 0)
  const { survey, roots } = surveyFully(files, directory, branch)
  const { changes, digest } = survey
  const wanted = (isOwn ? seenWithin(directory, branch, changes) : changes).filter((change) =>
    isWanted(change, paths),
  )
  const text = createTextFile(directory)
  try {
    for (const piece of piecesOf(files, { branch, form }, roots, wanted)) {
      files.goOn()
      text.put(piece)
    }
    return {
      digest,
      changes: changes.length,
      conflicts: changes.filter(({ conflict }) => conflict !== undefined).length,
      heldBack: changes.filter(isHeldBack).length,
      shown: wanted.length,
      ...text.end(),
    }
  } catch (cause) {
    text.discard()
    throw cause
  }
}

/** The first of them, as many as one message holds, with what is said of each. */
function told<Place extends NamedPath>(
  { roots }: Branch,
  all: readonly Place[],
  what: (place: Place) => string,
): ToldPaths {
  const paths: ToldPath[] = []
  let bytes = 0
  for (const one of all) {
    const next = { path: absolutePath(roots[one.root]?.path ?? '', one.path), what: what(one) }
    bytes += next.path.length + next.what.length
    if (bytes > TOLD_PATHS_BYTES || paths.length === TOLD_PATHS) break
    paths.push(next)
  }
  return { paths, total: all.length }
}

const NOTHING: MergeReport = Object.freeze({
  outcome: 'nothing',
  counts: { added: 0, modified: 0, deleted: 0, renamed: 0, metadata: 0, sizeBytes: 0 },
  brought: 0,
  conflicts: NO_PATHS,
  leftOut: NO_PATHS,
})

function merge(syscalls: Syscalls, { directory, branch, wish }: Order<'merge'>): MergeReport {
  const { paths, ...whole } = wish
  const result = mergeBranch(syscalls, directory, branch, paths.length === 0 ? whole : wish)
  const heldBack = (changes: readonly Change[]) => told(branch, changes, ({ flags }) => flags.join(' '))
  switch (result.kind) {
    case 'merged':
      return {
        ...{ ...NOTHING, outcome: 'merged', counts: result.counts, brought: result.brought.length },
        leftOut: heldBack(result.leftOut),
      }
    case 'conflicts':
      return {
        ...NOTHING,
        outcome: 'conflicts',
        conflicts: told(branch, result.conflicts, ({ conflict }) => conflict ?? ''),
      }
    case 'other_digest':
      return { ...NOTHING, outcome: 'other_digest', digest: result.digest }
    case 'rolled_back':
      return { ...NOTHING, outcome: 'rolled_back', reason: result.reason }
    case 'nothing':
      return { ...NOTHING, leftOut: heldBack(result.leftOut) }
  }
}

function undo(syscalls: Syscalls, { directory, branch }: Order<'undo'>): UndoReport {
  const result = undoMerge(syscalls, directory, branch)
  switch (result.kind) {
    case 'none':
      return { outcome: 'none' }
    case 'undone':
      return {
        outcome: 'undone',
        id: result.id,
        paths: result.paths,
        notInBranch: told(branch, result.notInBranch, () => 'changed in the branch'),
      }
    case 'conflicts':
      return {
        outcome: 'conflicts',
        id: result.id,
        conflicts: told(branch, result.paths, () => 'changed since'),
      }
  }
}

function resume(syscalls: Syscalls, { directory, branch }: Order<'resume'>): BranchResults['resume'] {
  const result = resumeMerge(syscalls, directory, branch)
  switch (result.kind) {
    case 'none':
      return { outcome: 'none' }
    case 'rolled_back':
      return { outcome: 'rolled_back', id: result.id, reason: result.reason }
    case 'finished':
      return { outcome: result.what === 'undo' ? 'undo_finished' : 'merge_finished', id: result.id }
  }
}

function carryOut(syscalls: Syscalls, order: BranchOrder): BranchResults[keyof BranchResults] {
  const { directory } = order
  switch (order.kind) {
    case 'review':
      return review(syscalls, order)
    case 'merge':
      return merge(syscalls, order)
    case 'undo':
      return undo(syscalls, order)
    case 'resume':
      return resume(syscalls, order)
    case 'forget':
      forgetMerge(syscalls, directory, order.branch)
      return undefined
    case 'fill':
      return fillCopies(syscalls, order.branch, order.limitBytes)
    case 'checkpoint':
      return makeCheckpoint(syscalls, directory, order.branch, order.label, order.nowMs)
    case 'checkpoints':
      return listCheckpoints(directory)
    case 'restore':
      restoreCheckpoint(syscalls, directory, order.branch, order.number)
      return undefined
    case 'remove_checkpoint':
      removeCheckpoint(syscalls, directory, order.number)
      return undefined
    case 'remove':
      return removeDropped(syscalls, directory, order.entries)
  }
}

/** What went wrong, as plain data: an error of our own loses its code on its way between threads. */
function failure(id: number, cause: unknown): BranchAnswer {
  const known = asSassError(cause)
  const message = known?.message ?? (cause instanceof Error ? cause.message : String(cause))
  return { kind: 'failed', id, code: known?.code ?? 'FILE_IO', message, details: known?.details ?? {} }
}

function main(): void {
  const port = parentPort
  if (port === null) return
  let syscalls: Syscalls | undefined
  port.on('message', (call: BranchCall) => {
    if (call.kind === 'close') return port.close()
    let answer: BranchAnswer
    try {
      syscalls ??= loadSyscalls()
      answer = { kind: 'done', id: call.id, value: carryOut(syscalls, call.order) }
    } catch (cause) {
      answer = failure(call.id, cause)
    }
    port.postMessage(answer)
  })
}

main()
