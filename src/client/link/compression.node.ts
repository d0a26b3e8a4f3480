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
  /** The device says that it is paid by the byte; undefined: it has said nothing yet. */
  readonly isMetered: boolean | undefined
}

/** The value of `accept` in requests. */
export function acceptedForms(
  compression: Compression = 'auto',
  { linkRate = Number.POSITIVE_INFINITY, isMetered }: Link,
): number {
  if (compression === 'never') return 0
  if (compression === 'always' || isMetered === true || linkRate < SLOW_LINK_BYTES) return ACCEPT.zstd
  return isMetered === undefined ? ACCEPT.zstdWhereMetered : 0
}
