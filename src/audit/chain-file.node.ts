/**
 * The file that the chain is written to: whole pieces of text at its end or nothing, closed and followed by a new one
 * when it is large enough. What a full disk takes a part of is taken back, so that the chain can go on when there is
 * room; after a failed fsync(2) nothing can, since nobody knows what the disk has. How long the disk takes to keep what
 * is written is measured, and nobody is kept waiting for it.
 * Rules: docs/responses.md, section 7 (files, durability).
 * @module
 */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  ftruncateSync,
  futimesSync,
  openSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { makeDirectories, syncDirectory, whyFailed } from '../base/files.node.ts'
import { type MakeRoom, NO_ROOM, withRoom } from '../base/room.ts'
import { SassError } from '../errors.ts'
import { activePath, closedPath } from './segments.node.ts'

/** Takes the open file for this process alone; false where another one has it. */
export type Lock = (descriptor: number) => boolean

export type ChainFile = {
  /** To read back how it ends. */
  readonly descriptor: number
  readonly sizeBytes: number
  /**
   * All of it, in the kernel when this returns.
   * @throws STATE_UNWRITABLE; nothing of it is in the file then
   */
  write(text: string): void
  /** Takes back what follows `sizeBytes`. */
  cutTo(sizeBytes: number): void
  /** Closes this file, whose first record has that number, and begins another. False: not now, it goes on as it is. */
  next(first: number): boolean
  /** True while the disk is being asked to keep what was written. */
  readonly isSyncing: boolean
  /** Milliseconds that this took the last time, or takes already where that is longer. */
  readonly syncMs: number
  /** Why nothing can be written any more until the daemon is started again. */
  readonly brokenBy: string | undefined
  /**
   * Makes what was written by now outlive a loss of power; `done` hears whether it does, at once where nothing was
   * written since the last time. Where it does not, every later write throws. Not while `isSyncing`.
   */
  sync(done: (isKept: boolean) => void): void
  /** Asks the disk to keep something, whether or not anything was written, so that it is known how long that takes. */
  probe(): void
  /** The same, before it returns. False: it could not. */
  syncNow(): boolean
  close(): void
}

function openActive(path: string): number {
  // Append mode: however many descriptors there are, nothing is ever written over.
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
  const descriptor = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  throw Object.assign(new Error('not a regular file'), { code: 'EINVAL' })
}

/**
 * @param monotonicMs measures the disk
 * @param makeRoom is asked where that is full
 * @throws STATE_UNWRITABLE or ADDRESS_IN_USE
 */
export function openChainFile(
  directory: string,
  lock: Lock,
  monotonicMs: () => number,
  makeRoom: MakeRoom = NO_ROOM,
): ChainFile {
  const path = activePath(directory)
  let descriptor: number
  let lockDescriptor: number
  try {
    makeDirectories(directory, 0o700)
    // The directory is what is locked: its files come and go.
    lockDescriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  } catch (cause) {
    throw unusable(directory, path, cause)
  }
  if (!lock(lockDescriptor)) {
    closeSync(lockDescriptor)
    throw new SassError(
      'ADDRESS_IN_USE',
      `Another daemon writes the audit chain in ${directory}, and two would break it; stop that one, or give this one its own state_directory.`,
      { path },
    )
  }
  try {
    descriptor = withRoom(makeRoom, () => openActive(path))
  } catch (cause) {
    closeSync(lockDescriptor)
    throw unusable(directory, path, cause)
  }
  let sizeBytes = fstatSync(descriptor).size
  /** What keeps everything from being written until the daemon is started again. */
  let broken: string | undefined
  let isDirty = false
  /** Since when the disk is being asked; undefined: it is not. */
  let askedAtMs: number | undefined
  let lastSyncMs = 0
  let isClosed = false

  function fail(cause: unknown): never {
    throw new SassError(
      'STATE_UNWRITABLE',
      `The audit chain ${path} cannot be written, since ${whyFailed(cause)}, so nothing was done; make room on its disk, or look whether that can be written at all.`,
      { path },
      cause,
    )
  }

  function write(text: string): void {
    if (broken !== undefined)
      throw new SassError(
        'STATE_UNWRITABLE',
        `The audit chain ${path} cannot be trusted to keep what is written (${broken}); nothing more is done until the daemon is restarted.`,
        { path },
      )
    const bytes = Buffer.from(text)
    try {
      withRoom(makeRoom, () => put(bytes))
    } catch (cause) {
      fail(cause)
    }
    sizeBytes += bytes.length
    isDirty = true
  }

  function put(bytes: Uint8Array): void {
    try {
      const written = writeSync(descriptor, bytes)
      if (written !== bytes.length) throw Object.assign(new Error('partly written'), { code: 'ENOSPC' })
    } catch (cause) {
      takeBack()
      throw broken === undefined ? cause : Object.assign(new Error(broken), { code: broken })
    }
  }

  function takeBack(): void {
    try {
      if (fstatSync(descriptor).size > sizeBytes) ftruncateSync(descriptor, sizeBytes)
    } catch (cause) {
      broken = whyFailed(cause)
    }
  }

  /** Asks the disk by that call, which must not be made twice at once. */
  function ask(call: typeof fdatasync, done: (isKept: boolean) => void): void {
    const began = monotonicMs()
    askedAtMs = began
    call(descriptor, (error) => {
      askedAtMs = undefined
      lastSyncMs = monotonicMs() - began
      // What the disk did not take may be gone: the next write says so, and nothing is done upon it.
      if (error !== null && !isClosed) broken = whyFailed(error)
      done(error === null)
    })
  }

  return {
    get descriptor() {
      return descriptor
    },
    get isSyncing() {
      return askedAtMs !== undefined
    },
    get syncMs() {
      return Math.max(lastSyncMs, askedAtMs === undefined ? 0 : monotonicMs() - askedAtMs)
    },
    get brokenBy() {
      return broken
    },
    get sizeBytes() {
      return sizeBytes
    },
    write,
    cutTo(size) {
      ftruncateSync(descriptor, size)
      sizeBytes = size
    },
    next(first) {
      // A descriptor that is being synced must stay what it is.
      if (askedAtMs !== undefined || broken !== undefined) return false
      const closed = closedPath(directory, first)
      let opened: number
      try {
        if (isDirty) fdatasyncSync(descriptor)
        withRoom(makeRoom, () => renameSync(path, closed))
      } catch (cause) {
        broken = whyFailed(cause)
        return false
      }
      try {
        opened = withRoom(makeRoom, () => openActive(path))
      } catch {
        // A file that is too long is no harm; a chain in two places would be.
        renameSync(closed, path)
        return false
      }
      closeSync(descriptor)
      descriptor = opened
      sizeBytes = 0
      isDirty = false
      syncDirectory(directory)
      return true
    },
    sync(done) {
      if (askedAtMs !== undefined || isClosed || broken !== undefined) return done(false)
      if (!isDirty) return done(true)
      isDirty = false
      ask(fdatasync, done)
    },
    probe() {
      if (askedAtMs !== undefined || isClosed || broken !== undefined) return
      const now = Date.now() / 1_000
      try {
        futimesSync(descriptor, now, now)
      } catch {
        // A disk that takes nothing is told by what is written next.
      }
      ask(fsync, () => {})
    },
    syncNow() {
      if (broken !== undefined) return false
      try {
        fdatasyncSync(descriptor)
        isDirty = false
        return true
      } catch (cause) {
        broken = whyFailed(cause)
        return false
      }
    },
    close() {
      isClosed = true
      closeSync(descriptor)
      closeSync(lockDescriptor)
    },
  }
}

function unusable(directory: string, path: string, cause: unknown): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `The audit directory ${directory} cannot be written, since ${whyFailed(cause)}, and nothing runs unrecorded; give the daemon that directory or set audit.directory.`,
    { path },
    cause,
  )
}
