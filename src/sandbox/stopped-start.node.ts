/**
 * A start that somebody has stopped. Between fork and exec a program is in its session already, where everybody may stop
 * it, and the launcher's thread waits for it without an end: it is continued, and where that does not help it ends with
 * its session.
 * Sources: vfork(2), proc(5).
 * @module
 */

import { readFileSync, readlinkSync } from 'node:fs'
import { SIGKILL, type Syscalls } from './syscalls.node.ts'

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

/** Stopped, and still the program that this process is: it has not become another one. */
function isStoppedStart(pid: number, own: string): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const state = text.slice(text.lastIndexOf(')') + 2)[0]
    return (state === 'T' || state === 't') && readlinkSync(`/proc/${pid}/exe`) === own
  } catch {
    return false
  }
}

function stoppedStarts(thread: number): number[] {
  const own = readlinkSync(OWN_PROGRAM)
  return childrenOf(thread).filter((pid) => isStoppedStart(pid, own))
}

export function continueStopped({ libc }: Syscalls, thread: number): void {
  for (const pid of stoppedStarts(thread)) libc.kill(pid, SIGCONT)
}

/** Ends the first process of a session, and with it all of them, the one that is waited for too. */
export function endSession({ libc }: Syscalls, thread: number, initPid: number | undefined): void {
  if (initPid !== undefined && initPid > 1) libc.kill(initPid, SIGKILL)
  for (const pid of stoppedStarts(thread)) libc.kill(pid, SIGKILL)
}
