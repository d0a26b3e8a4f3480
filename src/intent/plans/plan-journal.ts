/**
 * What is written down of plans, as whoever runs them sees it: that a plan was used, which calls began and how they
 * ended. A plan is its issuer's: another one's of the same id is another plan, so that nobody uses up what another has
 * issued. On the disk when a function returns; the file itself is edge/intent/plan-journal.node.ts.
 * Rules: docs/plans.md.
 * @module
 */
import type { CallOutcome, RunEnd } from './run.ts'

export type PlanUse = {
  readonly planId: string
  readonly sessionId: string
  readonly issuer: string
  /** The agent that runs it, and the scope of its key. */
  readonly runner: string
  readonly scope: string
  /** SHA-256 of the plan as it was given, lower-case hex. */
  readonly sha256: string
  readonly atMs: number
  readonly calls: readonly { readonly id: string; readonly tool: string; readonly execution: string }[]
}

/** `waiting`: it has not begun. */
export type CallState = 'waiting' | 'begun' | CallOutcome['kind']

export type JournalCall = PlanUse['calls'][number] &
  Omit<CallOutcome, 'kind'> & {
    readonly state: CallState
  }

export type JournalPlan = Omit<PlanUse, 'calls'> & {
  /** What it is called here: see `keyOf`. */
  readonly key: string
  /** `running` until it has ended. */
  readonly state: 'running' | RunEnd
  readonly calls: readonly JournalCall[]
}

export interface PlanJournal {
  /** What a plan of that id and issuer is called by `begin` and all that follows, the same for ever. */
  keyOf(planId: string, issuer: string): string
  wasUsed(planId: string, issuer: string): boolean
  /** Whether it is among the last PLANS_REFUSED that were refused in an envelope. */
  wasRefused(planId: string, issuer: string): boolean
  /** @throws SassError STATE_UNWRITABLE */
  refuse(planId: string, issuer: string, atMs: number): void
  /**
   * Uses the plan up, for ever.
   * @returns false where it was used before, or where no more plans can be remembered: then it must not run
   * @throws SassError STATE_UNWRITABLE
   */
  use(plan: PlanUse): boolean
  /** @throws SassError STATE_UNWRITABLE; then the call must not start */
  begin(key: string, at: number): void
  /** @throws SassError STATE_UNWRITABLE */
  end(key: string, at: number, outcome: CallOutcome): void
  /** @throws SassError STATE_UNWRITABLE */
  over(key: string, end: RunEnd): void
  /** All that is to be told of it is kept for those who are told. @throws SassError STATE_UNWRITABLE */
  told(key: string): void
  /** Those that have ended and of which something may not have been told. */
  untold(): readonly JournalPlan[]
  find(key: string): JournalPlan | undefined
  /** Of any issuer. */
  withId(planId: string): readonly JournalPlan[]
  /** The newest plan of that session which the key of that scope has run. */
  newestOf(sessionId: string, scope: string): JournalPlan | undefined
  /** Those that have not ended: at a start, those that a daemon before this one did not see the end of. */
  open(): readonly JournalPlan[]
  close(): void
}
