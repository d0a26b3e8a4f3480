/**
 * Removes trees that a session has made, however deep they are and whatever they are called: from one open directory to
 * the next, never by a path. What lies too deep to be reached with some descriptors is moved to the top of the tree
 * first, where it is a tree of its own. Nothing is followed, and no other mount is entered.
 * @module
 */

import { closing } from '../../../base/closing.node.ts'
import { RENAME_NOREPLACE } from '../../kernel/at.node.ts'
import { ERRNO } from '../../kernel/syscalls.node.ts'
import { REMOVED_DEPTH, REMOVED_NAMES } from '../../limits.ts'
import {
  type Files,
  fileError,
  firstNamesIn,
  isNoDirectory,
  must,
  nameBytes,
  openDirectory,
  statName,
} from '../files/files.node.ts'
import { type BytePath, namePath, parentPath } from '../files/paths.ts'
import { setMode } from './stage.node.ts'

const OWN_MODE = 0o700
const OWN_RIGHTS = 0o700n

/** What may still be removed in one go. */
type Budget = { left: number }

/** Opens a directory in another one; undefined where that name is none. */
function enter(files: Files, directory: number, name: BytePath): number | undefined {
  const stats = statName(directory, name)
  if (!stats?.isDirectory()) return undefined
  // The kernel's own directory of an overlay has mode 000, and a session gives what modes it likes.
  if ((stats.mode & OWN_RIGHTS) !== OWN_RIGHTS) setMode(files, directory, name, OWN_MODE, name)
  return must(openDirectory(files, directory, name), 'opened', name)
}

/** Moves a directory to the top under a name that nothing has there. */
function moveUp(files: Files, top: number, directory: number, name: BytePath): void {
  for (let number = 0; ; number++) {
    const to = nameBytes(`deep-${number}`)
    const result = files.at.rename(directory, nameBytes(name), top, to, RENAME_NOREPLACE)
    if (result !== -ERRNO.EEXIST) return void must(result, 'moved', name)
  }
}

/** Empties an open directory as far as the budget goes. */
function empty(files: Files, top: number, directory: number, depth: number, budget: Budget): void {
  for (;;) {
    const names = firstNamesIn(directory, REMOVED_NAMES)
    if (names.length === 0) return
    for (const name of names) {
      if (budget.left <= 0) return
      const result = files.at.unlink(directory, nameBytes(name))
      if (result >= 0 || result === -ERRNO.ENOENT) {
        budget.left--
        continue
      }
      const inner = enter(files, directory, name)
      if (inner === undefined) throw fileError('removed', name, result)
      using _inner = closing(inner)
      if (depth >= REMOVED_DEPTH) {
        moveUp(files, top, directory, name)
        continue
      }
      empty(files, top, inner, depth + 1, budget)
      if (budget.left <= 0) return
      must(files.at.removeDirectory(directory, nameBytes(name)), 'removed', name)
      budget.left--
    }
  }
}

/**
 * Removes up to `entries` names of what lies at a name in an open directory, itself included.
 * @returns true where nothing is left of it
 */
export function removeSome(files: Files, parent: number, name: BytePath, entries: number): boolean {
  const stats = statName(parent, name)
  if (stats === undefined) return true
  const top = enter(files, parent, name)
  if (top === undefined) {
    must(files.at.unlink(parent, nameBytes(name)), 'removed', name)
    return true
  }
  using _top = closing(top)
  const budget: Budget = { left: entries }
  empty(files, top, top, 0, budget)
  if (budget.left <= 0) return false
  must(files.at.removeDirectory(parent, nameBytes(name)), 'removed', name)
  return true
}

/** Removes a path beneath an open directory with all that is in it. What is not there is gone already. */
export function removeTree(files: Files, root: number, path: BytePath): void {
  const parent = openDirectory(files, root, parentPath(path))
  if (isNoDirectory(parent)) return
  must(parent, 'opened', path)
  using _parent = closing(parent)
  removeSome(files, parent, namePath(path), Number.POSITIVE_INFINITY)
}
