/**
 * Ids of executions and sessions as people copy them and as they travel, and the numbers of signals.
 * Rules: docs/protocol.md, section 3.
 * @module
 */

import { randomFillSync } from 'node:crypto'
import { misuse } from '../errors.ts'
import { EXECUTION_ID_BYTES } from '../limits.ts'
import { hexBytes } from './hex-bytes.ts'

/** 64 ids. */
const ID_PAGE_BYTES = 1_024

/** Ids from the system's CSPRNG, drawn a page at a time: one call for each would cost as much as encoding a request. */
export function createIdSource(): () => Uint8Array {
  const page = new Uint8Array(ID_PAGE_BYTES)
  let at = page.length
  return () => {
    if (at === page.length) {
      randomFillSync(page)
      at = 0
    }
    at += EXECUTION_ID_BYTES
    return page.slice(at - EXECUTION_ID_BYTES, at)
  }
}

export function idBytes(id: string): Uint8Array {
  return hexBytes(id, EXECUTION_ID_BYTES, 'An id', 'where it was printed')
}

/** 16 + the POSIX number, docs/protocol.md, section 3. */
export function wireSignal(signal: number): number {
  if (!Number.isInteger(signal) || signal < 1 || signal > 64)
    throw misuse(`${signal} is no signal; use a number from 1 to 64.`)
  return 16 + signal
}
