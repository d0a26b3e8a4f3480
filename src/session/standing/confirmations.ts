/**
 * Questions to a human: what is shown, the digest that an answer must name, who answered, and what silence means (no).
 * A question is about one request at one moment; its answer is used once and for nothing else.
 * Rules: docs/responses.md, section 4.
 * @module
 */

import type { Sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { encodeUtf8, utf8Length } from '../../base/encoding/utf8.ts'
import { EXECUTION_ID_BYTES, QUESTIONS_PER_MINUTE, SHOWN_BYTES } from '../../limits.ts'
import type { Clock, Random } from '../../ports.ts'

const MINUTE_MS = 60_000

export type Question = {
  readonly agent: string
  readonly sessionId: string
  readonly layer: string
  readonly rule: string
  readonly reason: string
  /** Everything that a human judges by. */
  readonly shown: Json
}

export type Pending = Question & {
  readonly id: string
  readonly idBytes: Uint8Array
  /** RFC 8785. */
  readonly shownText: string
  readonly digest: Uint8Array
  readonly askedAtMs: number
  readonly expiresAtMs: number
}

export type ConfirmationOutcome = 'approved' | 'denied' | 'timed_out'

/** What became of an operator's answer. */
export type AnswerResult = 'taken' | 'unknown' | 'other_digest'

export type Confirmations = {
  /** True where one more question of this session may wait. */
  isFree(sessionId: string): boolean
  /**
   * Undefined: what would be shown is too long to be judged by looking at it. `settled` is called once, with the name
   * of whoever answered; not after `withdraw`.
   */
  ask(
    question: Question,
    settled: (outcome: ConfirmationOutcome, by: string) => void,
  ): { readonly pending: Pending; withdraw(): void } | undefined
  answer(id: string, digest: string, approves: boolean, by: string): AnswerResult
  /** Says no to what fits, since whoever asks for it may do nothing any more. */
  refuseWhere(fits: (pending: Pending) => boolean, by: string): void
  list(): readonly Pending[]
}

type Waiting = {
  readonly pending: Pending
  readonly cancel: () => void
  readonly settled: (outcome: ConfirmationOutcome, by: string) => void
}

export function createConfirmations(
  clock: Clock,
  random: Random,
  hash: Sha256,
  limits: () => { readonly timeoutMs: number; readonly pendingPerSession: number },
): Confirmations {
  const waiting = new Map<string, Waiting>()
  /** Questions of each session in its minute. */
  const lately = new Map<string, { readonly sinceMs: number; readonly count: number }>()

  function askedLately(sessionId: string): number {
    const entry = lately.get(sessionId)
    return entry === undefined || clock.monotonicMs() - entry.sinceMs >= MINUTE_MS ? 0 : entry.count
  }

  function countQuestion(sessionId: string): void {
    const count = askedLately(sessionId)
    if (count === 0) {
      const now = clock.monotonicMs()
      for (const [id, { sinceMs }] of lately) if (now - sinceMs >= MINUTE_MS) lately.delete(id)
      lately.set(sessionId, { sinceMs: now, count: 1 })
    } else lately.set(sessionId, { sinceMs: lately.get(sessionId)?.sinceMs ?? 0, count: count + 1 })
  }

  function settle(id: string, outcome: ConfirmationOutcome, by: string): void {
    const entry = waiting.get(id)
    if (entry === undefined) return
    waiting.delete(id)
    entry.cancel()
    entry.settled(outcome, by)
  }

  return {
    isFree(sessionId) {
      if (askedLately(sessionId) >= QUESTIONS_PER_MINUTE) return false
      let count = 0
      for (const { pending } of waiting.values()) if (pending.sessionId === sessionId) count++
      return count < limits().pendingPerSession
    },
    ask(question, settled) {
      const shownText = canonicalize(question.shown)
      if (utf8Length(shownText) > SHOWN_BYTES) return undefined
      countQuestion(question.sessionId)
      const { timeoutMs } = limits()
      const idBytes = random.bytes(EXECUTION_ID_BYTES)
      const id = encodeHex(idBytes)
      const now = clock.wallMs()
      const pending: Pending = {
        ...question,
        id,
        idBytes,
        shownText,
        digest: hash(encodeUtf8(shownText)),
        askedAtMs: now,
        expiresAtMs: now + timeoutMs,
      }
      const cancel = clock.after(timeoutMs, () => settle(id, 'timed_out', ''))
      waiting.set(id, { pending, cancel, settled })
      return {
        pending,
        withdraw() {
          cancel()
          waiting.delete(id)
        },
      }
    },
    answer(id, digest, approves, by) {
      const entry = waiting.get(id)
      if (entry === undefined) return 'unknown'
      if (encodeHex(entry.pending.digest) !== digest) return 'other_digest'
      settle(id, approves ? 'approved' : 'denied', by)
      return 'taken'
    },
    refuseWhere(fits, by) {
      for (const { pending } of [...waiting.values()]) if (fits(pending)) settle(pending.id, 'denied', by)
    },
    list: () => [...waiting.values()].map(({ pending }) => pending),
  }
}
