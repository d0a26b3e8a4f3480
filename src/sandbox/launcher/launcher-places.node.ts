/**
 * Where the launcher thread is, and who: it goes to a session's namespaces for the session's commands, and becomes their
 * user around a start. The thread does nothing else there.
 * Also part of the CommonJS text of the thread.
 * Sources: setns(2), credentials(7).
 * @module
 */

import { O_CLOEXEC, type Syscalls } from '../kernel/syscalls.node.ts'
import { HOME_NAMESPACES, SLOT } from './launcher-memory.ts'

/** linux/sched.h */
const CLONE_NEWNS = 0x20000
const CLONE_NEWIPC = 0x8000000
const CLONE_NEWPID = 0x20000000
const CLONE_NEWNET = 0x40000000

/** The daemon's own namespaces, by descriptor. */
export type Home = {
  readonly mount: number
  readonly pid: number
  readonly ipc: number
  readonly network: number
}

export type LauncherPlaces = {
  /** Goes where the request at `base` is to run, if this thread is not there; 0 or the errno. */
  enter(words: Int32Array, base: number): number
  /**
   * Goes home, so that nothing holds what was entered. `networkRest`: where to go from a network of a session's by whoever
   * cannot go back to the device's; -1: this thread can.
   */
  leave(networkRest: number): void
}

/**
 * Where this thread is. Commands one after the other mostly run in the same session, so it stays there until it is
 * wanted elsewhere: it does nothing of its own. In a user namespace it cannot leave the host's processes and come back
 * to them, and need not: every session has its own.
 */
export function createLauncherPlaces({ byNumber }: Syscalls, home: Home): LauncherPlaces {
  let here = HOME_NAMESPACES
  let isNetworkHome = true

  function move(mount: number, pid: number, ipc: number, network: number): number {
    let result = byNumber('setns', mount, CLONE_NEWNS)
    if (result === 0) result = byNumber('setns', pid, CLONE_NEWPID)
    if (result === 0) result = byNumber('setns', ipc, CLONE_NEWIPC)
    if (result === 0 && network >= 0) {
      isNetworkHome = network === home.network
      result = byNumber('setns', network, CLONE_NEWNET)
    }
    return -result
  }
  const goHome = (): number => move(home.mount, home.pid, home.ipc, isNetworkHome ? -1 : home.network)
  /** As far as a user's launcher comes: the network is what holds sockets. */
  function rest(networkRest: number): void {
    byNumber('setns', home.mount, CLONE_NEWNS)
    if (networkRest >= 0 && !isNetworkHome) byNumber('setns', networkRest, CLONE_NEWNET)
  }

  return {
    enter(words, base) {
      const number = words[base + SLOT.namespaces] ?? HOME_NAMESPACES
      if (number === here) return 0
      // Whatever fails on the way: this thread is nowhere that anybody has asked for.
      here = -1
      const network = words[base + SLOT.networkNamespace] ?? -1
      const errno =
        number === HOME_NAMESPACES
          ? goHome()
          : move(
              words[base + SLOT.mountNamespace] ?? -1,
              words[base + SLOT.pidNamespace] ?? -1,
              words[base + SLOT.ipcNamespace] ?? -1,
              network >= 0 || isNetworkHome ? network : home.network,
            )
      if (errno === 0) here = number
      return errno
    },
    leave(networkRest) {
      here = goHome() === 0 ? HOME_NAMESPACES : -1
      if (here !== HOME_NAMESPACES) rest(networkRest)
    },
  }
}

/** Becomes another user around a start. The saved id stays, so that this thread comes back; a program's exec drops it. */
export function become({ byNumber }: Syscalls, user: number, group: number): number {
  let result = byNumber('setgroups', 0, 0)
  if (result === 0) result = byNumber('setresgid', group, group, 0)
  if (result === 0) result = byNumber('setresuid', user, user, 0)
  return -result
}

export function comeBack({ byNumber }: Syscalls): void {
  byNumber('setresuid', 0, 0, 0)
  byNumber('setresgid', 0, 0, 0)
}

export function openHome({ libc, checked }: Syscalls): Home {
  const open = (name: string): number => checked(libc.open(`/proc/thread-self/ns/${name}`, O_CLOEXEC, 0))
  return { mount: open('mnt'), pid: open('pid'), ipc: open('ipc'), network: open('net') }
}
