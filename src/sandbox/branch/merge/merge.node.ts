/**
 * Brings changes of a branch into the real files: all that was chosen or nothing, every file old or new at any moment,
 * finished or taken back after a crash, and taken back as a whole when somebody asks.
 * The branch must not be mounted and nothing may run in it.
 * Rules: docs/sandbox.md (merge).
 * @module
 */

import { atEnd } from '../../../base/closing.node.ts'
import { SassError } from '../../../errors.ts'
import { ERRNO, type Syscalls } from '../../kernel/syscalls.node.ts'
import type { Branch } from '../files/branch.ts'
import { type Change, sortChanges } from '../files/changes.ts'
import { createFiles, must, nameBytes } from '../files/files.node.ts'
import type { Finding } from '../files/finding.ts'
import { type BytePath, bytePath } from '../files/paths.ts'
import { outdateCheckpoints, resumeRestore } from '../store/checkpoint.node.ts'
import {
  type Journal,
  type RootJournal,
  readJournal,
  removeJournal,
  writeJournal,
} from '../store/journal.node.ts'
import { planRoot } from '../store/merge-plan.ts'
import { type FullSurvey, surveyFully } from '../survey/survey.node.ts'
import { applySteps, identities, recordTouched, removeStages } from './merge-apply.node.ts'
import { chooseFindings, conflictsOf } from './merge-choice.ts'
import { besidesOf, journalOf, type Part } from './merge-journal.node.ts'
import type {
  ChosenPath,
  MergeCounts,
  MergeRequest,
  MergeResult,
  ResumeResult,
  UndoResult,
} from './merge-result.ts'
import {
  buildStage,
  closeRoot,
  openStage,
  placeOfStage,
  rootOf,
  type StagePlace,
} from './merge-stage.node.ts'
import { StepFailure } from './steps.node.ts'
import { applyUpper, type BeforeStep, type Merging, restoreUpper } from './upper-apply.node.ts'

const NOTHING: BeforeStep = () => {}

function pathsIn(paths: readonly ChosenPath[] | undefined, root: number): BytePath[] | undefined {
  return paths?.filter((path) => path.root === root).map(({ path }) => bytePath(path))
}

function changesOf(findings: readonly Finding[]): Change[] {
  return sortChanges(findings.map(({ change }) => change))
}

function countsOf(findings: readonly Finding[], sizeBytes: number): MergeCounts {
  const of = (...kinds: Change['kind'][]): number =>
    findings.filter(({ change }) => kinds.includes(change.kind)).length
  return {
    added: of('added'),
    modified: of('modified', 'retyped', 'replaced'),
    deleted: of('deleted'),
    renamed: of('renamed'),
    metadata: of('metadata'),
    sizeBytes,
  }
}

/**
 * Merges what was asked for.
 * @param directory of the branch: holds the journal and the record of what was merged
 * @throws SassError FILE_IO where nothing was done; INTERNAL where a merge that a crash ended has to be resumed first
 */
export function mergeBranch(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  request: MergeRequest,
  beforeStep: BeforeStep = NOTHING,
): MergeResult {
  const merging: Merging = { files: createFiles(syscalls), directory, branch, beforeStep }
  const last = readJournal(directory)
  if (last !== undefined && last.state !== 'done') {
    throw new SassError(
      'INTERNAL',
      `Merge ${last.id} of this branch was ended by a crash and has to be resumed before another one.`,
    )
  }
  const survey = surveyFully(merging.files, directory, branch)
  if (survey.survey.digest !== request.digest) return { kind: 'other_digest', digest: survey.survey.digest }
  const parts = survey.roots.map((root, index): Part => {
    const paths = pathsIn(request.paths, index)
    const choice = chooseFindings(root.findings, paths, request.allowHeldBack ?? false, root.index)
    return { root: index, choice, plan: planRoot(choice.chosen, root) }
  })
  const conflicts = parts.flatMap(({ root, choice }) =>
    conflictsOf(choice.chosen, pathsIn(request.force, root) ?? []),
  )
  if (conflicts.length > 0) return { kind: 'conflicts', conflicts: changesOf(conflicts) }
  const leftOut = changesOf(parts.flatMap(({ choice }) => choice.leftOut))
  const used = parts.filter(({ choice }) => choice.chosen.length > 0)
  if (used.length === 0) return { kind: 'nothing', leftOut }
  if (last !== undefined) clear(merging, last)
  const places = used.map(({ root }) => placeOfStage(rootOf(branch, { root })))
  let result = attempt(merging, request.id, survey, used, places)
  // Quotas by project keep a file from leaving a directory, though it is one file system.
  if (result.kind === 'failed' && result.errno === -ERRNO.EXDEV && places.includes('store'))
    result = attempt(
      merging,
      request.id,
      survey,
      used,
      used.map(() => 'root'),
    )
  if (result.kind === 'failed') {
    const path = result.path === undefined ? {} : { path: nameBytes(result.path) }
    return { kind: 'rolled_back', reason: result.reason, ...path }
  }
  const chosen = used.flatMap(({ choice }) => choice.chosen)
  const brought = changesOf(used.flatMap(({ choice }) => choice.brought))
  return { kind: 'merged', counts: countsOf(chosen, result.sizeBytes), leftOut, brought }
}

type Attempt =
  | { readonly kind: 'done'; readonly sizeBytes: number }
  | {
      readonly kind: 'failed'
      readonly reason: string
      readonly path?: BytePath
      readonly errno?: number | undefined
    }

function attempt(
  merging: Merging,
  id: string,
  survey: FullSurvey,
  parts: readonly Part[],
  stages: readonly StagePlace[],
): Attempt {
  const { files, directory, branch, beforeStep } = merging
  const empty = parts.map(({ root }, index): RootJournal => {
    const stage = stages[index] ?? 'root'
    const besides = besidesOf(branch, survey, root, stage)
    return { root, stage, steps: [], attributes: [], upper: [], besides, merged: [] }
  })
  let journal: Journal = { id, session: branch.session, state: 'staging', roots: empty, left: [] }
  let sizeBytes = 0
  beforeStep('journal staging')
  writeJournal(directory, journal)
  try {
    const roots = parts.map((part, index) => {
      const stage = stages[index] ?? 'root'
      const root = rootOf(branch, part)
      beforeStep(`stage ${part.root}`)
      const open = openStage(files, root, id, stage, true)
      using _open = atEnd(() => closeRoot(open))
      sizeBytes += buildStage(files, open, part.plan.builds, beforeStep)
      beforeStep(`sync stage ${part.root}`)
      must(files.at.syncAll(open.real), 'synced', '')
      return journalOf(files, open, part, survey, stage, empty[index]?.besides ?? [])
    })
    journal = { ...journal, state: 'committed', roots }
    beforeStep('journal committed')
    writeJournal(directory, journal)
  } catch (error) {
    removeStages(merging, { ...journal, roots: empty })
    removeJournal(directory)
    if (error instanceof StepFailure) return { kind: 'failed', reason: error.message, path: error.path }
    throw error
  }
  try {
    applySteps(merging, journal, false)
  } catch (error) {
    return takeBack(merging, journal, error)
  }
  finish(merging, journal)
  return { kind: 'done', sizeBytes }
}

/** After a step that failed: everything as it was. */
function takeBack(merging: Merging, journal: Journal, cause: unknown): Extract<Attempt, { kind: 'failed' }> {
  const takenBack = applySteps(merging, journal, true)
  recordTouched(merging, journal, takenBack)
  clear(merging, { ...journal, ended: 'rolled_back' })
  if (cause instanceof StepFailure)
    return { kind: 'failed', reason: cause.message, path: cause.path, errno: cause.errno }
  return { kind: 'failed', reason: cause instanceof Error ? cause.message : String(cause) }
}

/** After all steps: what the branch itself has to forget. */
function finish(merging: Merging, journal: Journal): void {
  const { files, branch, beforeStep, directory } = merging
  beforeStep('record')
  recordTouched(merging, journal, undefined)
  const left = journal.roots.map((part) => {
    const watched = part.merged.filter(({ isWatched }) => isWatched).map(({ path }) => path)
    return identities(files, rootOf(branch, part), watched).map(
      ([path, inode, changedNs]) => [path, inode, changedNs] as const,
    )
  })
  const applied: Journal = { ...journal, state: 'applied', left }
  beforeStep('journal applied')
  writeJournal(directory, applied)
  finishUpper(merging, applied)
}

function finishUpper(merging: Merging, journal: Journal): void {
  const { directory, beforeStep } = merging
  applyUpper(merging, journal)
  const hasMoved = journal.roots.some(({ steps }) => steps.some(({ place }) => place.startsWith('m')))
  if (hasMoved) outdateCheckpoints(directory)
  beforeStep('journal done')
  writeJournal(directory, { ...journal, state: 'done' })
}

/**
 * To be called at start for each branch, before anything else is done with it: ends what a crash has ended in the middle.
 * @throws SassError FILE_IO or StepFailure where it can neither be finished nor taken back; the journal stays then
 */
export function resumeMerge(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  beforeStep: BeforeStep = NOTHING,
): ResumeResult {
  resumeRestore(syscalls, directory, branch)
  const merging: Merging = { files: createFiles(syscalls), directory, branch, beforeStep }
  const journal = readJournal(directory)
  if (journal === undefined) return { kind: 'none' }
  const { id } = journal
  switch (journal.state) {
    case 'done':
      return { kind: 'none' }
    case 'clearing':
      clear(merging, journal)
      if (journal.ended === 'undone') return { kind: 'finished', id, what: 'undo' }
      if (journal.ended === undefined) return { kind: 'none' }
      return { kind: 'rolled_back', id, reason: 'a step could not be done' }
    case 'staging':
      clear(merging, { ...journal, ended: 'rolled_back' })
      return { kind: 'rolled_back', id, reason: 'it had not begun to change anything' }
    case 'committed':
      try {
        applySteps(merging, journal, false)
      } catch (error) {
        const { reason } = takeBack(merging, journal, error)
        return { kind: 'rolled_back', id, reason }
      }
      finish(merging, journal)
      return { kind: 'finished', id, what: 'merge' }
    case 'applied':
      finishUpper(merging, journal)
      return { kind: 'finished', id, what: 'merge' }
    case 'undoing':
      finishUndo(merging, journal)
      return { kind: 'finished', id, what: 'undo' }
  }
}

/** Takes back the last merge of the branch: real files as they were, the changes in the branch again. */
export function undoMerge(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  beforeStep: BeforeStep = NOTHING,
): UndoResult {
  const merging: Merging = { files: createFiles(syscalls), directory, branch, beforeStep }
  const journal = readJournal(directory)
  if (journal === undefined) return { kind: 'none' }
  if (journal.state !== 'done') {
    throw new SassError(
      'INTERNAL',
      `Merge ${journal.id} of this branch was ended by a crash and has to be resumed.`,
    )
  }
  const paths = journal.roots.flatMap((part, index) => {
    const moved = part.steps.filter(({ op }) => op === 'put')
    // Directories that were moved have to be where the merge has put them.
    const parents = moved.map(({ path, inode }) => [path, inode, undefined] as const)
    return [
      ...changedSince(merging, part, journal.left[index] ?? []),
      ...changedSince(merging, part, parents),
    ]
  })
  if (paths.length > 0) return { kind: 'conflicts', id: journal.id, paths }
  beforeStep('journal undoing')
  writeJournal(directory, { ...journal, state: 'undoing' })
  const notInBranch = finishUndo(merging, journal)
  const count = journal.roots.reduce((sum, part) => sum + part.merged.length, 0)
  return { kind: 'undone', id: journal.id, paths: count, notInBranch }
}

/** Paths where something else lies than is expected there. */
function changedSince(
  { files, branch }: Merging,
  part: RootJournal,
  expected: readonly (readonly [path: BytePath, inode: bigint, changedNs: bigint | undefined])[],
): ChosenPath[] {
  const places = expected.map(([path]) => path)
  const now = identities(files, rootOf(branch, part), places)
  return expected.flatMap(([path, inode, changedNs], at) => {
    const [, inodeNow, changedNow] = now[at] ?? []
    const isSame = inodeNow === inode && (changedNs === undefined || changedNow === changedNs)
    return isSame ? [] : [{ root: part.root, path: nameBytes(path) }]
  })
}

function finishUndo(merging: Merging, journal: Journal): ChosenPath[] {
  const { beforeStep } = merging
  const takenBack = applySteps(merging, journal, true)
  beforeStep('record')
  recordTouched(merging, journal, takenBack)
  const missing = restoreUpper(merging, journal)
  clear(merging, { ...journal, ended: 'undone' })
  return missing.map(({ root, path }) => ({ root, path: nameBytes(path) }))
}

/** Removes what a merge needed: in parts, so that it is of no use from now on, whatever comes. */
function clear(merging: Merging, journal: Journal): void {
  const { directory, beforeStep } = merging
  beforeStep('journal clearing')
  writeJournal(directory, { ...journal, state: 'clearing', left: [] })
  beforeStep('remove stages')
  removeStages(merging, journal)
  beforeStep('remove journal')
  removeJournal(directory)
}

/** Removes what is kept for taking back the last merge; the next merge and a drop do so too. */
export function forgetMerge(syscalls: Syscalls, directory: string, branch: Branch): void {
  const journal = readJournal(directory)
  if (journal?.state === 'done')
    clear({ files: createFiles(syscalls), directory, branch, beforeStep: NOTHING }, journal)
}
