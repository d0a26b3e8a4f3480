/**
 * What every program that this daemon starts begins with: a session and process group of its own, default dispositions
 * of all signals and an empty mask (Node ignores SIGPIPE, which an exec would keep).
 * Also part of the CommonJS text of the threads.
 * Source: posix_spawn(3), spawn.h of glibc.
 * @module
 */

import type { Syscalls } from '../kernel/syscalls.node.ts'

/** spawn.h of glibc */
const POSIX_SPAWN_SETSIGDEF = 0x04
const POSIX_SPAWN_SETSIGMASK = 0x08
const POSIX_SPAWN_SETSID = 0x80
/** sizeof is 336, 80 and 128 in glibc on both machines; more, because other C libraries may differ. */
const SPAWN_ATTRIBUTES_BYTES = 512
export const SPAWN_FILE_ACTIONS_BYTES = 256
const SIGNAL_SET_BYTES = 128

/** A `posix_spawnattr_t`, which holds nothing that would have to be given back. */
export function spawnAttributes({ libc }: Syscalls): Uint8Array {
  const attributes = new Uint8Array(new ArrayBuffer(SPAWN_ATTRIBUTES_BYTES))
  libc.posix_spawnattr_init(attributes)
  libc.posix_spawnattr_setflags(
    attributes,
    POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK,
  )
  libc.posix_spawnattr_setsigdefault(attributes, new Uint8Array(SIGNAL_SET_BYTES).fill(0xff))
  libc.posix_spawnattr_setsigmask(attributes, new Uint8Array(SIGNAL_SET_BYTES))
  return attributes
}
