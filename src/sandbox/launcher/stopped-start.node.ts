/**
 * A start that somebody has stopped. Between fork and exec a program is in its session already, where everybody may stop
 * it, and the launcher's thread waits for it without an end: it is continued, and where that does not help it ends with
 * its session. One that waits for something else, as a file system that does not answer, is given up later.
 * Sources: vfork(2), proc(5).
 * @module
 */

import { readFileSync, readlinkSync } from 'node:fs'
import { SIGKILL, type Syscalls } from '../kernel/syscalls.node.ts'
import { LAUNCH_CONTINUES, LAUNCH_LOOKS_MAX } from '../limits.ts'

const SIGCONT = 18
const OWN_PROGRAM = '/proc/self/exe'

/** `children` of the thread where the kernel lists them, else all whose parent is this process. */
function childrenOf(thread: number): number[] {
  try {
    return readFileSync(`/proc/self/task/${thread}/children`, 'latin1')
      .split(' ')
      .map(Number)
      .filter((child) => child > 0)
  } catch {
    return []
  }
}

type Start = { readonly pid: number; readonly isStopped: boolean }

/** A child that is still the program that this process is: it has not become another one. */
function startOf(pid: number, own: string): Start | undefined {
  try {
    if (readlinkSync(`/proc/${pid}/exe`) !== own) return undefined
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return { pid, isStopped: /^[Tt]/.test(text.slice(text.lastIndexOf(')') + 2)) }
  } catch {
    return undefined
  }
}

/**
 * Does something about the start that a thread waits for, at the `looks`-th look since it began to. True where it ended
 * the session, whose first process is `initPid`.
 */
export function freeStart(
  { libc }: Syscalls,
  thread: number,
  looks: number,
  initPid: number | undefined,
): boolean {
  const own = readlinkSync(OWN_PROGRAM)
  const starts = childrenOf(thread).flatMap((pid) => startOf(pid, own) ?? [])
  if (looks > LAUNCH_LOOKS_MAX) for (const { pid } of starts) libc.kill(pid, SIGKILL)
  const stopped = starts.filter(({ isStopped }) => isStopped)
  if (stopped.length === 0) return false
  if (looks <= LAUNCH_CONTINUES) {
    for (const { pid } of stopped) libc.kill(pid, SIGCONT)
    return false
  }
  if (initPid !== undefined && initPid > 1) libc.kill(initPid, SIGKILL)
  for (const { pid } of stopped) libc.kill(pid, SIGKILL)
  return true
}
