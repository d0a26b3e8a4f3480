/**
 * The shared memory between the daemon's main thread and its launcher thread: counters, then a ring of requests.
 * The main thread fills a slot and counts SUBMITTED up; the launcher answers in the same slot and counts
 * COMPLETED up; each side sleeps on the other's counter. A slot is free again when its answer has been taken.
 * @module
 */

/** First part, 32-bit words. */
export const CONTROL_SUBMITTED = 0
export const CONTROL_COMPLETED = 1
/** Not 0: the launcher ends at the next SUBMITTED. */
export const CONTROL_CLOSING = 2
/** As COMPLETED, of those whose programs are bounded as well. */
export const CONTROL_BOUNDED = 3
/** A cache line of its own. */
export const CONTROL_BYTES = 64

/** Requests that may wait; a power of two, so that the counters may wrap. Far above what may run at once. */
export const LAUNCH_SLOTS = 256
export const SLOT_BYTES = 128
/** The words of a slot. */
export const SLOT = Object.freeze({
  /** Addresses of NUL-terminated strings and of NULL-terminated lists of them, 64-bit words of a slot. */
  file: 0,
  argv: 1,
  environment: 2,
  cwd: 3,
  /** Path of the terminal's slave side, or 0 for descriptors. */
  terminal: 4,
  /** Descriptors, 32-bit words of a slot; stdin -1 is /dev/null. */
  stdin: 10,
  stdout: 11,
  stderr: 12,
  /** The answer, 32-bit words of a slot: errno 0 with a pid, or the errno of posix_spawn with -1. */
  pid: 13,
  errno: 14,
  /** The same number: the same working directory as before. */
  cwdNumber: 15,
  /** Which namespaces, HOME for those of the daemon; and their descriptors, -1 for the daemon's own. */
  namespaces: 16,
  mountNamespace: 17,
  pidNamespace: 18,
  ipcNamespace: 19,
  networkNamespace: 20,
  /** The user and group to become, -1 for who the daemon is. */
  user: 21,
  group: 22,
  /**
   * KEEPS_PROGRAM: the file is a descriptor of this process, which must stay open until it is the program. Above 2: this
   * descriptor is the program's fourth.
   */
  keepsDescriptors: 23,
  /** The first process of those namespaces, as a number of the device; -1 at home. */
  init: 27,
  /** The directory of a group that is entered, and how many processes it may have (-1: any number); -1 for none. */
  groupDirectory: 28,
  groupProcesses: 29,
} as const)
/** Address words at the head of a slot. */
export const SLOT_ADDRESSES = 5
export const KEEPS_PROGRAM = 1
/** The number that the fourth descriptor has in the program. */
export const FOURTH_DESCRIPTOR = 3
/** Descriptors of lists, -1 for none: those that the thread enters to start the program, in the order of its homes. */
export const SLOT_ENTERED: readonly number[] = [24, 25]
/** And the one that the number of the program is written to. */
export const SLOT_JOINED = 26
/** What `namespaces` of a slot says for the daemon's own namespaces. */
export const HOME_NAMESPACES = 0
export const LAUNCH_MEMORY_BYTES = CONTROL_BYTES + LAUNCH_SLOTS * SLOT_BYTES

/**
 * What a thread gives away beside the rest: much for confined programs (confined-spawner.node.ts), little for commands
 * that have a branch around them (shield.node.ts).
 */
export interface Fence {
  /** A Landlock ruleset; undefined: this kernel has none that would be of use. */
  readonly rulesetDescriptor: number | undefined
  /** An array of `struct sock_filter`. */
  readonly filter: Uint8Array
  /** What a mount namespace of the thread's own covers up; undefined makes no namespace. */
  readonly covers: readonly { readonly path: string; readonly isDirectory: boolean }[] | undefined
  /** The user and group to become, for ever; undefined stays who it is. */
  readonly userId: number | undefined
  /** What each program gets right after its start, `[RLIMIT_*, value]`. */
  readonly limits: readonly (readonly [resource: number, value: number])[]
  /** The filter lets the limits of another process be set by whom tells it this: 64 bits, signed. */
  readonly limitsSecret: bigint
}

/** How programs come into the control groups of their session (control-groups.node.ts). */
export interface GroupStart {
  /** Lists of threads, of version 1: where the thread is while it starts nothing, those of what it enters first. */
  readonly homes: readonly number[]
  /** The directory of the daemon's own group of version 2, where programs begin; -1: there is none. */
  readonly nursery: number
}

export const NO_GROUPS: GroupStart = Object.freeze({ homes: Object.freeze([]), nursery: -1 })

/** What the thread is started with. */
export interface LauncherStart {
  readonly memory: SharedArrayBuffer
  /** A byte comes here for each request. */
  readonly wakeDescriptor: number
  /** Linux numbers of the capabilities that commands may keep; undefined leaves the bounding set as it is. */
  readonly keepCapabilities: readonly number[] | undefined
  readonly groups: GroupStart
  /** Undefined: programs may do what the daemon's user may. */
  readonly fence: Fence | undefined
}

/** What the thread says before it goes to sleep for the first time. */
export type LauncherReport =
  /** With the number of the thread. */
  | { readonly kind: 'ready'; readonly thread: number }
  | { readonly kind: 'refused'; readonly step: string; readonly errno: number }
  | { readonly kind: 'unsuitable'; readonly message: string }
