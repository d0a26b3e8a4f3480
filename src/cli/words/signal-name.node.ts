/**
 * Signals by the names that people know them by.
 * @module
 */
import { constants } from 'node:os'

/** Without its SIG; the number where it has no name. */
export function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)
  return found?.[0].replace(/^SIG/, '') ?? String(number)
}
