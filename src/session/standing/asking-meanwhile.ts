/**
 * Questions to a human that come up while something runs: asked where one more may wait, and on the record with what
 * became of them.
 * Rules: docs/responses.md, section 4.
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import type { AuditEvent, Log } from '../../ports.ts'
import type { ConfirmationOutcome, Confirmations, Pending, Question } from './confirmations.ts'

export type AskingGround = {
  readonly confirmations: Confirmations
  readonly log: Log
  /** What has happened, whatever can be written. */
  readonly record: (event: AuditEvent) => void
}

/**
 * @param answer called once, `timed_out` at once where nobody can be asked; not after what comes back was called
 * @returns to be called where nobody waits for the answer any more
 */
export function askMeanwhile(
  { confirmations, log, record }: AskingGround,
  question: Question,
  answer: (outcome: ConfirmationOutcome) => void,
): () => void {
  const told = (pending: Pending, what: ConfirmationOutcome | 'asked' | 'withdrawn', by: string): void => {
    const { id, agent, sessionId, layer, rule, digest } = pending
    record({
      ...{ type: 'confirmation', what, id, agent, session: sessionId, layer, rule },
      ...{ digest: encodeHex(digest), by },
    })
    log.write(what === 'asked' ? 'warn' : 'info', 'confirmation', { what, id, agent, rule, by })
  }
  const asked = confirmations.isFree(question.sessionId)
    ? confirmations.ask(question, (outcome, by) => {
        if (asked !== undefined) told(asked.pending, outcome, by)
        answer(outcome)
      })
    : undefined
  if (asked === undefined) {
    answer('timed_out')
    return () => {}
  }
  told(asked.pending, 'asked', '')
  return () => {
    asked.withdraw()
    told(asked.pending, 'withdrawn', '')
  }
}
