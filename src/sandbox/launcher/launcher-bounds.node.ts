/**
 * What bounds a program: limits of its own, and the control groups of its session.
 * Of version 1 the thread enters the groups by itself and starts the program there, so that it has never been anywhere
 * else; a thread that moves itself waits for nobody, where moving another one waits for a grace period of the kernel
 * (cgroup_procs_write_start, cgroup_threadgroup_rwsem). Of version 2 a program begins in the daemon's own group and is
 * moved: whatever it has forked by then began there too, and is found there, since nobody leaves that place but by this
 * hand. Its start is told before that, and nobody waits for it before it is done, so its number is still its own.
 * Limits come after the start as well, as the daemon's own are not these: what was forked before is found in the groups,
 * and what was about to be, in that very moment, at a second look.
 * Without control groups its descendants are looked for, orphans among the children of the session's first process, again
 * and again for two seconds, since there is no list of them all.
 * Also part of the CommonJS text of the thread.
 * Sources: prlimit(2), cgroups(7), proc(5).
 * @module
 */

import { ERRNO, O_CLOEXEC, type Syscalls } from '../kernel/syscalls.node.ts'
import {
  LAST_LOOK_MS,
  LOOKS_FACTOR,
  SECOND_LOOK_MS,
  STARTING_FREE_ROUNDS,
  STARTING_ROUNDS,
} from '../limits.ts'
import {
  type Fence,
  type GroupStart,
  HOME_NAMESPACES,
  SLOT,
  SLOT_ENTERED,
  SLOT_JOINED,
} from './launcher-memory.ts'
import { become, comeBack } from './launcher-places.node.ts'

const O_WRONLY = 1
const O_PATH = 0o10000000
/** Numbers of processes that are read at once. */
const LIST_BYTES = 4_096
const LINK_BYTES = 64
/** Of /proc/PID/stat, counted behind the name. */
const STARTTIME = 19
const PROCESSES = Buffer.from('cgroup.procs\0')
const MOST_PROCESSES = Buffer.from('pids.max\0')
/** Of a list of threads: the one that writes. */
const MYSELF = Buffer.from('0')

/** Who a program is, by number; -1: who this thread is. */
type User = { readonly user: number; readonly group: number }

export interface LauncherBounds {
  /** What this thread starts from now on is counted as the request at `base` says; 0 or the errno. */
  enter(words: Int32Array, base: number): number
  leave(): void
  /**
   * Puts its limits on the program of the request at `base`. What is left to be done takes longer, and no word of the
   * request, whose place may soon be another one's: it is done when the start has been told.
   */
  begin(words: Int32Array, base: number, pid: number): () => void
  /**
   * Looks again at who was started, once it is time: a fork takes its limits from its parent before anybody sees it
   * (kernel/fork.c, copy_signal), so that the first look can miss it. @returns milliseconds until the next one; -1: none
   */
  lookAgain(): number
}

/** A session that is looked at again; each start there is a look at those before it as well. */
type Started = {
  readonly look: () => void
  readonly dueMs: number
  /** How long after this look the next one comes; undefined: it is the last. */
  readonly nextMs: number | undefined
  /** Without groups: whose descendants are looked for, by when they began. */
  readonly roots?: Map<number, string> | undefined
}

/** `self`: the number of this process. */
export function createLauncherBounds(
  syscalls: Syscalls,
  fence: Fence | undefined,
  { homes, nursery }: GroupStart,
  self: number,
): LauncherBounds {
  const { libc, byNumber, checked } = syscalls
  const limits = (fence?.limits ?? []).map(([resource, value]) => ({
    resource,
    value: BigInt(value),
    pair: BigUint64Array.of(BigInt(value), BigInt(value)),
  }))
  const limitsSecret = fence?.limitsSecret ?? 0n
  const had = new BigUint64Array(2)
  const less = new BigUint64Array(2)
  // This thread goes where /proc is that of a session: the numbers here are those of the device.
  const proc = checked(libc.open('/proc', O_PATH | O_CLOEXEC, 0))
  const list = Buffer.from(new ArrayBuffer(LIST_BYTES))
  const link = Buffer.from(new ArrayBuffer(LINK_BYTES))
  let lastPlace = HOME_NAMESPACES
  let isAway = homes.length > 0
  /**
   * By the directory of their groups, or the number of their first process: a directory that is another's by then lists
   * nobody, or who is bounded the same.
   */
  const started = new Map<string, Started>()

  /** False: it has them already, or less, which is its own affair. Whoever has ended may have forked before. */
  function limitLate(pid: number): boolean {
    let isLate = false
    for (const { resource, value } of limits) {
      const result = byNumber('prlimit64', pid, resource, 0, had, limitsSecret)
      if (result !== 0) return result === -ERRNO.ESRCH
      const [soft = 0n, hard = 0n] = had
      if (hard <= value) continue
      less.fill(value)
      // What it has taken from itself stays taken.
      if (soft < value) less[0] = soft
      if (byNumber('prlimit64', pid, resource, less, 0, limitsSecret) === 0) isLate = true
    }
    return isLate
  }

  /** As who the program is: root without CAP_SYS_RESOURCE, as in some containers, may not bound anybody else's. */
  function asUser<T>({ user, group }: User, act: () => T): T {
    // No longer than for that: who has its number may be where its user's signals reach this thread.
    if (user < 0 || limits.length === 0) return act()
    become(syscalls, user, group)
    try {
      return act()
    } finally {
      comeBack(syscalls)
    }
  }

  function limit(pid: number, user: User): void {
    asUser(user, () => {
      for (const { resource, pair } of limits) byNumber('prlimit64', pid, resource, pair, 0, limitsSecret)
    })
  }

  function join(descriptor: number, pid: number): void {
    const text = Buffer.from(String(pid))
    libc.write(descriptor, text, BigInt(text.length))
  }

  /** All numbers of a list that is read once and closed. */
  function numbersIn(descriptor: number): number[] {
    let text = ''
    for (;;) {
      const count = Number(libc.read(descriptor, list, BigInt(LIST_BYTES)))
      if (count <= 0) break
      text += list.toString('latin1', 0, count)
    }
    libc.close(descriptor)
    return text
      .split(/[\s]+/)
      .map(Number)
      .filter((one) => one > 0)
  }

  /** Opened each time: of version 1 a list that stays open is for a second what it was (cgroup-v1.c, pidlists). */
  function processesIn(directory: number): number[] {
    const descriptor = byNumber('openat', directory, PROCESSES, O_CLOEXEC, 0)
    return descriptor < 0 ? [] : numbersIn(descriptor).filter((one) => one !== self)
  }

  function mayHave(directory: number, processes: number): void {
    const descriptor = byNumber('openat', directory, MOST_PROCESSES, O_WRONLY | O_CLOEXEC, 0)
    if (descriptor < 0) return
    const text = Buffer.from(processes < 0 ? 'max' : String(processes))
    libc.write(descriptor, text, BigInt(text.length))
    libc.close(descriptor)
  }

  /**
   * Whoever forks on and on, each faster than it is found, is kept from it then. Not sooner: a script that begins many at
   * once would find that it cannot fork.
   */
  function limitAll(directory: number, processes: number, user: User): void {
    let round = 0
    for (; round < STARTING_ROUNDS; round++) {
      const found = processesIn(directory)
      if (asUser(user, () => found.filter(limitLate)).length === 0) break
      if (round === STARTING_FREE_ROUNDS) mayHave(directory, 0)
    }
    if (round > STARTING_FREE_ROUNDS) mayHave(directory, processes)
  }

  function namespaceOf(pid: number): string {
    const length = byNumber('readlinkat', proc, Buffer.from(`${pid}/ns/pid\0`), link, LINK_BYTES)
    return length > 0 ? link.toString('latin1', 0, length) : ''
  }

  /** Takes what began in the daemon's own group of version 2 to that of its session, with its limits first. */
  function takeOut(list: number, init: number, user: User): void {
    for (let round = 0; round < STARTING_ROUNDS; round++) {
      const others = processesIn(nursery)
      const namespace = others.length === 0 ? '' : namespaceOf(init)
      const found = namespace === '' ? [] : others.filter((one) => namespaceOf(one) === namespace)
      if (found.length === 0) return
      for (const one of found) {
        limit(one, user)
        join(list, one)
      }
    }
  }

  /** None where the kernel does not list them: then what forked in the first microseconds is not bounded. */
  function childrenOf(pid: number): number[] {
    const children = byNumber('openat', proc, Buffer.from(`${pid}/task/${pid}/children\0`), O_CLOEXEC, 0)
    return children < 0 ? [] : numbersIn(children)
  }

  /** @param roots the program, and who takes in what it leaves */
  function limitDescendants(roots: readonly number[], user: User): void {
    const seen = new Set<number>(roots)
    for (let round = 0; round < STARTING_ROUNDS; round++) {
      const fresh: number[] = []
      for (let looked = roots.flatMap(childrenOf); looked.length > 0; looked = looked.flatMap(childrenOf)) {
        looked = looked.filter((one) => !seen.has(one))
        for (const one of looked) seen.add(one)
        fresh.push(...looked)
      }
      if (fresh.length === 0) return
      asUser(user, () => fresh.filter(limitLate))
    }
  }

  function later(name: string, afterMs: number, start: Omit<Started, 'dueMs'>): void {
    started.set(name, { ...start, dueMs: performance.now() + afterMs })
  }

  /**
   * Without a group a look can miss who forks meanwhile, and whoever is missed once would never be bounded: it is done
   * again, each time later, so that whoever forks on and on is met sooner or later, and whoever stops is at the next.
   */
  function lookAtDescendants(pid: number, init: number, user: User): void {
    if (init <= 0) return
    const name = `init ${init}`
    // Those before it there as well: what they have forked is no orphan as long as they run.
    const roots = started.get(name)?.roots ?? new Map<number, string>()
    for (const root of [pid, init]) {
      const begun = begunOf(root)
      if (begun !== undefined) roots.set(root, begun)
    }
    const look = () => {
      // Their numbers may be those of others by now.
      for (const [root, begun] of roots) if (begunOf(root) !== begun) roots.delete(root)
      limitDescendants([...roots.keys()], user)
    }
    later(name, SECOND_LOOK_MS, { look, roots, nextMs: SECOND_LOOK_MS * LOOKS_FACTOR })
  }

  /** When a process began, in ticks: with its number, who it is. Undefined: it is gone. proc_pid_stat(5), starttime. */
  function begunOf(pid: number): string | undefined {
    const descriptor = byNumber('openat', proc, Buffer.from(`${pid}/stat\0`), O_CLOEXEC, 0)
    if (descriptor < 0) return undefined
    const count = Number(libc.read(descriptor, list, BigInt(LIST_BYTES)))
    libc.close(descriptor)
    const text = list.toString('latin1', 0, Math.max(0, count))
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[STARTTIME]
  }

  /** 0 or the errno. */
  const moveTo = (list: number): number => {
    const result = checked(Number(libc.write(list, MYSELF, 1n)))
    return result === 1 ? 0 : result < 0 ? -result : ERRNO.EIO
  }

  function leave(): void {
    if (!isAway) return
    isAway = homes.map(moveTo).some((errno) => errno !== 0)
  }

  return {
    enter(words, base) {
      leave()
      // Whoever could not come home is counted where nothing else may begin.
      if (isAway) return ERRNO.EBUSY
      for (const slot of SLOT_ENTERED) {
        const list = words[base + slot] ?? -1
        if (list < 0) continue
        isAway = true
        const errno = moveTo(list)
        if (errno === 0) continue
        leave()
        return errno
      }
      return 0
    },
    leave,
    begin(words, base, pid) {
      const init = words[base + SLOT.init] ?? -1
      const place = words[base + SLOT.namespaces] ?? HOME_NAMESPACES
      const directory = words[base + SLOT.groupDirectory] ?? -1
      const processes = words[base + SLOT.groupProcesses] ?? -1
      const joined = words[base + SLOT_JOINED] ?? -1
      const number = words[base + SLOT.user] ?? -1
      const user = { user: number, group: words[base + SLOT.group] ?? number }
      limit(pid, user)
      if (directory < 0 && (joined < 0 || nursery < 0)) {
        if (limits.length === 0) return () => {}
        limitDescendants(init > 0 ? [pid, init] : [pid], user)
        return () => lookAtDescendants(pid, init, user)
      }
      return () => {
        if (joined >= 0 && nursery >= 0) {
          join(joined, pid)
          // The first process of the session, so that nobody takes its groups for some that were left. It starts nothing.
          if (init > 0 && place !== lastPlace) join(joined, init)
          lastPlace = place
          takeOut(joined, init, user)
        }
        if (directory < 0 || limits.length === 0) return
        const look = () => limitAll(directory, processes, user)
        look()
        later(`${directory}`, SECOND_LOOK_MS, { look, nextMs: undefined })
      }
    },
    lookAgain() {
      let leastMs = Number.POSITIVE_INFINITY
      for (const [name, start] of [...started]) {
        const { look, dueMs, nextMs } = start
        const leftMs = dueMs - performance.now()
        if (leftMs > 0) leastMs = Math.min(leastMs, leftMs)
        else {
          started.delete(name)
          look()
          if (nextMs === undefined) continue
          const isLast = nextMs >= LAST_LOOK_MS
          later(name, nextMs, { ...start, nextMs: isLast ? undefined : nextMs * LOOKS_FACTOR })
          leastMs = Math.min(leastMs, nextMs)
        }
      }
      return leastMs === Number.POSITIVE_INFINITY ? -1 : Math.ceil(leastMs)
    },
  }
}
