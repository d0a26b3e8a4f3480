/**
 * States of a branch that one can go back to: copies of what lies above its roots, marks of the overlay included, as
 * reflinks where the file system can. The branch must not be mounted.
 * A checkpoint is `checkpoints/NUMBER` in the branch's directory: `checkpoint.json`, written last, and for each root
 * `upper` with the overlay's `index`, or `copy`. Going back copies it beside what is there and then changes both, in steps
 * that a crash may come between: `restore.json` says how far they are.
 * @module
 */

import { createHash } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { closing } from '../../../base/closing.node.ts'
import { readBounded, replaceFile, syncDirectory } from '../../../base/files.node.ts'
import { SassError } from '../../../errors.ts'
import { RENAME_NOREPLACE } from '../../kernel/at.node.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import { CHECKPOINT_FILE_BYTES } from '../../limits.ts'
import type { Branch, BranchRoot } from '../files/branch.ts'
import { NO_BUDGET } from '../files/budget.ts'
import {
  createFiles,
  type Files,
  fileError,
  must,
  nameBytes,
  namesIn,
  openDirectory,
  openRoot,
  statDirectory,
} from '../files/files.node.ts'
import { nodeOf, readAttributes } from '../files/inspect.node.ts'
import type { BytePath } from '../files/paths.ts'
import { createReader, openFile } from '../files/reader.node.ts'
import { copyTree, type Look } from './copy-tree.node.ts'
import { removeTree } from './remove.node.ts'
import { applyAttributes, attributesOfNode } from './stage.node.ts'

export type Checkpoint = {
  readonly number: number
  readonly label: string
  readonly madeAtMs: number
  readonly files: number
  readonly sizeBytes: number
  /** Of what was saved: names, modes, owners, attributes and contents. Older ones have none. */
  readonly sha256?: string
}

const FOLDER = 'checkpoints'
const FACTS = 'checkpoint.json'
/** Says that a merge has moved real directories since. */
const STALE = 'stale'
const RESTORE = 'restore.json'
const NEW = 'restore-new'
const OLD = 'restore-old'
const MODE = 0o600
const OWN_MODE = 0o700

/** The trees of a root that a checkpoint has: where they are in the store, and what they are called in it. */
function treesOf(branch: Branch): readonly (readonly [place: string, name: string])[] {
  if (branch.level === 'copy') return [['copy', 'copy']]
  return [
    ['upper', 'upper'],
    // Which names show which file: without it a file with several names has two contents.
    ['work/index', 'index'],
  ]
}

function folderOf(directory: string, number: number): string {
  return join(directory, FOLDER, String(number))
}

/** What was copied of trees. */
type TreeSum = {
  readonly look: Look
  readonly counts: { files: number; sizeBytes: number }
  digest(): string
}

/** A digest of trees in the order in which they are copied, the same however the file system keeps them. */
function createTreeSum(files: Files): TreeSum {
  const sum = createHash('sha256')
  const { digestLike } = createReader(files, NO_BUDGET)
  const contentOf = (directory: number, name: BytePath, path: BytePath, sizeBytes: number) => {
    const descriptor = openFile(files, directory, name, path)
    using _descriptor = closing(descriptor)
    return digestLike(descriptor, sizeBytes, { dataSha256: '' }, path)
  }
  const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')
  return {
    look(directory, name, path, { type, mode, uid, gid, sizeBytes, device, target, attributes }, linkedTo) {
      const isRead = type === 'file' && linkedTo === undefined
      const content = isRead ? contentOf(directory, name, path, sizeBytes) : { linkedTo }
      const others = [...attributes].map(([attribute, value]) => [attribute, hex(value)]).sort()
      sum.update(
        JSON.stringify([path, type, mode, uid, gid, sizeBytes, device, hex(target), others, content]),
      )
    },
    counts: { files: 0, sizeBytes: 0 },
    digest: () => sum.digest('hex'),
  }
}

/**
 * Copies the branch as it is to `DIRECTORY/checkpoints/NUMBER`.
 * @throws SassError FILE_IO; nothing of it is left then
 */
export function makeCheckpoint(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  label: string,
  nowMs: number,
): Checkpoint {
  const files = createFiles(syscalls)
  mkdirSync(join(directory, FOLDER), { recursive: true, mode: OWN_MODE })
  const number = 1 + Math.max(0, ...numbersIn(directory))
  const folder = folderOf(directory, number)
  // What has no facts is from one that a crash ended.
  if (existsSync(folder)) removeBeneath(files, join(directory, FOLDER), String(number))
  mkdirSync(folder, { mode: OWN_MODE })
  const sum = createTreeSum(files)
  try {
    for (const [index, root] of branch.roots.entries()) {
      const target = join(folder, String(index))
      mkdirSync(target, { mode: OWN_MODE })
      copyTrees(files, branch, root.store, target, sum, (place) => place)
    }
    const checkpoint: Checkpoint = { number, label, madeAtMs: nowMs, ...sum.counts, sha256: sum.digest() }
    syncAt(files, folder)
    replaceFile(join(folder, FACTS), Buffer.from(`${JSON.stringify(checkpoint)}\n`), MODE)
    syncDirectory(join(directory, FOLDER))
    return checkpoint
  } catch (error) {
    removeBeneath(files, join(directory, FOLDER), String(number))
    throw error
  }
}

function syncAt(files: Files, path: string): void {
  const descriptor = openRoot(path)
  using _descriptor = closing(descriptor)
  must(files.at.syncAll(descriptor), 'synced', Buffer.from(path).toString('latin1'))
}

function removeBeneath(files: Files, directory: string, name: string): void {
  const parent = openRoot(directory)
  using _parent = closing(parent)
  removeTree(files, parent, Buffer.from(name).toString('latin1'))
}

/** Copies all trees of a root from one directory to another, which exists; `sourceOf`: where a tree is in the first. */
function copyTrees(
  files: Files,
  branch: Branch,
  from: string,
  to: string,
  sum: TreeSum,
  sourceOf: (place: string, name: string) => string,
): void {
  const linked = new Map<bigint, { root: number; path: BytePath }>()
  const open: number[] = []
  try {
    for (const [place, name] of treesOf(branch)) {
      const source = join(from, sourceOf(place, name))
      if (!existsSync(source)) continue
      mkdirSync(join(to, name), { mode: OWN_MODE })
      const [a, b] = [openRoot(source), openRoot(join(to, name))]
      open.push(a, b)
      const copied = copyTree(files, a, b, linked, sum.look)
      if (name === 'index') continue
      sum.counts.files += copied.files
      sum.counts.sizeBytes += copied.sizeBytes
    }
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

function numbersIn(directory: string): number[] {
  const folder = join(directory, FOLDER)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => /^[1-9]\d{0,8}$/.test(name) && existsSync(join(folder, name, FACTS)))
    .map(Number)
    .sort((a, b) => a - b)
}

/** Oldest first. */
export function listCheckpoints(directory: string): readonly Checkpoint[] {
  return numbersIn(directory).map((number) => {
    const path = join(folderOf(directory, number), FACTS)
    const read = readBounded(path, CHECKPOINT_FILE_BYTES, true)
    if (!read.ok) throw fileError('read', Buffer.from(path).toString('latin1'), undefined)
    return JSON.parse(read.bytes.toString('utf8')) as Checkpoint
  })
}

/**
 * The branch as it was at that checkpoint, which stays. Merges since are not taken back: what is in the real files
 * already is no change.
 * @throws SassError FILE_IO; also where a merge has moved real directories since, which the checkpoint does not know
 */
export function restoreCheckpoint(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  number: number,
): void {
  const files = createFiles(syscalls)
  const folder = folderOf(directory, number)
  if (!existsSync(join(folder, FACTS))) {
    throw new SassError('FILE_IO', `This branch has no checkpoint ${number}; see the list of those it has.`)
  }
  if (existsSync(join(folder, STALE))) {
    throw new SassError(
      'FILE_IO',
      `Checkpoint ${number} is from before a merge that moved directories, and its changes have no place any more.`,
    )
  }
  resumeRestore(syscalls, directory, branch)
  const sum = createTreeSum(files)
  for (const [index, root] of branch.roots.entries()) {
    removeBeneath(files, root.store, NEW)
    mkdirSync(join(root.store, NEW), { mode: OWN_MODE })
    copyTrees(files, branch, join(folder, String(index)), join(root.store, NEW), sum, (_, name) => name)
    syncAt(files, root.store)
  }
  checkWhole(
    listCheckpoints(directory).find((each) => each.number === number),
    { ...sum.counts, sha256: sum.digest() },
  )
  const restore: Restore = { state: 'clearing', number }
  writeState(directory, restore)
  finishRestore(files, directory, branch, restore)
}

/** What was copied back is what was saved; nothing of the branch has changed by then. */
function checkWhole(
  saved: Checkpoint | undefined,
  now: Required<Pick<Checkpoint, 'files' | 'sizeBytes' | 'sha256'>>,
): void {
  const isAsMany = saved?.files === now.files && saved.sizeBytes === now.sizeBytes
  if (isAsMany && (saved.sha256 ?? now.sha256) === now.sha256) return
  const what = isAsMany
    ? 'its content is another one'
    : `${now.files} files of ${saved?.files}, ${now.sizeBytes} bytes of ${saved?.sizeBytes}`
  throw new SassError(
    'FILE_IO',
    `The checkpoint is not what was saved (${what}), so the branch was left as it is; look who changed it.`,
  )
}

type Restore = { readonly state: 'clearing' | 'filling'; readonly number: number }

function writeState(directory: string, restore: Restore): void {
  replaceFile(join(directory, RESTORE), Buffer.from(`${JSON.stringify(restore)}\n`), MODE)
}

/** Ends what a crash has ended in the middle. False: there was nothing. */
export function resumeRestore(syscalls: Syscalls, directory: string, branch: Branch): boolean {
  const path = join(directory, RESTORE)
  if (!existsSync(path)) return false
  const read = readBounded(path, CHECKPOINT_FILE_BYTES, true)
  if (!read.ok) throw fileError('read', Buffer.from(path).toString('latin1'), undefined)
  finishRestore(createFiles(syscalls), directory, branch, JSON.parse(read.bytes.toString('utf8')) as Restore)
  return true
}

/** The directories themselves stay: the overlay's index knows the upper one by its inode. */
function finishRestore(files: Files, directory: string, branch: Branch, restore: Restore): void {
  if (restore.state === 'clearing') {
    for (const root of branch.roots) {
      mkdirSync(join(root.store, OLD), { recursive: true, mode: OWN_MODE })
      for (const [place, name] of treesOf(branch)) moveAll(files, root, place, `${OLD}/${name}`)
    }
    writeState(directory, { ...restore, state: 'filling' })
  }
  for (const [index, root] of branch.roots.entries()) {
    const saved = join(folderOf(directory, restore.number), String(index))
    for (const [place, name] of treesOf(branch)) {
      moveAll(files, root, `${NEW}/${name}`, place)
      likeBefore(files, root, join(saved, name), place)
    }
    syncAt(files, root.store)
  }
  rmSync(join(directory, RESTORE), { force: true })
  syncDirectory(directory)
  for (const root of branch.roots) {
    removeBeneath(files, root.store, OLD)
    removeBeneath(files, root.store, NEW)
  }
}

/** Moves what is in one directory of a store into another one, which is made where it is not there. */
function moveAll(files: Files, root: BranchRoot, from: string, to: string): void {
  if (!existsSync(join(root.store, from))) return
  mkdirSync(join(root.store, to), { recursive: true, mode: OWN_MODE })
  const [source, target] = [openRoot(join(root.store, from)), openRoot(join(root.store, to))]
  using _closed = closing(source, target)
  for (const name of namesIn(source, from)) {
    const bytes = nameBytes(name)
    must(files.at.rename(source, bytes, target, bytes, RENAME_NOREPLACE), 'moved', name)
  }
}

/** Gives the directory that stays what the saved one has. */
function likeBefore(files: Files, root: BranchRoot, from: string, to: string): void {
  if (!existsSync(from)) return
  const store = openRoot(root.store)
  using _store = closing(store)
  const source = openRoot(from)
  const target = must(openDirectory(files, store, to), 'opened', to)
  using _closed = closing(source, target)
  const { shown } = readAttributes(files, source, '.', from, undefined)
  const node = nodeOf(source, '.', from, statDirectory(source), shown)
  applyAttributes(files, target, '', attributesOfNode(node), false, to)
}

export function removeCheckpoint(syscalls: Syscalls, directory: string, number: number): void {
  const folder = folderOf(directory, number)
  if (!existsSync(folder)) return
  // Without its facts it is none, whatever of it is still there.
  rmSync(join(folder, FACTS), { force: true })
  removeBeneath(createFiles(syscalls), join(directory, FOLDER), String(number))
}

/** Checkpoints until now do not know of the directories that a merge has moved. */
export function outdateCheckpoints(directory: string): void {
  for (const number of numbersIn(directory))
    writeFileSync(join(folderOf(directory, number), STALE), '', { mode: MODE })
}
