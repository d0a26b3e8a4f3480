/**
 * Signatures that were found good, remembered: those of manifests, which every envelope of a template brings along. That
 * a signature is good stays so; what was not good is looked at each time.
 * @module
 */
import { VERIFIED_BYTES, VERIFIED_REMEMBERED } from '../../intent/spool/limits.ts'
import type { Verify } from '../../intent/vault/manifest.ts'

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Texts longer than VERIFIED_BYTES are not remembered: no two envelopes are the same. */
export function remembering(verify: Verify): Verify {
  const good = new Set<string>()
  return (publicKey, signature, bytes) => {
    if (bytes.length > VERIFIED_BYTES) return verify(publicKey, signature, bytes)
    const key = `${latin1(publicKey)}${latin1(signature)}${latin1(bytes)}`
    if (good.has(key)) return true
    const isGood = verify(publicKey, signature, bytes)
    if (good.size >= VERIFIED_REMEMBERED) good.clear()
    if (isGood) good.add(key)
    return isGood
  }
}
