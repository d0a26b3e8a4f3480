/**
 * Changes that meet what no command of the branch could see: hidden files and the daemon's own. A program may make a file
 * of such a name, since for it there is none; only whoever sees both may say that it takes the place of the real one.
 * Rules: docs/sandbox.md (merging).
 * @module
 */

import type { Change } from '../files/changes.ts'
import type { Finding } from '../files/finding.ts'
import { type BytePath, isBeneath, parentPath } from '../files/paths.ts'

/** What was not seen in one root, by paths beneath it. */
export interface Unseen {
  /** True for such a path, and for all beneath one. */
  has(path: BytePath): boolean
  /** True for a directory on the way to such a path. */
  isOver(path: BytePath): boolean
}

/** `root` and `paths`: absolute. Undefined where nothing of the root was hidden. */
export function unseenIn(root: BytePath, paths: readonly BytePath[]): Unseen | undefined {
  const directory = root === '/' ? '' : root
  const at = new Set<BytePath>()
  const over = new Set<BytePath>()
  for (const path of paths) {
    if (!isBeneath(directory, path) || path.length <= directory.length + 1) continue
    const inner = path.slice(directory.length + 1)
    at.add(inner)
    for (let way = inner; way !== ''; ) {
      way = parentPath(way)
      over.add(way)
    }
  }
  if (at.size === 0) return undefined
  return {
    isOver: (path) => over.has(path),
    has(path) {
      for (let way = path; way !== ''; way = parentPath(way)) if (at.has(way)) return true
      return false
    },
  }
}

/** Kinds that take a directory away with what is in it, or to another place. */
const TAKES_ALL: ReadonlySet<Change['kind']> = new Set(['deleted', 'renamed', 'replaced', 'retyped'])

/** Flags each change at, beneath or over what was not seen. */
export function withUnseen(findings: readonly Finding[], unseen: Unseen | undefined): readonly Finding[] {
  if (unseen === undefined) return findings
  return findings.map((finding) => {
    const { path, base, movedFrom, change } = finding
    const places = movedFrom === undefined ? [path, base] : [path, base, movedFrom]
    const isMet = places.some(
      (place) => unseen.has(place) || (TAKES_ALL.has(change.kind) && unseen.isOver(place)),
    )
    return isMet ? { ...finding, change: { ...change, flags: [...change.flags, 'hidden'] } } : finding
  })
}

/** The change as the branch's own agent may know it, who was not to learn what lies there; undefined: nothing of it. */
export function asSeenWithin(change: Change, path: BytePath, unseen: Unseen | undefined): Change | undefined {
  if (unseen === undefined || !unseen.has(path)) return change
  if (change.kind === 'deleted' || change.after === undefined) return undefined
  const { root, after, flags } = change
  return {
    ...{ root, path: change.path, kind: 'added', after },
    flags: flags.filter((flag) => flag !== 'breaks_link'),
  }
}
