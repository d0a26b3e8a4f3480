/**
 * Files of a branch and of the real tree by descriptor, for one thread. A directory is opened by its path beneath a root,
 * no part of it a link or another mount; what lies in it is then reached by that descriptor and one name.
 * A directory is open only while it is looked at, so that a deep tree costs no more descriptors than a flat one.
 * What fails is a SassError FILE_IO with the path and the reason.
 * @module
 */

import { type BigIntStats, constants, lstatSync, opendirSync, openSync, readdirSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { errnoOf, errnoText } from '../../../base/files.node.ts'
import { visible } from '../../../base/text/visible.ts'
import { SassError } from '../../../errors.ts'
import {
  type At,
  createAt,
  descriptorPath,
  O_DIRECTORY,
  O_PATH,
  RESOLVE_BENEATH,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
  RESOLVE_NO_XDEV,
} from '../../kernel/at.node.ts'
import { ERRNO, type Syscalls } from '../../kernel/syscalls.node.ts'
import { TREE_PATH_BYTES } from '../../limits.ts'
import type { BytePath } from './paths.ts'

/** One call's worth of a path: PATH_MAX of linux/limits.h less room for a name. */
const PIECE_BYTES = 3_840
/** Of a path in a sentence, at its beginning and at its end. */
const SHOWN_CHARS = 200
const LEFT =
  'Nobody waits for this look at the branch any more, or the branch is dropped, so it was ended; look again where it is still wanted.'
const RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV

export type Files = {
  readonly syscalls: Syscalls
  readonly at: At
  /** Errno of a call that is not there on this file system is remembered: it is not asked again. */
  canClone: boolean
  /** Ends what nobody waits for any more. @throws SassError FILE_IO */
  goOn(): void
}

/** @param isLeft asked again and again: true where nobody waits for what is done with these */
export function createFiles(syscalls: Syscalls, isLeft: () => boolean = () => false): Files {
  return {
    syscalls,
    at: createAt(syscalls),
    canClone: true,
    goOn() {
      if (isLeft()) throw new SassError('FILE_IO', LEFT)
    },
  }
}

export function nameBytes(name: BytePath): Buffer {
  return Buffer.from(name, 'latin1')
}

/** A path for a sentence: nothing in it steers a terminal, and of a long one the middle is left out. */
export function shownPath(path: BytePath): string {
  const shown = visible(nameBytes(path).toString('utf8')) || '.'
  if (shown.length <= 2 * SHOWN_CHARS) return shown
  return `${shown.slice(0, SHOWN_CHARS)} … ${shown.slice(-SHOWN_CHARS)}`
}

/** What cannot be done with which file, and why. `errno` is a negative result, or the error of node:fs. */
export function fileError(action: string, path: BytePath, errno: unknown): SassError {
  const name = typeof errno === 'number' ? getSystemErrorName(errno) : errnoOf(errno)
  const shown = shownPath(path)
  return new SassError(
    'FILE_IO',
    `${shown} cannot be ${action} since ${errnoText(name)}.`,
    { path: shown, errno: name },
    typeof errno === 'number' ? undefined : errno,
  )
}

/** A result of a system call that must not fail. */
export function must(result: number, action: string, path: BytePath): number {
  if (result < 0) throw fileError(action, path, result)
  return result
}

/** Opens a directory that the daemon itself has named. */
export function openRoot(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    throw fileError('opened', Buffer.from(path).toString('latin1'), error)
  }
}

/**
 * A directory beneath a root, or `-errno`. The kernel takes no more of a path at a time than PATH_MAX; a longer one is
 * gone along in pieces, each from the directory before.
 * @throws SassError FILE_IO where it lies deeper than anything is looked at
 */
export function openDirectory(files: Files, root: number, path: BytePath): number {
  if (path.length > TREE_PATH_BYTES)
    throw new SassError(
      'FILE_IO',
      `${shownPath(path)} lies more than ${TREE_PATH_BYTES} bytes deep, which no program but a hostile one needs, so it is not looked at; remove it in the branch, or drop the branch.`,
      { path: shownPath(path) },
    )
  files.goOn()
  let at = root
  for (let rest = path; ; ) {
    const isLast = rest.length <= PIECE_BYTES
    const end = isLast ? rest.length : rest.lastIndexOf('/', PIECE_BYTES)
    const piece = rest.slice(0, end) || '.'
    const next = files.at.openPath(at, nameBytes(piece), O_PATH | O_DIRECTORY, RESOLVE)
    if (at !== root) files.at.close(at)
    if (isLast || next < 0) return next
    at = next
    rest = rest.slice(end + 1)
  }
}

/** True for what openDirectory answers where there is no such directory: nothing, another file, a link on the way. */
export function isNoDirectory(errno: number): boolean {
  return errno === -ERRNO.ENOENT || errno === -ERRNO.ENOTDIR || errno === -ERRNO.ELOOP
}

/** With a directory beneath a root; undefined where there is none. */
export function withDirectory<Result>(
  files: Files,
  root: number,
  path: BytePath,
  use: (directory: number) => Result,
): Result | undefined {
  const directory = openDirectory(files, root, path)
  if (directory < 0) {
    if (isNoDirectory(directory)) return undefined
    throw fileError('opened', path, directory)
  }
  try {
    return use(directory)
  } finally {
    files.at.close(directory)
  }
}

/** Of the name itself; undefined where there is none. */
export function statName(directory: number, name: BytePath): BigIntStats | undefined {
  try {
    return lstatSync(descriptorPath(directory, nameBytes(name)), { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    throw fileError('looked at', name, error)
  }
}

/** Of the open directory itself. */
export function statDirectory(directory: number): BigIntStats {
  return lstatSync(descriptorPath(directory, nameBytes('.')), { bigint: true })
}

/** Names in an open directory, sorted by their bytes. */
export function namesIn(directory: number, path: BytePath): BytePath[] {
  try {
    return readdirSync(descriptorPath(directory, nameBytes('.')), 'latin1').sort()
  } catch (error) {
    throw fileError('listed', path, error)
  }
}

/** Some names in an open directory, at most `count`, in no order: of a large one without reading all of it. */
export function firstNamesIn(directory: number, count: number): BytePath[] {
  const names: BytePath[] = []
  try {
    const place = descriptorPath(directory, nameBytes('.')).toString('latin1')
    const listing = opendirSync(place, { encoding: 'latin1', bufferSize: count })
    try {
      while (names.length < count) {
        const entry = listing.readSync()
        if (entry === null) break
        names.push(entry.name)
      }
      return names
    } finally {
      listing.closeSync()
    }
  } catch (error) {
    throw fileError('listed', '', error)
  }
}

/** Extended attributes of a name, values as bytes. */
export function attributesOf(
  files: Files,
  directory: number,
  name: BytePath,
  path: BytePath,
): Map<string, Uint8Array> {
  files.goOn()
  const found = new Map<string, Uint8Array>()
  const place = descriptorPath(directory, nameBytes(name === '' ? '.' : name))
  const names = files.at.listAttributes(place)
  if (typeof names === 'number') {
    if (names === -ERRNO.EOPNOTSUPP) return found
    throw fileError('read for its attributes', path, names)
  }
  for (const attribute of names) {
    const value = files.at.getAttribute(place, attribute)
    const text = Buffer.from(attribute).toString('latin1')
    if (typeof value !== 'number') found.set(text, value)
    else if (value !== -ERRNO.ENODATA) throw fileError(`read for its attribute ${text}`, path, value)
  }
  return found
}
