/**
 * Removes branches: one rename, after which there is no branch any more, then its files in slices, so that whoever does
 * it can do other things in between, and whoever starts next goes on with it.
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'

/**
 * Renames a branch's directory to `dropped-…` beside it; where something is kept for taking back a merge beside the real
 * files, that goes too.
 * @returns the new name of the directory
 */
export function dropBranch(syscalls: Syscalls, directory: string): string {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory].length}.`)
}

/** Directories beneath `parent` that a drop has left to be removed. */
export function droppedBranches(parent: string): readonly string[] {
  throw new SassError('INTERNAL', `Not built: ${parent}.`)
}

/**
 * Removes up to `entries` files and directories of a dropped branch.
 * @returns true where nothing is left of it
 */
export function removeDropped(syscalls: Syscalls, dropped: string, entries: number): boolean {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, dropped, entries].length}.`)
}
