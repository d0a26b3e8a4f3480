/**
 * Programs that may run only with one content: the digest of the very file that was found, and a spawner that runs
 * that very file. What was digested is remembered by inode, size and the time of its last change, which only the
 * kernel sets; before a start the file is opened, compared with that once more, and run through its descriptor.
 * A script cannot be run through a descriptor that closes on exec: it is run by its path, directly after the look.
 * Rules: docs/security.md (pinned programs).
 * @module
 */
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { SassError } from '../errors.ts'
import { PINNED_FILE_BYTES } from '../limits.ts'
import type { Spawner, SpawnPlan } from '../ports.ts'

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

export const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
const openFile: OpenFile = (path) => openSync(path, OPEN_FLAGS)

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

function changed(path: string): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${path} is pinned and has changed since it was checked, so it was not started; look at the file.`,
    { path },
  )
}

function isScript(descriptor: number): boolean {
  const head = new Uint8Array(2)
  return readSync(descriptor, head, 0, 2, 0) === 2 && head[0] === 0x23 && head[1] === 0x21
}

/** Runs pinned plans through the descriptor of the file that was looked at; every other one as it is. */
export function withPins(spawner: Spawner, openIn: (rootDescriptor: number) => OpenFile): Spawner {
  return {
    spawn(plan: SpawnPlan, events) {
      const { pinned } = plan
      if (pinned === undefined) return spawner.spawn(plan, events)
      const { rootDescriptor } = plan
      const descriptor = (rootDescriptor === undefined ? openFile : openIn(rootDescriptor))(plan.file)
      let isOpen = true
      const close = () => {
        if (isOpen) closeSync(descriptor)
        isOpen = false
      }
      try {
        const now = identify(descriptor)
        if (now === undefined || !isSame(now, pinned)) throw changed(plan.file)
        const isDescriptor = !isScript(descriptor)
        return spawner.spawn(
          { ...plan, isDescriptor, file: isDescriptor ? `/proc/self/fd/${descriptor}` : plan.file },
          {
            ...events,
            spawned(pid) {
              close()
              events.spawned(pid)
            },
            failed(errno) {
              close()
              events.failed(errno)
            },
          },
        )
      } catch (cause) {
        close()
        throw cause
      }
    },
  }
}
