/**
 * All processes of a session's namespace, and the end of those that nobody has asked to stay. What a command leaves
 * behind when it ends, daemonised or in another session or process group, has the init for its parent and no sign of who
 * started it: it goes when no other command of the session runs, or at once where it can be told. Whoever wants it to
 * live on says so with the command.
 * What is found is stopped before anything is killed: a stopped process does not fork, so the set closes.
 * Sources: proc(5), pid_namespaces(7).
 * @module
 */

import { fstatSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import type { LeftBehind, SpawnNamespaces, SpawnPlan } from '../../ports.ts'
import { killTree } from '../kernel/process-tree.node.ts'
import { O_CLOEXEC, SIGKILL, SIGSTOP, type Syscalls } from '../kernel/syscalls.node.ts'
import { KILL_TREE_ROUNDS } from '../limits.ts'

export interface Crowd {
  /** A command is about to begin there. */
  began(plan: SpawnPlan): void
  /** It has not begun. */
  failed(plan: SpawnPlan): void
  /** It has ended; what it left goes, unless it was asked to stay: then it is told. `isOurs` as of `kill`. */
  ended(plan: SpawnPlan, pid: number, isOurs: boolean): LeftBehind | undefined
  /** Kills a command with all that is its own. `isOurs`: nobody has waited for `pid` yet. */
  kill(plan: SpawnPlan, pid: number, isOurs: boolean): void
}

/** Looks at all processes before those of a session are given up as endless: some seconds of them. */
const END_ROUNDS = 256
const PID_NAME = /^[0-9]+$/

/** Its init. */
const FIRST = '1'

/** Processes beside the init: a look at the session's own /proc, which holds nobody else. One that has ended is none. */
export function inhabitantsSeen(rootDescriptor: number): number {
  const proc = `/proc/self/fd/${rootDescriptor}/proc`
  const others = readdirSync(proc).filter((name) => PID_NAME.test(name) && name !== FIRST)
  return others.filter((name) =>
    attempt(() => !isOver(readFileSync(`${proc}/${name}/stat`, 'latin1')), false),
  ).length
}

/** Nobody has waited for it yet: `Z` after the name in parentheses, which may hold some itself. */
const isOver = (stat: string): boolean => stat.startsWith(' Z', stat.lastIndexOf(')') + 1)

/** True where more than the init is there. */
export function isInhabited(rootDescriptor: number): boolean {
  return inhabitantsSeen(rootDescriptor) > 0
}

/** The list of the children of a session's init; `root` is on its `/`. -1 where the kernel lists none. */
export function openChildren(root: number): number {
  try {
    return openSync(`/proc/self/fd/${root}/proc/1/task/1/children`, O_CLOEXEC)
  } catch {
    // CONFIG_PROC_CHILDREN is off.
    return -1
  }
}

const aByte = new Uint8Array(1)

/**
 * The same where no command runs: who is there then has the init for its parent, or for that of a parent's parent.
 * One read of a file that is open, beside a directory that is opened, listed and closed.
 */
function isAnyoneLeft({ children }: SpawnNamespaces, rootDescriptor: number): boolean {
  return children < 0 ? isInhabited(rootDescriptor) : readSync(children, aByte, 0, 1, 0) > 0
}

/** Numbers here of the processes there, the init not among them. Those that end meanwhile are left out. */
function inhabitants({ pid }: SpawnNamespaces): number[] {
  const wanted = `pid:[${fstatSync(pid).ino}]`
  return readdirSync('/proc')
    .filter((name) => PID_NAME.test(name))
    .filter((name) => {
      try {
        if (readlinkSync(`/proc/${name}/ns/pid`) !== wanted) return false
        return !/^NSpid:.*\s1$/m.test(readFileSync(`/proc/${name}/status`, 'latin1'))
      } catch {
        return false
      }
    })
    .map(Number)
}

export function createCrowd(syscalls: Syscalls): Crowd {
  const { kill } = syscalls.libc
  /** By number of the namespaces: commands that run there, and what each that has ended was asked to leave. */
  const running = new Map<number, number>()
  const staying = new Map<number, Map<SpawnPlan, ReadonlySet<number>>>()

  function isSpared(namespaces: SpawnNamespaces, pid: number): boolean {
    for (const kept of staying.get(namespaces.number)?.values() ?? []) if (kept.has(pid)) return true
    return false
  }

  /** Everything that was not asked to stay. What forks faster than it is found is found again, and killed at once. */
  function endAll({ namespaces, group }: SpawnPlan): void {
    if (namespaces === undefined) return
    const stopped = new Set<number>()
    group?.forbidForks(true)
    for (let round = 0; round < END_ROUNDS; round++) {
      const fresh = inhabitants(namespaces).filter((pid) => !stopped.has(pid) && !isSpared(namespaces, pid))
      if (fresh.length === 0) break
      for (const pid of fresh) {
        stopped.add(pid)
        kill(pid, round < KILL_TREE_ROUNDS ? SIGSTOP : SIGKILL)
      }
    }
    for (const pid of stopped) kill(pid, SIGKILL)
    group?.forbidForks(false)
  }

  /** What is there now stays, as long as it likes. */
  function leaveBehind(plan: SpawnPlan, namespaces: SpawnNamespaces): LeftBehind {
    const there = () => inhabitants(namespaces)
    const kept = staying.get(namespaces.number) ?? new Map<SpawnPlan, ReadonlySet<number>>()
    const own: ReadonlySet<number> = new Set(there().filter((pid) => !isSpared(namespaces, pid)))
    staying.set(namespaces.number, kept.set(plan, own))
    const alive = () => there().filter((pid) => own.has(pid))
    return {
      alive: () => alive().length,
      signal: (number) => alive().filter((pid) => kill(pid, number) === 0).length > 0,
      end() {
        kept.delete(plan)
        if (!running.has(namespaces.number)) return endAll(plan)
        for (const pid of alive()) kill(pid, SIGKILL)
      },
    }
  }

  /** One command less; how many are left there. */
  function leave(namespaces: SpawnNamespaces | undefined): number {
    if (namespaces === undefined) return 0
    const left = (running.get(namespaces.number) ?? 1) - 1
    if (left > 0) running.set(namespaces.number, left)
    else running.delete(namespaces.number)
    return left
  }

  return {
    began({ namespaces }) {
      if (namespaces !== undefined) running.set(namespaces.number, (running.get(namespaces.number) ?? 0) + 1)
    },
    failed: ({ namespaces }) => void leave(namespaces),
    ended(plan, pid, isOurs) {
      const { namespaces, rootDescriptor } = plan
      const left = leave(namespaces)
      if (namespaces === undefined || rootDescriptor === undefined) return undefined
      try {
        if (!(left === 0 ? isAnyoneLeft(namespaces, rootDescriptor) : isInhabited(rootDescriptor))) {
          staying.delete(namespaces.number)
          return undefined
        }
      } catch {
        // The session is being given up, and everything in it ends with its init.
        return undefined
      }
      if (plan.keepsBackground === true) return leaveBehind(plan, namespaces)
      if (left === 0) endAll(plan)
      else killTree(syscalls, pid, isOurs)
      return undefined
    },
    kill(plan, pid, isOurs) {
      killTree(syscalls, pid, isOurs)
      const { namespaces } = plan
      if (namespaces !== undefined && running.get(namespaces.number) === 1) endAll(plan)
    },
  }
}
