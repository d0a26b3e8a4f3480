/**
 * What the keeper asks of the kernel: mounts, their attributes, and starting the one program of its own. Every step has
 * a name, which a refusal tells.
 * Sources: mount(2), mount_setattr(2), posix_spawn(3).
 * @module
 */

import { openSync } from 'node:fs'
import { bytesOfEscaped } from '../../base/text/escaped-path.ts'
import { O_PATH } from '../kernel/at.node.ts'
import {
  CLOSE_RANGE_CLOEXEC,
  ERRNO,
  LAST_DESCRIPTOR,
  O_CLOEXEC,
  type Syscalls,
} from '../kernel/syscalls.node.ts'
import { SPAWN_FILE_ACTIONS_BYTES, spawnAttributes } from '../launcher/spawn-attributes.node.ts'
import { MOUNT_BUSY_TRIES } from '../limits.ts'

/** sys/mount.h */
export const MS_RDONLY = 0x1
export const MS_NOSUID = 0x2
export const MS_NODEV = 0x4
export const MS_NOEXEC = 0x8
export const MS_BIND = 0x1000
export const MS_REC = 0x4000
export const MS_PRIVATE = 0x40000
/** linux/mount.h: struct mount_attr is attr_set, attr_clr, propagation, userns_fd. */
export const MOUNT_ATTR_RDONLY = 0x1n
export const MOUNT_ATTR_NOSUID = 0x2n
export const MOUNT_ATTR_NODEV = 0x4n
const MOUNT_ATTR_BYTES = 32
const AT_FDCWD = -100
const AT_RECURSIVE = 0x8000

export class Refused extends Error {
  readonly step: string
  readonly errno: number
  constructor(step: string, errno: number) {
    super(`${step}: errno ${errno}`)
    this.step = step
    this.errno = errno
  }
}

const text = (value: string): Uint8Array => bytesOfEscaped(`${value}\0`)

export type Kernel = {
  readonly syscalls: Syscalls
  /** Gives the result, or throws what the step was and its errno. */
  must(step: string, result: number): number
  mount(step: string, source: string, target: string, type: string, flags: number, options: string): void
  /** Sets attributes of a mount and clears others; of all beneath it as well where `isRecursive`. */
  change(target: string, set: bigint, clear: bigint, isRecursive?: boolean): void
  /** Runs a program here, with these descriptors for 0 and 1 and no other, and gives its pid. */
  spawn(file: string, argv: readonly string[], stdin: number, stdout: number): number
}

export function createKernel(syscalls: Syscalls, nullDescriptor: number): Kernel {
  const { libc, byNumber } = syscalls
  const must = (step: string, result: number): number => {
    if (result < 0) throw new Refused(step, -result)
    return result
  }
  const list = (words: readonly string[]): { block: BigUint64Array; kept: Uint8Array[] } => {
    const kept = words.map(text)
    const block = new BigUint64Array(new ArrayBuffer((words.length + 1) * 8))
    for (const [index, bytes] of kept.entries()) block[index] = syscalls.addressOf(bytes)
    return { block, kept }
  }
  return {
    syscalls,
    must,
    mount(step, source, target, type, flags, options) {
      must(step, byNumber('mount', text(source), text(target), text(type), flags, text(options)))
    },
    change(target, set, clear, isRecursive = false) {
      const attributes = new BigUint64Array(new ArrayBuffer(MOUNT_ATTR_BYTES))
      attributes[0] = set
      attributes[1] = clear
      const flags = isRecursive ? AT_RECURSIVE : 0
      const once = () =>
        byNumber('mount_setattr', AT_FDCWD, text(target), flags, attributes, MOUNT_ATTR_BYTES)
      let result = once()
      // Somebody may be about to write there in this very moment, as whoever opens a device does.
      for (let tries = 1; result === -ERRNO.EBUSY && tries < MOUNT_BUSY_TRIES; tries++) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
        result = once()
      }
      must(`mount_setattr(${target})`, result)
    },
    spawn(file, argv, stdin, stdout) {
      const actions = new Uint8Array(new ArrayBuffer(SPAWN_FILE_ACTIONS_BYTES))
      const attributes = spawnAttributes(syscalls)
      const pid = new Int32Array(new ArrayBuffer(4))
      libc.posix_spawn_file_actions_init(actions)
      libc.posix_spawn_file_actions_adddup2(actions, stdin, 0)
      libc.posix_spawn_file_actions_adddup2(actions, stdout, 1)
      libc.posix_spawn_file_actions_adddup2(actions, nullDescriptor, 2)
      // Closed by the exec and not before it: the program itself may be one of them.
      byNumber('close_range', 3, LAST_DESCRIPTOR, CLOSE_RANGE_CLOEXEC)
      const [path, words, environment] = [text(file), list(argv), list([])]
      const result = libc.posix_spawn(
        pid,
        syscalls.addressOf(path),
        actions,
        attributes,
        syscalls.addressOf(words.block),
        syscalls.addressOf(environment.block),
      )
      libc.posix_spawn_file_actions_destroy(actions)
      must(`posix_spawn(${file})`, -result)
      // Used here so that nothing of it is collected before the call.
      return words.kept.length > 0 && environment.kept.length >= 0 ? (pid[0] ?? -1) : -1
    },
  }
}

export function openPath(path: string): number {
  return openSync(path, O_PATH | O_CLOEXEC)
}
