/**
 * What came of a deed on a branch, in words for an operator: what was done, or why nothing was and what to do about it.
 * @module
 */
import {
  type MergeReport,
  NO_PATHS,
  type ToldPaths,
  type UndoReport,
} from '../../sandbox/branch/threads/branch-work.ts'

/** What came of a deed. `success` false: nothing was changed. */
export type BranchOutcome = {
  readonly success: boolean
  readonly message: string
  readonly merged: number
  readonly bytes: number
  readonly conflicts: ToldPaths
  readonly leftOut: ToldPaths
  /** Hex; of the branch as it is, where another one was named. */
  readonly digest?: string | undefined
}

export function refused(message: string): BranchOutcome {
  return { success: false, message, merged: 0, bytes: 0, conflicts: NO_PATHS, leftOut: NO_PATHS }
}

export function count(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`
}

/** What of the left out no other word than its name brings along. */
function byNameAlone({ paths }: ToldPaths): string {
  const isAny = paths.some(({ what }) => what.split(' ').includes('hidden'))
  return isAny ? ' What was hidden from the branch is only merged where its very path is named.' : ''
}

function mergedSentence({ counts, leftOut, brought }: MergeReport): string {
  const { added, modified, deleted, renamed, metadata, sizeBytes } = counts
  const parts = [
    [added, 'added'],
    [modified, 'modified'],
    [deleted, 'deleted'],
    [renamed, 'renamed'],
    [metadata, 'changed in mode, owner or time'],
  ] as const
  const done = parts.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : [])).join(', ')
  const also = brought > 0 ? ` ${count(brought, 'change')} came along that these cannot be without.` : ''
  const held =
    leftOut.total > 0
      ? ` ${count(leftOut.total, 'special file was', 'special files were')} left out: name each, or add --with-special.${byNameAlone(leftOut)}`
      : ''
  return `Merged: ${done === '' ? 'nothing that differed' : done}; ${count(sizeBytes, 'byte')} written.${also}${held} sass-edge branch undo takes it back.`
}

export function mergeOutcome(report: MergeReport): BranchOutcome {
  const { counts, conflicts, leftOut } = report
  switch (report.outcome) {
    case 'merged': {
      const { added, modified, deleted, renamed, metadata, sizeBytes } = counts
      const merged = added + modified + deleted + renamed + metadata
      return { ...refused(mergedSentence(report)), success: true, merged, bytes: sizeBytes, leftOut }
    }
    case 'conflicts':
      return {
        ...refused(
          `Nothing was merged: ${count(conflicts.total, 'real file was', 'real files were')} changed since the branch was made. Look at each, and merge it with --force PATH or leave it out.`,
        ),
        conflicts,
      }
    case 'other_digest':
      return {
        ...refused(
          'Nothing was merged: the branch would not change what you have looked at any more. Look at it again, and merge that.',
        ),
        digest: report.digest,
      }
    case 'rolled_back':
      return refused(
        `Nothing was merged and everything is as it was: ${(report.reason ?? 'a step failed').replace(/\.$/, '')}.`,
      )
    case 'nothing':
      return leftOut.total > 0
        ? {
            ...refused(
              `Nothing was merged: ${count(leftOut.total, 'special file is', 'special files are')} merged only by name, or with --with-special.${byNameAlone(leftOut)}`,
            ),
            leftOut,
          }
        : refused('There is nothing to merge.')
  }
}

export function undoOutcome(report: UndoReport): BranchOutcome {
  switch (report.outcome) {
    case 'none':
      return refused('There is no merge of this branch that could be taken back.')
    case 'conflicts':
      return {
        ...refused(
          `Nothing was taken back: ${count(report.conflicts.total, 'file was', 'files were')} changed since the merge. Look at each, and change back by hand what should be as before.`,
        ),
        conflicts: report.conflicts,
      }
    case 'undone': {
      const { paths, notInBranch } = report
      const kept =
        notInBranch.total > 0
          ? ` ${count(notInBranch.total, 'path')} stayed in the branch as it was changed there since.`
          : ''
      return {
        ...refused(
          `The last merge was taken back: ${count(paths, 'path is', 'paths are')} as before, and changed in the branch again.${kept}`,
        ),
        success: true,
        merged: paths,
        leftOut: notInBranch,
      }
    }
  }
}
