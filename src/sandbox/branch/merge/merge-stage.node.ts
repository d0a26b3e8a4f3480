/**
 * The stages of a merge: where they are, how they are filled, and how they go. A stage lies in the root's store where a
 * file can be renamed from there into the real root, else at the top of that, hidden, for root or the daemon's user alone.
 * @module
 */

import { closeSync, readFileSync } from 'node:fs'
import { closing } from '../../../base/closing.node.ts'
import { descriptorPath } from '../../kernel/at.node.ts'
import { ERRNO } from '../../kernel/syscalls.node.ts'
import type { Branch, BranchRoot } from '../files/branch.ts'
import { NO_BUDGET } from '../files/budget.ts'
import {
  type Files,
  fileError,
  must,
  nameBytes,
  openDirectory,
  openRoot,
  statDirectory,
} from '../files/files.node.ts'
import { type BytePath, namePath, parentPath } from '../files/paths.ts'
import { createReader } from '../files/reader.node.ts'
import { type RootJournal, stageName } from '../store/journal.node.ts'
import type { Build } from '../store/merge-plan.ts'
import { applyAttributes, attributesOfNode, copyFile, makeSpecial } from '../store/stage.node.ts'
import { asSeen } from './merge-seen.node.ts'

const STAGE_MODE = 0o700

export type StagePlace = 'store' | 'root'

/** The open directories that a merge of one root works with. */
export type OpenRoot = {
  readonly real: number
  readonly store: number
  readonly stage: number
}

/** The mount that an open directory lies in (proc_pid_fdinfo(5)). */
function mountOf(descriptor: number): string | undefined {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1]
}

/** Files can be renamed within one mount of one file system only. */
export function placeOfStage(root: BranchRoot): StagePlace {
  const real = openRoot(root.path)
  const store = openRoot(root.store)
  using _closed = closing(real, store)
  const isSame =
    statDirectory(real).dev === statDirectory(store).dev &&
    mountOf(real) !== undefined &&
    mountOf(real) === mountOf(store)
  return isSame ? 'store' : 'root'
}

/** Opens what a merge of a root needs; the stage is made where it is not there and `isNew`. */
export function openStage(
  files: Files,
  root: BranchRoot,
  id: string,
  place: StagePlace,
  isNew: boolean,
): OpenRoot {
  const { at } = files
  const real = openRoot(root.path)
  const store = openRoot(root.store)
  const home = place === 'store' ? store : real
  const name = stageName(id)
  try {
    const times = statDirectory(home)
    if (isNew) {
      must(at.makeDirectory(home, nameBytes(name), STAGE_MODE), 'made', name)
      // Nothing in it shall begin with what the directory above gives to new files.
      at.removeAttribute(descriptorPath(home, nameBytes(name)), nameBytes('system.posix_acl_default'))
      applyAttributes(files, home, name, { mode: STAGE_MODE }, false, name)
      at.setTimes(home, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
    }
    const stage = openDirectory(files, home, name)
    must(stage, 'opened', name)
    return { real, store, stage }
  } catch (error) {
    closeSync(real)
    closeSync(store)
    throw error
  }
}

export function closeRoot(open: OpenRoot): void {
  for (const descriptor of [open.real, open.store, open.stage]) closeSync(descriptor)
}

/** Builds all of a root; directories get their times when they are full. */
export function buildStage(
  files: Files,
  open: OpenRoot,
  builds: readonly Build[],
  beforeStep: (name: string) => void,
): number {
  let sizeBytes = 0
  const reader = createReader(files, NO_BUDGET)
  const directories: Build[] = []
  let from: { path: BytePath; descriptor: number } | undefined
  let to: { path: BytePath; descriptor: number } | undefined
  const opened = (
    last: { path: BytePath; descriptor: number } | undefined,
    root: number,
    path: BytePath,
  ): { path: BytePath; descriptor: number } => {
    if (last?.path === path) return last
    if (last !== undefined) closeSync(last.descriptor)
    return { path, descriptor: must(openDirectory(files, root, path), 'opened', path) }
  }
  try {
    for (const build of builds) {
      beforeStep(`build ${build.place}`)
      const { finding, node, place } = build
      to = opened(to, open.stage, parentPath(place))
      const name = namePath(place)
      if (build.linkPlace !== undefined || build.linkPath !== undefined) {
        const root = build.linkPlace === undefined ? open.real : open.stage
        const path = build.linkPlace ?? build.linkPath ?? ''
        const other = must(openDirectory(files, root, parentPath(path)), 'opened', path)
        const result = files.at.link(other, nameBytes(namePath(path)), to.descriptor, nameBytes(name))
        closeSync(other)
        must(result, 'linked', path)
        continue
      }
      if (node.type === 'directory') {
        must(files.at.makeDirectory(to.descriptor, nameBytes(name), STAGE_MODE), 'made', finding.path)
        directories.push(build)
        continue
      }
      if (node.type === 'file') {
        const source = finding.source ?? ''
        from = opened(from, open.store, parentPath(source))
        const isReady = copyFile(
          files,
          [from.descriptor, namePath(source)],
          [to.descriptor, name],
          node,
          finding.path,
          asSeen(files, reader, finding),
        )
        sizeBytes += node.sizeBytes
        if (isReady) {
          const { modifiedNs } = node
          applyAttributes(files, to.descriptor, name, { modifiedNs }, false, finding.path, true)
          continue
        }
      } else makeSpecial(files, to.descriptor, name, node, finding.path)
      const isSymlink = node.type === 'symlink'
      applyAttributes(files, to.descriptor, name, attributesOfNode(node), isSymlink, finding.path, true)
    }
    for (const { place, node, finding } of directories.reverse()) {
      to = opened(to, open.stage, parentPath(place))
      applyAttributes(
        files,
        to.descriptor,
        namePath(place),
        attributesOfNode(node),
        false,
        finding.path,
        true,
      )
    }
    return sizeBytes
  } finally {
    for (const last of [from, to]) if (last !== undefined) closeSync(last.descriptor)
  }
}

export function rootOf(branch: Branch, journal: Pick<RootJournal, 'root'>): BranchRoot {
  const root = branch.roots[journal.root]
  if (root === undefined) throw fileError('merged', `root ${journal.root}`, -ERRNO.ENOENT)
  return root
}
