/**
 * One of the admitted candidates: the one whose hash is smallest, byte for byte. Their order has no part in it, nor what
 * they say.
 * Rules: docs/proposals.md, section on selection.
 * @module
 */
import type { Hashed } from './admission.ts'

export type SelectionEvent = {
  readonly type: 'selection_event'
  readonly admitted_bundle_hashes: readonly string[]
  readonly selected_bundle_hash: string
}

function isLess(one: Uint8Array, other: Uint8Array): boolean {
  const at = one.findIndex((byte, index) => byte !== other[index])
  return at !== -1 && (one[at] ?? 0) < (other[at] ?? 0)
}

/** Undefined where nothing was admitted. */
export function select(
  admitted: readonly Hashed[],
): { readonly chosen: Hashed; readonly event: SelectionEvent } | undefined {
  const [first, ...others] = admitted
  if (first === undefined) return undefined
  const chosen = others.reduce((least, other) => (isLess(other.hash, least.hash) ? other : least), first)
  return {
    chosen,
    event: {
      type: 'selection_event',
      admitted_bundle_hashes: admitted.map(({ id }) => id),
      selected_bundle_hash: chosen.id,
    },
  }
}
