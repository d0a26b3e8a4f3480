/**
 * Directories that a branch has moved: the overlay (redirect_dir) marks each at its new place with where it was beneath.
 * A mark is a name beside it, or a path from the root of what is beneath.
 * @module
 */

import { type Files, namesIn, statName, withDirectory } from './files.node.ts'
import { readAttributes } from './inspect.node.ts'
import { type BytePath, joinPath } from './paths.ts'

/** The first byte of the mark of a directory that hides what is beneath. */
const OPAQUE = 0x79

/**
 * The real path that a mark stands for.
 * @param base real path of the directory that the marked one is in; undefined where nothing is beneath that
 */
export function redirectedPath(mark: Uint8Array, base: BytePath | undefined): BytePath | undefined {
  const text = Buffer.from(mark).toString('latin1')
  if (text.startsWith('/')) return text.replace(/^\/+/, '')
  return base === undefined || text.includes('/') ? undefined : joinPath(base, text)
}

/** New paths of moved directories by their real ones, which are there. */
export function findMoved(files: Files, upperRoot: number, realRoot: number): Map<BytePath, BytePath> {
  const found = new Map<BytePath, BytePath>()
  const waiting: { path: BytePath; base: BytePath | undefined }[] = [{ path: '', base: '' }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, base } = next
    withDirectory(files, upperRoot, path, (directory) => {
      for (const name of namesIn(directory, path)) {
        if (!statName(directory, name)?.isDirectory()) continue
        const inner = joinPath(path, name)
        const { marks } = readAttributes(files, directory, name, inner, 'trusted')
        const mark = marks.get('redirect')
        const isOpaque = base === undefined || marks.get('opaque')?.[0] === OPAQUE
        let below = isOpaque ? undefined : joinPath(base, name)
        if (mark !== undefined) {
          below = redirectedPath(mark, base)
          const isThere =
            below !== undefined && below !== inner && withDirectory(files, realRoot, below, () => true)
          if (isThere && below !== undefined) found.set(below, inner)
        }
        waiting.push({ path: inner, base: below })
      }
    })
  }
  return found
}
