/**
 * The parts of a merge that a crash may come between, each of which can be done again: steps forwards, steps backwards,
 * the upper directory afterwards, and what is kept for taking the merge back.
 * @module
 */

import { closeSync, fstatSync } from 'node:fs'
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
import { type MergedRecord, readRecord, writeRecord } from './record.node.ts'
import { createSteps } from './steps.node.ts'

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
    const paths = new Set<BytePath>()
    // What was in conflict when it was merged is so again when it is there again.
    for (const { path, base, isConflict } of part.merged)
      if (!isBackward || !isConflict) paths.add(isBackward ? base : path)
    for (const { path, base } of part.attributes) {
      const at = isBackward ? base : path
      if (at !== undefined) paths.add(at)
    }
    const conflicts = new Set(part.merged.filter((entry) => entry.isConflict).map(({ base }) => base))
    for (const [path, inode, changedNs] of identities(files, rootOf(branch, part), [...paths].sort()))
      if (inode !== 0n && !(isBackward && conflicts.has(path))) entries.set(inode, changedNs)
    if (isBackward) continue
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
    if (part.upper.length === 0) continue
    const store = openRoot(rootOf(branch, part).store)
    try {
      const kept = keptName(journal.id)
      const made = files.at.makeDirectory(store, nameBytes(kept), 0o700)
      if (made < 0 && made !== -ERRNO.EEXIST) throw fileError('made', kept, made)
      withDirectory(files, store, kept, (keep) =>
        withDirectory(files, store, 'upper', (upper) => {
          for (const [index, step] of part.upper.entries()) {
            beforeStep(`upper ${part.root} ${index}`)
            upperForward(files, upper, keep, step, branch)
          }
        }),
      )
      must(files.at.syncAll(store), 'synced', kept)
    } finally {
      closeSync(store)
    }
  }
}

function upperForward(
  files: Files,
  upper: number,
  keep: number,
  step: RootJournal['upper'][number],
  branch: Branch,
): void {
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
            if (!upperBackward(files, upper, keep, step, branch))
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
  step: RootJournal['upper'][number],
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

/** Removes the stages of a merge, and what was kept of the upper directories. */
export function removeStages(
  files: Files,
  directory: string | undefined,
  branch: Branch,
  journal: Journal,
): void {
  const touched: [root: number, inode: bigint, changedNs: bigint][] = []
  for (const part of journal.roots) {
    const root = rootOf(branch, part)
    const store = openRoot(root.store)
    const real = openRoot(root.path)
    try {
      const home = part.stage === 'store' ? store : real
      const name = stageName(journal.id)
      const times = statName(home, '.')
      const linked: number[] = []
      withDirectory(files, home, name, (stage) => {
        for (const place of namesIn(stage, name)) {
          const stats = statName(stage, place)
          if (stats === undefined || stats.isDirectory() || stats.nlink < 2n || linked.length >= 256) continue
          const descriptor = files.at.open(stage, nameBytes(place), O_PATH)
          if (descriptor >= 0) linked.push(descriptor)
        }
      })
      removeTree(files, home, name)
      if (part.stage === 'root' && times !== undefined)
        files.at.setTimes(home, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
      removeTree(files, store, keptName(journal.id))
      for (const descriptor of linked) {
        const stats = fstatSync(descriptor, { bigint: true })
        if (stats.nlink > 0n) touched.push([part.root, stats.ino, stats.ctimeNs])
        closeSync(descriptor)
      }
    } finally {
      closeSync(store)
      closeSync(real)
    }
  }
  if (directory === undefined || touched.length === 0) return
  const record: MergedRecord = readRecord(directory, branch.roots.length)
  const entries = record.map((map) => new Map(map))
  for (const [root, inode, changedNs] of touched) {
    // Only what was ours before is ours now.
    if (entries[root]?.has(inode)) entries[root]?.set(inode, changedNs)
  }
  writeRecord(directory, entries)
}
