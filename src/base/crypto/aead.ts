/**
 * ChaCha20-Poly1305 (RFC 8439): 32-byte key, 12-byte nonce, 16-byte tag behind the ciphertext.
 * Refuses, when opening, everything that is not authentic, without saying why. A nonce must never be used twice with
 * one key; that is the caller's part.
 * @module
 */
import { chacha20poly1305 } from '@noble/ciphers/chacha.js'
import { SassError } from '../../errors.ts'

// RFC 8439 section 2.8.
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * The ciphertext with the tag behind it: 16 bytes longer than `plaintext`.
 * @throws SassError INTERNAL where key or nonce have another length than the cipher's
 */
export function sealChaCha20Poly1305(
  key: Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  aad: Uint8Array,
): Uint8Array {
  if (key.length !== KEY_BYTES || nonce.length !== NONCE_BYTES) {
    throw new SassError(
      'INTERNAL',
      `ChaCha20-Poly1305 was given a key of ${key.length} and a nonce of ${nonce.length} bytes, so nothing was sealed: it takes ${KEY_BYTES} and ${NONCE_BYTES}.`,
    )
  }
  return chacha20poly1305(key, nonce, aad).encrypt(plaintext)
}

/** The plaintext, or undefined where key, nonce, associated data and ciphertext do not belong together. */
export function openChaCha20Poly1305(
  key: Uint8Array,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  aad: Uint8Array,
): Uint8Array | undefined {
  if (key.length !== KEY_BYTES || nonce.length !== NONCE_BYTES || ciphertext.length < TAG_BYTES)
    return undefined
  try {
    return chacha20poly1305(key, nonce, aad).decrypt(ciphertext)
  } catch {
    // With the lengths checked above, the tag is the only thing left that can fail.
    return undefined
  }
}
