/**
 * Whether this process is in a user namespace of its own.
 * Rules: user_namespaces(7).
 * @module
 */

import { readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'

/** True where user ids are the same as outside. */
export function isInitialUserNamespace(): boolean {
  return attempt(() => /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1')), true)
}
