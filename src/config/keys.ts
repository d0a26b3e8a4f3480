/**
 * What the keys of a configuration need arithmetic on the curve for: to be points of it, and in the prime-order subgroup.
 * Apart from the other checks, since a start waits for those and this takes 10 ms and a library of its own.
 * @module
 */

import { checkPublicKey } from '../base/crypto/ed25519-key.ts'
import { decodeBase64Url } from '../base/encoding/base64.ts'
import { KEY_FILE_BYTES } from '../limits.ts'
import type { Config, ConfigProblem } from './config.ts'

/** The agents whose keys cannot be used, by index in `agents`; the keys' encodings have been checked before. */
export function unsoundKeys(agents: Config['agents']): ReadonlyMap<number, ConfigProblem> {
  const problems = new Map<number, ConfigProblem>()
  for (const [index, { public_key }] of agents.entries()) {
    const verdict = checkPublicKey(decodeBase64Url(public_key, KEY_FILE_BYTES) ?? new Uint8Array())
    if (verdict.ok) continue
    problems.set(index, {
      path: `agents[${index}].public_key`,
      problem: `is not a usable Ed25519 public key: ${verdict.problem}`,
      hint: 'make a new one with sass-edge keygen',
    })
  }
  return problems
}
