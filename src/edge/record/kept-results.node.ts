/**
 * The file of executions' ids and results: lines that are appended with one small write(2) each, and written anew in
 * another file that takes the place of this one. Each line begins with its CRC-32, so that what a disk has made of it is
 * not taken for what was written. When lines outlive a loss of power is as for the record (audit.fsync).
 * Rules: docs/operations.md (files); docs/responses.md, section 7 (durability).
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
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeDirectories, overwrite, syncDirectory, whyFailed } from '../../base/files.node.ts'
import { type MakeRoom, NO_ROOM, withRoom } from '../../base/room.ts'
import { SassError } from '../../errors.ts'
import { AUDIT_SYNC_MS, KEPT_FILE_BYTES } from '../../limits.ts'
import type { DiskHealth, LineFile, LinePlace } from '../../ports.ts'

export type KeptFileOptions = {
  readonly directory: string
  /** Its name there, and what it is a file of, for people; absent: `results`, of executions. */
  readonly name?: string
  readonly what?: string
  /** Takes the open directory for this process alone; false where another one has it. */
  readonly lock: (descriptor: number) => boolean
  readonly durability: 'always' | 'interval' | 'never'
  readonly monotonicMs: () => number
  readonly after: (ms: number, callback: () => void) => void
  /** Gives room on the disk of the directory where that is full. */
  readonly makeRoom?: MakeRoom | undefined
}

export type KeptFile = LineFile & {
  readonly disk: DiskHealth
  /** Throws where nothing can be written. */
  tryIt(): void
  close(): void
}

const NAME = 'results'
const NEWLINE = 0x0a
const CRC_CHARS = 8

function hex(crc: number): string {
  return crc.toString(16).padStart(CRC_CHARS, '0')
}

/** Append mode: however many descriptors there are, nothing is ever written over. */
function openLines(path: string, more = 0): number {
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
  const descriptor = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | more, 0o600)
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  throw Object.assign(new Error('not a regular file'), { code: 'EINVAL' })
}

function readAt(descriptor: number, bytes: number, at: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let length = 0
  while (length < bytes) {
    const count = readSync(descriptor, buffer, length, bytes - length, at + length)
    if (count === 0) break
    length += count
  }
  return buffer.subarray(0, length)
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  const written = writeSync(descriptor, bytes)
  if (written !== bytes.length) throw Object.assign(new Error('partly written'), { code: 'ENOSPC' })
}

/** What a line says; undefined where that is not what was written. `bytes` without the end of the line. */
function contentOf(bytes: Buffer): string | undefined {
  const body = bytes.subarray(CRC_CHARS + 1)
  return bytes.toString('latin1', 0, CRC_CHARS + 1) === `${hex(crc32(body))} ` ? body.toString() : undefined
}

/**
 * @throws STATE_UNWRITABLE where the directory or the file cannot be used, ADDRESS_IN_USE where another daemon does
 */
export function openKeptFile(options: KeptFileOptions): KeptFile {
  const { directory, lock, durability, monotonicMs, after, makeRoom = NO_ROOM } = options
  const { name = NAME, what: kind = 'executions' } = options
  const path = join(directory, name)
  const newPath = `${path}.new`
  let lockDescriptor: number
  let descriptor: number
  try {
    makeDirectories(directory, 0o700)
    lockDescriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
    // What a crash has left half written was never in the place of the other one.
    rmSync(newPath, { force: true })
    descriptor = openLines(path)
  } catch (cause) {
    throw unwritable('cannot be opened', cause)
  }
  if (!lock(lockDescriptor)) {
    closeSync(lockDescriptor)
    closeSync(descriptor)
    throw new SassError(
      'ADDRESS_IN_USE',
      `Another daemon keeps its ${kind} in ${directory}, and two would start a command twice; stop that one, or give this one its own state_directory.`,
      { path },
    )
  }
  let sizeBytes = fstatSync(descriptor).size
  let broken: string | undefined
  let isDirty = false
  let isSyncDue = false
  let isClosed = false
  /** Since when the disk is being asked to keep something; undefined: it is not. */
  let askedAtMs: number | undefined
  let lastSyncMs = 0
  /** Of the file that is being written anew; whoever finds another one has been overtaken. */
  let renewal: object | undefined
  /** Descriptors that a system call may still be using. */
  const retired: number[] = []
  let waiting: ((problem?: Error) => void)[] = []

  function unwritable(what: string, cause: unknown): SassError {
    return new SassError(
      'STATE_UNWRITABLE',
      `The file of ${kind} ${path} ${what}, since ${whyFailed(cause)}, so nothing was done; make room on its disk, or look whether that can be written at all.`,
      { path },
      cause,
    )
  }

  function notKept(): SassError {
    return new SassError(
      'STATE_UNWRITABLE',
      `The disk does not keep what is written to ${path}, since ${broken ?? 'it is closed'}, so nothing more is done; look at the disk and restart the daemon.`,
      { path },
    )
  }

  function append(text: string): number {
    if (broken !== undefined || isClosed) throw notKept()
    const bytes = Buffer.from(text)
    try {
      withRoom(makeRoom, () => put(bytes))
    } catch (cause) {
      throw unwritable('cannot be written', cause)
    }
    sizeBytes += bytes.length
    isDirty = true
    if (durability !== 'never') syncSoon()
    return bytes.length
  }

  function put(bytes: Uint8Array): void {
    try {
      writeAll(descriptor, bytes)
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

  /** Lines that come together are made to last together. */
  function syncSoon(): void {
    if (isSyncDue) return
    isSyncDue = true
    after(AUDIT_SYNC_MS, () => {
      isSyncDue = false
      if (isDirty) sync()
    })
  }

  /** Asks the disk by that call; one at a time. */
  function ask(call: typeof fdatasync, of: number, done: (problem: string | undefined) => void): void {
    const began = monotonicMs()
    askedAtMs = began
    call(of, (error) => {
      askedAtMs = undefined
      lastSyncMs = monotonicMs() - began
      for (const old of retired.splice(0)) closeSync(old)
      if (isClosed) return closeSync(descriptor)
      done(error === null ? undefined : whyFailed(error))
      // What came meanwhile.
      if (waiting.length > 0 || (isDirty && !isSyncDue && durability !== 'never')) sync()
    })
  }

  function sync(): void {
    if (isClosed || askedAtMs !== undefined || renewal !== undefined) return
    const these = waiting
    waiting = []
    const answer = (problem: string | undefined) => {
      broken ??= problem
      for (const done of these) done(broken === undefined ? undefined : notKept())
    }
    if (broken !== undefined || !isDirty) return answer(undefined)
    isDirty = false
    ask(fdatasync, descriptor, answer)
  }

  /** The lines at these places, one after the other, and where each stands there. */
  function copyTo(target: number, places: Iterable<LinePlace>): Map<LinePlace, number> {
    const moved = new Map<LinePlace, number>()
    const all = readAt(descriptor, sizeBytes, 0)
    const lines: Buffer[] = []
    let at = 0
    for (const place of [...places].sort((a, b) => a.at - b.at)) {
      lines.push(all.subarray(place.at, place.at + place.bytes))
      moved.set(place, at)
      at += place.bytes
    }
    writeAll(target, Buffer.concat(lines, at))
    return moved
  }

  /** What was appended since is added; then it takes the place of the file. */
  function putInPlace(
    target: number,
    moved: Map<LinePlace, number>,
    until: number,
    places: Iterable<LinePlace>,
  ): void {
    const base = fstatSync(target).size
    try {
      if (sizeBytes > until) {
        writeAll(target, readAt(descriptor, sizeBytes - until, until))
        fdatasyncSync(target)
      }
      renameSync(newPath, path)
    } catch (cause) {
      closeSync(target)
      throw cause
    }
    isDirty = false
    for (const place of places) place.at = moved.get(place) ?? place.at - until + base
    sizeBytes += base - until
    retire(descriptor)
    descriptor = target
    syncDirectory(directory)
  }

  function retire(old: number): void {
    if (askedAtMs === undefined) closeSync(old)
    else retired.push(old)
  }

  function openNew(): number {
    rmSync(newPath, { force: true })
    return openLines(newPath, constants.O_EXCL)
  }

  type Copied = { readonly target: number; readonly moved: Map<LinePlace, number> }

  /** The other file, with what is wanted of this one; undefined where there is no room for it. */
  function copy(places: () => Iterable<LinePlace>, room: MakeRoom): Copied | undefined {
    try {
      return withRoom(room, () => {
        const target = openNew()
        try {
          return { target, moved: copyTo(target, places()) }
        } catch (cause) {
          closeSync(target)
          throw cause
        }
      })
    } catch {
      return undefined
    }
  }

  const disk: DiskHealth = {
    get syncMs() {
      return Math.max(lastSyncMs, askedAtMs === undefined ? 0 : monotonicMs() - askedAtMs)
    },
    get isSyncing() {
      return askedAtMs !== undefined
    },
    get failure() {
      return broken === undefined ? undefined : notKept().message
    },
    probe() {
      if (askedAtMs === undefined && renewal === undefined && broken === undefined && !isClosed)
        ask(fsync, descriptor, () => {})
    },
  }

  return {
    read(take) {
      const from = Math.max(0, sizeBytes - KEPT_FILE_BYTES)
      const all = readAt(descriptor, sizeBytes - from, from)
      const end = all.lastIndexOf(NEWLINE) + 1
      // It was never acted upon.
      if (end < all.length) {
        ftruncateSync(descriptor, from + end)
        sizeBytes = from + end
      }
      let damaged = from > 0 ? 1 : 0
      // Of a file that is too long for one of ours, the first line that is whole in what is read.
      for (let at = from > 0 ? all.indexOf(NEWLINE) + 1 : 0; at < end; ) {
        const next = all.indexOf(NEWLINE, at) + 1
        const line = next - at > 1 ? contentOf(all.subarray(at, next - 1)) : ''
        if (line === undefined) damaged++
        else if (line !== '') take(line, { at: from + at, bytes: next - at })
        at = next
      }
      return damaged
    },
    append(line) {
      const at = sizeBytes
      return { at, bytes: append(`${hex(crc32(line))} ${line}\n`) }
    },
    line({ at, bytes }) {
      const content = contentOf(readAt(descriptor, bytes - 1, at))
      if (content === undefined) throw unwritable('is not what was written', new Error('damaged'))
      return content
    },
    get sizeBytes() {
      return sizeBytes
    },
    keepOnly(places) {
      if (broken !== undefined || isClosed) throw notKept()
      renewal = undefined
      const copied = copy(places, makeRoom)
      let old: number | undefined
      try {
        const bytes = sizeBytes
        // Not in append mode.
        old = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW)
        if (copied === undefined) throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
        fdatasyncSync(copied.target)
        putInPlace(copied.target, copied.moved, sizeBytes, places())
        overwrite(old, bytes)
      } catch (cause) {
        throw unwritable('cannot be written anew', cause)
      } finally {
        if (old !== undefined) closeSync(old)
      }
    },
    keepOnlySoon(places) {
      if (renewal !== undefined || askedAtMs !== undefined || broken !== undefined || isClosed) return
      const until = sizeBytes
      // Nobody waits for it: no room is given up for that.
      const copied = copy(places, NO_ROOM)
      // A file that is too long is no harm; it is tried again.
      if (copied === undefined) return
      const { target, moved } = copied
      const own = {}
      renewal = own
      ask(fsync, target, (problem) => {
        const isOvertaken = renewal !== own
        if (!isOvertaken) renewal = undefined
        try {
          if (isOvertaken || problem !== undefined) return closeSync(target)
          putInPlace(target, moved, until, places())
        } catch {
          // As above: what is in the file holds.
        }
      })
    },
    ...(durability === 'always'
      ? {
          whenKept(done: (problem?: Error) => void) {
            waiting.push(done)
            queueMicrotask(sync)
          },
        }
      : {}),
    disk,
    // An empty line, which says nothing.
    tryIt: () => void append('\n'),
    close() {
      isClosed = true
      try {
        if (isDirty) fdatasyncSync(descriptor)
      } finally {
        for (const done of waiting.splice(0)) done(notKept())
        if (askedAtMs === undefined) closeSync(descriptor)
        closeSync(lockDescriptor)
      }
    },
  }
}
