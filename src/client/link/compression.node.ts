/**
 * Whether a connection asks for compressed output: as its user says, or where the link is slow or paid for.
 * Rules: docs/protocol.md, section 3 (accept).
 * @module
 */
import { SLOW_LINK_BYTES } from '../../limits.ts'
import { ACCEPT } from '../../wire/accept.ts'

export type Compression = 'auto' | 'always' | 'never'

/** What is known of the link. */
export type Link = {
  /** What it was found to carry, bytes a second; undefined: unknown. */
  readonly linkRate: number | undefined
  /** The device says that it is paid by the byte. */
  readonly isMetered: boolean
}

/** The value of `accept` in requests. */
export function acceptedForms(
  compression: Compression = 'auto',
  { linkRate = Number.POSITIVE_INFINITY, isMetered }: Link,
): number {
  if (compression === 'never') return 0
  return compression === 'always' || isMetered || linkRate < SLOW_LINK_BYTES ? ACCEPT.zstd : 0
}
