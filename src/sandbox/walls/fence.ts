/**
 * What a fence of Landlock consists of, and which places it leaves open: reading and starting, nowhere writing.
 * A rule opens everything beneath a path, so what is to stay hidden is left out by opening its neighbours one by one;
 * the directories on the way to it can then not be listed. What is not opened is closed: also what is made later.
 * Sources: landlock(7), linux/landlock.h (the rights by version of the interface).
 * @module
 */

import { isWithin, resolvePath } from '../../base/text/lexical-path.ts'

/** linux/landlock.h: struct landlock_ruleset_attr and the packed struct landlock_path_beneath_attr. */
export const RULESET_BYTES = 24
export const PATH_RULE_BYTES = 12
const LANDLOCK_ACCESS_FS_EXECUTE = 0x1
const LANDLOCK_ACCESS_FS_READ_FILE = 0x4
const LANDLOCK_ACCESS_FS_READ_DIR = 0x8
/** All rights that a version knows, each version's and those before it: bits 0 to 12, REFER, TRUNCATE, IOCTL_DEV. */
const FILE_RIGHTS_FROM_VERSION: readonly (readonly [version: number, rights: number])[] = [
  [5, 0xffff],
  [3, 0x7fff],
  [2, 0x3fff],
  [1, 0x1fff],
]
/** Binding and connecting TCP, from version 4 on; abstract sockets and signals, from version 6 on. */
const NETWORK_VERSION = 4
const NETWORK_RIGHTS = 0x3
const SCOPE_VERSION = 6
const SCOPES = 0x3
/** Places opened one by one. A directory on the way with more neighbours than this stays closed in part. */
const GRANTS_MAX = 4_096

/** Everything that version `version` of Landlock can forbid, forbidden; a kernel with less takes the zeros. */
export function rulesetAttributes(version: number): Uint8Array {
  const bytes = new Uint8Array(RULESET_BYTES)
  const view = new DataView(bytes.buffer)
  const rights = FILE_RIGHTS_FROM_VERSION.find(([from]) => version >= from)?.[1] ?? 0
  view.setBigUint64(0, BigInt(rights), true)
  view.setBigUint64(8, BigInt(version >= NETWORK_VERSION ? NETWORK_RIGHTS : 0), true)
  view.setBigUint64(16, BigInt(version >= SCOPE_VERSION ? SCOPES : 0), true)
  return bytes
}

/** Reading and starting, beneath the directory or of the file that `descriptor` stands for. */
export function readingRule(descriptor: number, isDirectory: boolean): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(PATH_RULE_BYTES))
  const view = new DataView(bytes.buffer)
  const rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE
  view.setBigUint64(0, BigInt(isDirectory ? rights | LANDLOCK_ACCESS_FS_READ_DIR : rights), true)
  view.setInt32(8, descriptor, true)
  return bytes
}

export type Grant = { readonly path: string; readonly isDirectory: boolean }

/**
 * The places that together are everything but `hidden`, which are absolute paths without symbolic links.
 * `entriesOf` gives the files and directories of a directory by name; links are no places of their own.
 */
export function grantsAround(
  hidden: readonly string[],
  entriesOf: (directory: string) => readonly { readonly name: string; readonly isDirectory: boolean }[],
): Grant[] {
  const grants: Grant[] = []
  const open: Grant[] = [{ path: '/', isDirectory: true }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { path, isDirectory } = place
    if (hidden.includes(path)) continue
    if (!hidden.some((one) => isWithin(path, one))) {
      if (grants.length >= GRANTS_MAX) break
      grants.push({ path, isDirectory })
      continue
    }
    for (const entry of entriesOf(path))
      open.push({ path: resolvePath(path, entry.name), isDirectory: entry.isDirectory })
  }
  return grants
}

/** True where an argument spells a hidden place, as a path from `cwd` or anywhere in its text. */
export function namesHidden(hidden: readonly string[], cwd: string, argv: readonly string[]): boolean {
  return argv.some((argument) => {
    const value = argument.slice(argument.indexOf('=') + 1)
    const paths = [resolvePath(cwd, argument), resolvePath(cwd, value)]
    return hidden.some((place) => argument.includes(place) || paths.some((path) => isWithin(place, path)))
  })
}
