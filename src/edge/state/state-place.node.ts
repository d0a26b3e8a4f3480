/**
 * What becomes of the state where the power goes: on a file system in memory nothing of it is left. A board with a
 * read-only root may want it so; it is said, and the daemon works.
 * Rules: statfs(2); docs/operations.md (read-only root).
 * @module
 */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'

/** linux/magic.h */
const TMPFS_MAGIC = 0x01021994
const RAMFS_MAGIC = 0x858458f6

/** Of the directory itself, or of the one that it will be made in. */
function isInMemory(path: string): boolean {
  try {
    const { type } = statfsSync(path)
    return type === TMPFS_MAGIC || type === RAMFS_MAGIC
  } catch {
    return path !== dirname(path) && isInMemory(dirname(path))
  }
}

/** A clause with what the next start of the device will not find; undefined where it finds everything. */
export function whatIsNotKept(config: Pick<Config, 'state_directory' | 'audit'>): string | undefined {
  const { state_directory: state, audit } = config
  if (isInMemory(state))
    return isInMemory(audit.directory)
      ? `${state} is in memory: the record, the keys of the device, results of commands, branches and levels of alarm go with the power`
      : `${state} is in memory: the keys of the device, results of commands, branches and levels of alarm go with the power`
  return isInMemory(audit.directory)
    ? `${audit.directory} is in memory: the record goes with the power, and a key that signs it stays behind`
    : undefined
}
