/**
 * The form of sealed facts: what a decision was made from, unreadable without the key of its session.
 *
 *     frame    length of body (4 bytes, big-endian) || body
 *     body     key id (16) || counter (8, big-endian) || XChaCha20-Poly1305 of the content, tag behind it
 *     nonce    key id || counter: a counter is used once with a key
 *     slot     session id (16) || key id (16) || key (32); a key of zeros was destroyed
 *
 * The chain names a frame by the SHA-256 of its body, so that nothing of the content can be guessed from the record.
 * Rules: docs/responses.md, section 7 (sealed facts).
 * @module
 */
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { encodeUtf8 } from '../base/encoding/utf8.ts'

export const KEY_ID_BYTES = 16
export const COUNTER_BYTES = 8
export const SESSION_ID_BYTES = 16
export const KEY_BYTES = 32
export const LENGTH_BYTES = 4
export const TAG_BYTES = 16
export const SLOT_BYTES = SESSION_ID_BYTES + KEY_ID_BYTES + KEY_BYTES
/** What stands before the sealed content in a body, and is the nonce. */
export const NONCE_BYTES = KEY_ID_BYTES + COUNTER_BYTES

/** Binds what is sealed to what it is. */
export const FACTS_LABEL: Uint8Array = encodeUtf8('sass-edge-facts-v1')

/** The content of a body; undefined where it was not sealed with that key, or was changed. */
export function openBody(body: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  if (body.length < NONCE_BYTES + TAG_BYTES) return undefined
  try {
    const cipher = xchacha20poly1305(key, body.slice(0, NONCE_BYTES), FACTS_LABEL)
    return cipher.decrypt(body.slice(NONCE_BYTES))
  } catch {
    return undefined
  }
}

/** A key that was destroyed. */
export function isDestroyed(key: Uint8Array): boolean {
  return key.every((byte) => byte === 0)
}
