/**
 * What one connection was sent beside bulk output and has not taken: answers, messages, credit. Each counts as its bytes
 * and what it costs while it waits, so that many small ones are not less than they are.
 * Rules: docs/security.md (bounds of one connection).
 * @module
 */
import { UNREAD_ANSWER_COST_BYTES, UNREAD_ANSWERS_BYTES } from '../../limits.ts'
import type { Transport } from '../../ports.ts'

export type Answers = {
  send(frame: Uint8Array, taken?: () => void): void
  /** No more may be asked until some have been taken. */
  readonly areMany: boolean
}

/** `freed` is called when they are few again. */
export function createAnswers(transport: Pick<Transport, 'write'>, freed: () => void): Answers {
  let waiting = 0
  const areMany = () => waiting >= UNREAD_ANSWERS_BYTES
  return {
    send(frame, taken) {
      const cost = frame.length + UNREAD_ANSWER_COST_BYTES
      waiting += cost
      transport.write(frame, (isLost) => {
        const wereMany = areMany()
        waiting -= cost
        taken?.()
        // Whoever has gone asks nothing more: what it had asked before is not worked off for nobody.
        if (wereMany && !areMany() && !isLost) freed()
      })
    },
    get areMany() {
      return areMany()
    },
  }
}
