/**
 * The runs of proposals: one for each session, with the state that its next cycle begins with. A run is gone with its
 * session, and no warrant of it is good in another.
 * Rules: docs/proposals.md, section on the daemon.
 * @module
 */
import { type CycleState, firstState } from '../../intent/proposals/cycle.ts'
import type { Law } from '../../intent/proposals/decide.ts'
import { SPENT_WARRANTS } from '../../intent/proposals/limits.ts'

export type ProposalRun = {
  state: CycleState
  /** Ids of the last warrants that were spent. */
  readonly spent: Set<string>
  /** A cycle that is decided and not yet over; `isAlive` false: nobody will end it any more. */
  open: { isAlive(): boolean; giveUp(): void } | undefined
  /** Lines of the last cycle had no warrant: the next one ends the run. */
  hasHole: boolean
}

export type Proposals = {
  readonly law: Law
  /** The run of that session. */
  of(session: object): ProposalRun
}

/** Remembers a warrant as spent; of the oldest no cycle is left that could be asked about them. */
export function spend({ spent }: ProposalRun, id: string): void {
  spent.add(id)
  const [oldest] = spent
  if (spent.size > SPENT_WARRANTS && oldest !== undefined) spent.delete(oldest)
}

/** @param loadLaw called when the first proposal is made, which on most devices is never; throws where there is none */
export function createProposals(loadLaw: () => Law): Proposals {
  const runs = new WeakMap<object, ProposalRun>()
  let loaded: Law | undefined
  const law = (): Law => {
    loaded ??= loadLaw()
    return loaded
  }
  return {
    get law() {
      return law()
    },
    of(session) {
      const known = runs.get(session)
      if (known !== undefined) return known
      const run: ProposalRun = { state: firstState(law()), spent: new Set(), open: undefined, hasHole: false }
      runs.set(session, run)
      return run
    },
  }
}
