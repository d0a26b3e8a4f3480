/**
 * Room that nobody else can take: a file in the state directory whose blocks are allocated. On a full disk it is given
 * back piece by piece to whoever must write all the same: the record, what is cleared away, a start. A piece is as much
 * as a few records need, so that a program that fills the disk at that moment finds little more than nothing. The last
 * quarter is kept for dropping and purging, which make room, and it is all made again when there is some.
 * Beside the blocks there are names (reserve-names.node.ts), for a disk that can have no further files.
 * Where the file system allocates nothing ahead (ZFS, compressed btrfs), there is less than it says, and the levels of
 * alarm (storage-guard.ts) are what is left.
 * Rules: docs/responses.md, section 7 (full disks); fallocate(2).
 * @module
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../base/attempt.ts'
import type { MakeRoom } from '../../base/room.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { createFileLock } from './file-lock.node.ts'
import { RESERVE_NAMES, RESERVE_PIECE_BYTES, RESERVE_SHARE } from './limits.ts'
import { openReserveNames } from './reserve-names.node.ts'

export type Reserve = {
  /** What it would hold with room enough. */
  readonly wholeBytes: number
  /** What it holds on the file system of that directory; 0 on any other. */
  heldFor(directory: string): number
  /** Gives back a piece where that directory is on the same file system, but none of the last quarter. */
  pieceFor(directory: string): MakeRoom
  /** Gives back as much as it takes for so many bytes to be free there, but none of the last quarter. */
  make(bytes: number): void
  /** The same, also of the last quarter: for what makes room. */
  clear(bytes: number): void
  /** Makes it whole again, where as much is free beside it. */
  tick(): void
  close(): void
}

const NAME = 'reserve'
const MODE = 0o600
const BLOCK_BYTES = 512
const LAST_SHARE = 1 / 4

/**
 * Opens it, and gives all of it back where the disk is full: a start has to write, and nobody runs yet who would take
 * it. Whoever starts lets it `tick` when that is done.
 * @param bytes what is wanted; never more than a part of the whole file system
 */
export function openReserve(directory: string, bytes: number): Reserve {
  const syscalls = loadSyscalls()
  const { blocks, bsize } = statfsSync(directory)
  const share = Math.floor((blocks * bsize) / RESERVE_SHARE)
  const wholeBytes = Math.floor(Math.min(bytes, share) / RESERVE_PIECE_BYTES) * RESERVE_PIECE_BYTES
  const device = statSync(directory).dev
  let held = 0
  const descriptor = open()
  // Who finds it taken runs beside a daemon, and leaves that one's alone.
  const names = descriptor === undefined || wholeBytes === 0 ? undefined : openReserveNames(directory)

  function open(): number | undefined {
    const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
    const path = join(directory, NAME)
    try {
      const file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, MODE)
      if (createFileLock()(file)) return file
      // A daemon that runs has it.
      closeSync(file)
      return undefined
    } catch {
      // A disk that has no room for a name, or takes nothing: the rest of the start says what that means.
      return undefined
    }
  }

  function freeBytes(): number {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  }

  function cutTo(size: number): boolean {
    if (descriptor === undefined) return false
    try {
      ftruncateSync(descriptor, size)
      held = size
      return true
    } catch {
      return false
    }
  }

  function give(keep: number): boolean {
    return held > keep && cutTo(Math.max(keep, held - RESERVE_PIECE_BYTES))
  }

  /** Of whatever is missing. `share` of it is kept. */
  function givePiece(share: number): boolean {
    return names?.isLow === true ? names.give(RESERVE_NAMES * share) : give(wholeBytes * share)
  }

  function allocate(file: number, size: number): boolean {
    return syscalls.byNumber('fallocate', file, 0, 0, size) === 0
  }

  /** Tried, where the file system says that there is none: some keep a part for root, and some for themselves. */
  function hasRoom(wanted: number): boolean {
    if (freeBytes() >= wanted) return true
    const isThere = descriptor !== undefined && allocate(descriptor, held + wanted)
    cutTo(held)
    return isThere
  }

  function makeRoom(wanted: number, share: number): void {
    if (names?.isLow === true) names.give(RESERVE_NAMES * share)
    const keep = wholeBytes * share
    while (held > keep && !hasRoom(wanted)) give(keep)
  }

  function fill(): void {
    names?.fill()
    if (descriptor === undefined || held >= wholeBytes) return
    if (freeBytes() < wholeBytes - held + wholeBytes) return
    if (allocate(descriptor, wholeBytes)) held = wholeBytes
    // What was allocated before it failed is given back.
    else cutTo(held)
  }

  function begin(): void {
    if (descriptor === undefined) return
    const { size, blocks: taken } = fstatSync(descriptor)
    // What was copied from somewhere else may have holes in the place of its blocks.
    held = taken * BLOCK_BYTES >= size ? size : 0
    if (held === 0 || held > wholeBytes || freeBytes() < wholeBytes) cutTo(0)
    fill()
  }
  begin()

  const isHere = (place: string): boolean => {
    return attempt(() => statSync(place).dev === device, false)
  }
  return {
    wholeBytes,
    heldFor: (place) => (held > 0 && isHere(place) ? held : 0),
    pieceFor: (place) => () => isHere(place) && givePiece(LAST_SHARE),
    make: (wanted) => makeRoom(wanted, LAST_SHARE),
    clear: (wanted) => makeRoom(wanted, 0),
    tick: fill,
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}
