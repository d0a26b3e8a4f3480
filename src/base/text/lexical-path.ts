/**
 * Paths as text, by the rules of POSIX path resolution without looking at any file: joining, normalising, containing.
 * Symbolic links are not followed here; whoever opens the result must do so with care (openat, O_NOFOLLOW).
 * @module
 */

/** `path` without empty, `.` and `..` segments; `..` at the root stays at the root. `path` must be absolute. */
function normalize(path: string): string {
  if (path.length > 1 && !NOT_NORMAL.test(path)) return path
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') kept.pop()
    else kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** A segment that goes, as most paths have none. */
const NOT_NORMAL = /\/\.{0,2}(?:\/|$)/

/** What follows the last slash: the name of a program in a path, or the path itself where it has none. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** What precedes the last slash of an absolute, normalised path. */
export function directoryOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

/** The absolute, normalised form of `path`; a relative one starts at `directory`, which must be absolute. */
export function resolvePath(directory: string, path: string): string {
  return normalize(path.startsWith('/') ? path : `${directory}/${path}`)
}

/** True where normalised `path` is `directory` itself or lies beneath it, judged as text. */
export function isWithin(directory: string, path: string): boolean {
  if (directory === '/') return true
  // Without a text of its own: it is asked of every path that a command uses, for every place there is.
  return path.startsWith(directory) && (path.length === directory.length || path[directory.length] === '/')
}
