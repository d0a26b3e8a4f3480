/**
 * A look at a file of the device that need not be there, nor be this user's to see.
 * @module
 */

import { lstatSync, type Stats } from 'node:fs'

/** What lies at a path, a link as itself; undefined where nothing does, or where nobody but others may look. */
export function seenFile(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
