/**
 * The challenges of one connection that wait for their answer: issued, answered once or never, expired. What is right
 * goes on; what is wrong, late or unasked is told to the caller of this file, who has it decided.
 * Rules: docs/protocol.md, section 5; draft 8.2.
 * @module
 */
import { equalConstantTime } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import {
  CHALLENGE_EKM_BYTES,
  CHALLENGE_LABEL,
  CHALLENGE_NONCE_BYTES,
  CHALLENGE_PLAINTEXT_BYTES,
  CHALLENGES_PER_MINUTE,
  EXECUTION_ID_BYTES,
} from '../../limits.ts'
import type { Clock, Random, Transport } from '../../ports.ts'
import { challengeHmac, sealChallenge } from '../../wire/challenge.ts'
import type { ChallengeAnswer } from '../../wire/messages.ts'

export type IssuedChallenge = {
  readonly challenge_id: Uint8Array
  readonly nonce: Uint8Array
  readonly ciphertext: Uint8Array
  /** Unix seconds. */
  readonly expires_at: number
}

export type ChallengeOutcome = 'passed' | 'failed' | 'late' | 'unknown'

export type Challenges = {
  /**
   * Issues one for the session. `settled` hears once that it was passed, failed or left unanswered; `failed` and
   * `late` end the connection, which is up to the one who hears of it.
   * Undefined: this transport exports nothing to bind it to.
   */
  issue(sessionId: Uint8Array, settled: (outcome: ChallengeOutcome) => void): IssuedChallenge | undefined
  /** `unknown` where there is no such challenge any more. `settle` tells whoever has issued it. */
  answer(answer: ChallengeAnswer): { readonly outcome: ChallengeOutcome; settle(): void }
  /** Its request is gone: nobody is told any more, but an answer that is on its way by then is no replay. */
  forget(challengeId: Uint8Array): void
  end(): void
}

type Waiting = {
  readonly plaintext: Uint8Array
  readonly hmac: Uint8Array
  readonly endsAtMs: number
  readonly cancel: () => void
  readonly settled: (outcome: ChallengeOutcome) => void
}

export function createChallenges(
  transport: Pick<Transport, 'exportKeyingMaterial'>,
  clock: Clock,
  random: Random,
  ttlMs: () => number,
): Challenges {
  const waiting = new Map<string, Waiting>()
  /** Without a timer: they are as few as may be issued in their time, and go when the next one is issued. */
  const forgotten = new Map<string, Waiting>()

  function take(key: string): Waiting | undefined {
    const entry = waiting.get(key)
    entry?.cancel()
    waiting.delete(key)
    return entry
  }

  function takeForgotten(key: string): Waiting | undefined {
    const entry = forgotten.get(key)
    forgotten.delete(key)
    return entry === undefined || entry.endsAtMs <= clock.monotonicMs() ? undefined : entry
  }

  return {
    issue(sessionId, settled) {
      const ekm = transport.exportKeyingMaterial(CHALLENGE_EKM_BYTES, CHALLENGE_LABEL, sessionId)
      if (ekm === undefined) return undefined
      const now = clock.monotonicMs()
      for (const [key, { endsAtMs }] of forgotten) if (endsAtMs <= now) forgotten.delete(key)
      const challengeId = random.bytes(EXECUTION_ID_BYTES)
      const nonce = random.bytes(CHALLENGE_NONCE_BYTES)
      const plaintext = random.bytes(CHALLENGE_PLAINTEXT_BYTES)
      const key = encodeHex(challengeId)
      const ciphertext = sealChallenge(ekm, { sessionId, challengeId }, nonce, plaintext)
      waiting.set(key, {
        plaintext,
        hmac: challengeHmac(ekm, sessionId),
        endsAtMs: now + ttlMs(),
        cancel: clock.after(ttlMs(), () => {
          waiting.delete(key)
          settled('late')
        }),
        settled,
      })
      const expires_at = Math.floor((clock.wallMs() + ttlMs()) / 1_000)
      return { challenge_id: challengeId, nonce, ciphertext, expires_at }
    },
    answer({ challenge_id, decrypted_plaintext, client_ekm_hmac }) {
      const answered = encodeHex(challenge_id)
      const entry = take(answered) ?? takeForgotten(answered)
      if (entry === undefined) return { outcome: 'unknown', settle() {} }
      // Both, always: which of the two was wrong must not be told by the time it takes.
      const isPlaintext = equalConstantTime(entry.plaintext, decrypted_plaintext)
      const isBound = equalConstantTime(entry.hmac, client_ekm_hmac)
      const outcome = isPlaintext && isBound ? 'passed' : 'failed'
      return { outcome, settle: () => entry.settled(outcome) }
    },
    forget(challengeId) {
      const key = encodeHex(challengeId)
      const entry = take(key)
      if (entry !== undefined) forgotten.set(key, { ...entry, settled() {} })
    },
    end() {
      forgotten.clear()
      for (const key of [...waiting.keys()]) take(key)
    },
  }
}

/** How often each caller has been challenged in the minute that runs: at most so often. */
export type ChallengeRates = {
  isFree(caller: string): boolean
  count(caller: string): void
  tick(nowMs: number): void
}

const MINUTE_MS = 60_000

export function createChallengeRates(startMs: number): ChallengeRates {
  let sinceMs = startMs
  const counts = new Map<string, number>()
  return {
    isFree: (caller) => (counts.get(caller) ?? 0) < CHALLENGES_PER_MINUTE,
    count: (caller) => counts.set(caller, (counts.get(caller) ?? 0) + 1),
    tick(nowMs) {
      if (nowMs - sinceMs < MINUTE_MS) return
      sinceMs = nowMs
      counts.clear()
    },
  }
}
