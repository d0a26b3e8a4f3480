/**
 * What humans decide about branches, as the other rooms know it; branch-room.ts does it.
 * Rules: docs/sandbox.md (review and merge).
 * @module
 */
import type { Branch } from '../../sandbox/branch/files/branch.ts'
import type {
  CheckpointFacts,
  DiffForm,
  Looker,
  NamedPath,
  Review,
} from '../../sandbox/branch/threads/branch-work.ts'
import type { Permit } from '../executions/execution.ts'
import type { BranchOutcome } from './branch-words.ts'
import type { Cause } from './preserver.ts'
export type ListedBranch = {
  readonly branch: Branch
  readonly sessions: number
  readonly running: number
  readonly isEmpty: boolean
  readonly canUndo: boolean
  /** Why its commands were ended and nothing more begins in it. */
  readonly stopped: string | undefined
}

/** A permit for a deed on a branch, and who does it. */
export type BranchPermit = Permit & { readonly by: string; readonly instance?: string | undefined }

export type Branches = {
  /** The latest first. */
  list(): readonly ListedBranch[]
  find(session: string): Branch | undefined
  review(
    session: string,
    form: DiffForm,
    paths: readonly NamedPath[],
    onLeave?: Looker['onLeave'],
  ): Promise<Review & { isPreview: boolean }>
  /** The same for whoever works in it, one look at a time. @throws SassError RESPONSE_THROTTLED */
  reviewOwn(
    session: string,
    form: DiffForm,
    paths: readonly NamedPath[],
    onLeave?: Looker['onLeave'],
  ): Promise<Review & { isPreview: boolean }>
  merge(
    permit: BranchPermit,
    wish: { readonly paths: readonly NamedPath[]; readonly force: readonly NamedPath[] },
  ): Promise<BranchOutcome>
  undo(permit: BranchPermit): Promise<BranchOutcome>
  drop(permit: BranchPermit): Promise<BranchOutcome>
  checkpoint(permit: BranchPermit): Promise<BranchOutcome>
  checkpoints(session: string): Promise<readonly CheckpointFacts[]>
  /** Saves the branch that the session works in, as soon as no command runs there. */
  preserve(session: string, cause: Cause): void
  /** It takes up too much: everything in it ends, and whoever ran something there hears why. */
  stop(session: string, why: string): Promise<void>
  /** Why nothing more begins in it; undefined: it may. */
  stopped(session: string): string | undefined
  /** For a purge, which has redeemed its own: undefined, or why nothing was erased. */
  erase(session: string): Promise<string | undefined>
  /** At the start, before anybody is let in: brings to an end what a crash has ended in the middle. */
  resume(): Promise<void>
  /** Time passes: what waited for commands to end, or is kept for long enough. */
  tick(): void
  /** The wall clock was set: by it nothing is old any more. */
  clockSet(): void
}
