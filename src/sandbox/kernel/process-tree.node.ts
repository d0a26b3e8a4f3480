/**
 * The processes that descend from one, found in /proc, and their end.
 * A descendant is a process whose chain of parents leads to the root, or one in the root's session: an orphan
 * whose parent ended keeps its session unless it made one of its own. A process that made its own session after
 * its parent had ended is not found here; that is the cgroup's or the PID namespace's to end.
 * Everything found is stopped before anything is killed: a stopped process neither forks nor reaps, so the set
 * closes, and no number in it can be given to a stranger meanwhile.
 * Source: proc(5), `/proc/PID/stat` fields 4 to 6.
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { KILL_TREE_ROUNDS } from '../limits.ts'
import { SIGKILL, SIGSTOP, type Syscalls } from './syscalls.node.ts'

type ProcessEntry = { readonly pid: number; readonly parent: number; readonly session: number }

/** Every process that can be seen now. One that ends meanwhile is left out. */
function processEntries(): ProcessEntry[] {
  const entries: ProcessEntry[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    let text: string
    try {
      text = readFileSync(`/proc/${name}/stat`, 'latin1')
    } catch {
      continue
    }
    // The name of the program is in parentheses and may contain some itself.
    const [, parent, , session] = text.slice(text.lastIndexOf(')') + 2).split(' ', 4)
    entries.push({ pid, parent: Number(parent), session: Number(session) })
  }
  return entries
}

/**
 * The processes below `root` and those in its session, `root` itself not among them.
 * The walk is one look: a process forked during it may be missing.
 */
export function descendants(root: number): Set<number> {
  const entries = processEntries()
  const childrenOf = new Map<number, number[]>()
  const found = new Set<number>()
  const unvisited = [root]
  for (const entry of entries) {
    const siblings = childrenOf.get(entry.parent)
    if (siblings === undefined) childrenOf.set(entry.parent, [entry.pid])
    else siblings.push(entry.pid)
    if (entry.session === root && entry.pid !== root) {
      found.add(entry.pid)
      unvisited.push(entry.pid)
    }
  }
  for (let pid = unvisited.pop(); pid !== undefined; pid = unvisited.pop()) {
    for (const child of childrenOf.get(pid) ?? []) {
      if (child === root || found.has(child)) continue
      found.add(child)
      unvisited.push(child)
    }
  }
  return found
}

/**
 * SIGKILL to `root`, its process group and every descendant.
 * `rootIsOurs`: the root has not been reaped, so its number is still its own. After that the number names only
 * the session and group that it left behind, and nothing is done where a new process has it.
 * @returns how many processes were found beside the root.
 */
export function killTree(syscalls: Syscalls, root: number, rootIsOurs: boolean): number {
  const { kill } = syscalls.libc
  if (!rootIsOurs && kill(root, 0) === 0) return 0
  if (rootIsOurs) kill(root, SIGSTOP)
  const stopped = new Set<number>()
  for (let round = 0; round < KILL_TREE_ROUNDS; round++) {
    const fresh = [...descendants(root)].filter((pid) => !stopped.has(pid))
    if (fresh.length === 0) break
    for (const pid of fresh) {
      stopped.add(pid)
      kill(pid, SIGSTOP)
    }
  }
  if (rootIsOurs) kill(root, SIGKILL)
  kill(-root, SIGKILL)
  for (const pid of stopped) kill(pid, SIGKILL)
  return stopped.size
}
