/**
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and the comparison that secrets need, where no Node is at hand:
 * the client library, the verifier, the challenge. Hot paths on a device use node:crypto behind a port; both give the
 * same bytes.
 * @module
 */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 as nobleSha256 } from '@noble/hashes/sha2.js'

/** SHA-256 of bytes, here or by the host. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array

/** The digest (32 bytes) of the parts one after another. Lengths are not mixed in: frame variable parts first. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hasher = nobleSha256.create()
  for (const part of parts) hasher.update(part)
  return hasher.digest()
}

/** The full tag, 32 bytes. A key of any length is allowed (RFC 2104 section 2). */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(nobleSha256, key, message)
}

/**
 * True where both hold the same bytes. The time depends on the lengths alone, which are no secret here; every byte is
 * looked at, whatever the first ones were.
 */
export function equalConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let at = 0; at < a.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
  return difference === 0
}
