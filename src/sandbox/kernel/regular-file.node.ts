/**
 * Opens files that hold bytes, and nothing that does something by being opened: no device, no FIFO, and no file that the
 * kernel makes up (procfs, sysfs, debugfs and their kin), where opening starts or takes something with the rights of
 * whoever opens. What is opened is the very inode that was looked at.
 * File systems that the kernel makes up have no room, and say so in statfs(2): they all answer with `simple_statfs`.
 * Those in memory may say it as well, where they have no bound.
 * Sources: open(2) (O_PATH), statfs(2), linux/magic.h.
 * @module
 */
import { constants, fstatSync, openSync, statfsSync } from 'node:fs'

/** TMPFS_MAGIC, RAMFS_MAGIC */
const IN_MEMORY: readonly number[] = [0x0102_1994, 0x8584_58f6]
/** EFIVARFS_MAGIC: the kernel's, and it has a room. */
const OF_FIRMWARE = 0xde5e_81e4

/** `descriptor` may be one of O_PATH: nothing is opened. */
export function holdsBytes(descriptor: number): boolean {
  const { type, blocks } = statfsSync(`/proc/self/fd/${descriptor}`)
  return IN_MEMORY.includes(type) || (blocks > 0 && type !== OF_FIRMWARE)
}

/** Opens for reading what an O_PATH descriptor holds; undefined where that is no regular file, or one that is made up. */
export function openRegular(descriptor: number): number | undefined {
  if (!fstatSync(descriptor).isFile() || !holdsBytes(descriptor)) return undefined
  return openSync(`/proc/self/fd/${descriptor}`, constants.O_RDONLY)
}
