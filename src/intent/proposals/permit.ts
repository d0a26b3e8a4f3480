/**
 * A warrant in the hands of whoever carries it out. The artifact is text that anybody could write; a permit is an object
 * that this file alone makes, for the decision alone, and carries the warrant out once: in its session, in its cycle,
 * for the very request that it names.
 * Rules: docs/proposals.md, section on warrants.
 * @module
 */
import type { Bundle, ExecutionWarrant } from './artifacts.ts'

export type Redemption = {
  readonly bundle: Bundle
  /** The cycle that runs, as the daemon counts it. */
  readonly cycle: number
  readonly session: string
  /** Warrants that were spent before, out of the record: an executor that has just begun knows of none itself. */
  readonly spent: ReadonlySet<string>
}

export class Permit {
  readonly warrant: ExecutionWarrant
  readonly #session: string
  #isSpent = false

  private constructor(warrant: ExecutionWarrant, session: string) {
    this.warrant = Object.freeze(warrant)
    this.#session = session
  }

  /** For the decision alone; a test walks the imports and proves it. */
  static issue(warrant: ExecutionWarrant, session: string): Permit {
    return new Permit(warrant, session)
  }

  /** Spends it. What is returned is why nothing may be done; undefined: do it, now and once. */
  static redeem(permit: Permit, { bundle, cycle, session, spent }: Redemption): string | undefined {
    if (!(#isSpent in permit)) return 'not issued: no decision has made this warrant'
    const { warrant } = permit
    if (permit.#isSpent || spent.has(warrant.warrant_id)) return 'single-use: this warrant was spent before'
    if (permit.#session !== session) return 'session mismatch: this warrant is for another session'
    if (warrant.issued_in_cycle !== cycle) return 'cycle mismatch: this warrant is of another cycle'
    if (warrant.action_request_id !== bundle.action_request.id)
      return 'the warrant does not reference this action request'
    permit.#isSpent = true
    return undefined
  }
}
