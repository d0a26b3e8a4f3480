/**
 * The capabilities of the calling thread, as far as several places have to ask for them.
 * Source: capabilities(7), capget(2), linux/capability.h.
 * @module
 */

import type { Syscalls } from './syscalls.node.ts'

/** Version 3: two halves of (effective, permitted, inheritable). */
export const CAPABILITY_VERSION_3 = 0x2008_0522
export const CAP_KILL = 5
export const CAP_SYS_ADMIN = 21
export const CAPABILITY_DATA_WORDS = 6

/** Tells of each of the first 32 whether this thread may use it; of none where the kernel does not say. */
export function effectiveCapabilities(syscalls: Syscalls): (capability: number) => boolean {
  const data = new Uint32Array(CAPABILITY_DATA_WORDS)
  syscalls.byNumber('capget', Uint32Array.of(CAPABILITY_VERSION_3, 0), data)
  return (capability) => ((data[0] ?? 0) & (1 << capability)) !== 0
}
