/**
 * The bounds of each process that is started, and of what the kernel counts by user and not by session: signals that
 * wait, bytes in message queues, locked memory. Commands get half of what the daemon's user may have, so that the other
 * half stays the device's whatever all sessions hold together.
 * Instances of inotify have no limit of a process. In a user namespace of the daemon's own they have one of the
 * namespace, which is set to half of the device's; as root sessions and device share the count of their user.
 * Sources: getrlimit(2), core(5) and fs/coredump.c, namespaces(7) (/proc/sys/user), inotify(7).
 * @module
 */
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import {
  COMMAND_LOCKED_BYTES,
  COMMAND_PENDING_SIGNALS,
  COMMAND_QUEUE_BYTES,
  FILE_BYTES_LEAST,
} from '../../limits.ts'
import { boundOf } from '../../sandbox/branch/store/bounds.ts'
import type { Syscalls } from '../../sandbox/kernel/syscalls.node.ts'
import type { Fence } from '../../sandbox/launcher/launcher-memory.ts'
import { nearestExisting } from '../setup/nearest-existing.node.ts'

/** asm-generic/resource.h */
const RLIMIT_FSIZE = 1
const RLIMIT_CORE = 4
const RLIMIT_NPROC = 6
const RLIMIT_NOFILE = 7
const RLIMIT_MEMLOCK = 8
const RLIMIT_SIGPENDING = 11
const RLIMIT_MSGQUEUE = 12
/** fs/coredump.c: with 0 a dump is still piped to the program that kernel.core_pattern names; with 1 it is not. */
const NO_CORE = 1
const SHARED_BY_USER: readonly (readonly [resource: number, most: number])[] = [
  [RLIMIT_MEMLOCK, COMMAND_LOCKED_BYTES],
  [RLIMIT_SIGPENDING, COMMAND_PENDING_SIGNALS],
  [RLIMIT_MSGQUEUE, COMMAND_QUEUE_BYTES],
]
const INOTIFY: readonly (readonly [ofDevice: string, ofNamespace: string])[] = [
  ['/proc/sys/fs/inotify/max_user_instances', '/proc/sys/user/max_inotify_instances'],
  ['/proc/sys/fs/inotify/max_user_watches', '/proc/sys/user/max_inotify_watches'],
]

function ownLimit({ byNumber }: Syscalls, resource: number): number {
  const pair = new BigUint64Array(2)
  return byNumber('prlimit64', 0, resource, 0, pair) < 0 ? 0 : Number(pair[0] ?? 0n)
}

/**
 * No file is larger than a branch may be, as far as that is known when the thread that starts programs is made. On a
 * full disk that says nothing of what lies in memory.
 */
function fileBytes({ sandbox: { limits }, state_directory }: Config): number {
  const { bavail, bsize } = statfsSync(nearestExisting(state_directory))
  const bound = limits.branch_bytes ?? Math.max(FILE_BYTES_LEAST, boundOf(null, 0, bavail * bsize))
  return Math.min(limits.file_bytes ?? Number.MAX_SAFE_INTEGER, bound)
}

/** The number of processes only where the user is nobody else's and not root, whom it does not bind. */
export function processLimits(config: Config, syscalls: Syscalls): Fence['limits'] {
  const { limits } = config.sandbox
  const pairs: [number, number][] = [[RLIMIT_CORE, NO_CORE]]
  for (const [resource, most] of SHARED_BY_USER)
    pairs.push([resource, Math.min(most, Math.floor(ownLimit(syscalls, resource) / 2))])
  if (limits.open_files !== null) pairs.push([RLIMIT_NOFILE, limits.open_files])
  pairs.push([RLIMIT_FSIZE, fileBytes(config)])
  if (process.geteuid?.() !== 0) pairs.push([RLIMIT_NPROC, limits.processes])
  return pairs
}

/** True in a user namespace that has one user: it was made for this daemon. */
function isNamespaceOurs(): boolean {
  return /^\s*\d+\s+\d+\s+1\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1'))
}

/** For the namespace of this process, where it is its own; does nothing elsewhere, nor where a kernel has no such bound. */
export function boundUserCounts(): void {
  try {
    if (!isNamespaceOurs()) return
    for (const [ofDevice, ofNamespace] of INOTIFY) {
      const most = Math.floor(Number(readFileSync(ofDevice, 'latin1')) / 2)
      if (most > 0) writeFileSync(ofNamespace, String(most))
    }
  } catch {
    // Built without: then the count is the user's alone, as for root.
  }
}
