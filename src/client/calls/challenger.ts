/**
 * The client's side of the cognitive challenge: opens what the device sealed for this very connection and session,
 * and answers on a stream of its own. What was sealed for another connection cannot be opened, and then nothing is
 * answered. The cipher is loaded when the first challenge comes: hardly any connection ever sees one.
 * Rules: docs/protocol.md, section 5.
 * @module
 */
import type { CborValue } from '../../base/encoding/cbor.ts'
import { SassError } from '../../errors.ts'
import type { Challenge } from '../../wire/challenge.ts'
import { challengeAnswer, type challengeResult } from '../../wire/messages.ts'
import type { MessageValue } from '../../wire/schema.ts'

/** What binds an answer to the connection. */
export type ChallengeKeys = {
  readonly sessionId: Uint8Array
  /** CHALLENGE_EKM_BYTES that the TLS connection exports for this session. */
  readonly exportKeys: () => Uint8Array
}

/** Sends CognitiveChallenge and resolves with its response. */
export type AskChallenge = (request: CborValue) => Promise<unknown>

function failed(what: string): SassError {
  return new SassError('CHALLENGE_FAILED', `The device asked for proof that ${what}`)
}

/**
 * Answers one challenge; resolves when the device has taken it.
 * @param keys undefined on the admin socket, which has nothing to derive a key from
 * @throws SassError CHALLENGE_FAILED where it cannot be opened, and nothing was sent then, or the answer is not taken
 */
export async function meetChallenge(
  challenge: Challenge,
  keys: ChallengeKeys | undefined,
  ask: AskChallenge,
): Promise<void> {
  if (keys === undefined)
    throw failed('this transport cannot give, so nothing was answered; it may be another program.')
  const { answerChallenge } = await import('../../wire/challenge.ts')
  const answer = answerChallenge(keys.exportKeys(), keys.sessionId, challenge)
  if (answer === undefined)
    throw failed('was made for another connection, so nothing was answered; somebody may be in between.')
  const result = (await ask(
    challengeAnswer.encode({
      decrypted_plaintext: answer.plaintext,
      client_ekm_hmac: answer.hmac,
      challenge_id: challenge.challenge_id,
    }),
  )) as MessageValue<typeof challengeResult>
  if (!result.passed) throw failed('it then did not take, so the request was not done; connect again.')
}
