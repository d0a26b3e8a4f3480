/**
 * Makes sense of the single findings of a root together: what was renamed, what is gone beneath, and which times of
 * directories only follow from what was done in them.
 * @module
 */

import type { Finding, LinkedName, Node } from '../files/finding.ts'
import { type BytePath, parentPath, pathBytes } from '../files/paths.ts'

/** Where an overlay's mark of origin has the inode, for the usual kind of file handle (struct ovl_fb, FILEID_INO32_GEN). */
const HANDLE_TYPE_AT = 4
const INODE_AT = 21
const FILEID_INO32_GEN = 1

function originInode(origin: Uint8Array): bigint | undefined {
  if (origin[HANDLE_TYPE_AT] !== FILEID_INO32_GEN || origin.length < INODE_AT + 4) return undefined
  return BigInt(new DataView(origin.buffer, origin.byteOffset, origin.length).getUint32(INODE_AT, true))
}

/**
 * A file that came from beneath and has no old file at its path was renamed by the branch, or the real file was removed
 * by somebody else: then it is a conflict. Renamed is what lies where the branch has deleted or changed something.
 * @param isParentChanged whether somebody else has changed the directory of that path
 */
export function explained(
  findings: readonly Finding[],
  isParentChanged: (path: BytePath) => boolean,
): Finding[] {
  const inodes = new Set<bigint>()
  const digests = new Set<string>()
  const kept = new Set<bigint>()
  for (const { change, before, after } of findings) {
    if (before?.type === 'file') inodes.add(before.inode)
    if (before !== undefined && after !== undefined) kept.add(after.inode)
    if (change.kind === 'deleted' && change.before?.sha256 !== undefined) digests.add(change.before.sha256)
  }
  return findings.map((finding) => {
    const { change, origin, after, path } = finding
    if (change.kind !== 'added' || origin === undefined || after?.type !== 'file') return finding
    if (!isParentChanged(path)) return finding
    const inode = originInode(origin)
    const isOther = inode === undefined ? false : inodes.has(inode)
    const isSameContent = change.after?.sha256 !== undefined && digests.has(change.after.sha256)
    if (isOther || isSameContent || kept.has(after.inode)) return finding
    return { ...finding, change: { ...change, conflict: 'gone' } }
  })
}

/** Tells of added files where the same content was deleted, each place once. */
export function withRenames(findings: readonly Finding[]): Finding[] {
  const deleted = new Map<string, BytePath[]>()
  for (const { change, path } of findings) {
    const sha256 = change.before?.sha256
    if (change.kind !== 'deleted' || sha256 === undefined || change.before?.sizeBytes === 0) continue
    const paths = deleted.get(sha256)
    if (paths === undefined) deleted.set(sha256, [path])
    else paths.push(path)
  }
  if (deleted.size === 0) return [...findings]
  return findings.map((finding) => {
    const { change } = finding
    const sha256 = change.kind === 'added' ? change.after?.sha256 : undefined
    const from = sha256 === undefined ? undefined : deleted.get(sha256)?.shift()
    return from === undefined ? finding : { ...finding, change: { ...change, from: pathBytes(from) } }
  })
}

/**
 * Where only metadata of a file differs, but it has names of which the branch does not show the same, those have to keep
 * what they have: the file is separated from them, as the overlay did when it copied it up.
 */
export function withSeparated(
  findings: readonly Finding[],
  names: ReadonlyMap<bigint, readonly LinkedName[]>,
): Finding[] {
  /** By old inode, its paths: the file that each shows, or that it goes. */
  const shown = new Map<bigint, Map<BytePath, bigint | 'goes'>>()
  const tell = (path: BytePath, before: Node | undefined, shows: bigint | 'goes'): void => {
    if (before === undefined || before.links < 2 || before.type === 'directory') return
    const paths = shown.get(before.inode)
    if (paths === undefined) shown.set(before.inode, new Map([[path, shows]]))
    else paths.set(path, shows)
  }
  for (const members of names.values())
    for (const { path, before, after } of members) tell(path, before, after.inode)
  for (const { path, before, after, change } of findings)
    tell(path, before, change.kind === 'metadata' && after !== undefined ? after.inode : 'goes')
  return findings.map((finding) => {
    const { change, before, after } = finding
    if (change.kind !== 'metadata' || before === undefined || before.type === 'directory') return finding
    if (before.links < 2) return finding
    let same = 0
    for (const shows of shown.get(before.inode)?.values() ?? [])
      if (shows === 'goes' || shows === after?.inode) same++
    if (same >= before.links) return finding
    return { ...finding, isSeparated: true, change: { ...change, flags: [...change.flags, 'breaks_link'] } }
  })
}

/** Without directories that were made anew just as they were: the kernel marks some of them so. */
export function withoutIdle(findings: readonly Finding[]): Finding[] {
  const losing = new Set<BytePath>()
  for (const { change, path } of findings) {
    if (change.kind !== 'deleted') continue
    for (let at = parentPath(path); ; at = parentPath(at)) {
      losing.add(at)
      if (at === '') break
    }
  }
  return findings.filter(
    ({ change, path }) => change.kind !== 'replaced' || change.metadata !== undefined || losing.has(path),
  )
}

/** Without directories whose time alone differs, where something was changed in them; that follows from it. */
export function withoutImpliedTimes(findings: readonly Finding[]): Finding[] {
  const changedIn = new Set<BytePath>()
  for (const { change, path, movedFrom } of findings) {
    if (change.kind === 'replaced' || change.kind === 'metadata') continue
    changedIn.add(parentPath(path))
    if (movedFrom !== undefined) changedIn.add(parentPath(movedFrom))
  }
  return findings.filter(({ change, path, before }) => {
    if (change.kind !== 'metadata' || before?.type !== 'directory') return true
    if (change.metadata?.some((kind) => kind !== 'time')) return true
    return !changedIn.has(path)
  })
}
