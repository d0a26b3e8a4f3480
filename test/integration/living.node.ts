/**
 * What lies in a directory that a daemon works in. It is walked a directory at a time: one that goes meanwhile (the branch
 * of a session that ended, a partial that was finished) is none, where `readdirSync` with `recursive` throws.
 * @module
 */
import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The paths of all files below a directory, in the order in which they are found. */
export function* filesBelow(directory: string): Generator<string> {
  for (const entry of entries(directory)) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

function entries(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
