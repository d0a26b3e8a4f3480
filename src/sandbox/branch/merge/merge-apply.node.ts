/**
 * The parts of a merge that a crash may come between, each of which can be done again: steps forwards, steps backwards,
 * the upper directory afterwards, and what is kept for taking the merge back.
 * @module
 */

import { closeSync, fstatSync } from 'node:fs'
import { atEnd, closing } from '../../../base/closing.node.ts'
import { O_PATH } from '../../kernel/at.node.ts'
import { MERGE_LINKS_FOLLOWED } from '../../limits.ts'
import type { Branch, BranchRoot } from '../files/branch.ts'
import {
  type Files,
  must,
  nameBytes,
  namesIn,
  openDirectory,
  openRoot,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import { type BytePath, namePath, parentPath } from '../files/paths.ts'
import { type Journal, keptName, type RootJournal, stageName } from '../store/journal.node.ts'
import { readRecord, writeRecord } from '../store/record.node.ts'
import { removeTree } from '../store/remove.node.ts'
import { closeRoot, openStage, rootOf } from './merge-stage.node.ts'
import { createSteps } from './steps.node.ts'
import { keepingTime, type Merging, showStage } from './upper-apply.node.ts'

/** Old files that are back where they were, by root and inode. */
export type TakenBack = readonly ReadonlySet<bigint>[]

/** Does all steps that have not been done, or takes back all that have. @throws StepFailure where one cannot be */
export function applySteps(
  { files, branch, beforeStep }: Merging,
  journal: Journal,
  isBackward: boolean,
): TakenBack {
  const takenBack = branch.roots.map(() => new Set<bigint>())
  const back = isBackward ? 'back ' : ''
  const inOrder = <T>(all: readonly T[]): readonly T[] => (isBackward ? all.toReversed() : all)
  for (const part of inOrder(journal.roots)) {
    const open = openStage(files, rootOf(branch, part), journal.id, part.stage, false)
    const steps = createSteps(files, open, part)
    using _open = atEnd(() => {
      steps.close()
      closeRoot(open)
    })
    for (const step of inOrder(part.steps)) {
      beforeStep(`${back}${step.op} ${part.root} ${step.place}`)
      if (!isBackward) steps.forward(step)
      else if (steps.backward(step) && step.op !== 'put') takenBack[part.root]?.add(step.inode)
    }
    for (const [index, step] of part.attributes.entries()) {
      beforeStep(`${back}attributes ${part.root} ${index}`)
      if (isBackward) steps.setBackward(step)
      else steps.setForward(step)
    }
    beforeStep(`${back}sync ${part.root}`)
    must(files.at.syncAll(open.real), 'synced', '')
  }
  return takenBack
}

/** Inode and change time of what lies at each path; 0 and 0 where nothing does. */
export function identities(
  files: Files,
  root: BranchRoot,
  paths: readonly BytePath[],
): (readonly [path: BytePath, inode: bigint, changedNs: bigint, isDirectory: boolean])[] {
  const real = openRoot(root.path)
  let last: { path: BytePath; descriptor: number } | undefined
  try {
    return paths.map((path) => {
      const directory = parentPath(path)
      if (last?.path !== directory) {
        if (last !== undefined && last.descriptor >= 0) closeSync(last.descriptor)
        last = { path: directory, descriptor: openDirectory(files, real, directory) }
      }
      const name = path === '' ? '.' : namePath(path)
      const stats = last.descriptor < 0 ? undefined : statName(last.descriptor, name)
      return [path, stats?.ino ?? 0n, stats?.ctimeNs ?? 0n, stats?.isDirectory() ?? false] as const
    })
  } finally {
    if (last !== undefined && last.descriptor >= 0) closeSync(last.descriptor)
    closeSync(real)
  }
}

/**
 * Records what the merge, or taking it back, has touched: what lies now at its paths, and what lies in its stages.
 */
export function recordTouched(
  { files, directory, branch }: Merging,
  journal: Journal,
  takenBack: TakenBack | undefined,
): void {
  const isBackward = takenBack !== undefined
  const old = readRecord(directory, branch.roots.length)
  const record = old.map((entries) => new Map(entries))
  for (const part of journal.roots) {
    const entries = record[part.root]
    if (entries === undefined) continue
    const paths = new Set<BytePath>(part.besides.map((entry) => (isBackward ? entry.base : entry.path)))
    // What was in conflict when it was merged is so again when it is there again.
    for (const { path, base, movedFrom, isConflict } of part.merged) {
      if (!isBackward) paths.add(path)
      else if (!isConflict) {
        paths.add(base)
        if (movedFrom !== undefined) paths.add(movedFrom)
      }
    }
    for (const { path, base } of part.attributes) {
      const at = isBackward ? base : path
      if (at !== undefined) paths.add(at)
    }
    const conflicts = new Set(
      part.merged.flatMap(({ base, movedFrom, isConflict }) => (isConflict ? [base, movedFrom ?? base] : [])),
    )
    const besides = new Set<BytePath | undefined>(
      [...part.besides, ...part.attributes].map(({ base }) => base),
    )
    /** What no step has been done with was changed by somebody else, or not at all. */
    const isTouched = (path: BytePath, inode: bigint): boolean =>
      !isBackward ||
      (!conflicts.has(path) && (besides.has(path) || takenBack[part.root]?.has(inode) === true))
    for (const [path, inode, changedNs] of identities(files, rootOf(branch, part), [...paths].sort()))
      if (inode !== 0n && isTouched(path, inode)) entries.set(inode, changedNs)
    if (isBackward || conflicts.size > 0) continue
    const open = openStage(files, rootOf(branch, part), journal.id, part.stage, false)
    using _open = atEnd(() => closeRoot(open))
    // The other names of what was replaced have a new change time too.
    for (const name of namesIn(open.stage, stageName(journal.id))) {
      const stats = statName(open.stage, name)
      if (stats !== undefined && !stats.isDirectory() && stats.nlink > 1n)
        entries.set(stats.ino, stats.ctimeNs)
    }
  }
  writeRecord(directory, record)
}

/** Paths whose files are touched when a name of them in a stage goes, or the stage itself. */
function pathsAtRisk(part: RootJournal): BytePath[] {
  const paths = new Set<BytePath>()
  for (const { path, base } of [...part.besides, ...part.merged]) {
    paths.add(path)
    paths.add(base)
  }
  return [...paths].sort()
}

/**
 * Removes the stages of a merge, and what was kept of the upper directories. That changes the time of files which have
 * other names there; what was known as ours before is so afterwards.
 */
export function removeStages({ files, directory, branch }: Merging, journal: Journal): void {
  const old = readRecord(directory, branch.roots.length)
  const record = old.map((entries) => new Map(entries))
  let hasChanged = false
  for (const part of journal.roots) {
    const root = rootOf(branch, part)
    const baseNs = BigInt(root.baseNs)
    const entries = record[part.root] ?? new Map<bigint, bigint>()
    const atRisk = pathsAtRisk(part)
    const ours = identities(files, root, atRisk).filter(
      ([, inode, changedNs]) => inode !== 0n && (changedNs <= baseNs || entries.get(inode) === changedNs),
    )
    const linked = linkedIn(files, root, part, journal.id, (inode, changedNs) => {
      return changedNs <= baseNs || entries.get(inode) === changedNs
    })
    removeStage(files, root, part, journal.id)
    for (const descriptor of linked) {
      const { nlink, ino, ctimeNs } = fstatSync(descriptor, { bigint: true })
      closeSync(descriptor)
      if (nlink === 0n) continue
      entries.set(ino, ctimeNs)
      hasChanged = true
    }
    const known = new Map(ours.map(([path, inode, changedNs]) => [path, { inode, changedNs }]))
    for (const [path, inode, changedNs] of identities(files, root, [...known.keys()])) {
      if (known.get(path)?.inode !== inode || known.get(path)?.changedNs === changedNs) continue
      entries.set(inode, changedNs)
      hasChanged = true
    }
  }
  if (hasChanged) writeRecord(directory, record)
}

/** Opens the files in a stage that have other names, of which the most are elsewhere. */
function linkedIn(
  files: Files,
  root: BranchRoot,
  part: RootJournal,
  id: string,
  isOurs: (inode: bigint, changedNs: bigint) => boolean,
): number[] {
  const found: number[] = []
  const home = openRoot(part.stage === 'store' ? root.store : root.path)
  using _home = closing(home)
  const waiting: BytePath[] = [stageName(id)]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = next
    withDirectory(files, home, path, (directory) => {
      for (const name of namesIn(directory, path)) {
        const stats = statName(directory, name)
        if (stats?.isDirectory()) waiting.push(`${path}/${name}`)
        else if (stats !== undefined && stats.nlink > 1n && found.length < MERGE_LINKS_FOLLOWED) {
          if (!isOurs(stats.ino, stats.ctimeNs)) continue
          const descriptor = files.at.open(directory, nameBytes(name), O_PATH)
          if (descriptor >= 0) found.push(descriptor)
        }
      }
    })
  }
  return found
}

function removeStage(files: Files, root: BranchRoot, part: RootJournal, id: string): void {
  const store = openRoot(root.store)
  using _store = closing(store)
  const name = stageName(id)
  if (part.stage === 'store') removeTree(files, store, name)
  else {
    removeInReal(files, root, name)
    showStage(files, store, name)
  }
  removeTree(files, store, keptName(id))
}

function removeInReal(files: Files, root: BranchRoot, name: BytePath): void {
  const real = openRoot(root.path)
  using _real = closing(real)
  keepingTime(files, real, () => removeTree(files, real, name))
}

/** Of a branch that is no more: only what lies in the real roots. */
export function removeStagesBesides(files: Files, branch: Branch, journal: Journal): void {
  for (const part of journal.roots)
    if (part.stage === 'root') removeInReal(files, rootOf(branch, part), stageName(journal.id))
}
