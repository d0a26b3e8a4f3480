/**
 * Files by descriptor: the `*at` system calls, for all of the daemon's own work on files that somebody else can change
 * meanwhile. A name is one part of a path, as bytes, and is looked up in an open directory; a longer path goes through
 * `openat2`, which refuses to leave the directory, or to follow a link, as its `resolve` says.
 * Results follow the kernel's convention: a descriptor or 0, or `-errno`. Where the kernel has no openat2 (before 5.6),
 * a path is walked part by part, no part of it followed.
 * Sources: openat2(2), path_resolution(7), and the manual page of each call.
 * @module
 */

import { ERRNO, O_CLOEXEC, type Syscalls } from './syscalls.node.ts'

/** A name or path as the kernel has it: bytes without NUL, no encoding. */
export type Name = Uint8Array

/** asm-generic/fcntl.h; O_DIRECTORY and O_NOFOLLOW differ between machines. */
export const O_RDONLY = 0
export const O_WRONLY = 0o1
export const O_CREAT = 0o100
export const O_EXCL = 0o200
export const O_TRUNC = 0o1000
export const O_PATH = 0o10000000
export const O_DIRECTORY = process.arch === 'arm64' ? 0o40000 : 0o200000
export const O_NOFOLLOW = process.arch === 'arm64' ? 0o100000 : 0o400000
export const AT_FDCWD = -100
export const AT_SYMLINK_NOFOLLOW = 0x100
export const AT_REMOVEDIR = 0x200
export const AT_EMPTY_PATH = 0x1000
/** linux/openat2.h */
export const RESOLVE_NO_XDEV = 0x01
export const RESOLVE_NO_MAGICLINKS = 0x02
export const RESOLVE_NO_SYMLINKS = 0x04
export const RESOLVE_BENEATH = 0x08
export const RESOLVE_IN_ROOT = 0x10
/** linux/fs.h */
export const RENAME_NOREPLACE = 1
export const RENAME_EXCHANGE = 2
/** struct open_how: flags, mode, resolve. */
const OPEN_HOW_BYTES = 24
/** Nanoseconds of utimensat(2) that leave a time as it is. */
const UTIME_OMIT = 0x3ffffffen
const NANOSECONDS = 1_000_000_000n
/** What openat2 answers while a part of the path is being renamed: to be asked again. */
const RETRIES = 128

export type Times = { readonly accessedNs: bigint | undefined; readonly modifiedNs: bigint | undefined }

export interface At {
  /** Opens one name in a directory; never follows it. */
  open(directory: number, name: Name, flags: number, mode?: number): number
  /** Opens a path from a directory, held to `resolve`. */
  openPath(directory: number, path: Name, flags: number, resolve: number, mode?: number): number
  makeDirectory(directory: number, name: Name, mode: number): number
  makeNode(directory: number, name: Name, mode: number, device: number): number
  link(fromDirectory: number, from: Name, toDirectory: number, to: Name): number
  symlink(target: Name, directory: number, name: Name): number
  rename(fromDirectory: number, from: Name, toDirectory: number, to: Name, flags?: number): number
  unlink(directory: number, name: Name): number
  removeDirectory(directory: number, name: Name): number
  /** Of the name itself, a symbolic link included. */
  setOwner(directory: number, name: Name, user: number, group: number): number
  setTimes(directory: number, name: Name, times: Times): number
  /** Of an open file, which must not be O_PATH. */
  setMode(descriptor: number, mode: number): number
  sync(descriptor: number): number
  /** Everything of that descriptor's file system. */
  syncAll(descriptor: number): number
  /** Names of the extended attributes of a name, or `-errno`. `path` must be safe to resolve, such as /proc/self/fd/N/NAME. */
  listAttributes(path: Name): readonly Name[] | number
  getAttribute(path: Name, attribute: Name): Uint8Array | number
  setAttribute(path: Name, attribute: Name, value: Uint8Array): number
  removeAttribute(path: Name, attribute: Name): number
  close(descriptor: number): void
}

/** With the NUL that ends it for the kernel. */
function terminated(name: Name): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(name.length + 1))
  bytes.set(name)
  return bytes
}

/** The directory of an open one and a name in it as a path: what is looked up there cannot be swapped on the way. */
export function descriptorPath(directory: number, name: Name): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name])
}

function timespecs(times: Times): Uint8Array {
  const words = new BigInt64Array(new ArrayBuffer(32))
  for (const [index, ns] of [times.accessedNs, times.modifiedNs].entries()) {
    words[index * 2] = ns === undefined ? 0n : ns / NANOSECONDS
    words[index * 2 + 1] = ns === undefined ? UTIME_OMIT : ns % NANOSECONDS
  }
  return new Uint8Array(words.buffer)
}

const SLASH = 0x2f
const DOT = 0x2e

function parts(path: Name): Name[] {
  const found: Name[] = []
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf(SLASH, start)
    const end = slash < 0 ? path.length : slash
    const part = path.subarray(start, end)
    if (part.length > 0 && !(part.length === 1 && part[0] === DOT)) found.push(part)
    start = end + 1
  }
  return found
}

/** Binds the calls for the calling thread. */
export function createAt(syscalls: Syscalls): At {
  const { byNumber, libc } = syscalls
  let hasOpenat2 = true

  const open: At['open'] = (directory, name, flags, mode = 0) =>
    byNumber('openat', directory, terminated(name), flags | O_CLOEXEC | O_NOFOLLOW, mode)

  /** For kernels without openat2: stricter than any `resolve`, since no link is followed and `..` is refused. */
  function walk(directory: number, path: Name, flags: number, mode: number): number {
    if (path[0] === SLASH) return -ERRNO.EXDEV
    const names = parts(path)
    const last = names.pop() ?? Uint8Array.of(DOT)
    if ([...names, last].some((name) => name.length === 2 && name[0] === DOT && name[1] === DOT))
      return -ERRNO.EXDEV
    let at = directory
    for (const name of names) {
      const next = open(at, name, O_PATH | O_DIRECTORY)
      if (at !== directory) libc.close(at)
      if (next < 0) return next
      at = next
    }
    const result = open(at, last, flags, mode)
    if (at !== directory) libc.close(at)
    return result
  }

  function openPath(directory: number, path: Name, flags: number, resolve: number, mode = 0): number {
    if (!hasOpenat2) return walk(directory, path, flags, mode)
    const how = new BigUint64Array(new ArrayBuffer(OPEN_HOW_BYTES))
    how[0] = BigInt(flags | O_CLOEXEC)
    how[1] = BigInt(mode)
    how[2] = BigInt(resolve)
    const bytes = terminated(path)
    for (let attempt = 0; attempt < RETRIES; attempt++) {
      const result = byNumber('openat2', directory, bytes, how, OPEN_HOW_BYTES)
      if (result === -ERRNO.ENOSYS) {
        hasOpenat2 = false
        return walk(directory, path, flags, mode)
      }
      if (result !== -ERRNO.EAGAIN) return result
    }
    return -ERRNO.EAGAIN
  }

  /** Asks for the size, then for the content, which may have grown in between. */
  function sized(ask: (buffer: Uint8Array | number, size: number) => number): Uint8Array | number {
    for (;;) {
      const size = ask(0, 0)
      if (size <= 0) return size < 0 ? size : new Uint8Array(0)
      const buffer = new Uint8Array(new ArrayBuffer(size))
      const length = ask(buffer, size)
      if (length >= 0) return buffer.subarray(0, length)
      if (length !== -ERRNO.ERANGE) return length
    }
  }

  return {
    open,
    openPath,
    makeDirectory: (directory, name, mode) => byNumber('mkdirat', directory, terminated(name), mode),
    makeNode: (directory, name, mode, device) =>
      byNumber('mknodat', directory, terminated(name), mode, device),
    link: (fromDirectory, from, toDirectory, to) =>
      byNumber('linkat', fromDirectory, terminated(from), toDirectory, terminated(to), 0),
    symlink: (target, directory, name) =>
      byNumber('symlinkat', terminated(target), directory, terminated(name)),
    rename: (fromDirectory, from, toDirectory, to, flags = 0) =>
      byNumber('renameat2', fromDirectory, terminated(from), toDirectory, terminated(to), flags),
    unlink: (directory, name) => byNumber('unlinkat', directory, terminated(name), 0),
    removeDirectory: (directory, name) => byNumber('unlinkat', directory, terminated(name), AT_REMOVEDIR),
    setOwner: (directory, name, user, group) =>
      byNumber('fchownat', directory, terminated(name), user, group, AT_SYMLINK_NOFOLLOW),
    setTimes: (directory, name, times) =>
      byNumber('utimensat', directory, terminated(name), timespecs(times), AT_SYMLINK_NOFOLLOW),
    setMode: (descriptor, mode) => byNumber('fchmod', descriptor, mode),
    sync: (descriptor) => byNumber('fsync', descriptor),
    syncAll: (descriptor) => byNumber('syncfs', descriptor),
    listAttributes(path) {
      const bytes = terminated(path)
      const list = sized((buffer, size) => byNumber('llistxattr', bytes, buffer, size))
      if (typeof list === 'number') return list
      const names: Name[] = []
      for (let start = 0; start < list.length; ) {
        const end = list.indexOf(0, start)
        names.push(list.subarray(start, end))
        start = end + 1
      }
      return names
    },
    getAttribute(path, attribute) {
      const [pathBytes, nameBytes] = [terminated(path), terminated(attribute)]
      return sized((buffer, size) => byNumber('lgetxattr', pathBytes, nameBytes, buffer, size))
    },
    setAttribute: (path, attribute, value) =>
      byNumber('lsetxattr', terminated(path), terminated(attribute), terminated(value), value.length, 0),
    removeAttribute: (path, attribute) => byNumber('lremovexattr', terminated(path), terminated(attribute)),
    close(descriptor) {
      libc.close(descriptor)
    },
  }
}
