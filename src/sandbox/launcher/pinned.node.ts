/**
 * Programs that may run only with one content: the digest of the very file that was found, and a spawner that runs
 * exactly those bytes. What was digested is remembered by inode, size and the time of its last change, which only the
 * kernel sets; before a start the file is opened and compared with that once more. Where no command can write, neither
 * the file nor what leads to it, the file itself is run. Anywhere else a sealed copy is, digested while it is made: a
 * file can be changed without its time, through a mapping, and between any look and the start. An interpreter gets the
 * copy of a script as `/proc/self/fd/3`.
 * Rules: docs/security.md (pinned programs).
 * @module
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { SassError } from '../../errors.ts'
import type { ChildEvents, Spawner, SpawnPlan } from '../../ports.ts'
import {
  type At,
  createAt,
  O_PATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
} from '../kernel/at.node.ts'
import { openRegular } from '../kernel/regular-file.node.ts'
import { createSealedCopies } from '../kernel/sealed-copy.node.ts'
import type { Syscalls } from '../kernel/syscalls.node.ts'
import { PINNED_FILE_BYTES } from '../limits.ts'
import { FOURTH_DESCRIPTOR } from './launcher-memory.ts'

type Identity = {
  readonly device: string
  readonly inode: string
  readonly size: string
  readonly changedNs: string
}
export type PinnedFile = Identity & { readonly sha256: string }

const READ_BYTES = 1_048_576
/** Digests that are remembered; a device pins a few dozen programs. */
const REMEMBERED = 256

/** Opens a file to be read, by its path where the program will run. @throws where it cannot be */
export type OpenFile = (path: string) => number

/** Opens by O_PATH, then what that is, if it is a file: nothing else is touched. */
function opened(path: string, pathDescriptor: number): number {
  try {
    const descriptor = openRegular(pathDescriptor)
    if (descriptor === undefined) throw new Error(`${path} is no file that holds bytes`)
    return descriptor
  } finally {
    closeSync(pathDescriptor)
  }
}

const openFile: OpenFile = (path) => opened(path, openSync(path, O_PATH))

/** For paths as they are seen from an O_PATH descriptor of a `/`. */
export function openBeneath(at: At, rootDescriptor: number): OpenFile {
  return (path) => {
    const found = at.openPath(
      rootDescriptor,
      Buffer.from(path),
      O_PATH,
      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    )
    if (found < 0) throw new Error(`openat2: errno ${-found}`)
    return opened(path, found)
  }
}

function identify(descriptor: number): Identity | undefined {
  const status = fstatSync(descriptor, { bigint: true })
  if (!status.isFile() || status.size > BigInt(PINNED_FILE_BYTES)) return undefined
  return {
    device: String(status.dev),
    inode: String(status.ino),
    size: String(status.size),
    changedNs: String(status.ctimeNs),
  }
}

function isSame(a: Identity, b: Identity): boolean {
  return a.device === b.device && a.inode === b.inode && a.size === b.size && a.changedNs === b.changedNs
}

function digest(descriptor: number): string {
  const hash = createHash('sha256')
  const buffer = new Uint8Array(READ_BYTES)
  for (let at = 0; ; ) {
    const count = readSync(descriptor, buffer, 0, buffer.length, at)
    if (count === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, count))
    at += count
  }
}

/** The digest of the file at a path, remembered until the file changes; undefined where it cannot be read. */
export type PinLook = (path: string) => PinnedFile | undefined

export function createPinLook(open: OpenFile = openFile): PinLook {
  const remembered = new Map<string, PinnedFile>()
  return (path) => {
    let descriptor: number | undefined
    try {
      descriptor = open(path)
      const before = identify(descriptor)
      if (before === undefined) return undefined
      const known = remembered.get(path)
      if (known !== undefined && isSame(known, before)) return known
      const sha256 = digest(descriptor)
      const after = identify(descriptor)
      // It changed while it was read: whatever the digest says, it says it of no file that ever was.
      if (after === undefined || !isSame(before, after)) return undefined
      if (remembered.size >= REMEMBERED) remembered.clear()
      const found = { ...before, sha256 }
      remembered.set(path, found)
      return found
    } catch {
      return undefined
    } finally {
      if (descriptor !== undefined) closeSync(descriptor)
    }
  }
}

function changed(path: string, cause?: unknown): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${path} is pinned and has changed since it was checked, so it was not started; look at the file.`,
    { path },
    cause,
  )
}

function full(path: string): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${path} is pinned and lies where commands can write, so that a copy of it is run, and there is no room for one more copy; try again when others have ended, or move it where commands cannot write.`,
    { path },
  )
}

function isScript(descriptor: number): boolean {
  const head = new Uint8Array(2)
  return readSync(descriptor, head, 0, 2, 0) === 2 && head[0] === 0x23 && head[1] === 0x21
}

/** struct statfs of 64-bit machines: the flags of the mount; statfs(2), ST_RDONLY. */
const STATFS_BYTES = 120
const STATFS_FLAGS_AT = 80
const ST_RDONLY = 1n

/** Whether a path without links, and all that leads to it, lies in mounts that nobody beneath that root can write to. */
function createIsFixed(at: At, { byNumber }: Syscalls) {
  const status = Buffer.from(new ArrayBuffer(STATFS_BYTES))
  const isReadOnly = (rootDescriptor: number, path: string): boolean => {
    const flags = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
    const descriptor = at.openPath(rootDescriptor, Buffer.from(path), O_PATH, flags)
    if (descriptor < 0) return false
    const result = byNumber('fstatfs', descriptor, status)
    at.close(descriptor)
    return result === 0 && (status.readBigUInt64LE(STATFS_FLAGS_AT) & ST_RDONLY) !== 0n
  }
  return (rootDescriptor: number, path: string): boolean => {
    const parts = path.split('/').slice(1)
    return parts.every((_, index) => isReadOnly(rootDescriptor, `/${parts.slice(0, index + 1).join('/')}`))
  }
}

/** What a plan becomes, and what is given back when it has begun and when it has ended. */
type Pinned = { readonly plan: Partial<SpawnPlan>; readonly descriptor: number; readonly forget: () => void }

/** Runs pinned plans as what was looked at; every other one as it is. */
export function withPins(spawner: Spawner, syscalls: Syscalls): Spawner {
  const at = createAt(syscalls)
  const isFixed = createIsFixed(at, syscalls)
  const copies = createSealedCopies(syscalls)

  /** The file itself. A script is found by its interpreter at its path, where it will still be. */
  function itself(file: string, descriptor: number): Pinned {
    const isDescriptor = !isScript(descriptor)
    const plan = { isDescriptor, file: isDescriptor ? `/proc/self/fd/${descriptor}` : file }
    return { plan, descriptor, forget() {} }
  }

  function copied(file: string, source: number, sha256: string): Pinned {
    const copy = copies.make(source)
    if (copy === 'full') throw full(file)
    if (copy === 'changed') throw changed(file)
    const { descriptor, forget, isScript } = copy
    if (copy.sha256 === sha256) {
      const plan = isScript
        ? { fourthDescriptor: descriptor, file: `/proc/self/fd/${FOURTH_DESCRIPTOR}` }
        : { isDescriptor: true, file: `/proc/self/fd/${descriptor}` }
      return { plan, descriptor, forget }
    }
    closeSync(descriptor)
    forget()
    throw changed(file)
  }

  function open(file: string, rootDescriptor: number | undefined): number {
    try {
      return (rootDescriptor === undefined ? openFile : openBeneath(at, rootDescriptor))(file)
    } catch (cause) {
      throw changed(file, cause)
    }
  }

  function prepare({ file, rootDescriptor }: SpawnPlan, pinned: PinnedFile): Pinned {
    const fixed = rootDescriptor !== undefined && isFixed(rootDescriptor, file)
    const source = open(file, rootDescriptor)
    let isKept = false
    try {
      const now = identify(source)
      if (now === undefined || !isSame(now, pinned)) throw changed(file)
      if (!fixed) return copied(file, source, pinned.sha256)
      isKept = true
      return itself(file, source)
    } finally {
      if (!isKept) closeSync(source)
    }
  }

  return {
    spawn(plan: SpawnPlan, events) {
      if (plan.pinned === undefined) return spawner.spawn(plan, events)
      const { plan: change, descriptor, forget } = prepare(plan, plan.pinned)
      try {
        return spawner.spawn(
          { ...plan, ...change },
          tidying(events, () => closeSync(descriptor), forget),
        )
      } catch (cause) {
        closeSync(descriptor)
        forget()
        throw cause
      }
    },
  }
}

/** The same events, and what is to be done when it has begun, or will not, and when it has ended. */
function tidying(events: ChildEvents, begun: () => void, ended: () => void): ChildEvents {
  return {
    ...events,
    spawned(pid) {
      begun()
      events.spawned(pid)
    },
    failed(errno) {
      begun()
      ended()
      events.failed(errno)
    },
    exited(status) {
      ended()
      events.exited(status)
    },
  }
}
