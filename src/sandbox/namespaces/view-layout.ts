/**
 * What is mounted where in a session's view: the listed places, what is mounted on the device beneath them, and the
 * branches; everything else is not there. An overlay shows nothing that is mounted beneath its lower directory, so that
 * each such mount is a place of its own.
 * Rules: docs/sandbox.md (what a command sees); overlayfs.rst.
 * @module
 */

import { isWithin } from '../../base/text/lexical-path.ts'
import type { Mount } from './mount-table.ts'
import { mountOf } from './mount-table.ts'
import type { RootMount } from './namespace-plan.ts'

/** A place of the view, at its path on the device. */
export type Placed =
  | { readonly kind: 'read'; readonly path: string; readonly type: string }
  | { readonly kind: 'branch'; readonly path: string; readonly root: RootMount }

/** Not files of the device: a session has its own, or none. */
const VIRTUAL: ReadonlySet<string> = new Set([
  'autofs',
  'binfmt_misc',
  'bpf',
  'cgroup',
  'cgroup2',
  'configfs',
  'debugfs',
  'devpts',
  'devtmpfs',
  'efivarfs',
  'fusectl',
  'hugetlbfs',
  'mqueue',
  'nfsd',
  'nsfs',
  'proc',
  'pstore',
  'rpc_pipefs',
  'securityfs',
  'selinuxfs',
  'sysfs',
  'tracefs',
])

/** Made anew for each session, whatever is listed beneath them. */
export const OWN_PLACES: readonly string[] = ['/dev', '/proc', '/sys', '/run', '/tmp', '/var/tmp', '/var/run']

const isOwn = (path: string): boolean => OWN_PLACES.some((place) => isWithin(place, path))

/**
 * `listed`: absolute paths without links that are there, `shown`: mounts beneath branches that cannot be branched.
 * The outer ones first.
 */
export function layOut(
  listed: readonly string[],
  shown: readonly string[],
  roots: readonly RootMount[],
  mounts: readonly Mount[],
): readonly Placed[] {
  const isBranch = (path: string): boolean => roots.some((root) => root.path === path)
  const isBranched = (path: string): boolean => roots.some((root) => isWithin(root.path, path))
  const read = new Set<string>()
  for (const path of [...listed].sort((a, b) => a.length - b.length))
    if (!isOwn(path) && !isBranched(path) && ![...read].some((outer) => isWithin(outer, path))) read.add(path)
  for (const { point } of mounts) {
    const isBeneath = [...read].some((place) => place !== point && isWithin(place, point))
    if (isBeneath && !isOwn(point) && !isBranched(point)) read.add(point)
  }
  for (const path of shown) if (!isBranch(path)) read.add(path)
  const placed: Placed[] = roots.map((root) => ({ kind: 'branch', path: root.path, root }))
  for (const path of read) {
    const type = mountOf(mounts, path)?.type ?? ''
    if (!VIRTUAL.has(type)) placed.push({ kind: 'read', path, type })
  }
  return placed.sort(
    (a, b) => a.path.split('/').length - b.path.split('/').length || (a.path < b.path ? -1 : 1),
  )
}

/**
 * Without the places that lie at or in what is hidden: listed ones, and what is mounted there within another one. A
 * directory that is named to be branched is there, whatever is hidden around it.
 */
export function withoutHidden(
  placed: readonly Placed[],
  hidden: readonly string[],
  mounts: readonly Mount[],
): readonly Placed[] {
  return placed.filter(({ kind, path }) => {
    if (!hidden.some((outer) => isWithin(outer, path))) return true
    if (kind === 'read') return false
    const isWithinAnother = placed.some((other) => other.path !== path && isWithin(other.path, path))
    return !(isWithinAnother && mounts.some(({ point }) => point === path))
  })
}
