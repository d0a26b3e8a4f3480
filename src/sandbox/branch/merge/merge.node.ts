/**
 * Brings changes of a branch into the real files: all that was chosen or nothing, every file old or new at any moment,
 * finished or taken back after a crash, and taken back as a whole when somebody asks.
 * The branch must not be mounted and nothing may run in it.
 * Rules: docs/sandbox.md (merge).
 * @module
 */

import { SassError } from '../../../errors.ts'
import { ERRNO, type Syscalls } from '../../kernel/syscalls.node.ts'
import type { Branch } from '../files/branch.ts'
import { type Change, sortChanges } from '../files/changes.ts'
import { createFiles, type Files, must, nameBytes } from '../files/files.node.ts'
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
import { applyBackward, applyForward, identities, recordTouched, removeStages } from './merge-apply.node.ts'
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
import { applyUpper, type BeforeStep, restoreUpper } from './upper-apply.node.ts'

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
  const files = createFiles(syscalls)
  const last = readJournal(directory)
  if (last !== undefined && last.state !== 'done') {
    throw new SassError(
      'INTERNAL',
      `Merge ${last.id} of this branch was ended by a crash and has to be resumed before another one.`,
    )
  }
  const survey = surveyFully(files, directory, branch)
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
  if (last !== undefined) clear(files, directory, branch, last, beforeStep)
  const places = used.map(({ root }) => placeOfStage(rootOf(branch, { root })))
  for (const isSecond of [false, true]) {
    const stages = isSecond ? used.map((): StagePlace => 'root') : places
    const result = attempt(files, directory, branch, request.id, survey, used, stages, beforeStep)
    if (result.kind === 'done') {
      const chosen = used.flatMap(({ choice }) => choice.chosen)
      const brought = changesOf(used.flatMap(({ choice }) => choice.brought))
      return { kind: 'merged', counts: countsOf(chosen, result.sizeBytes), leftOut, brought }
    }
    // Quotas by project keep a file from leaving a directory, though it is one file system.
    const isElsewhere = result.errno === -ERRNO.EXDEV && stages.includes('store')
    if (isSecond || !isElsewhere) {
      const path = result.path === undefined ? {} : { path: nameBytes(result.path) }
      return { kind: 'rolled_back', reason: result.reason, ...path }
    }
  }
  throw new SassError('INTERNAL', 'A merge has neither ended nor failed.')
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
  files: Files,
  directory: string,
  branch: Branch,
  id: string,
  survey: FullSurvey,
  parts: readonly Part[],
  stages: readonly StagePlace[],
  beforeStep: BeforeStep,
): Attempt {
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
      try {
        sizeBytes += buildStage(files, open, part.plan.builds, beforeStep)
        beforeStep(`sync stage ${part.root}`)
        must(files.at.syncAll(open.real), 'synced', '')
        return journalOf(files, open, part, survey, stage, empty[index]?.besides ?? [])
      } finally {
        closeRoot(open)
      }
    })
    journal = { ...journal, state: 'committed', roots }
    beforeStep('journal committed')
    writeJournal(directory, journal)
  } catch (error) {
    removeStages(files, directory, branch, { ...journal, roots: empty })
    removeJournal(directory)
    if (error instanceof StepFailure) return { kind: 'failed', reason: error.message, path: error.path }
    throw error
  }
  try {
    applyForward(files, branch, journal, beforeStep)
  } catch (error) {
    return takeBack(files, directory, branch, journal, error, beforeStep)
  }
  finish(files, directory, branch, journal, beforeStep)
  return { kind: 'done', sizeBytes }
}

/** After a step that failed: everything as it was. */
function takeBack(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  cause: unknown,
  beforeStep: BeforeStep,
): Extract<Attempt, { kind: 'failed' }> {
  const takenBack = applyBackward(files, branch, journal, beforeStep)
  recordTouched(files, directory, branch, journal, takenBack)
  clear(files, directory, branch, { ...journal, ended: 'rolled_back' }, beforeStep)
  if (cause instanceof StepFailure)
    return { kind: 'failed', reason: cause.message, path: cause.path, errno: cause.errno }
  return { kind: 'failed', reason: cause instanceof Error ? cause.message : String(cause) }
}

/** After all steps: what the branch itself has to forget. */
function finish(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  beforeStep: BeforeStep,
): void {
  beforeStep('record')
  recordTouched(files, directory, branch, journal, undefined)
  const left = journal.roots.map((part) => {
    const watched = part.merged.filter(({ isWatched }) => isWatched).map(({ path }) => path)
    return identities(files, rootOf(branch, part), watched).map(
      ([path, inode, changedNs]) => [path, inode, changedNs] as const,
    )
  })
  const applied: Journal = { ...journal, state: 'applied', left }
  beforeStep('journal applied')
  writeJournal(directory, applied)
  finishUpper(files, directory, branch, applied, beforeStep)
}

function finishUpper(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  beforeStep: BeforeStep,
): void {
  applyUpper(files, branch, journal, beforeStep)
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
  const files = createFiles(syscalls)
  const journal = readJournal(directory)
  if (journal === undefined) return { kind: 'none' }
  const { id } = journal
  switch (journal.state) {
    case 'done':
      return { kind: 'none' }
    case 'clearing':
      clear(files, directory, branch, journal, beforeStep)
      if (journal.ended === 'undone') return { kind: 'finished', id, what: 'undo' }
      if (journal.ended === undefined) return { kind: 'none' }
      return { kind: 'rolled_back', id, reason: 'a step could not be done' }
    case 'staging':
      clear(files, directory, branch, { ...journal, ended: 'rolled_back' }, beforeStep)
      return { kind: 'rolled_back', id, reason: 'it had not begun to change anything' }
    case 'committed':
      try {
        applyForward(files, branch, journal, beforeStep)
      } catch (error) {
        const { reason } = takeBack(files, directory, branch, journal, error, beforeStep)
        return { kind: 'rolled_back', id, reason }
      }
      finish(files, directory, branch, journal, beforeStep)
      return { kind: 'finished', id, what: 'merge' }
    case 'applied':
      finishUpper(files, directory, branch, journal, beforeStep)
      return { kind: 'finished', id, what: 'merge' }
    case 'undoing':
      finishUndo(files, directory, branch, journal, beforeStep)
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
  const files = createFiles(syscalls)
  const journal = readJournal(directory)
  if (journal === undefined) return { kind: 'none' }
  if (journal.state !== 'done') {
    throw new SassError(
      'INTERNAL',
      `Merge ${journal.id} of this branch was ended by a crash and has to be resumed.`,
    )
  }
  const paths: ChosenPath[] = []
  for (const [index, part] of journal.roots.entries()) {
    const expected = journal.left[index] ?? []
    const now = identities(
      files,
      rootOf(branch, part),
      expected.map(([path]) => path),
    )
    for (const [at, [path, inode, changedNs]] of expected.entries())
      if (now[at]?.[1] !== inode || now[at]?.[2] !== changedNs)
        paths.push({ root: part.root, path: nameBytes(path) })
    paths.push(...missingParents(files, branch, part))
  }
  if (paths.length > 0) return { kind: 'conflicts', id: journal.id, paths }
  beforeStep('journal undoing')
  writeJournal(directory, { ...journal, state: 'undoing' })
  const notInBranch = finishUndo(files, directory, branch, journal, beforeStep)
  const count = journal.roots.reduce((sum, part) => sum + part.merged.length, 0)
  return { kind: 'undone', id: journal.id, paths: count, notInBranch }
}

/** Moved directories that are no longer where the merge has put them. */
function missingParents(files: Files, branch: Branch, part: RootJournal): ChosenPath[] {
  const moved = part.steps.filter((step) => step.op === 'put')
  const now = identities(
    files,
    rootOf(branch, part),
    moved.map(({ path }) => path),
  )
  return moved
    .filter((step, index) => now[index]?.[1] !== step.inode)
    .map(({ path }) => ({ root: part.root, path: nameBytes(path) }))
}

function finishUndo(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  beforeStep: BeforeStep,
): ChosenPath[] {
  const takenBack = applyBackward(files, branch, journal, beforeStep)
  beforeStep('record')
  recordTouched(files, directory, branch, journal, takenBack)
  const missing = restoreUpper(files, branch, journal, beforeStep)
  clear(files, directory, branch, { ...journal, ended: 'undone' }, beforeStep)
  return missing.map(({ root, path }) => ({ root, path: nameBytes(path) }))
}

/** Removes what a merge needed: in parts, so that it is of no use from now on, whatever comes. */
function clear(
  files: Files,
  directory: string,
  branch: Branch,
  journal: Journal,
  beforeStep: BeforeStep,
): void {
  beforeStep('journal clearing')
  writeJournal(directory, { ...journal, state: 'clearing', left: [] })
  beforeStep('remove stages')
  removeStages(files, directory, branch, journal)
  beforeStep('remove journal')
  removeJournal(directory)
}

/** Removes what is kept for taking back the last merge; the next merge and a drop do so too. */
export function forgetMerge(syscalls: Syscalls, directory: string, branch: Branch): void {
  const journal = readJournal(directory)
  if (journal?.state === 'done') clear(createFiles(syscalls), directory, branch, journal, NOTHING)
}
