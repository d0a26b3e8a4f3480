/**
 * Brings changes of a branch into the real files: all that was chosen or nothing, every file old or new at any moment,
 * finished or taken back after a crash, and taken back as a whole when somebody asks.
 * The branch must not be mounted and nothing may run in it.
 * Rules: docs/sandbox.md (merge).
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'
import type { Branch } from './branch.ts'
import type { Change } from './changes.ts'

/** A path that a human named, in a root of the branch. */
export type ChosenPath = { readonly root: number; readonly path: Uint8Array }

export type MergeRequest = {
  /** `Survey.digest` of the list that the human has seen. */
  readonly digest: string
  /** Each with all that is beneath it and what it cannot be without; absent: everything. */
  readonly paths?: readonly ChosenPath[]
  /** These are merged although the real file was changed since; each with all that is beneath it. */
  readonly force?: readonly ChosenPath[]
  /** Merge what `isHeldBack` leaves out; otherwise only where one of `paths` is exactly it. */
  readonly allowHeldBack?: boolean
  /** 32 hex digits, new for each merge. */
  readonly id: string
}

export type MergeCounts = {
  readonly added: number
  readonly modified: number
  readonly deleted: number
  readonly renamed: number
  readonly metadata: number
  /** Content that was written. */
  readonly sizeBytes: number
}

export type MergeResult =
  | {
      readonly kind: 'merged'
      readonly counts: MergeCounts
      /** Chosen, but held back (`isHeldBack`). */
      readonly leftOut: readonly Change[]
      /** Not chosen, but what was chosen cannot be without. */
      readonly brought: readonly Change[]
    }
  /** Nothing was written: the real files were changed since, each to be forced by name. */
  | { readonly kind: 'conflicts'; readonly conflicts: readonly Change[] }
  /** Nothing was written: the list is another one than the human has seen. */
  | { readonly kind: 'other_digest'; readonly digest: string }
  /** Everything is as it was: a step failed, or somebody changed a file at that moment. */
  | { readonly kind: 'rolled_back'; readonly reason: string; readonly path?: Uint8Array }
  /** There is nothing (left) of what was chosen. */
  | { readonly kind: 'nothing'; readonly leftOut: readonly Change[] }

/** What the start after a crash found and did. */
export type ResumeResult =
  | { readonly kind: 'none' }
  /** The crash came before the first change: what was prepared is removed. */
  | { readonly kind: 'rolled_back'; readonly id: string; readonly reason: string }
  | { readonly kind: 'finished'; readonly id: string; readonly what: 'merge' | 'undo' }

export type UndoResult =
  /** No merge that can be taken back. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'undone'
      readonly id: string
      readonly paths: number
      /** Changed in the branch since, so they stay as they are there. */
      readonly notInBranch: readonly ChosenPath[]
    }
  /** Nothing was done: these were changed since the merge. */
  | { readonly kind: 'conflicts'; readonly id: string; readonly paths: readonly ChosenPath[] }

/** Called before each step with its name: tests end the process there. */
export type BeforeStep = (name: string) => void

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
  beforeStep?: BeforeStep,
): MergeResult {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, request, beforeStep].length}.`)
}

/** To be called at start for each branch, before anything else is done with it: ends what a crash has ended in the middle. */
export function resumeMerge(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  beforeStep?: BeforeStep,
): ResumeResult {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, beforeStep].length}.`)
}

/** Takes back the last merge of the branch: real files as they were, the changes in the branch again. */
export function undoMerge(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  beforeStep?: BeforeStep,
): UndoResult {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, beforeStep].length}.`)
}

/** Removes what is kept for taking back the last merge; the next merge and a drop do so too. */
export function forgetMerge(syscalls: Syscalls, directory: string, branch: Branch): void {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch].length}.`)
}
