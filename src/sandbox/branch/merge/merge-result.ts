/**
 * What is asked of a merge, of its end after a crash and of taking it back, and what they answer.
 * @module
 */

import type { Change } from '../files/changes.ts'

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
