/**
 * What can be said of an Ed25519 public key by its 32 bytes alone, without arithmetic on the curve: whether they are a
 * canonical encoding (RFC 8032 section 5.1.3) and none of the eight points of low order, under which a signature holds
 * for many messages. A start affords this for every key of the list; `checkPublicKey` knows the rest.
 * @module
 */
import { encodeHex } from '../encoding/hex.ts'

export type KeyCheck = { readonly ok: true } | { readonly ok: false; readonly problem: string }

const KEY_BYTES = 32
const SIGN_BIT = 0x80
/** The prime of the field is 2^255 - 19: this, 0xff thirty times, 0x7f; little-endian. */
const PRIME_LOWEST = 0xed
/** The y of the eight points of low order below the prime; two of them with either sign. */
const LOW_ORDER: ReadonlySet<string> = new Set([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
])
/** y of the two points whose x is zero: minus zero is no number. */
const ZERO_X: ReadonlySet<string> = new Set([`01${'00'.repeat(31)}`, `ec${'ff'.repeat(30)}7f`])

/** Whether a number below 2^255 is below the prime. */
function isBelowPrime(y: Uint8Array): boolean {
  const [lowest = 0] = y
  const isHighest = y[KEY_BYTES - 1] === 0x7f && y.subarray(1, KEY_BYTES - 1).every((byte) => byte === 0xff)
  return !isHighest || lowest < PRIME_LOWEST
}

/** What is wrong with the bytes themselves; `problem` is a clause for the operator. */
export function checkKeyEncoding(key: Uint8Array): KeyCheck {
  if (key.length !== KEY_BYTES)
    return { ok: false, problem: `the key has ${key.length} bytes, not ${KEY_BYTES}` }
  const y = key.slice()
  const last = y[KEY_BYTES - 1] ?? 0
  y[KEY_BYTES - 1] = last & ~SIGN_BIT
  const text = encodeHex(y)
  const isMinusZero = (last & SIGN_BIT) !== 0 && ZERO_X.has(text)
  if (isMinusZero || !isBelowPrime(y))
    return { ok: false, problem: 'the key is not the canonical encoding of its point' }
  if (LOW_ORDER.has(text))
    return { ok: false, problem: 'the key is a point of low order, which signs anything' }
  return { ok: true }
}
