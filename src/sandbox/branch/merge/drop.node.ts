/**
 * Removes branches: one rename, after which there is no branch any more, then its files in slices, so that whoever does
 * it can do other things in between, and whoever starts next goes on with it.
 * What a session wrote is never followed.
 * @module
 */

import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { closing } from '../../../base/closing.node.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import type { Branch } from '../files/branch.ts'
import { createFiles, openRoot } from '../files/files.node.ts'
import { readJournal, removeJournal } from '../store/journal.node.ts'
import { removeSome } from '../store/remove.node.ts'
import { removeStagesBesides } from './merge-apply.node.ts'

const DROPPED = 'dropped-'

/**
 * Renames a branch's directory to `dropped-…` beside it; where something is kept for taking back a merge beside the real
 * files, that goes too.
 * @returns the new name of the directory
 */
export function dropBranch(_syscalls: Syscalls, directory: string): string {
  const name = join(dirname(directory), `${DROPPED}${basename(directory)}`)
  let dropped = name
  // One of that name may have been dropped before, and not be gone yet.
  for (let count = 2; existsSync(dropped); count++) dropped = `${name}-${count}`
  renameSync(directory, dropped)
  return dropped
}

/** Directories beneath `parent` that a drop has left to be removed. */
export function droppedBranches(parent: string): readonly string[] {
  return readdirSync(parent)
    .filter((name) => name.startsWith(DROPPED))
    .map((name) => join(parent, name))
}

/** What a merge keeps for taking it back beside the real files; what a crash has left in the middle is not touched. */
function removeKept(syscalls: Syscalls, dropped: string): void {
  const facts = join(dropped, 'branch.json')
  if (!existsSync(facts)) return
  const journal = readJournal(dropped)
  if (journal === undefined || !['staging', 'done', 'clearing'].includes(journal.state)) return
  const branch = JSON.parse(readFileSync(facts, 'utf8')) as Branch
  removeStagesBesides(createFiles(syscalls), branch, journal)
  removeJournal(dropped)
}

/**
 * Removes up to `entries` files and directories of a dropped branch.
 * @returns true where nothing is left of it
 */
export function removeDropped(syscalls: Syscalls, dropped: string, entries: number): boolean {
  if (!existsSync(dropped)) return true
  removeKept(syscalls, dropped)
  const parent = openRoot(dirname(dropped))
  using _parent = closing(parent)
  return removeSome(createFiles(syscalls), parent, basename(dropped), entries)
}
