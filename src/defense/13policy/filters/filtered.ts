/**
 * What a script of sed or awk was found to start and to write, and the mark of what is not known in it.
 * @module
 */

import type { Inner } from '../arguments/inner.ts'
import type { Opaque } from '../effective.ts'

export type Filtered = { readonly inner: readonly Inner[]; readonly opaque: readonly Opaque[] }

/** In the place of what is not known; no text holds it. */
export const GAP = '\u0001'
