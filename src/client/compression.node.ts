/**
 * Whether a connection asks for compressed output: as its user says, or where the link was found slow.
 * Rules: docs/protocol.md, section 3 (accept).
 * @module
 */
import { SLOW_LINK_BYTES } from '../limits.ts'
import { ACCEPT } from '../wire/accept.ts'
import { zstdFrames } from './zstd-frames.node.ts'

export type Compression = 'auto' | 'always' | 'never'

/** The value of `accept` in requests. `linkRate`: what the link was found to carry, bytes a second; undefined: unknown. */
export function acceptedForms(compression: Compression = 'auto', linkRate: number | undefined): number {
  if (compression === 'never' || zstdFrames() === undefined) return 0
  const isSlow = linkRate !== undefined && linkRate < SLOW_LINK_BYTES
  return compression === 'always' || isSlow ? ACCEPT.zstd : 0
}
