/**
 * Ed25519 (RFC 8032) where no Node is at hand. Hot paths on a device use node:crypto behind a port.
 * RFC 8032 section 5.1.7 leaves open whether the cofactor is multiplied in, and says nothing of points of low order;
 * libraries differ, so a signer can make a signature that only some of them accept. Here both points must be canonical
 * and of no low order and the equation holds without the cofactor: the rule of dalek's `verify_strict` and of OpenSSL
 * 3.5, so that for every key which `checkPublicKey` lets in, this file and node:crypto of Node 26 give one verdict.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { SassError } from '../../errors.ts'

const SEED_BYTES = 32
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64

function requireSeed(seed: Uint8Array): void {
  if (seed.length === SEED_BYTES) return
  throw new SassError(
    'INTERNAL',
    `An Ed25519 seed has ${SEED_BYTES} bytes and ${seed.length} were given, so there is no key: this is a bug of the caller.`,
  )
}

/** Whether `signature` over `message` is by `publicKey`. Wrong lengths are a wrong signature. About 1.2 ms. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  if (!ed25519.verify(signature, message, publicKey, { zip215: false })) return false
  // noble multiplies by the cofactor. With the key in the prime-order subgroup, an R there as well leaves no room for
  // a low-order residue, so that the equation holds without the cofactor too.
  const r = ed25519.Point.fromBytes(signature.subarray(0, KEY_BYTES), false)
  return !r.isSmallOrder() && r.isTorsionFree()
}

/**
 * The 64-byte signature, the same for the same input always.
 * @param seed the private key of RFC 8032: 32 bytes
 * @throws SassError INTERNAL for a seed of another length
 */
export function signEd25519(seed: Uint8Array, message: Uint8Array): Uint8Array {
  requireSeed(seed)
  return ed25519.sign(message, seed)
}

/**
 * The 32-byte public key of a seed.
 * @throws SassError INTERNAL for a seed of another length
 */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  requireSeed(seed)
  return ed25519.getPublicKey(seed)
}
