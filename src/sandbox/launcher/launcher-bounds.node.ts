/**
 * What bounds a program, put on it as soon as it runs: limits of its own, and the control groups of its session. Both
 * belong to a process, and the daemon's own are not these, so that they come after the start. Whatever the program has
 * forked by then began where it did, and is found there: nobody leaves that place but by this hand, and whoever forks
 * on and on is kept from it until all are found. Without control groups its descendants are looked for, orphans among
 * the children of the session's first process.
 * Nobody waits for the program before that is done, so its number is still its own; its start is told before, since the
 * kernel takes some milliseconds to move a process where none was moved just now (cgroup_threadgroup_rwsem). Also part of the CommonJS text of the thread.
 * Sources: prlimit(2), cgroups(7), proc(5).
 * @module
 */

import { O_CLOEXEC, type Syscalls } from '../kernel/syscalls.node.ts'
import { STARTING_FREE_PROCESSES, STARTING_PROCESSES, STARTING_ROUNDS } from '../limits.ts'
import { type Fence, HOME_NAMESPACES, type Nursery, SLOT, SLOT_GROUPS } from './launcher-memory.ts'

const O_PATH = 0o10000000
/** Numbers of processes that are read at once. */
const LIST_BYTES = 4_096
const LINK_BYTES = 64
const TASKS = Buffer.from('tasks\0')
const PROCESSES = Buffer.from('cgroup.procs\0')

export interface LauncherBounds {
  /**
   * Puts its limits on the program of the request at `base`. What is left to be done takes longer, and no word of the
   * request, whose place may soon be another one's: it is done when the start has been told.
   */
  begin(words: Int32Array, base: number, pid: number): () => void
}

/** `self`: the numbers of this process and of this thread. */
export function createLauncherBounds(
  syscalls: Syscalls,
  fence: Fence | undefined,
  nurseries: readonly Nursery[],
  self: { readonly process: number; readonly thread: number },
): LauncherBounds {
  const { libc, byNumber, checked } = syscalls
  const limits = (fence?.limits ?? []).map(([resource, value]) => ({
    resource,
    pair: BigUint64Array.of(BigInt(value), BigInt(value)),
  }))
  const limitsSecret = fence?.limitsSecret ?? 0n
  // This thread goes where /proc is that of a session: the numbers here are those of the device.
  const proc = checked(libc.open('/proc', O_PATH | O_CLOEXEC, 0))
  const list = Buffer.from(new ArrayBuffer(LIST_BYTES))
  const link = Buffer.from(new ArrayBuffer(LINK_BYTES))
  let lastPlace = HOME_NAMESPACES

  function limit(pid: number): void {
    for (const { resource, pair } of limits) byNumber('prlimit64', pid, resource, pair, 0, limitsSecret)
  }

  /** In their order, and none after one that was refused: whoever is not in the last place any more is in none of them. */
  function join(descriptors: readonly number[], pid: number): void {
    const text = Buffer.from(String(pid))
    for (const descriptor of descriptors) if (libc.write(descriptor, text, BigInt(text.length)) < 0) return
  }

  /** Limits first: whoever leaves the place where it began has them, and what it forks has them too. */
  function settle(descriptors: readonly number[], pid: number): void {
    limit(pid)
    join(descriptors, pid)
  }

  function numbersIn(descriptor: number): number[] {
    const count = Number(libc.read(descriptor, list, BigInt(LIST_BYTES)))
    if (count <= 0) return []
    const text = list.toString('latin1', 0, count)
    // The last one may be cut where the list is longer; it is there again at the next look.
    const whole =
      count === LIST_BYTES ? text.slice(0, Math.max(text.lastIndexOf('\n'), text.lastIndexOf(' '))) : text
    return whole
      .split(/[\s]+/)
      .map(Number)
      .filter((one) => one > 0)
  }

  function namespaceOf(pid: number): string {
    const length = byNumber('readlinkat', proc, Buffer.from(`${pid}/ns/pid\0`), link, LINK_BYTES)
    return length > 0 ? link.toString('latin1', 0, length) : ''
  }

  /** Read anew each time: of version 1 a list that stays open is for a second what it was (cgroup-v1.c, pidlists). */
  function listOf({ directory, isOfThreads }: Nursery): number[] {
    const list = byNumber('openat', directory, isOfThreads ? TASKS : PROCESSES, O_CLOEXEC, 0)
    if (list < 0) return []
    const found = numbersIn(list)
    libc.close(list)
    return found
  }

  /** Who has begun there and not been taken out. Where others of the daemon are too, only those of the session. */
  function waiting(nursery: Nursery, init: number): number[] {
    const { isOfThreads } = nursery
    const own = isOfThreads ? self.thread : self.process
    const found = listOf(nursery).filter((one) => one !== own)
    if (isOfThreads || found.length === 0) return found
    const namespace = namespaceOf(init)
    return namespace === '' ? [] : found.filter((one) => namespaceOf(one) === namespace)
  }

  function forbidForks({ forks }: Nursery, areForbidden: boolean): void {
    if (forks < 0) return
    const text = Buffer.from(areForbidden ? '0' : String(STARTING_PROCESSES))
    libc.write(forks, text, BigInt(text.length))
  }

  function empty(nursery: Nursery, descriptors: readonly number[], init: number): void {
    let areForbidden = false
    let count = 0
    for (let round = 0; round < STARTING_ROUNDS; round++) {
      const found = waiting(nursery, init)
      if (found.length === 0) break
      count += found.length
      // Not sooner: on a busy machine a script of three commands would find that it cannot fork.
      if (!areForbidden && count > STARTING_FREE_PROCESSES) {
        areForbidden = true
        for (const one of nurseries) forbidForks(one, true)
      }
      for (const one of found) settle(descriptors, one)
    }
    if (areForbidden) for (const one of nurseries) forbidForks(one, false)
  }

  /** None where the kernel does not list them: then what forked in the first microseconds is not bounded. */
  function childrenOf(pid: number): number[] {
    const children = byNumber('openat', proc, Buffer.from(`${pid}/task/${pid}/children\0`), O_CLOEXEC, 0)
    if (children < 0) return []
    const found = numbersIn(children)
    libc.close(children)
    return found
  }

  function limitDescendants(pid: number, init: number): void {
    const seen = new Set<number>([pid])
    for (let round = 0; round < STARTING_ROUNDS; round++) {
      const fresh: number[] = []
      for (
        let looked = [...childrenOf(pid), ...(init > 0 ? childrenOf(init) : [])];
        looked.length > 0;
        looked = looked.flatMap(childrenOf)
      ) {
        looked = looked.filter((one) => !seen.has(one))
        for (const one of looked) seen.add(one)
        fresh.push(...looked)
      }
      if (fresh.length === 0) return
      for (const one of fresh) limit(one)
    }
  }

  return {
    begin(words, base, pid) {
      const descriptors = SLOT_GROUPS.map((slot) => words[base + slot] ?? -1).filter((one) => one >= 0)
      const init = words[base + SLOT.init] ?? -1
      const place = words[base + SLOT.namespaces] ?? HOME_NAMESPACES
      limit(pid)
      // Groups are joined in the order of the places: who has left the last one has left them all.
      const last = nurseries.at(-1)
      if (descriptors.length === 0 || last === undefined) {
        if (limits.length > 0) limitDescendants(pid, init)
        return () => {}
      }
      return () => {
        join(descriptors, pid)
        // The first process of the session, so that nobody takes its groups for some that were left. It starts nothing.
        if (init > 0 && place !== lastPlace) join(descriptors, init)
        lastPlace = place
        empty(last, descriptors, init)
      }
    },
  }
}
