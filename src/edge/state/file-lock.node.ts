/**
 * A lock on an open file that the kernel lets go of when the process ends, however it ends (flock(2)).
 * @module
 */
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'

/** True: this process holds the file alone from now on. False: another one does. */
export type FileLock = (descriptor: number) => boolean

/** asm-generic/fcntl.h */
const LOCK_EX = 2
const LOCK_NB = 4

export function createFileLock(): FileLock {
  const { libc } = loadSyscalls()
  return (descriptor) => libc.flock(descriptor, LOCK_EX | LOCK_NB) === 0
}
