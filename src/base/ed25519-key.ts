/**
 * What an Ed25519 public key must be before it may be enrolled: 32 bytes that are the one canonical encoding of a
 * point on the curve, and that point in the prime-order subgroup.
 * Refused so: the eight low-order points in all of their fourteen encodings (a signature under one of them holds for
 * many messages), y not below p, minus zero as x (RFC 8032 section 5.1.3), and points with a low-order component, for
 * which verifiers with and without the cofactor give different answers.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { equalConstantTime } from './hash.ts'

export type KeyCheck = { readonly ok: true } | { readonly ok: false; readonly problem: string }

const KEY_BYTES = 32

/** The point of any encoding that ZIP 215 would take, canonical or not. */
function looselyDecoded(key: Uint8Array) {
  try {
    return ed25519.Point.fromBytes(key, true)
  } catch {
    return undefined
  }
}

/** Whether `key` may be enrolled. `problem` is a clause for the operator. About 0.5 ms: for enrolment, not per request. */
export function checkPublicKey(key: Uint8Array): KeyCheck {
  if (key.length !== KEY_BYTES)
    return { ok: false, problem: `the key has ${key.length} bytes, not ${KEY_BYTES}` }
  const point = looselyDecoded(key)
  if (point === undefined) return { ok: false, problem: 'the key is not a point on the curve' }
  if (!equalConstantTime(point.toBytes(), key)) {
    return { ok: false, problem: 'the key is not the canonical encoding of its point' }
  }
  if (point.isSmallOrder())
    return { ok: false, problem: 'the key is a point of low order, which signs anything' }
  if (!point.isTorsionFree()) return { ok: false, problem: 'the key is not in the prime-order subgroup' }
  return { ok: true }
}
