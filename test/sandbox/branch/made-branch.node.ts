/**
 * A branch for tests, over a directory of its own: real overlay mounts in a mount namespace of this thread alone, or a
 * copy. And what a tree is, entry by entry, so that two can be compared.
 * @module
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Branch, BranchLevel, OverlayAttributes } from '../../../src/sandbox/branch/files/branch.ts'
import { makeUpper } from '../../../src/sandbox/branch/store/upper.node.ts'
import { createAt } from '../../../src/sandbox/kernel/at.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'

export const syscalls = loadSyscalls()
export const at = createAt(syscalls)

const CLONE_NEWNS = 0x20000
const MS_REC = 0x4000
const MS_PRIVATE = 0x40000

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

/** This thread in a mount namespace of its own; false where that is not allowed. */
export function enterMountNamespace(): boolean {
  if (syscalls.checked(syscalls.libc.unshare(CLONE_NEWNS)) < 0) return false
  return syscalls.byNumber('mount', text('none'), text('/'), 0, MS_REC | MS_PRIVATE, 0) === 0
}

export type Made = {
  /** All of the test. */
  readonly home: string
  readonly real: string
  readonly directory: string
  readonly branch: Branch
  /** Mounts the overlay over the real directory, calls, unmounts. For a copy: calls with the copy. */
  inside<Result>(work: (path: string) => Result): Result
  remove(): void
}

export type Making = {
  readonly level?: BranchLevel
  readonly attributes?: OverlayAttributes
  /** More options of the mount. */
  readonly options?: string
  /** Where the branch's directory is made; absent: beside the real one. */
  readonly stateParent?: string
}

/** With links, owners, times and attributes. */
export function copyLike(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to])
}

/** Waits until the file systems of both give later change times than `ns`. */
export function afterTick(directory: string): void {
  const probe = join(directory, '.tick')
  writeFileSync(probe, '')
  const { ctimeNs } = lstatSync(probe, { bigint: true })
  for (;;) {
    writeFileSync(probe, '')
    if (lstatSync(probe, { bigint: true }).ctimeNs > ctimeNs) break
  }
  rmSync(probe)
}

export const OVERLAY_OPTIONS: Readonly<Record<OverlayAttributes, string>> = {
  trusted: 'redirect_dir=on,index=on',
  user: 'userxattr',
}

/** @param fill makes the real files */
export function makeBranch(fill: (real: string) => void, making: Making = {}): Made {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'sass-branch-')))
  const stateHome =
    making.stateParent === undefined ? home : mkdtempSync(join(making.stateParent, 'sass-branch-'))
  const real = join(home, 'real')
  const directory = join(stateHome, 'branch')
  const store = join(directory, '0')
  mkdirSync(real)
  mkdirSync(store, { recursive: true })
  fill(real)
  const attributes = making.attributes ?? 'trusted'
  const level = making.level ?? 'overlay'
  const probe = join(home, 'probe')
  writeFileSync(probe, '')
  const baseNs = String(lstatSync(probe, { bigint: true }).ctimeNs)
  rmSync(probe)
  afterTick(home)
  let root: Branch['roots'][number] = { path: real, store, baseNs }
  if (level === 'copy') {
    copyLike(real, join(store, 'copy'))
    const copied = join(store, 'probe')
    writeFileSync(copied, '')
    root = { ...root, copiedNs: String(lstatSync(copied, { bigint: true }).ctimeNs) }
    rmSync(copied)
    afterTick(store)
  } else makeUpper(syscalls, root)
  const branch: Branch = {
    session: '0123456789abcdef0123456789abcdef',
    agent: 'a',
    level,
    attributes,
    roots: [root],
    volatile: [],
    openedAtMs: 0,
  }
  return {
    home,
    real,
    directory,
    branch,
    inside(work) {
      if (level === 'copy') return work(join(store, 'copy'))
      const options = making.options ?? OVERLAY_OPTIONS[attributes]
      const data = `lowerdir=${real},upperdir=${store}/upper,workdir=${store}/work${options ? `,${options}` : ''}`
      const mounted = syscalls.byNumber('mount', text('overlay'), text(real), text('overlay'), 0, text(data))
      if (mounted < 0) throw new Error(`mount failed: ${mounted} ${data}`)
      const unmount = (): number => syscalls.byNumber('umount2', text(real), 0)
      try {
        const result = work(real)
        const done = unmount()
        if (done < 0) throw new Error(`umount failed: ${done}`)
        return result
      } catch (error) {
        unmount()
        throw error
      }
    },
    remove() {
      for (const path of new Set([home, stateHome])) {
        const work = join(path, 'branch/0/work/work')
        if (statSync(work, { throwIfNoEntry: false })) rmSync(work, { recursive: true, force: true })
        rmSync(path, { recursive: true, force: true })
      }
    },
  }
}

export type Entry = {
  readonly type: string
  readonly mode: string
  readonly owner: string
  readonly modifiedNs: string
  readonly content: string
  readonly attributes: string
  /** The first path of the same file. */
  readonly link: string
  readonly sparse?: boolean
}

/** Every entry of a tree by its path (one character for a byte), the top itself as `.`. */
export function treeOf(top: string, withDirectoryTimes = true): Record<string, Entry> {
  const tree: Record<string, Entry> = {}
  const links = new Map<bigint, string>()
  const visit = (path: Buffer, name: string): void => {
    const stats = lstatSync(path, { bigint: true })
    const type = stats.isFile()
      ? 'file'
      : stats.isDirectory()
        ? 'directory'
        : stats.isSymbolicLink()
          ? 'symlink'
          : `special ${stats.rdev}`
    const content = stats.isFile()
      ? createHash('sha256').update(readFileSync(path)).digest('hex')
      : stats.isSymbolicLink()
        ? readlinkSync(path, { encoding: 'latin1' })
        : ''
    const names = at.listAttributes(path)
    const attributes = (typeof names === 'number' ? [] : names)
      .map((attribute) => Buffer.from(attribute).toString('latin1'))
      .filter((attribute) => !attribute.startsWith('trusted.overlay.') && !attribute.startsWith('security.'))
      .sort()
      .map((attribute) => {
        const value = at.getAttribute(path, Buffer.from(attribute, 'latin1'))
        return `${attribute}=${typeof value === 'number' ? value : Buffer.from(value).toString('hex')}`
      })
      .join(' ')
    let link = name
    if (!stats.isDirectory() && stats.nlink > 1n) {
      link = links.get(stats.ino) ?? name
      links.set(stats.ino, link)
    }
    tree[name] = {
      type,
      mode: (stats.mode & 0o7777n).toString(8),
      owner: `${stats.uid}:${stats.gid}`,
      modifiedNs: stats.isDirectory() && !withDirectoryTimes ? '' : String(stats.mtimeNs),
      content,
      attributes,
      link,
    }
    if (!stats.isDirectory()) return
    for (const inner of readdirSync(path, { encoding: 'buffer' }).sort(Buffer.compare)) {
      // What a merge keeps for taking it back, at the top of a root on another file system than the state directory.
      if (name === '.' && inner.toString('latin1').startsWith('.sass-edge-merge-')) continue
      visit(
        Buffer.concat([path, Buffer.from('/'), inner]),
        name === '.' ? inner.toString('latin1') : `${name}/${inner.toString('latin1')}`,
      )
    }
  }
  visit(Buffer.from(top), '.')
  return tree
}
