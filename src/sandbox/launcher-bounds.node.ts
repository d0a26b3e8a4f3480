/**
 * What bounds a program, put on it as soon as it runs: limits of its own, and the control groups of its session. Both
 * belong to a process, and the daemon's own are not these, so that they come after the start. Should the program have
 * forked by then, its children are stopped and bounded as well.
 * Nobody has waited for it yet, so its number is still its own. Also part of the CommonJS text of the thread.
 * Sources: prlimit(2), cgroups(7), proc(5).
 * @module
 */

import { type Fence, SLOT_GROUPS } from './launcher-memory.ts'
import { O_CLOEXEC, SIGSTOP, type Syscalls } from './syscalls.node.ts'

const SIGCONT = 18
const O_PATH = 0o10000000
/** Numbers of children that are read at once. */
const CHILDREN_BYTES = 4_096

export interface LauncherBounds {
  /** `base`: of the request that started it. */
  apply(words: Int32Array, base: number, pid: number): void
}

export function createLauncherBounds(syscalls: Syscalls, fence: Fence | undefined): LauncherBounds {
  const { libc, byNumber, checked } = syscalls
  const limits = (fence?.limits ?? []).map(([resource, value]) => ({
    resource,
    pair: BigUint64Array.of(BigInt(value), BigInt(value)),
  }))
  const limitsSecret = fence?.limitsSecret ?? 0n
  // This thread goes where /proc is that of a session: the numbers here are those of the device.
  const proc = checked(libc.open('/proc', O_PATH | O_CLOEXEC, 0))
  const children = Buffer.from(new ArrayBuffer(CHILDREN_BYTES))

  function limit(pid: number): void {
    for (const { resource, pair } of limits) byNumber('prlimit64', pid, resource, pair, 0, limitsSecret)
  }

  function join(descriptors: readonly number[], pid: number): void {
    const text = Buffer.from(String(pid))
    for (const descriptor of descriptors) libc.write(descriptor, text, BigInt(text.length))
  }

  /** None where the kernel does not list them: then what forked in the first microseconds is not counted. */
  function childrenOf(pid: number): number[] {
    const path = Buffer.from(`${pid}/task/${pid}/children\0`)
    const list = byNumber('openat', proc, path, O_CLOEXEC, 0)
    if (list < 0) return []
    const count = Number(libc.read(list, children, BigInt(CHILDREN_BYTES)))
    libc.close(list)
    if (count <= 0) return []
    return children
      .toString('latin1', 0, count)
      .split(' ')
      .map(Number)
      .filter((child) => child > 0)
  }

  return {
    apply(words, base, pid) {
      const descriptors = SLOT_GROUPS.map((slot) => words[base + slot] ?? -1).filter((one) => one >= 0)
      if (descriptors.length === 0) return limit(pid)
      join(descriptors, pid)
      limit(pid)
      // Whatever it forks from now on is bounded with it. What it had forked by then is still its child.
      const stopped = new Set<number>()
      for (let waiting = childrenOf(pid); waiting.length > 0; ) {
        for (const one of waiting) libc.kill(one, SIGSTOP)
        for (const one of waiting) {
          join(descriptors, one)
          limit(one)
          stopped.add(one)
        }
        waiting = waiting.flatMap(childrenOf).filter((one) => !stopped.has(one))
      }
      for (const one of stopped) libc.kill(one, SIGCONT)
    },
  }
}
