/**
 * Names of files of the spool. A name from outside never becomes part of one: a file in quarantine has a name of ours,
 * which says whose inbox it lay in; a receiver and an id must match a closed set of letters first.
 * Rules: docs/intent.md (where files lie); `[A-Za-z0-9_-]{1,128}` is the source's own correction of its RT-2.3.
 * @module
 */

import { ENVELOPE_SUFFIX } from '../envelopes/envelope.ts'

/** Beside a refused file: why. */
const REASON_SUFFIX = '.reason.json'
/** Of the random part, in bytes. */
export const QUARANTINE_ID_BYTES = 16

const QUARANTINED = /^([A-Za-z0-9_-]{1,128})\.([0-9a-f]{32})\.satl\.json$/

/** @param id 32 lower-case hexadecimal digits */
export function quarantineName(receiver: string, id: string): string {
  return `${receiver}.${id}${ENVELOPE_SUFFIX}`
}

/** Undefined: not a name that was made here. */
export function readQuarantineName(
  name: string,
): { readonly receiver: string; readonly id: string } | undefined {
  const [, receiver, id] = QUARANTINED.exec(name) ?? []
  return receiver === undefined || id === undefined ? undefined : { receiver, id }
}

/** Where its reason lies, beside it. */
export function reasonName(quarantined: string): string {
  return quarantined.slice(0, -ENVELOPE_SUFFIX.length) + REASON_SUFFIX
}

/** By the bytes of the name: what is no UTF-8 is a name like any other. */
export function isEnvelopeName(name: Uint8Array): boolean {
  const start = name.length - ENVELOPE_SUFFIX.length
  if (start < 0) return false
  for (let at = 0; at < ENVELOPE_SUFFIX.length; at++)
    if (name[start + at] !== ENVELOPE_SUFFIX.charCodeAt(at)) return false
  return true
}
