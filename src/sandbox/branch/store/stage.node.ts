/**
 * Builds new content in the stage of a merge: files with their bytes, holes, owners, modes, times and attributes, links
 * as links, directories with what is in them. As reflinks where the file system can. Nothing there is reachable for
 * others, as the stage is 0700.
 * Sources: ioctl_ficlone(2), copy_file_range(2), lseek(2).
 * @module
 */

import { readSync, writeSync } from 'node:fs'
import { closing } from '../../../base/closing.node.ts'
import { descriptorPath, O_CREAT, O_EXCL, O_NOFOLLOW, O_PATH, O_RDONLY } from '../../kernel/at.node.ts'
import { ERRNO, O_NONBLOCK, O_RDWR } from '../../kernel/syscalls.node.ts'
import { SURVEY_READ_BYTES } from '../../limits.ts'
import { attributesOf, type Files, fileError, must, nameBytes } from '../files/files.node.ts'
import type { Node } from '../files/finding.ts'
import type { BytePath } from '../files/paths.ts'
import type { Attributes } from './merge-plan.ts'

/** linux/fs.h */
const FICLONE = 0x40049409
/** unistd.h */
const SEEK_SET = 0
const SEEK_DATA = 3
const SEEK_HOLE = 4
/** errno of lseek where there is no more data. */
const ENXIO = 6
/** Most that one call copies; the kernel's own limit is just below 2 GiB. */
const COPY_BYTES = 0x4000_0000
const FIFO = 0o010000
const SOCKET = 0o140000
const CHARACTER = 0o020000
const BLOCK = 0o060000
/** Attributes of the place, not of the file. */
const OF_THE_PLACE = /^security\.(?:selinux|ima|evm|apparmor|SMACK64)$/

/** Copies one stretch of two open files, which are both at its beginning. */
function copyStretch(files: Files, from: number, to: number, size: number, path: BytePath): void {
  let left = size
  while (left > 0) {
    const count = files.syscalls.byNumber('copy_file_range', from, 0, to, 0, Math.min(left, COPY_BYTES), 0)
    if (count > 0) left -= count
    else if (count === 0) return
    else if ([ERRNO.EXDEV, ERRNO.EINVAL, ERRNO.ENOSYS, ERRNO.EOPNOTSUPP].includes(-count as 18))
      return readAndWrite(from, to, left, path)
    else throw fileError('copied', path, count)
  }
}

function readAndWrite(from: number, to: number, size: number, path: BytePath): void {
  const buffer = Buffer.allocUnsafe(Math.min(size, SURVEY_READ_BYTES))
  try {
    for (let left = size; left > 0; ) {
      const count = readSync(from, buffer, 0, Math.min(left, buffer.length), null)
      if (count === 0) return
      for (let written = 0; written < count; ) written += writeSync(to, buffer, written, count - written)
      left -= count
    }
  } catch (error) {
    throw fileError('copied', path, error)
  }
}

function copySparse(files: Files, from: number, to: number, size: number, path: BytePath): void {
  const { byNumber } = files.syscalls
  for (let at = 0; at < size; ) {
    const data = byNumber('lseek', from, at, SEEK_DATA)
    if (data === -ENXIO) break
    if (data < 0) {
      must(byNumber('lseek', from, at, SEEK_SET), 'copied', path)
      return copyStretch(files, from, to, size - at, path)
    }
    const hole = must(byNumber('lseek', from, data, SEEK_HOLE), 'copied', path)
    must(byNumber('lseek', from, data, SEEK_SET), 'copied', path)
    must(byNumber('lseek', to, data, SEEK_SET), 'copied', path)
    copyStretch(files, from, to, Math.min(hole, size) - data, path)
    at = hole
  }
  must(byNumber('ftruncate', to, size), 'copied', path)
}

/** The content of one open file into another, empty one. */
export function copyContent(files: Files, from: number, to: number, node: Node, path: BytePath): void {
  if (node.sizeBytes === 0) return
  if (files.canClone) {
    const result = files.syscalls.byNumber('ioctl', to, FICLONE, from)
    if (result === 0) return
    if ([ERRNO.EOPNOTSUPP, ERRNO.ENOTTY, ERRNO.ENOSYS].includes(-result as 95)) files.canClone = false
    else if (result !== -ERRNO.EXDEV && result !== -ERRNO.EINVAL) throw fileError('copied', path, result)
  }
  if (node.isSparse) copySparse(files, from, to, node.sizeBytes, path)
  else copyStretch(files, from, to, node.sizeBytes, path)
}

/** Makes the attributes of a name those and no others. `old` are the ones that it has, where that is known. */
function setAll(
  files: Files,
  directory: number,
  name: BytePath,
  wanted: ReadonlyMap<string, Uint8Array>,
  path: BytePath,
): void {
  const place = descriptorPath(directory, nameBytes(name === '' ? '.' : name))
  const old = attributesOf(files, directory, name, path)
  for (const [attribute, value] of wanted) {
    const had = old.get(attribute)
    if (had !== undefined && Buffer.compare(had, value) === 0) continue
    must(files.at.setAttribute(place, nameBytes(attribute), value), `given its attribute ${attribute}`, path)
  }
  for (const attribute of old.keys()) {
    if (wanted.has(attribute) || OF_THE_PLACE.test(attribute)) continue
    must(files.at.removeAttribute(place, nameBytes(attribute)), `freed of its attribute ${attribute}`, path)
  }
}

/** Also of what cannot be opened: through its place in /proc, the name itself and not what a link leads to. */
export function setMode(files: Files, directory: number, name: BytePath, mode: number, path: BytePath): void {
  const descriptor = must(
    files.at.open(directory, nameBytes(name === '' ? '.' : name), O_PATH | O_NOFOLLOW),
    'opened',
    path,
  )
  using _descriptor = closing(descriptor)
  const self = Buffer.from(`/proc/self/fd/${descriptor}\0`)
  must(files.syscalls.byNumber('fchmodat', -100, self, mode, 0), 'given its mode', path)
}

/** Sets what is given, in the order in which nothing undoes another. `isNew` skips what a new file has not. */
export function applyAttributes(
  files: Files,
  directory: number,
  name: BytePath,
  wanted: Attributes,
  isSymlink: boolean,
  path: BytePath,
  isNew = false,
): void {
  const bytes = nameBytes(name === '' ? '.' : name)
  if (wanted.uid !== undefined && wanted.gid !== undefined)
    must(files.at.setOwner(directory, bytes, wanted.uid, wanted.gid), 'given its owner', path)
  if (wanted.attributes !== undefined && !(isNew && wanted.attributes.size === 0))
    setAll(files, directory, name, wanted.attributes, path)
  if (wanted.mode !== undefined && !isSymlink) setMode(files, directory, name, wanted.mode, path)
  if (wanted.modifiedNs !== undefined)
    must(
      files.at.setTimes(directory, bytes, { accessedNs: undefined, modifiedNs: wanted.modifiedNs }),
      'given its time',
      path,
    )
}

/** What is looked at of the open files of a copy: the source before anything is read, the copy when all is written. */
export type CopyChecks = {
  before(source: number): void
  after(copy: number): void
}

/**
 * A new file with the content of another. True: with its mode and owner too, where it has no attributes and is the
 * daemon's own, as most are.
 */
export function copyFile(
  files: Files,
  from: readonly [directory: number, name: BytePath],
  to: readonly [directory: number, name: BytePath],
  node: Node,
  path: BytePath,
  checks?: CopyChecks,
): boolean {
  const { at } = files
  const source = must(at.open(from[0], nameBytes(from[1]), O_RDONLY | O_NONBLOCK), 'read', path)
  using _source = closing(source)
  checks?.before(source)
  const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
  const target = must(at.open(to[0], nameBytes(to[1]), flags, 0o600), 'made', path)
  using _target = closing(target)
  copyContent(files, source, target, node, path)
  checks?.after(target)
  const isOwn = node.uid === process.geteuid?.() && node.gid === process.getegid?.()
  if (!isOwn || node.attributes.size > 0) return false
  must(at.setMode(target, node.mode), 'given its mode', path)
  return true
}

/** A new node that is neither file nor directory. */
export function makeSpecial(
  files: Files,
  directory: number,
  name: BytePath,
  node: Node,
  path: BytePath,
): void {
  const bytes = nameBytes(name)
  switch (node.type) {
    case 'symlink':
      must(files.at.symlink(node.target ?? new Uint8Array(0), directory, bytes), 'made', path)
      return
    case 'fifo':
      must(files.at.makeNode(directory, bytes, FIFO | 0o600, 0), 'made', path)
      return
    case 'socket':
      must(files.at.makeNode(directory, bytes, SOCKET | 0o600, 0), 'made', path)
      return
    case 'character':
    case 'block': {
      const [major, minor] = node.device ?? [0, 0]
      // The kernel's own form for mknodat, for numbers up to 12 and 20 bits.
      const device = ((minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xfff00) << 12)) >>> 0
      const type = node.type === 'block' ? BLOCK : CHARACTER
      must(files.at.makeNode(directory, bytes, type | 0o600, device), 'made', path)
      return
    }
    case 'file':
    case 'directory':
      throw fileError('made', path, -ERRNO.EINVAL)
  }
}

/** All that a new file has besides its content. */
export function attributesOfNode(node: Node): Attributes {
  const { mode, uid, gid, modifiedNs, attributes } = node
  return { mode, uid, gid, modifiedNs, attributes }
}
