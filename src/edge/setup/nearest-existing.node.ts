/**
 * The nearest directory above a path that is not there yet.
 * @module
 */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The nearest directory of `path` that exists, `path` itself included. */
export function nearestExisting(path: string): string {
  let directory = path
  while (!existsSync(directory) && directory !== dirname(directory)) directory = dirname(directory)
  return directory
}
