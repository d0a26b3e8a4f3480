/**
 * Ed25519 with a seed, by node:crypto: it signs in 25 us where a portable implementation takes 330.
 * @module
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** RFC 8410: the fixed head of an Ed25519 private key in PKCS #8, and of a public one in SubjectPublicKeyInfo. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_HEAD_BYTES = 12

function keyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
}

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  return new Uint8Array(createPublicKey(keyOf(seed)).export({ format: 'der', type: 'spki' })).slice(
    SPKI_HEAD_BYTES,
  )
}

export function signWith(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return sign(null, message, keyOf(seed))
}
