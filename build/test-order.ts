/**
 * Which test files run beside each other, and which begin first.
 * @module
 */
import type { Lane } from './run-files.node.ts'

/** Lanes of these files. @param jobs how many that compute run at once */
export function inLanes(files: readonly string[], jobs: number): readonly Lane[] {
  return [{ files, jobs }]
}
