/**
 * The upper directories after a merge, and after it was taken back: what was merged goes out of them into a directory of
 * its own beside them, and comes back from there. The overlay is not mounted.
 * @module
 */

import { closing } from '../../../base/closing.node.ts'
import { descriptorPath, RENAME_NOREPLACE } from '../../kernel/at.node.ts'
import { ERRNO } from '../../kernel/syscalls.node.ts'
import type { Branch } from '../files/branch.ts'
import {
  type Files,
  fileError,
  must,
  nameBytes,
  openRoot,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import { type BytePath, namePath, parentPath } from '../files/paths.ts'
import { type Journal, keptName, stageName } from '../store/journal.node.ts'
import type { UpperStep } from '../store/upper-plan.ts'
import { rootOf } from './merge-stage.node.ts'

/** S_IFCHR with device 0: a whiteout. */
const CHARACTER_DEVICE = 0o020000

export type BeforeStep = (name: string) => void

/** What all parts of a merge work with: `directory` is the branch's own. */
export type Merging = {
  readonly files: Files
  readonly directory: string
  readonly branch: Branch
  readonly beforeStep: BeforeStep
}

/** The time of an open directory is afterwards what it was. */
export function keepingTime(files: Files, directory: number, work: () => void): void {
  const times = statName(directory, '.')
  work()
  if (times !== undefined)
    files.at.setTimes(directory, nameBytes('.'), { accessedNs: undefined, modifiedNs: times.mtimeNs })
}

/** Takes out of the upper directories what has been merged. */
export function applyUpper({ files, branch, beforeStep }: Merging, journal: Journal): void {
  for (const part of journal.roots) {
    const store = openRoot(rootOf(branch, part).store)
    using _store = closing(store)
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
          } else if (step.op === 'links') countLinks(files, store, step.path, step.more)
          else upperForward(files, upper, keep, step, branch)
        }
      }),
    )
    must(files.at.syncAll(store), 'synced', kept)
  }
}

type DirectoryStep = Exclude<UpperStep, { op: 'index' | 'links' }>

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

/** As ovl_set_nlink_common of fs/overlayfs/inode.c writes it: counted from the file above. */
function countLinks(files: Files, store: number, name: BytePath, more: number): void {
  withDirectory(files, store, 'work/index', (index) => {
    if (statName(index, name) === undefined) return
    const place = descriptorPath(index, nameBytes(name))
    const value = nameBytes(`U${more < 0 ? '' : '+'}${more}`)
    must(files.at.setAttribute(place, nameBytes('trusted.overlay.nlink'), value), 'counted', name)
  })
}

/** What is kept at the top of the real root is not for the branch to see. */
function hideStage(files: Files, store: number, name: BytePath): void {
  withDirectory(files, store, 'upper', (upper) =>
    keepingTime(files, upper, () => {
      const made = files.at.makeNode(upper, nameBytes(name), CHARACTER_DEVICE, 0)
      if (made < 0 && made !== -ERRNO.EEXIST) throw fileError('hidden from the branch', name, made)
    }),
  )
}

export function showStage(files: Files, store: number, name: BytePath): void {
  withDirectory(files, store, 'upper', (upper) =>
    keepingTime(files, upper, () => files.at.unlink(upper, nameBytes(name))),
  )
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
  { files, branch, beforeStep }: Merging,
  journal: Journal,
): { root: number; path: BytePath }[] {
  const missing: { root: number; path: BytePath }[] = []
  for (const part of journal.roots) {
    const store = openRoot(rootOf(branch, part).store)
    using _store = closing(store)
    withDirectory(files, store, keptName(journal.id), (keep) =>
      withDirectory(files, store, 'upper', (upper) => {
        const [times, others] = [
          part.upper.filter(({ op }) => op === 'time'),
          part.upper.filter(({ op }) => op !== 'time').toReversed(),
        ]
        for (const [index, step] of [...others, ...times].entries()) {
          beforeStep(`back upper ${part.root} ${index}`)
          if (step.op === 'index') moveIndex(files, store, keep, step.path, step.place, true)
          else if (step.op !== 'links' && !upperBackward(files, upper, keep, step, branch))
            missing.push({ root: part.root, path: step.path })
        }
      }),
    )
    must(files.at.syncAll(store), 'synced', '')
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
