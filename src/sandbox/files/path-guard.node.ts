/**
 * The way from a path to an open file, for the daemon's own work in a session's view: by descriptor, never by string.
 * A path is resolved from the descriptor of the session's root, which no link leads out of and no link of /proc leads
 * around. What is to be written is then opened again beneath the descriptor of the directory that may be written in,
 * without any link on the way: one that is put there meanwhile is refused and not followed.
 * Refuses whatever is not where the decision has heard that it is, and everything that is neither a file nor, where one
 * is wanted, a directory. The type is asked before it is opened: opening a device, a FIFO or a file that the kernel makes
 * up would do something.
 * Sources: openat2(2), path_resolution(7), open(2) (O_PATH).
 * @module
 */
import { type BigIntStats, fstatSync, openSync, readlinkSync } from 'node:fs'
import { atEnd, closing } from '../../base/closing.node.ts'
import { baseName, isWithin } from '../../base/text/lexical-path.ts'
import { type Code, SassError } from '../../errors.ts'
import type { FileLook, SessionView } from '../../ports.ts'
import {
  type At,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_PATH,
  RESOLVE_BENEATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
} from '../kernel/at.node.ts'
import { holdsBytes } from '../kernel/regular-file.node.ts'
import { ERRNO } from '../kernel/syscalls.node.ts'
import type { Rights } from './rights.node.ts'

/** A directory that may be written in, held open, and a name in it. */
export type Place = {
  /** Readable, so that it can be synced. */
  readonly directory: number
  readonly name: Uint8Array
  close(): void
}

export type PathGuard = {
  look(view: SessionView, path: string): FileLook
  /** The directory of a real path, to write in. Throws where it is gone, may not be written in, or a link leads there. */
  placeOf(view: SessionView, real: string): Place
  /** The file at a real path, open for reading; never one that is not a regular file or a directory. */
  openToRead(view: SessionView, real: string): { readonly descriptor: number; readonly stats: BigIntStats }
  /** What an entry of an open directory is, itself; undefined: there is none. The descriptor is for looking alone. */
  entry(
    directory: number,
    name: Uint8Array,
  ): { readonly descriptor: number; readonly stats: BigIntStats } | undefined
  /** Whatever else is done in a place is done with these. */
  readonly rights: Rights
  /** Makes what is missing of a directory, beneath one that may be written in. */
  makeDirectories(view: SessionView, real: string): void
}

const LOOKING_UP = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
const NO_LINKS = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
const DIRECTORY_MODE = 0o755

/** What an errno means for the one path that was asked for: a sentence for whoever asked. */
function sentenceOf(errno: number, what: string): readonly [Code, string] {
  switch (errno) {
    case ERRNO.ENOENT:
      return ['FILE_NOT_FOUND', 'There is no such file on the device.']
    case ERRNO.ELOOP:
    case ERRNO.EXDEV:
      return ['FILE_PATH_DENIED', 'The path leads through a symbolic link that is not followed.']
    case ERRNO.ENOTDIR:
      return ['FILE_NOT_FOUND', 'A part of the path is a file and not a directory.']
    case ERRNO.EISDIR:
      return ['FILE_IO', 'The path names a directory.']
    case ERRNO.EROFS:
    case ERRNO.EACCES:
    case ERRNO.EPERM:
      return ['FILE_PATH_DENIED', `The device does not let this file be ${what}.`]
    case ERRNO.ENOSPC:
      return ['FILE_IO', 'The disk of the device is full.']
    default:
      return ['FILE_IO', `The file could not be ${what}: errno ${errno}.`]
  }
}

/** `errno` of either sign. */
export function fileError(errno: number, what: string): SassError {
  const [code, sentence] = sentenceOf(Math.abs(errno), what)
  return new SassError(code, sentence, { errno: Math.abs(errno) })
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'utf8')
}

/** Relative to the root; the root itself is `.`. */
function fromRoot(path: string): Buffer {
  return bytesOf(path === '/' ? '.' : path.slice(1))
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

function joined(directory: string, rest: string): string {
  if (rest === '') return directory
  return directory === '/' ? `/${rest}` : `${directory}/${rest}`
}

/** Where the kernel says that the descriptor is; undefined where it is nowhere any more. */
function whereIs(descriptor: number): string | undefined {
  const path = readlinkSync(`/proc/self/fd/${descriptor}`, 'buffer')
  const text = path.toString('utf8')
  // What is no text cannot be what anybody named; what is gone ends in this.
  if (!bytesOf(text).equals(path) || text.endsWith(' (deleted)')) return undefined
  return text
}

/** Where the descriptor is as the session sees it; undefined: not in what it sees. */
function pathInView(view: SessionView, descriptor: number): string | undefined {
  const root = whereIs(view.rootDescriptor)
  const path = whereIs(descriptor)
  if (root === undefined || path === undefined || !isWithin(root, path)) return undefined
  const rest = root === '/' ? path : path.slice(root.length)
  return rest === '' ? '/' : rest
}

function kindOf(stats: BigIntStats): FileLook['kind'] {
  return stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other'
}

export function createPathGuard(at: At, rights: Rights): PathGuard {
  /** Where it really lies and what it is; undefined where it is not there. */
  function resolved(view: SessionView, path: string): FileLook | undefined {
    const descriptor = at.openPath(view.rootDescriptor, fromRoot(path), O_PATH, LOOKING_UP)
    if (descriptor < 0) return undefined
    using _descriptor = closing(descriptor)
    const real = pathInView(view, descriptor)
    if (real === undefined) return undefined
    const stats = fstatSync(descriptor, { bigint: true })
    return { real, kind: kindOf(stats), size: Number(stats.size) }
  }

  /** A link that leads nowhere is there all the same. */
  function isDangling(view: SessionView, path: string): boolean {
    const descriptor = at.openPath(view.rootDescriptor, fromRoot(path), O_PATH | O_NOFOLLOW, LOOKING_UP)
    if (descriptor < 0) return false
    at.close(descriptor)
    return true
  }

  function look(view: SessionView, path: string): FileLook {
    const found = resolved(view, path)
    if (found !== undefined) return found
    let rest = baseName(path)
    for (let directory = parentOf(path); ; directory = parentOf(directory)) {
      const above = resolved(view, directory)
      if (above !== undefined) {
        const real = joined(above.real, rest)
        if (rest !== baseName(path) || above.kind !== 'directory') return { real, kind: 'orphan', size: 0 }
        return { real, kind: isDangling(view, path) ? 'other' : 'missing', size: 0 }
      }
      // Nothing at all can be seen: it lies where it says, and nothing will be opened there.
      if (directory === '/') return { real: path, kind: 'orphan', size: 0 }
      rest = joined(baseName(directory), rest)
    }
  }

  /** The descriptor of the directory that may be written in and holds the path, and the rest of the path. */
  function writableRoot(view: SessionView, real: string): { root: number; rest: string } {
    const holders = view.writable.filter((directory) => isWithin(directory, real) && real !== directory)
    // The innermost: what is mounted there is what the session sees.
    const holder = holders.sort((a, b) => b.length - a.length)[0]
    if (holder === undefined)
      throw new SassError('FILE_PATH_DENIED', 'The path is outside of what can be written in this session.')
    const root = at.openPath(
      view.rootDescriptor,
      fromRoot(holder),
      O_PATH | O_DIRECTORY,
      LOOKING_UP | NO_LINKS,
    )
    if (root < 0) throw fileError(root, 'written')
    return { root, rest: holder === '/' ? real.slice(1) : real.slice(holder.length + 1) }
  }

  function placeOf(view: SessionView, real: string): Place {
    const { root, rest } = writableRoot(view, real)
    const slash = rest.lastIndexOf('/')
    const path = slash < 0 ? bytesOf('.') : bytesOf(rest.slice(0, slash))
    const directory = at.openPath(root, path, O_DIRECTORY, RESOLVE_BENEATH | NO_LINKS)
    at.close(root)
    if (directory === -ERRNO.ENOENT)
      throw new SassError(
        'FILE_CREATE_DIR_FAILED',
        'The directory that the file belongs in does not exist: make it first.',
      )
    if (directory < 0) throw fileError(directory, 'written')
    return { directory, name: bytesOf(rest.slice(slash + 1)), close: () => at.close(directory) }
  }

  function openToRead(view: SessionView, real: string) {
    const found = at.openPath(view.rootDescriptor, fromRoot(real), O_PATH, LOOKING_UP | NO_LINKS)
    if (found < 0) throw fileError(found, 'read')
    using _found = closing(found)
    const stats = fstatSync(found, { bigint: true })
    if (!stats.isFile() && !stats.isDirectory())
      throw new SassError('FILE_IO', 'What the path names is neither a file nor a directory.')
    if (stats.isFile() && !holdsBytes(found))
      throw new SassError(
        'FILE_IO',
        'The kernel makes this file up when it is opened, as those of /proc and /sys; read it with a command.',
      )
    // The very inode that was looked at, whatever lies at the path by now.
    return { descriptor: reopened(found), stats }
  }

  function entry(directory: number, name: Uint8Array) {
    const descriptor = at.open(directory, name, O_PATH)
    if (descriptor === -ERRNO.ENOENT) return undefined
    if (descriptor < 0) throw fileError(descriptor, 'written')
    return { descriptor, stats: fstatSync(descriptor, { bigint: true }) }
  }

  function makeDirectories(view: SessionView, real: string): void {
    const { root, rest } = writableRoot(view, real)
    let current = root
    using _last = atEnd(() => at.close(current))
    for (const part of rest.split('/')) {
      const name = bytesOf(part)
      const made = at.makeDirectory(current, name, DIRECTORY_MODE)
      if (made < 0 && made !== -ERRNO.EEXIST)
        throw new SassError('FILE_CREATE_DIR_FAILED', `The directory could not be made: errno ${-made}.`)
      const next = at.open(current, name, O_PATH | O_DIRECTORY)
      if (next < 0) throw fileError(next, 'written')
      at.close(current)
      current = next
    }
  }

  return {
    look: (view, path) => rights.within(view, () => look(view, path)),
    placeOf: (view, real) => rights.within(view, () => placeOf(view, real)),
    openToRead: (view, real) => rights.within(view, () => openToRead(view, real)),
    makeDirectories: (view, real) => rights.within(view, () => makeDirectories(view, real)),
    entry,
    rights,
  }
}

/** Opens for reading what an O_PATH descriptor holds, by its own link in /proc. */
export function reopened(descriptor: number, flags: number | string = 'r'): number {
  return openSync(`/proc/self/fd/${descriptor}`, flags)
}
