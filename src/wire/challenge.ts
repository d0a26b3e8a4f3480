/**
 * The cognitive challenge, both sides of it: a secret that only the two ends of this TLS connection can read, sealed
 * with a key that the connection itself exports, so that nobody can answer for another connection.
 * A nonce is drawn for each challenge: the key lives as long as the session, and a nonce taken from the exporter, as
 * the draft's appendix C.2 has it, would be used twice.
 * Rules: docs/protocol.md, section 5.
 * @module
 */
import { openChaCha20Poly1305, sealChaCha20Poly1305 } from '../base/crypto/aead.ts'
import { hmacSha256 } from '../base/crypto/hash.ts'
import { CHALLENGE_KEY_BYTES } from '../limits.ts'

export type ChallengeIds = { readonly sessionId: Uint8Array; readonly challengeId: Uint8Array }

export type Challenge = {
  readonly challenge_id: Uint8Array
  readonly nonce: Uint8Array
  readonly ciphertext: Uint8Array
}

export type ChallengeAnswer = { readonly plaintext: Uint8Array; readonly hmac: Uint8Array }

/** What the ciphertext is bound to: the exporter's further bytes, the session and the challenge itself. */
function associatedData(ekm: Uint8Array, { sessionId, challengeId }: ChallengeIds): Uint8Array {
  const rest = ekm.subarray(CHALLENGE_KEY_BYTES)
  const data = new Uint8Array(rest.length + sessionId.length + challengeId.length)
  data.set(rest)
  data.set(sessionId, rest.length)
  data.set(challengeId, rest.length + sessionId.length)
  return data
}

/**
 * The ciphertext of `plaintext` (64 random bytes), 80 bytes.
 * @param ekm 44 bytes that the connection exports for the session
 * @param nonce 12 bytes, never used before with this connection and session
 */
export function sealChallenge(
  ekm: Uint8Array,
  ids: ChallengeIds,
  nonce: Uint8Array,
  plaintext: Uint8Array,
): Uint8Array {
  return sealChaCha20Poly1305(
    ekm.subarray(0, CHALLENGE_KEY_BYTES),
    nonce,
    plaintext,
    associatedData(ekm, ids),
  )
}

/** The second half of an answer: it needs the connection's key and the session's id, and nothing of the challenge. */
export function challengeHmac(ekm: Uint8Array, sessionId: Uint8Array): Uint8Array {
  return hmacSha256(ekm.subarray(0, CHALLENGE_KEY_BYTES), sessionId)
}

/** What a client answers; undefined where the challenge was not made for this connection and session. */
export function answerChallenge(
  ekm: Uint8Array,
  sessionId: Uint8Array,
  { challenge_id, nonce, ciphertext }: Challenge,
): ChallengeAnswer | undefined {
  const ids = { sessionId, challengeId: challenge_id }
  const key = ekm.subarray(0, CHALLENGE_KEY_BYTES)
  const plaintext = openChaCha20Poly1305(key, nonce, ciphertext, associatedData(ekm, ids))
  return plaintext === undefined ? undefined : { plaintext, hmac: challengeHmac(ekm, sessionId) }
}
