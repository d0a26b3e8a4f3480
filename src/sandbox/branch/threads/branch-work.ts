/**
 * What is done with branches when a human decides about them, as the pure rooms know it: looks, merges, drops and
 * checkpoints, each done by a thread of its own, one after the other on each branch. It decides nothing: whoever calls it
 * has redeemed a warrant for exactly this.
 * Rules: docs/sandbox.md (review and merge).
 * @module
 */

import type { Branch } from '../files/branch.ts'
import type { ChosenPath, MergeCounts, MergeRequest } from '../merge/merge-result.ts'

/** In which form a list of changes is wanted. */
export const DIFF_FORMS = Object.freeze(['text', 'stat', 'json', 'patch'] as const)
export type DiffForm = (typeof DIFF_FORMS)[number]

export type NamedPath = ChosenPath

/** A text that was made and waits to be read, once, from its beginning. */
export interface ReviewText {
  readonly sizeBytes: number
  /** Fills the beginning of `target`; resolves with how much, 0 at the end. */
  read(target: Uint8Array): Promise<number>
  close(): void
}

/** What a branch would change at one time. */
export type Review = {
  /** Of the whole list, whatever paths were asked for; lower-case hex. */
  readonly digest: string
  readonly changes: number
  readonly conflicts: number
  /** Merged only where somebody names them. */
  readonly heldBack: number
  /** Changes that the text is about. */
  readonly shown: number
  readonly text: ReviewText
}

/** A path as it is told, with one word on why. */
export type ToldPath = { readonly path: Uint8Array; readonly what: string }
/** The first of a list, as many as one message holds, and how many there are. */
export type ToldPaths = { readonly paths: readonly ToldPath[]; readonly total: number }

export const NO_PATHS: ToldPaths = Object.freeze({ paths: Object.freeze([]), total: 0 })

/** Of `paths` none means everything. */
export type MergeWish = Required<MergeRequest>

export type MergeReport = {
  readonly outcome: 'merged' | 'conflicts' | 'other_digest' | 'rolled_back' | 'nothing'
  readonly counts: MergeCounts
  /** Not chosen, but what was chosen cannot be without. */
  readonly brought: number
  readonly conflicts: ToldPaths
  /** Chosen, and held back. */
  readonly leftOut: ToldPaths
  /** other_digest: that of the branch as it is. */
  readonly digest?: string
  /** rolled_back: why. */
  readonly reason?: string
}

export type UndoReport =
  | { readonly outcome: 'none' }
  | {
      readonly outcome: 'undone'
      readonly id: string
      readonly paths: number
      readonly notInBranch: ToldPaths
    }
  | { readonly outcome: 'conflicts'; readonly id: string; readonly conflicts: ToldPaths }

/** What the start after a crash found and did; see `ResumeResult` of merge.node.ts. */
export type ResumeReport = {
  readonly session: string
  readonly outcome: 'none' | 'rolled_back' | 'merge_finished' | 'undo_finished' | 'failed'
  /** Of the merge. */
  readonly id?: string
  readonly reason?: string
}

export type CheckpointFacts = {
  readonly number: number
  readonly label: string
  readonly madeAtMs: number
  readonly files: number
  readonly sizeBytes: number
}

/** Who waits for a look. */
export type Looker = {
  /** An agent at its own branch: such looks never hold up a human's. */
  readonly isOwn: boolean
  /** `stop` is to be called when nobody waits any more; it ends the look, which then fails. */
  onLeave(stop: () => void): void
}

/** Every rejection is a SassError: FILE_IO where something could not be read or written. */
export interface BranchWork {
  list(): readonly Branch[]
  find(session: string): Branch | undefined
  /** True where nothing was changed in it, or nothing is left after a merge. */
  isEmpty(session: string): boolean
  /** When its last merge was, while that can be taken back. */
  mergedAtMs(session: string): number | undefined
  /** Ends what a crash has ended in the middle, in every branch; to be done before anything else. */
  resume(): Promise<readonly ResumeReport[]>
  /** Changes nothing, and can be asked of a branch in use: then it is a preview. A drop of the branch ends it. */
  review(session: string, form: DiffForm, paths: readonly NamedPath[], looker?: Looker): Promise<Review>
  /** The branch must be out of use for this and all that follows. */
  merge(session: string, wish: MergeWish): Promise<MergeReport>
  undo(session: string): Promise<UndoReport>
  checkpoint(session: string, label: string, nowMs: number): Promise<CheckpointFacts>
  checkpoints(session: string): Promise<readonly CheckpointFacts[]>
  /** @throws SassError FILE_NOT_FOUND where there is none of that number */
  restore(session: string, number: number): Promise<void>
  removeCheckpoint(session: string, number: number): Promise<void>
  /** The branch is gone at once, its files by and by. */
  drop(session: string): Promise<void>
  /** The branch and all of its files are gone when this resolves. */
  erase(session: string): Promise<void>
  /** Goes on with what dropped branches have left, where there is any. */
  sweep(): void
  /** Removes a branch in which nothing is left, and with it what its last merge could be taken back by. */
  forget(session: string): Promise<void>
}

type OnBranch<Kind extends string> = Kind extends string
  ? { readonly kind: Kind; readonly branch: Branch }
  : never
type OfNumber<Kind extends string> = OnBranch<Kind> & { readonly number: number }

/** What the thread is asked to do, by kind. */
export type BranchOrder = {
  readonly directory: string
} & (
  | (OnBranch<'review'> & {
      readonly form: DiffForm
      readonly paths: readonly NamedPath[]
      readonly isOwn: boolean
      /** Of one Int32: not 0 where nobody waits any more. */
      readonly left: SharedArrayBuffer
    })
  | (OnBranch<'merge'> & { readonly wish: MergeWish })
  | OnBranch<'undo' | 'resume' | 'forget'>
  | (OnBranch<'fill'> & { readonly limitBytes: number })
  | (OnBranch<'checkpoint'> & { readonly label: string; readonly nowMs: number })
  | OfNumber<'restore'>
  | OfNumber<'remove_checkpoint'>
  | { readonly kind: 'checkpoints' }
  /** Some files of a dropped branch. */
  | { readonly kind: 'remove'; readonly entries: number }
)

/** What comes back for each. */
export type BranchResults = {
  readonly review: Omit<Review, 'text'> & { readonly descriptor: number; readonly sizeBytes: number }
  readonly merge: MergeReport
  readonly undo: UndoReport
  readonly resume: Omit<ResumeReport, 'session'>
  readonly forget: undefined
  /** `copiedNs` of each root. */
  readonly fill: readonly string[]
  readonly checkpoint: CheckpointFacts
  readonly checkpoints: readonly CheckpointFacts[]
  readonly restore: undefined
  readonly remove_checkpoint: undefined
  /** True: nothing is left. */
  readonly remove: boolean
}

export type BranchCall =
  | { readonly kind: 'order'; readonly id: number; readonly order: BranchOrder }
  | { readonly kind: 'close' }

export type BranchAnswer =
  | { readonly kind: 'done'; readonly id: number; readonly value: BranchResults[keyof BranchResults] }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }
