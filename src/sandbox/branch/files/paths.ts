/**
 * Paths of files as bytes, which need not be text. Inside of this room a path is a string with one character for each
 * byte: it can be a key, is compared as bytes are, and is turned into bytes where it meets the kernel or a human.
 * A path is relative to its root, without a slash in front or behind; the root itself is empty.
 * @module
 */

/** One character for each byte, U+0000 to U+00FF. */
export type BytePath = string

/** Characters handed to one `String.fromCharCode`: each is an argument on the stack. */
const PIECE_BYTES = 4_096
const BLOCK_BYTES = 32_768

export function bytePath(bytes: Uint8Array): BytePath {
  if (bytes.length <= PIECE_BYTES) return String.fromCharCode(...bytes)
  let text = ''
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES))
  return text
}

export function pathBytes(path: BytePath): Uint8Array {
  const bytes = new Uint8Array(path.length)
  for (let at = 0; at < path.length; at++) bytes[at] = path.charCodeAt(at)
  return bytes
}

export function joinPath(directory: BytePath, name: BytePath): BytePath {
  return directory === '' ? name : `${directory}/${name}`
}

/** The directory that a path lies in; of the root, the root. */
export function parentPath(path: BytePath): BytePath {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? '' : path.slice(0, slash)
}

export function namePath(path: BytePath): BytePath {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** True for the directory itself and all beneath it. */
export function isBeneath(directory: BytePath, path: BytePath): boolean {
  return directory === '' || path === directory || path.startsWith(`${directory}/`)
}

/** How deep a path lies: 0 for the root. */
export function depthOf(path: BytePath): number {
  if (path === '') return 0
  let depth = 1
  for (let at = 0; at < path.length; at++) if (path.charCodeAt(at) === 0x2f) depth++
  return depth
}

/** By bytes, as the kernel would sort them. */
export function comparePaths(a: BytePath, b: BytePath): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** As `comparePaths`, of the bytes themselves. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Bytes of many paths that stay: some hundred to a buffer, as one of its own is several times as large as a path. */
export function createPathBytes(): (path: BytePath) => Uint8Array {
  let block = new Uint8Array(0)
  let used = 0
  return (path) => {
    if (used + path.length > block.length) {
      block = new Uint8Array(Math.max(BLOCK_BYTES, path.length))
      used = 0
    }
    const start = used
    for (let at = 0; at < path.length; at++) block[used++] = path.charCodeAt(at)
    return block.subarray(start, used)
  }
}
