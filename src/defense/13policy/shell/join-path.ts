/**
 * Paths joined as text, as base/text/lexical-path.ts does it, at once where there is nothing to resolve: most paths are.
 * @module
 */
import { resolvePath } from '../../../base/text/lexical-path.ts'

/** The absolute, normalised form of `path`; a relative one starts at `directory`, which is in that form. */
export function joinPath(directory: string, path: string): string {
  if (!isClean(path)) return resolvePath(directory, path)
  if (path.startsWith('/')) return path
  return directory === '/' ? `/${path}` : `${directory}/${path}`
}

/** Whether no part of it is empty or begins with a dot. */
function isClean(path: string): boolean {
  let before = 0
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at)
    const isFirst = before === SLASH || at === 0
    if (isFirst && at > 0 && code === SLASH) return false
    if (isFirst && code === DOT) return false
    before = code
  }
  return path.length > 1 && before !== SLASH
}

const SLASH = 47
const DOT = 46
