/**
 * The parts of a merge that a crash may come between, each of which can be done again: steps forwards, steps backwards,
 * the upper directory afterwards, and what is kept for taking the merge back.
 * @module
 */

import { closeSync, fstatSync } from 'node:fs'
import { MERGE_LINKS_FOLLOWED } from '../../limits.ts'
import { descriptorPath, O_PATH, RENAME_NOREPLACE } from '../at.node.ts'
import { ERRNO } from '../syscalls.node.ts'
import type { Branch, BranchRoot } from './branch.ts'
import {
  type Files,
  fileError,
  must,
  nameBytes,
  namesIn,
  openDirectory,
  openRoot,
  statName,
  withDirectory,
} from './files.node.ts'
import { type Journal, keptName, type RootJournal, stageName } from './journal.node.ts'
import { closeRoot, openStage, removeTree } from './merge-stage.node.ts'
import { type BytePath, namePath, parentPath } from './paths.ts'
import { readRecord, writeRecord } from './record.node.ts'
import { createSteps } from './steps.node.ts'
import type { UpperStep } from './upper-plan.ts'

/** S_IFCHR with device 0: a whiteout. */
const CHARACTER_DEVICE = 0o020000

export type BeforeStep = (name: string) => void

export function rootOf(branch: Branch, journal: RootJournal): BranchRoot {
  const root = branch.roots[journal.root]
  if (root === undefined) throw fileError('merged', `root ${journal.root}`, -ERRNO.ENOENT)
  return root
}

/** Does all steps that have not been done. @throws StepFailure where one cannot be */
export function applyForward(files: Files, branch: Branch, journal: Journal, beforeStep: BeforeStep): void {
  for (const part of journal.roots) {
    const open = openStage(files, rootOf(branch, part), journal.id, part.stage, false)
    const steps = createSteps(files, open, part)
    try {
      for (const step of part.steps) {
        beforeStep(`${step.op} ${part.root} ${step.place}`)
        steps.forward(step)
      }
      for (const [index, step] of part.attributes.entries()) {
        beforeStep(`attributes ${part.root} ${index}`)
        steps.setForward(step)
      }
      beforeStep(`sync ${part.root}`)
      must(files.at.syncAll(open.real), 'synced', '')
    } finally {
      steps.close()
      closeRoot(open)
    }
  }
}

/** Takes back all steps that have been done. @throws StepFailure where one cannot be */
export function applyBackward(files: Files, branch: Branch, journal: Journal, beforeStep: BeforeStep): void {
  for (const part of journal.roots.toReversed()) {
    const open = openStage(files, rootOf(branch, part), journal.id, part.stage, false)
    const steps = createSteps(files, open, part)
    try {
      for (const step of part.steps.toReversed()) {
        beforeStep(`back ${step.op} ${part.root} ${step.place}`)
        steps.backward(step)
      }
      for (const [index, step] of part.attributes.entries()) {
        beforeStep(`back attributes ${part.root} ${index}`)
        steps.setBackward(step)
      }
      beforeStep(`back sync ${part.root}`)
      must(files.at.syncAll(open.real), 'synced', '')
    } finally {
      steps.close()
      closeRoot(open)
    }
  }
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
 * Records what the merge, or taking it back, has touched: what lies now at these paths of each root, and for each root
 * what lies in its stage.
 */
export function recordTouched(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  isBackward: boolean,
): void {
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
    for (const [path, inode, changedNs] of identities(files, rootOf(branch, part), [...paths].sort()))
      if (inode !== 0n && !(isBackward && conflicts.has(path))) entries.set(inode, changedNs)
    if (isBackward || conflicts.size > 0) continue
    const open = openStage(files, rootOf(branch, part), journal.id, part.stage, false)
    try {
      // The other names of what was replaced have a new change time too.
      for (const name of namesIn(open.stage, stageName(journal.id))) {
        const stats = statName(open.stage, name)
        if (stats !== undefined && !stats.isDirectory() && stats.nlink > 1n)
          entries.set(stats.ino, stats.ctimeNs)
      }
    } finally {
      closeRoot(open)
    }
  }
  writeRecord(directory, record)
}

/** Takes out of the upper directories what has been merged. */
export function applyUpper(files: Files, branch: Branch, journal: Journal, beforeStep: BeforeStep): void {
  for (const part of journal.roots) {
    const store = openRoot(rootOf(branch, part).store)
    try {
      if (part.stage === 'root') hideStage(files, store, stageName(journal.id))
      if (part.upper.length === 0) continue
      const kept = keptName(journal.id)
      const made = files.at.makeDirectory(store, nameBytes(kept), 0o700)
      if (made < 0 && made !== -ERRNO.EEXIST) throw fileError('made', kept, made)
      withDirectory(files, store, kept, (keep) =>
        withDirectory(files, store, 'upper', (upper) => {
          for (const [index, step] of part.upper.entries()) {
            beforeStep(`upper ${part.root} ${index}`)
            if (step.op === 'index') {
              const result = moveIndex(files, store, keep, step.path, step.place, false)
              if (result < 0 && result !== -ERRNO.ENOENT && result !== -ERRNO.EEXIST)
                throw fileError('taken out of the index', step.path, result)
            } else upperForward(files, upper, keep, step, branch)
          }
        }),
      )
      must(files.at.syncAll(store), 'synced', kept)
    } finally {
      closeSync(store)
    }
  }
}

type DirectoryStep = Exclude<UpperStep, { op: 'index' }>

/** Out of the overlay's index, or back. */
function moveIndex(
  files: Files,
  store: number,
  keep: number,
  name: BytePath,
  place: string,
  isBackward: boolean,
): number {
  const { at } = files
  return (
    withDirectory(files, store, 'work/index', (index) =>
      isBackward
        ? at.rename(keep, nameBytes(place), index, nameBytes(name), RENAME_NOREPLACE)
        : at.rename(index, nameBytes(name), keep, nameBytes(place), RENAME_NOREPLACE),
    ) ?? -ERRNO.ENOENT
  )
}

/** What is kept at the top of the real root is not for the branch to see. */
function hideStage(files: Files, store: number, name: BytePath): void {
  withDirectory(files, store, 'upper', (upper) => {
    const times = statName(upper, '.')
    const made = files.at.makeNode(upper, nameBytes(name), CHARACTER_DEVICE, 0)
    if (made < 0 && made !== -ERRNO.EEXIST) throw fileError('hidden from the branch', name, made)
    if (times !== undefined)
      files.at.setTimes(upper, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
  })
}

function showStage(files: Files, store: number, name: BytePath): void {
  withDirectory(files, store, 'upper', (upper) => {
    const times = statName(upper, '.')
    const removed = files.at.unlink(upper, nameBytes(name))
    if (removed >= 0 && times !== undefined)
      files.at.setTimes(upper, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
  })
}

function upperForward(files: Files, upper: number, keep: number, step: DirectoryStep, branch: Branch): void {
  withDirectory(files, upper, parentPath(step.path), (directory) => {
    const name = nameBytes(namePath(step.path) === '' ? '.' : namePath(step.path))
    const place = descriptorPath(directory, name)
    const mark = nameBytes(`${branch.attributes}.overlay.redirect`)
    switch (step.op) {
      case 'remove': {
        const result = files.at.rename(directory, name, keep, nameBytes(step.place), RENAME_NOREPLACE)
        if (result < 0 && result !== -ERRNO.ENOENT && result !== -ERRNO.EEXIST)
          throw fileError('taken out of the branch', step.path, result)
        return
      }
      case 'redirect': {
        const result =
          step.after === undefined
            ? files.at.removeAttribute(place, mark)
            : files.at.setAttribute(place, mark, nameBytes(step.after))
        if (result < 0 && result !== -ERRNO.ENODATA && result !== -ERRNO.ENOENT)
          throw fileError('taken out of the branch', step.path, result)
        return
      }
      case 'time':
        files.at.setTimes(directory, name, { accessedNs: undefined, modifiedNs: step.modifiedNs })
    }
  })
}

/** Brings back into the upper directories what was taken out. @returns paths where the branch has something else now */
export function restoreUpper(
  files: Files,
  branch: Branch,
  journal: Journal,
  beforeStep: BeforeStep,
): { root: number; path: BytePath }[] {
  const missing: { root: number; path: BytePath }[] = []
  for (const part of journal.roots) {
    const store = openRoot(rootOf(branch, part).store)
    try {
      withDirectory(files, store, keptName(journal.id), (keep) =>
        withDirectory(files, store, 'upper', (upper) => {
          const [times, others] = [
            part.upper.filter(({ op }) => op === 'time'),
            part.upper.filter(({ op }) => op !== 'time').toReversed(),
          ]
          for (const [index, step] of [...others, ...times].entries()) {
            beforeStep(`back upper ${part.root} ${index}`)
            if (step.op === 'index') moveIndex(files, store, keep, step.path, step.place, true)
            else if (!upperBackward(files, upper, keep, step, branch))
              missing.push({ root: part.root, path: step.path })
          }
        }),
      )
      must(files.at.syncAll(store), 'synced', '')
    } finally {
      closeSync(store)
    }
  }
  return missing
}

function upperBackward(
  files: Files,
  upper: number,
  keep: number,
  step: DirectoryStep,
  branch: Branch,
): boolean {
  const done = withDirectory(files, upper, parentPath(step.path), (directory) => {
    const name = nameBytes(namePath(step.path) === '' ? '.' : namePath(step.path))
    switch (step.op) {
      case 'remove': {
        if (statName(keep, step.place) === undefined) return true
        return files.at.rename(keep, nameBytes(step.place), directory, name, RENAME_NOREPLACE) === 0
      }
      case 'redirect': {
        const mark = nameBytes(`${branch.attributes}.overlay.redirect`)
        return files.at.setAttribute(descriptorPath(directory, name), mark, nameBytes(step.before)) === 0
      }
      case 'time':
        files.at.setTimes(directory, name, { accessedNs: undefined, modifiedNs: step.modifiedNs })
        return true
    }
  })
  return done ?? false
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
export function removeStages(files: Files, directory: string, branch: Branch, journal: Journal): void {
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
  try {
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
  } finally {
    closeSync(home)
  }
}

function removeStage(files: Files, root: BranchRoot, part: RootJournal, id: string): void {
  const store = openRoot(root.store)
  const real = openRoot(root.path)
  try {
    const home = part.stage === 'store' ? store : real
    const name = stageName(id)
    const times = statName(home, '.')
    removeTree(files, home, name)
    if (part.stage === 'root') {
      if (times !== undefined)
        files.at.setTimes(home, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
      showStage(files, store, name)
    }
    removeTree(files, store, keptName(id))
  } finally {
    closeSync(store)
    closeSync(real)
  }
}
