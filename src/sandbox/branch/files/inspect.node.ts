/**
 * Looks at files: their facts and their attributes. Nothing is followed, and nothing is opened.
 * @module
 */

import { type BigIntStats, constants, readlinkSync } from 'node:fs'
import { descriptorPath } from '../../kernel/at.node.ts'
import type { OverlayAttributes } from './branch.ts'
import type { FileType } from './changes.ts'
import { attributesOf, type Files, fileError, nameBytes } from './files.node.ts'
import type { Node } from './finding.ts'
import type { BytePath } from './paths.ts'

const PERMISSIONS = 0o7777n
const FORMAT = BigInt(constants.S_IFMT)
/** st_blocks counts these, whatever the file system's blocks are (stat(2)). */
const BLOCK_BYTES = 512n
/** Set by the kernel or the machine's policy for each new file; they belong to the place, not to the file. */
const OF_THE_PLACE: ReadonlySet<string> = new Set([
  ...['security.selinux', 'security.ima', 'security.evm', 'security.apparmor', 'security.SMACK64'],
])

const TYPES: ReadonlyMap<bigint, FileType> = new Map([
  [BigInt(constants.S_IFREG), 'file'],
  [BigInt(constants.S_IFDIR), 'directory'],
  [BigInt(constants.S_IFLNK), 'symlink'],
  [BigInt(constants.S_IFIFO), 'fifo'],
  [BigInt(constants.S_IFSOCK), 'socket'],
  [BigInt(constants.S_IFCHR), 'character'],
  [BigInt(constants.S_IFBLK), 'block'],
])

export function typeOf(stats: BigIntStats, path: BytePath): FileType {
  const type = TYPES.get(stats.mode & FORMAT)
  if (type === undefined) throw fileError('understood', path, -22)
  return type
}

/** glibc's gnu_dev_major and gnu_dev_minor. */
export function deviceOf(number: bigint): readonly [major: number, minor: number] {
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & 0xfffff000n)
  const minor = (number & 0xffn) | ((number >> 12n) & 0xffffff00n)
  return [Number(major), Number(minor)]
}

/** The attributes of a file as a branch shows them, and apart from them the marks of the overlay. */
export type ReadAttributes = {
  readonly shown: Map<string, Uint8Array>
  /** Without their prefix: `opaque`, `redirect`, `origin`, `whiteout`, `metacopy`. */
  readonly marks: Map<string, Uint8Array>
}

export const NO_ATTRIBUTES: ReadAttributes = { shown: new Map(), marks: new Map() }

/** @param overlay whose marks these are; undefined: of no overlay, all of them are the file's own */
export function readAttributes(
  files: Files,
  directory: number,
  name: BytePath,
  path: BytePath,
  overlay: OverlayAttributes | undefined,
): ReadAttributes {
  const all = attributesOf(files, directory, name, path)
  if (all.size === 0) return NO_ATTRIBUTES
  const prefix = overlay === undefined ? undefined : `${overlay}.overlay.`
  const shown = new Map<string, Uint8Array>()
  const marks = new Map<string, Uint8Array>()
  for (const [attribute, value] of all) {
    if (OF_THE_PLACE.has(attribute)) continue
    if (prefix === undefined || !attribute.startsWith(prefix)) {
      shown.set(attribute, value)
      continue
    }
    const rest = attribute.slice(prefix.length)
    // What was set through the mount and looks like a mark is kept escaped (Linux 6.7).
    if (rest.startsWith('overlay.')) shown.set(prefix + rest.slice('overlay.'.length), value)
    else marks.set(rest, value)
  }
  return { shown, marks }
}

export function nodeOf(
  directory: number,
  name: BytePath,
  path: BytePath,
  stats: BigIntStats,
  attributes: ReadonlyMap<string, Uint8Array>,
): Node {
  const type = typeOf(stats, path)
  return {
    type,
    mode: Number(stats.mode & PERMISSIONS),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    // The size of a directory says how many names it once had, on some file systems.
    sizeBytes: type === 'file' || type === 'symlink' ? Number(stats.size) : 0,
    modifiedNs: stats.mtimeNs,
    ...(type === 'symlink' ? { target: targetOf(directory, name, path) } : {}),
    ...(type === 'character' || type === 'block' ? { device: deviceOf(stats.rdev) } : {}),
    inode: stats.ino,
    fileSystem: stats.dev,
    changedNs: stats.ctimeNs,
    links: Number(stats.nlink),
    isSparse: type === 'file' && stats.blocks * BLOCK_BYTES < stats.size,
    attributes,
  }
}

function targetOf(directory: number, name: BytePath, path: BytePath): Uint8Array {
  try {
    return readlinkSync(descriptorPath(directory, nameBytes(name)), { encoding: 'buffer' })
  } catch (error) {
    throw fileError('read', path, error)
  }
}

/** Same names and values. */
export function differingAttributes(
  before: ReadonlyMap<string, Uint8Array>,
  after: ReadonlyMap<string, Uint8Array>,
): string[] {
  const names: string[] = []
  for (const [name, value] of after) {
    const old = before.get(name)
    if (old === undefined || Buffer.compare(old, value) !== 0) names.push(name)
  }
  for (const name of before.keys()) if (!after.has(name)) names.push(name)
  return names.sort()
}
