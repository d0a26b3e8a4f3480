/**
 * Whether this process is in a user namespace of its own.
 * Rules: user_namespaces(7).
 * @module
 */
import { readFileSync } from 'node:fs'

/** True where user ids are the same as outside. */
export function isInitialUserNamespace(): boolean {
  try {
    return /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1'))
  } catch {
    return true
  }
}
