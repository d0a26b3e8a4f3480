/**
 * Branches on disk: `branches/SESSION/` below the state directory, with `branch.json` and a store for each root. What
 * has a `branch.json` is whole and waits for somebody's decision, whichever daemon made it; what has none is from a
 * start that did not come to its end, and is removed.
 * Rules: docs/sandbox.md.
 * @module
 */

import {
  chmodSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { closing } from '../../../base/closing.node.ts'
import { replaceFile } from '../../../base/files.node.ts'
import { SassError } from '../../../errors.ts'
import { BRANCHES_MAX, BRANCHES_RESERVED } from '../../../limits.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import { isInitialUserNamespace } from '../../kernel/user-namespace.node.ts'
import { BRANCH_ROOTS_MAX } from '../../limits.ts'
import type { Branch, BranchLevel, BranchRoot, OverlayAttributes } from '../files/branch.ts'
import { upperOf } from '../files/branch.ts'
import { mountPoints, topDirectories } from '../files/mount-points.node.ts'
import { branchedDirectories } from '../files/roots.ts'
import { dropBranch, droppedBranches, removeDropped } from '../merge/drop.node.ts'
import { makeUpper } from '../store/upper.node.ts'

const BRANCHES = 'branches'
const BRANCH_FILE = 'branch.json'
const MODE = 0o600
const DIRECTORY_MODE = 0o700
/** More than a tick of any kernel (CONFIG_HZ from 100 on). */
const CLOCK_TICKS_MS = 20
const SESSION_NAME = /^[0-9a-f]{32}$/
/** O_TMPFILE | O_RDWR: a file without a name, which leaves the times of its directory alone. */
const O_TMPFILE = 0o20000000
/** What a merge can be taken back by; journal.node.ts writes it. */
const JOURNAL_FILE = 'merge.json'
/** How far the way back to a checkpoint is; checkpoint.node.ts writes it. */
const RESTORE_FILE = 'restore.json'
const CHECKPOINTS = 'checkpoints'
/** What an empty branch has of files and directories, and some more. */
const EMPTY_ENTRIES = 64

export interface BranchStore {
  readonly directory: string
  /** Makes a branch for that session, or finds the one that it has. @throws SassError SANDBOX_UNAVAILABLE when there are too many */
  open(session: string, agent: string, level: BranchLevel, nowMs: number, isOperator?: boolean): Branch
  find(session: string): Branch | undefined
  list(): readonly Branch[]
  /** Where a branch keeps its files. */
  directoryOf(session: string): string
  /** True where nothing was changed in it, or nothing is left after a merge. */
  isEmpty(session: string): boolean
  /** When its last merge was, while that can be taken back from what is kept in its directory. */
  mergedAtMs(session: string): number | undefined
  /** True where something may have been ended in the middle: there is a journal of it. */
  hasJournal(session: string): boolean
  /** Its copies are complete: until then it is none, for whoever starts next. */
  filled(session: string, copiedNs: readonly string[]): void
  /** Removes a branch in which nothing was changed. False: something was, or a merge of it can be taken back. */
  removeEmpty(session: string): boolean
  /** The branch is gone; its files are where this says, until somebody removes them. */
  drop(session: string): string | undefined
  /** Nobody works in it until somebody has looked after it; undefined: again. */
  suspend(session: string, reason: string | undefined): void
  /** Directories that dropped branches have left; `removed` says that one is gone. */
  dropped(): readonly string[]
  removed(directory: string): void
}

function tooManyRoots(count: number): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${count} directories and file systems would have to be branched, more than ${BRANCH_ROOTS_MAX}, so nothing was started; name fewer in sandbox.branch_roots.`,
    { roots: count },
  )
}

/** Only where user ids are the same as outside are the kernel's own attributes ours to write. */
export function overlayAttributes(): OverlayAttributes {
  return process.geteuid?.() === 0 && isInitialUserNamespace() ? 'trusted' : 'user'
}

/**
 * The kernel shows the marks of an overlay that root made to nobody else. Without them a directory that was moved looks
 * removed, and one that was replaced looks as if it had kept what lay in it.
 * @throws SassError SANDBOX_UNAVAILABLE
 */
export function requireReadable({ session, level, attributes }: Branch): void {
  if (level !== 'overlay' || attributes !== 'trusted' || overlayAttributes() === 'trusted') return
  throw new SassError(
    'SANDBOX_UNAVAILABLE',
    `The branch ${session} is of a daemon that was root, and this one may not read what it says about moved and replaced directories, so nothing was done: merge it with a daemon that is root, or give it up with sass-edge branch drop ${session}.`,
    { session },
  )
}

/** The time that the file system of a directory gives to a change made now. One less: a change in the same tick counts. */
function timeOfChange(path: string, store: string): string {
  const before = (changedNs: bigint): string => String(changedNs - 1n)
  if (statSync(path).dev === statSync(store).dev) return before(statSync(store, { bigint: true }).ctimeNs)
  try {
    const probe = openSync(path, O_TMPFILE | 0o200000 | 2, MODE)
    using _probe = closing(probe)
    return before(fstatSync(probe, { bigint: true }).ctimeNs)
  } catch {
    // Not ours to write in, or nobody's: the clock of the device, which its file systems are a tick behind.
    return String(BigInt(Date.now() - CLOCK_TICKS_MS) * 1_000_000n)
  }
}

/** Where a branch keeps its files, whether it is there or not. */
export function branchDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, BRANCHES, session)
}

export type BranchStoreOptions = {
  readonly stateDirectory: string
  /** Absolute. */
  readonly roots: readonly string[]
  readonly volatile: readonly string[]
}

/** Opens the store and clears away what was left half. */
export function openBranchStore(syscalls: Syscalls, options: BranchStoreOptions): BranchStore {
  const directory = join(options.stateDirectory, BRANCHES)
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE })
  const branches = new Map<string, Branch>()
  const dropped = new Set<string>(droppedBranches(directory))
  /** Branches that nobody may work in, with why. */
  const suspended = new Map<string, string>()
  for (const name of readdirSync(directory)) {
    if (!SESSION_NAME.test(name)) continue
    const found = readBranch(join(directory, name))
    if (found === undefined) dropped.add(dropBranch(syscalls, join(directory, name)))
    else branches.set(name, found)
  }

  function makeRoot(session: string, path: string, index: number, level: BranchLevel): BranchRoot {
    const store = join(directory, session, String(index))
    mkdirSync(store, { recursive: true, mode: DIRECTORY_MODE })
    const root = { path, store, baseNs: timeOfChange(path, store) }
    if (level === 'overlay') makeUpper(syscalls, root)
    return root
  }

  function keep(branch: Branch): Branch {
    replaceFile(join(directory, branch.session, BRANCH_FILE), bytesOf(branch), MODE)
    branches.set(branch.session, branch)
    return branch
  }

  /**
   * As `keep`, for a new branch, without waiting for the disk: before anything is in it, nothing of it can be lost. It is
   * whole or not there, and on the disk as soon as that takes it.
   */
  function keepNew(branch: Branch): Branch {
    const path = join(directory, branch.session, BRANCH_FILE)
    const temporary = `${path}.new`
    writeFileSync(temporary, bytesOf(branch), { flag: 'wx', mode: MODE })
    renameSync(temporary, path)
    branches.set(branch.session, branch)
    void syncSoon([path, join(directory, branch.session), directory])
    return branch
  }

  /**
   * A branch in which nothing is changed, before it is used again: what others have changed by now is what it begins
   * with, and no conflict. Where one can go back to a state from before, it is older than that.
   */
  function renewed(branch: Branch): Branch {
    if (!store.isEmpty(branch.session)) return branch
    if (existsSync(join(directory, branch.session, CHECKPOINTS))) return branch
    const roots = branch.roots.map((root) => {
      chmodSync(root.store, DIRECTORY_MODE)
      return { ...root, baseNs: timeOfChange(root.path, root.store) }
    })
    return keep({ ...branch, roots })
  }

  /**
   * An agent may have as many branches as it leaves for all other agents: the first takes half of them, of ten each a
   * tenth of what there is, and whoever comes next always finds some.
   * @throws SassError SANDBOX_UNAVAILABLE
   */
  function requireShare(agent: string, isOperator: boolean): void {
    const free = (isOperator ? BRANCHES_MAX : BRANCHES_MAX - BRANCHES_RESERVED) - branches.size
    let own = 0
    for (const branch of branches.values()) if (branch.agent === agent) own++
    if (free > 0 && (isOperator || own < free)) return
    const whose = free > 0 ? `${own} branches of this agent` : `${branches.size} branches`
    const how = 'see sass-edge branch list; or go on in the latest one'
    throw new SassError(
      'SANDBOX_UNAVAILABLE',
      `${whose} wait for a decision, and no more are made for it, so nothing was started; have some merged or dropped, ${how}.`,
      { branches: branches.size, own },
    )
  }

  const store: BranchStore = {
    directory,
    open(session, agent, level, nowMs, isOperator = false) {
      const known = branches.get(session)
      const reason = suspended.get(session)
      if (reason !== undefined)
        throw new SassError(
          'SANDBOX_UNAVAILABLE',
          `A merge of this branch could not be brought to its end, so nothing was started: ${reason}`,
        )
      if (known !== undefined) {
        requireReadable(known)
        return renewed(known)
      }
      requireShare(agent, isOperator)
      const { roots, shown } = branchedDirectories(
        options.roots.map((path) => realpathSync(path)),
        mountPoints(),
        topDirectories(),
      )
      if (roots.length > BRANCH_ROOTS_MAX) throw tooManyRoots(roots.length)
      const branch: Branch = {
        session,
        agent,
        level,
        attributes: overlayAttributes(),
        roots: roots.map((path, index) => makeRoot(session, path, index, level)),
        shown,
        volatile: options.volatile,
        openedAtMs: nowMs,
      }
      return keepNew(branch)
    },
    find: (session) => branches.get(session),
    list: () => [...branches.values()],
    directoryOf: (session) => join(directory, session),
    isEmpty(session) {
      const branch = branches.get(session)
      if (branch === undefined) return true
      // Whether a copy was changed only a survey can tell.
      return (
        branch.level === 'overlay' && branch.roots.every((root) => readdirSync(upperOf(root)).length === 0)
      )
    },
    mergedAtMs: (session) =>
      branches.has(session)
        ? statSync(join(directory, session, JOURNAL_FILE), { throwIfNoEntry: false })?.mtimeMs
        : undefined,
    hasJournal: (session) =>
      [JOURNAL_FILE, RESTORE_FILE].some((name) => existsSync(join(directory, session, name))),
    removeEmpty(session) {
      if (!branches.has(session)) return true
      if (!store.isEmpty(session) || store.mergedAtMs(session) !== undefined) return false
      const path = store.drop(session)
      // A few directories: no thread need be started for them.
      if (path !== undefined && removeDropped(syscalls, path, EMPTY_ENTRIES)) dropped.delete(path)
      return true
    },
    drop(session) {
      suspended.delete(session)
      if (!branches.delete(session)) return undefined
      const path = dropBranch(syscalls, join(directory, session))
      dropped.add(path)
      return path
    },
    filled(session, copiedNs) {
      const branch = branches.get(session)
      if (branch === undefined) return
      const roots = branch.roots.map((root, index) => ({ ...root, copiedNs: copiedNs[index] ?? '0' }))
      keep({ ...branch, roots })
    },
    suspend(session, reason) {
      if (reason === undefined) suspended.delete(session)
      else suspended.set(session, reason)
    },
    dropped: () => [...dropped],
    removed: (path) => void dropped.delete(path),
  }
  // The sessions that they were made for ended with the last daemon.
  for (const session of [...branches.keys()]) {
    const isKept = store.hasJournal(session) || existsSync(join(directory, session, CHECKPOINTS))
    if (!isKept) store.removeEmpty(session)
  }
  return store
}

function bytesOf(branch: Branch): Buffer {
  return Buffer.from(`${JSON.stringify(branch)}\n`)
}

/** What cannot be synced now is by the next change of it, or the branch is dropped by then. */
async function syncSoon(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      const file = await open(path)
      await file.sync().finally(() => file.close())
    } catch {
      return
    }
  }
}

/** The branch in a directory; undefined for what is none, or not whole. */
export function readBranch(path: string): Branch | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(path, BRANCH_FILE), 'utf8'))
    if (typeof value !== 'object' || value === null || !('roots' in value)) return undefined
    const branch = value as Branch
    const isHalf = branch.level === 'copy' && branch.roots.some(({ copiedNs }) => copiedNs === undefined)
    return isHalf ? undefined : branch
  } catch {
    return undefined
  }
}
