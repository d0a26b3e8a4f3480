/**
 * Archives whose bytes follow from their contents alone: entries in the order given, one time for all, user and group 0.
 * Sources: POSIX.1-2024 pax (ustar), deb(5) for the form of ar that packages have.
 * @module
 */

const BLOCK_BYTES = 512
const NAME_BYTES = 100
const USTAR_VERSION = '00'
const AR_MAGIC = '!<arch>\n'

/** What an archive holds; a directory is made before what lies in it. Paths have no leading or trailing slash. */
export type Entry = { readonly path: string; readonly mode: number } & (
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'directory' }
)

const encode = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** A number as tar writes it: octal, leading zeros, a null at the end. */
function octal(value: number, bytes: number): string {
  const text = value.toString(8)
  if (text.length >= bytes) throw new Error(`${value} is too large for ${bytes} bytes of an archive.`)
  return `${text.padStart(bytes - 1, '0')}\0`
}

function tarHeader(entry: Entry, name: string, seconds: number): Uint8Array {
  if (name.length > NAME_BYTES || !/^[\x21-\x7e]+$/.test(name))
    throw new Error(`${name} is no name that every tar can read: at most ${NAME_BYTES} visible characters.`)
  const header = new Uint8Array(BLOCK_BYTES)
  const put = (at: number, text: string) => header.set(encode(text), at)
  put(0, name)
  put(100, octal(entry.mode, 8))
  put(108, octal(0, 8))
  put(116, octal(0, 8))
  put(124, octal(entry.kind === 'file' ? entry.bytes.length : 0, 12))
  put(136, octal(seconds, 12))
  // The sum is taken with blanks in its own place.
  put(148, ' '.repeat(8))
  put(156, entry.kind === 'file' ? '0' : '5')
  put(257, `ustar\0${USTAR_VERSION}`)
  put(265, 'root')
  put(297, 'root')
  put(329, octal(0, 8))
  put(337, octal(0, 8))
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(148, `${octal(sum, 7)} `)
  return header
}

/** Each directory above the files, once, before what lies in it; everything by name. */
function withDirectories(entries: readonly Entry[]): readonly Entry[] {
  const all = new Map<string, Entry>()
  for (const entry of entries) {
    const parts = entry.path.split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const path = parts.slice(0, depth).join('/')
      if (!all.has(path)) all.set(path, { kind: 'directory', path, mode: 0o755 })
    }
    all.set(entry.path, entry)
  }
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * A tar file.
 * @param prefix put before each path: `./` as packages have it
 * @param seconds of all entries, since 1970
 */
export function tar(entries: readonly Entry[], prefix: string, seconds: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (const entry of withDirectories(entries)) {
    const name = `${prefix}${entry.path}${entry.kind === 'directory' ? '/' : ''}`
    parts.push(tarHeader(entry, name, seconds))
    if (entry.kind !== 'file') continue
    parts.push(entry.bytes, new Uint8Array(-entry.bytes.length & (BLOCK_BYTES - 1)))
  }
  // Two empty blocks are the end.
  return concat([...parts, new Uint8Array(2 * BLOCK_BYTES)])
}

/** An ar file as dpkg and opkg read it: short names, no table. */
export function ar(members: readonly { name: string; bytes: Uint8Array }[], seconds: number): Uint8Array {
  const parts: Uint8Array[] = [encode(AR_MAGIC)]
  for (const { name, bytes } of members) {
    if (!/^[a-z0-9.-]{1,15}$/.test(name))
      throw new Error(`${name} does not fit into an archive of a package.`)
    const header = `${name.padEnd(16)}${String(seconds).padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`
    parts.push(encode(header), bytes)
    if (bytes.length % 2 === 1) parts.push(encode('\n'))
  }
  return concat(parts)
}

/** The regular files of a tar file, by path; anything else in it is passed over. */
export function readTar(bytes: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const text = (from: number, length: number): string => {
    const field = bytes.subarray(from, from + length)
    const end = field.indexOf(0)
    return String.fromCharCode(...(end === -1 ? field : field.subarray(0, end)))
  }
  for (let at = 0; at + BLOCK_BYTES <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8)
    if (!Number.isSafeInteger(size) || at + BLOCK_BYTES + size > bytes.length)
      throw new Error('An entry of this tar file is longer than the file.')
    const type = text(at + 156, 1)
    if (type === '0' || type === '')
      files.set(text(at, NAME_BYTES), bytes.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + size))
    at += BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
  return files
}
