/**
 * What an Ed25519 public key must be before it may be enrolled: 32 bytes that are the one canonical encoding of a
 * point on the curve, and that point in the prime-order subgroup.
 * Refused so: the eight low-order points in all of their fourteen encodings (a signature under one of them holds for
 * many messages), y not below p, minus zero as x (RFC 8032 section 5.1.3), and points with a low-order component, for
 * which verifiers with and without the cofactor give different answers.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { checkKeyEncoding, type KeyCheck } from './ed25519-encoding.ts'

function decoded(key: Uint8Array) {
  try {
    return ed25519.Point.fromBytes(key, false)
  } catch {
    return undefined
  }
}

/** Whether `key` may be enrolled. `problem` is a clause for the operator. About 0.5 ms: for enrolment, not per request. */
export function checkPublicKey(key: Uint8Array): KeyCheck {
  const encoding = checkKeyEncoding(key)
  if (!encoding.ok) return encoding
  const point = decoded(key)
  if (point === undefined) return { ok: false, problem: 'the key is not a point on the curve' }
  if (!point.isTorsionFree()) return { ok: false, problem: 'the key is not in the prime-order subgroup' }
  return { ok: true }
}
