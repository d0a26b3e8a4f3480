/**
 * States of a branch that one can go back to: copies of what lies above its roots, marks of the overlay included, as
 * reflinks where the file system can. The branch must not be mounted.
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'
import type { Branch } from './branch.ts'

export type Checkpoint = {
  readonly number: number
  readonly label: string
  readonly madeAtMs: number
  readonly files: number
  readonly sizeBytes: number
}

/**
 * Copies the branch as it is to `DIRECTORY/checkpoints/NUMBER`.
 * @throws SassError FILE_IO; nothing of it is left then
 */
export function makeCheckpoint(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  label: string,
  nowMs: number,
): Checkpoint {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, label, nowMs].length}.`)
}

/** Oldest first. */
export function listCheckpoints(directory: string): readonly Checkpoint[] {
  throw new SassError('INTERNAL', `Not built: ${directory}.`)
}

/**
 * The branch as it was at that checkpoint, which stays. Merges since are not taken back: what is in the real files
 * already is no change.
 */
export function restoreCheckpoint(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  number: number,
): void {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, number].length}.`)
}

export function removeCheckpoint(syscalls: Syscalls, directory: string, number: number): void {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, number].length}.`)
}
