/**
 * Which directories are branched one by one: what the configuration names, and beneath it every file system that is
 * mounted there, since an overlay shows none of them. `/` stands for its directories; what lies there as a file stays as
 * it is. File systems that no overlay can lie over are shown as they are, to be read.
 * Source: overlayfs.rst; proc_pid_mountinfo(5).
 * @module
 */

import { isWithin } from '../../../base/text/lexical-path.ts'

/** Something mounted, by where. */
export type MountPoint = { readonly path: string; readonly type: string; readonly isDirectory: boolean }

export type BranchedDirectories = {
  /** Absolute, the outer ones first. */
  readonly roots: readonly string[]
  /** Mount points beneath them that are shown, and not branched. */
  readonly shown: readonly string[]
}

/** What a session has of its own, or what is no place for files. */
const NOT_BRANCHED: readonly string[] = ['/dev', '/proc', '/sys', '/run', '/tmp', '/var/tmp', '/var/run']
/** File systems with names that mean one thing and files that keep their numbers. */
const BRANCHABLE: ReadonlySet<string> = new Set([
  'ext2',
  'ext3',
  'ext4',
  'xfs',
  'btrfs',
  'f2fs',
  'bcachefs',
  'zfs',
  'tmpfs',
  'overlay',
  'squashfs',
  'erofs',
  'ubifs',
  'jffs2',
])

function isLeftOut(path: string): boolean {
  return NOT_BRANCHED.some((place) => isWithin(place, path))
}

/** `named`: absolute, without links. `topDirectories`: of `/`, by name. */
export function branchedDirectories(
  named: readonly string[],
  mounts: readonly MountPoint[],
  topDirectories: readonly string[],
): BranchedDirectories {
  const asked = named.flatMap((path) =>
    path === '/' ? topDirectories.map((name) => `/${name}`).filter((top) => !isLeftOut(top)) : [path],
  )
  const roots = new Set(asked)
  const shown = new Set<string>()
  for (const { path, type, isDirectory } of mounts) {
    const around = asked.find((root) => root !== path && isWithin(root, path))
    // A root that was named lies where it lies; of a whole device the session's own places are none.
    if (
      around === undefined ||
      (isLeftOut(path) && !asked.some((root) => isLeftOut(root) && isWithin(root, path)))
    )
      continue
    if (isDirectory && BRANCHABLE.has(type)) roots.add(path)
    else shown.add(path)
  }
  const outerFirst = (paths: Iterable<string>): string[] =>
    [...paths].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
  return { roots: outerFirst(roots), shown: outerFirst(shown) }
}
