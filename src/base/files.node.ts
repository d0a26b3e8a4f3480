/**
 * Small files whole: read within a bound, written so that a crash leaves the old one or the new one, never a part.
 * A new file is written under a temporary name, synced, then linked or renamed, and the directory is synced.
 * What is not a regular file is refused before a byte is read: a FIFO would block for ever, a device would not end.
 * @module
 */
import { randomBytes } from 'node:crypto'
import {
  close,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fdatasyncSync,
  fstatSync,
  fsync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const OVERWRITE_BYTES = 65_536

/** The errno name (`ENOENT`) of a failed system call, or undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** The same of an error that has to be the system's; any other is thrown again. */
export function systemErrno(error: unknown): string {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  return errno
}

/** What an errno means for somebody who named a path: a clause that follows "since". */
export function errnoText(errno: string | undefined): string {
  switch (errno) {
    case 'ENOENT':
      return 'it does not exist'
    case 'EACCES':
    case 'EPERM':
      return 'permission is denied'
    case 'ENOTDIR':
      return 'a part of its path is not a directory'
    case 'EISDIR':
      return 'it is a directory'
    case 'EROFS':
      return 'the file system is read-only'
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full'
    case 'ELOOP':
      return 'it is a symbolic link'
    case 'ENOTEMPTY':
      return 'something else was put there meanwhile'
    case 'EEXIST':
      return 'it exists already'
    default:
      return errno === undefined ? 'the system does not say why' : `the system says ${errno}`
  }
}

/** The same of whatever was thrown, by the system or in its words. */
export function whyFailed(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code !== undefined && /^E[A-Z0-9]+$/.test(code)) return errnoText(code)
  return cause instanceof Error ? cause.message : String(cause)
}

/** The same of a path that was to be made: then it is another one that does not exist. */
export function whyNotMade(error: unknown, path: string): string {
  const errno = errnoOf(error)
  // Of directories on the way, the error names the one that was not made.
  const { syscall, path: failed = path } = error as NodeJS.ErrnoException
  const made = syscall === 'mkdir' ? failed : path
  const parent = dirname(made)
  if (errno === 'ENOENT')
    return existsSync(parent) ? `nothing can be made in ${parent}` : `${parent} does not exist`
  if (errno === 'EEXIST' && statOf(made)?.isFile())
    return made === path ? 'a file is there already' : `${made} is a file`
  return errnoText(errno)
}

/** What is at the path, links followed; undefined where nothing is or it cannot be looked at. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** What is at the path, were it a link that leads nowhere. */
export function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

export type BoundedRead =
  | { readonly ok: true; readonly bytes: Buffer; readonly stats: Stats }
  | { readonly ok: false; readonly reason: 'not-a-file' | 'too-large'; readonly stats: Stats }

/**
 * The whole of a regular file of at most `limitBytes`.
 * @param noFollow refuse a symbolic link as the last part of the path (ELOOP)
 * @throws the system's error where the file cannot be opened or read
 */
export function readBounded(path: string, limitBytes: number, noFollow = false): BoundedRead {
  const follow = noFollow ? constants.O_NOFOLLOW : 0
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | follow)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { ok: false, reason: 'not-a-file', stats }
    if (stats.size > limitBytes) return { ok: false, reason: 'too-large', stats }
    // One byte more than allowed, so that a file that grows meanwhile is noticed.
    const buffer = Buffer.alloc(limitBytes < stats.size + 1 ? limitBytes + 1 : stats.size + 1)
    let length = 0
    while (length < buffer.length) {
      const count = readSync(fd, buffer, length, buffer.length - length, null)
      if (count === 0) break
      length += count
    }
    if (length > stats.size) return { ok: false, reason: 'too-large', stats }
    return { ok: true, bytes: buffer.subarray(0, length), stats }
  } finally {
    closeSync(fd)
  }
}

/** Makes renames and links in `directory` outlive a power cut. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** The same, without making anybody wait for it; `done` hears whether they do. */
export function syncDirectorySoon(directory: string, done: (isKept: boolean) => void): void {
  open(directory, constants.O_RDONLY | constants.O_DIRECTORY, (error, fd) => {
    if (error !== null) return done(false)
    fsync(fd, (failed) => close(fd, () => done(failed === null)))
  })
}

type Owner = { readonly uid: number; readonly gid: number }

/** Whose a file is that root makes in a directory of somebody else: a daemon that is no root could not read root's. */
function heirOf(directory: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined
  const { uid, gid } = statSync(directory)
  return uid === 0 ? undefined : { uid, gid }
}

function leaveTo(heir: Owner | undefined, fd: number): void {
  if (heir === undefined) return
  try {
    fchownSync(fd, heir.uid, heir.gid)
  } catch {
    // A root that is none outside of its namespace: then it stays ours.
  }
}

function writeTemporary(path: string, bytes: Uint8Array, mode: number, owner?: Owner): string {
  const temporary = join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`)
  const fd = openSync(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode,
  )
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
    if (owner === undefined) leaveTo(heirOf(dirname(path)), fd)
    else fchownSync(fd, owner.uid, owner.gid)
    fsyncSync(fd)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  } finally {
    closeSync(fd)
  }
  return temporary
}

/**
 * Makes a directory, and those on the way to it. One that is there stays as it is.
 * One by one from the nearest that is there: mkdirSync with `recursive` goes round for ever where the system says ENOENT
 * although the parent is there, as below /proc.
 * @returns the first that was made; undefined: it was there
 * @throws the system's error, EEXIST where something else is at the path
 */
export function makeDirectories(path: string, mode = 0o777): string | undefined {
  const missing: string[] = []
  for (let at = path; !existsSync(at); at = dirname(at)) {
    missing.push(at)
    if (dirname(at) === at) break
  }
  if (missing.length === 0 && !statOf(path)?.isDirectory()) mkdirSync(path)
  for (const each of missing.toReversed()) {
    try {
      mkdirSync(each, mode)
    } catch (error) {
      // Somebody else made it meanwhile.
      if (errnoOf(error) !== 'EEXIST' || !statOf(each)?.isDirectory()) throw error
    }
  }
  return missing.at(-1)
}

/** Makes a directory, and those on the way to it, that only its owner may enter. One that is there stays as it is. */
export function makePrivateDirectory(path: string): void {
  const first = makeDirectories(path, 0o700)
  if (first === undefined) return
  const heir = heirOf(dirname(first))
  if (heir === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    const fd = openSync(made, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      leaveTo(heir, fd)
    } finally {
      closeSync(fd)
    }
  }
}

/**
 * Writes a file that must not exist yet; an existing one, a dangling link too, is EEXIST and stays as it is.
 * `mode` is cut by the umask, as open(2) does. What root makes is its directory's owner's.
 */
export function createFile(path: string, bytes: Uint8Array, mode: number): void {
  const temporary = writeTemporary(path, bytes, mode)
  try {
    linkSync(temporary, path)
  } finally {
    unlinkSync(temporary)
  }
  syncDirectory(dirname(path))
}

/**
 * Writes a file in place of the one that may be there; readers see the old or the new one.
 * @param owner whom the new file shall belong to; absent: to us, and what root makes to its directory's owner
 */
export function replaceFile(path: string, bytes: Uint8Array, mode: number, owner?: Owner): void {
  const temporary = writeTemporary(path, bytes, mode, owner)
  try {
    renameSync(temporary, path)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  }
  syncDirectory(dirname(path))
}

/** Writes zeros over an open file of so many bytes, so that what was in it is not what its blocks hold. */
export function overwrite(descriptor: number, bytes: number): void {
  const zeros = Buffer.alloc(Math.min(bytes, OVERWRITE_BYTES))
  for (let at = 0; at < bytes; at += zeros.length)
    writeSync(descriptor, zeros, 0, Math.min(zeros.length, bytes - at), at)
  fdatasyncSync(descriptor)
}
