/**
 * Starts programs through the launcher thread and reaps them: `Spawner` of ports.ts.
 * Only the fork happens in the launcher; the main thread owns every descriptor, and signals reach no other thread.
 * Nothing but descriptors 0, 1 and 2 is inherited: what this process was itself started with is marked
 * close-on-exec here, and the launcher closes the rest in each child.
 * Refuses starts after `close`. Sources: posix_spawn(3), close_range(2), waitpid(2), signal(7).
 * @module
 */

import { readdirSync } from 'node:fs'
import { SassError } from '../../errors.ts'
import { PIPE_READ_BYTES } from '../../limits.ts'
import type { ExitStatus, Spawner } from '../../ports.ts'
import {
  CLOSE_RANGE_CLOEXEC,
  ERRNO,
  F_SETFD,
  FD_CLOEXEC,
  LAST_DESCRIPTOR,
  loadSyscalls,
  type Syscalls,
  WNOHANG,
} from '../kernel/syscalls.node.ts'
import { LAUNCH_LEAVE_MS } from '../limits.ts'
import { type Nursery, type RunningChild, startChild } from './child.node.ts'
import { createCrowd } from './crowd.node.ts'
import { type LauncherOptions, startLauncher } from './launcher.node.ts'

export type SpawnerOptions = Partial<LauncherOptions>

export interface ProcessSpawner extends Spawner {
  /** Makes the launcher come home: it holds no namespaces of a session then. `networkRest`: of the ones that it leaves. */
  leave(networkRest: number): Promise<void>
  /** Kills what still runs and waits for it. Nothing more is started. */
  endAll(): Promise<void>
  /** `endAll`, and ends the launcher. */
  close(): Promise<void>
}

/** Marks every descriptor above 2 close-on-exec, by hand on kernels before 5.11. */
function inheritNothing(syscalls: Syscalls): void {
  if (syscalls.byNumber('close_range', 3, LAST_DESCRIPTOR, CLOSE_RANGE_CLOEXEC) === 0) return
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name)
    if (descriptor > 2) syscalls.libc.fcntl(descriptor, F_SETFD, BigInt(FD_CLOEXEC))
  }
}

/** wait(2): the low seven bits are the signal, the next byte the code; bit 7 says that a core was written. */
function exitStatus(word: number): ExitStatus {
  const signal = word & 0x7f
  return signal === 0 ? { kind: 'exited', code: (word >> 8) & 0xff } : { kind: 'signalled', signal }
}

/** waitid(2); siginfo_t of 64-bit machines, 32-bit words. */
const P_PID = 1
const WEXITED = 4
const WNOWAIT = 0x0100_0000
const INFO_WORDS = 32
const [INFO_CODE, INFO_PID, INFO_STATUS] = [2, 4, 6] as const
const CLD_EXITED = 1

/**
 * Makes the spawner of this process: one is enough, and the descriptors of the process become close-on-exec.
 * `close` kills what still runs, waits for it, and ends the launcher thread.
 * @throws SassError RUNTIME_UNSUITABLE (no FFI) or SANDBOX_UNAVAILABLE (the thread could not confine itself).
 */
export async function createSpawner(options: SpawnerOptions = {}): Promise<ProcessSpawner> {
  const syscalls = loadSyscalls()
  inheritNothing(syscalls)
  const { launcherSource, keepCapabilities, ...more } = options
  const launcher = await startLauncher({ launcherSource, keepCapabilities, ...more }, syscalls)
  const running = new Set<RunningChild>()
  const byPid = new Map<number, RunningChild>()
  const statusWord = new Int32Array(new ArrayBuffer(64))
  const info = new Int32Array(new ArrayBuffer(INFO_WORDS * 4))
  let closing: Promise<void> | undefined
  let isEnding = false
  let emptied: (() => void) | undefined

  const waitFor = (pid: number): number => syscalls.checked(syscalls.libc.waitpid(pid, statusWord, WNOHANG))
  /** How it has ended, while its number is still its own; undefined: it runs. */
  const endOf = (pid: number): ExitStatus | undefined => {
    info.fill(0)
    const options = WEXITED | WNOHANG | WNOWAIT
    if (syscalls.byNumber('waitid', P_PID, pid, info, options, 0) !== 0 || info[INFO_PID] !== pid)
      return undefined
    const status = info[INFO_STATUS] ?? 0
    return info[INFO_CODE] === CLD_EXITED
      ? { kind: 'exited', code: status }
      : { kind: 'signalled', signal: status }
  }
  const reap = (pid: number): void => {
    // What bounds it is put on it by its number, which is nobody's once it has been waited for: told now, waited for then.
    if (!launcher.isBounded(pid)) {
      const end = endOf(pid)
      if (end === undefined) return
      const child = byPid.get(pid)
      byPid.delete(pid)
      launcher.whenBounded(pid, () => {
        waitFor(pid)
        child?.waited()
      })
      return child?.reaped(end)
    }
    const result = waitFor(pid)
    if (result !== pid && result !== -ERRNO.ECHILD) return
    const child = byPid.get(pid)
    byPid.delete(pid)
    // ECHILD: somebody else has waited for it. How it ended is lost, and must not look like success.
    child?.waited()
    child?.reaped(result === pid ? exitStatus(statusWord[0] ?? 0) : { kind: 'exited', code: 255 })
  }
  // One SIGCHLD may stand for many children, and may come before the launcher's answer.
  const onChildSignal = (): void => {
    launcher.collect()
    for (const pid of [...byPid.keys()]) reap(pid)
  }
  const nursery: Nursery = {
    syscalls,
    launcher,
    crowd: createCrowd(syscalls),
    readBuffer: new Uint8Array(new ArrayBuffer(PIPE_READ_BYTES)),
    started(child) {
      running.add(child)
      if (running.size === 1) launcher.hold(true)
    },
    named(pid, child) {
      byPid.set(pid, child)
      reap(pid)
    },
    reap,
    finished(child) {
      running.delete(child)
      if (running.size > 0) return
      launcher.hold(false)
      emptied?.()
    },
  }
  const endAll = async (): Promise<void> => {
    if (running.size === 0) return
    await new Promise<void>((resolve) => {
      emptied = resolve
      for (const child of [...running]) {
        child.killTree()
        child.abandonOutput()
      }
    })
  }
  const close = async (): Promise<void> => {
    await endAll()
    process.off('SIGCHLD', onChildSignal)
    await launcher.close()
  }

  process.on('SIGCHLD', onChildSignal)
  return {
    spawn(plan, events) {
      if (isEnding) {
        throw new SassError(
          'DAEMON_SHUTTING_DOWN',
          'The daemon is shutting down, so the command was not started; send it again later.',
        )
      }
      return startChild(plan, events, nursery)
    },
    leave(networkRest) {
      launcher.hold(true)
      const { promise, resolve } = Promise.withResolvers<void>()
      launcher.leave(networkRest, resolve)
      // Whoever waits for it goes on all the same: it only holds what would go.
      const late = setTimeout(resolve, LAUNCH_LEAVE_MS)
      return promise.finally(() => {
        clearTimeout(late)
        if (running.size === 0) launcher.hold(false)
      })
    },
    endAll() {
      isEnding = true
      return endAll()
    },
    close() {
      isEnding = true
      closing ??= close()
      return closing
    },
  }
}
