/**
 * A look at a file of the device that need not be there, nor be this user's to see, by a path whose bytes need not be text.
 * @module
 */

import { lstatSync, type PathLike, type Stats } from 'node:fs'
import { bytesOfEscaped } from '../../base/text/escaped-path.ts'

/** A path as the kernel is asked for it; Node would ask for another one where it is not UTF-8. */
export function kernelPath(path: string): PathLike {
  return path.isWellFormed() ? path : Buffer.from(bytesOfEscaped(path))
}

/** What lies at a path (escaped-path.ts), a link as itself; undefined where nothing does, or where nobody but others may look. */
export function seenFile(path: string): Stats | undefined {
  try {
    return lstatSync(kernelPath(path), { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** `seenFile` for one piece of work that asks for the same paths often: each is looked at once. */
export function seenOnce(): typeof seenFile {
  const seen = new Map<string, Stats | undefined>()
  return (path) => {
    if (!seen.has(path)) seen.set(path, seenFile(path))
    return seen.get(path)
  }
}
