/**
 * Hard links of a branch. With the overlay's index a file beneath that has several names shows the same new content under
 * all of them, though only one has been written above; the names that are not above are found by looking for the file
 * handles that the index is named after. And which changes are names of one file, so that a merge keeps them so.
 * Sources: the kernel's Documentation/filesystems/overlayfs.rst, "Index"; fs/overlayfs/overlayfs.h, struct ovl_fb.
 * @module
 */

import { closing } from '../../../base/closing.node.ts'
import { AT_EMPTY_PATH, type Name, O_PATH } from '../../kernel/at.node.ts'
import {
  type Files,
  nameBytes,
  namesIn,
  openDirectory,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import type { Finding, LinkedName, RootSurvey } from '../files/finding.ts'
import { type BytePath, isBeneath, joinPath } from '../files/paths.ts'

const INDEX = 'index'
/** struct ovl_fb: version, magic, length, flags, type of the handle, UUID of the file system, handle. */
const MAGIC_AT = 1
const MAGIC = 0xfb
const TYPE_AT = 4
const HANDLE_AT = 21
/** struct file_handle: bytes, type, then the handle, of at most MAX_HANDLE_SZ. */
const HANDLE_HEAD_BYTES = 8
const HANDLE_BYTES = 128

/** Real names of files that show what the index has, where the branch has them, and the name in the index. */
export type Alias = { readonly base: BytePath; readonly path: BytePath; readonly entry: BytePath }

/** What is in the index: names by type and bytes of the handle of the file beneath, and by inode. */
type Index = { readonly byHandle: Map<string, BytePath>; readonly byInode: Map<bigint, BytePath> }

function readIndex(files: Files, work: number): Index {
  const found: Index = { byHandle: new Map(), byInode: new Map() }
  withDirectory(files, work, INDEX, (directory) => {
    for (const name of namesIn(directory, INDEX)) {
      const bytes = /^(?:[0-9a-f]{2})+$/.test(name) ? Buffer.from(name, 'hex') : Buffer.alloc(0)
      if (bytes.length <= HANDLE_AT || bytes[MAGIC_AT] !== MAGIC) continue
      const stats = statName(directory, name)
      if (!stats?.isFile()) continue
      found.byHandle.set(`${bytes[TYPE_AT]}:${bytes.subarray(HANDLE_AT).toString('hex')}`, name)
      found.byInode.set(stats.ino, name)
    }
  })
  return found
}

/** The key of a file in the index; undefined where the file system has no handles. */
function handleOf(files: Files, directory: number, name: BytePath): string | undefined {
  const descriptor = files.at.open(directory, nameBytes(name), O_PATH)
  if (descriptor < 0) return undefined
  const handle = Buffer.from(new ArrayBuffer(HANDLE_HEAD_BYTES + HANDLE_BYTES))
  handle.writeUInt32LE(HANDLE_BYTES, 0)
  const empty: Name = new Uint8Array(new ArrayBuffer(1))
  const mount = new Int32Array(new ArrayBuffer(8))
  const result = files.syscalls.byNumber('name_to_handle_at', descriptor, empty, handle, mount, AT_EMPTY_PATH)
  files.at.close(descriptor)
  if (result < 0) return undefined
  const bytes = handle.subarray(HANDLE_HEAD_BYTES, HANDLE_HEAD_BYTES + handle.readUInt32LE(0))
  return `${handle.readInt32LE(4) & 0xff}:${bytes.toString('hex')}`
}

/** Where the branch shows a real path: beneath the new name of a moved directory, or where it is. */
function shownAt(base: BytePath, moved: ReadonlyMap<BytePath, BytePath>): BytePath {
  let best: BytePath | undefined
  for (const source of moved.keys())
    if (isBeneath(source, base) && (best === undefined || source.length > best.length)) best = source
  return best === undefined ? base : `${moved.get(best) ?? ''}${base.slice(best.length)}`
}

/**
 * Names that have nothing above them and show a file of the index. Reads the whole real tree, but only where there is
 * an index with something in it.
 */
export function findAliases(
  files: Files,
  realRoot: number,
  store: number,
  survey: RootSurvey,
  hidden: ReadonlySet<BytePath>,
): { readonly aliases: readonly Alias[]; readonly index: RootSurvey['index'] } {
  const work = openDirectory(files, store, 'work')
  if (work < 0) return { aliases: [], index: new Map() }
  using _work = closing(work)
  const index = readIndex(files, work)
  if (index.byInode.size === 0) return { aliases: [], index: new Map() }
  const above = new Map(survey.upper.map((entry) => [entry.path, entry.kind]))
  const sources = new Map([...survey.moved].map(([source, target]) => [target, source]))
  const isHidden = (path: BytePath, base: BytePath): boolean => {
    if (above.has(path)) return true
    for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const directory = path.slice(0, slash)
      const kind = above.get(directory)
      // A moved directory shows what it was moved with, and not what is beneath its new place.
      if (kind === 'redirected' || kind === 'settled')
        return !isBeneath(sources.get(directory) ?? directory, base)
      if (kind !== undefined && kind !== 'merged') return true
    }
    return false
  }
  const found: Alias[] = []
  const bases = new Map<BytePath, BytePath[]>()
  const waiting: BytePath[] = ['']
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = next
    withDirectory(files, realRoot, path, (directory) => {
      for (const name of namesIn(directory, path)) {
        const base = joinPath(path, name)
        if (hidden.has(base)) continue
        const stats = statName(directory, name)
        if (stats?.isDirectory()) waiting.push(base)
        // It may have one name only by now, by a merge of the others.
        if (!stats?.isFile()) continue
        const key = handleOf(files, directory, name)
        const entry = key === undefined ? undefined : index.byHandle.get(key)
        const shown = shownAt(base, survey.moved)
        if (entry === undefined) continue
        const known = bases.get(entry)
        if (known === undefined) bases.set(entry, [base])
        else known.push(base)
        if (!isHidden(shown, base)) found.push({ base, path: shown, entry })
      }
    })
  }
  const counts = new Map<BytePath, number>()
  for (const { entry } of found) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  return {
    aliases: found,
    index: new Map(
      [...index.byInode].map(([inode, name]) => [
        inode,
        { name, aliases: counts.get(name) ?? 0, bases: bases.get(name) ?? [] },
      ]),
    ),
  }
}

export type LinkInput = {
  readonly findings: readonly Finding[]
  readonly names: ReadonlyMap<bigint, readonly LinkedName[]>
  readonly rootIndex: number
}

/**
 * Numbers the changes that are names of one file, and finds the names among them that stay as they are in the real tree,
 * for the others to be linked to.
 * @param first number that is free
 */
export function groupLinks(input: LinkInput, first: number): Finding[] {
  const byPath = new Map(input.findings.map((finding) => [finding.path, finding]))
  let number = first
  for (const members of input.names.values()) {
    if (members.length < 2) continue
    const changed = members.some(({ path }) => byPath.has(path))
    const anchor = members.find(({ path, before, after }) => {
      const finding = byPath.get(path)
      if (before?.type !== after.type || finding?.isSeparated) return false
      return finding === undefined || finding.change.kind === 'metadata'
    })
    if (!changed && members.every(({ before }) => before?.inode === anchor?.before?.inode)) continue
    for (const { path, base, before, after } of members) {
      const finding = byPath.get(path)
      if (anchor !== undefined && path === anchor.path) {
        if (finding !== undefined) byPath.set(path, withLink(finding, number, undefined))
      } else if (finding !== undefined && (finding.isSeparated || finding.change.kind !== 'metadata')) {
        byPath.set(path, withLink(finding, number, anchor?.base))
      } else if (anchor !== undefined && before !== undefined && before.inode !== anchor.before?.inode) {
        // Two files before, with the same content, and one now.
        const change = finding?.change ?? {
          root: input.rootIndex,
          path: nameBytes(path),
          before: factsOfNode(before),
          after: factsOfNode(after),
          flags: [],
        }
        const made: Finding = {
          path,
          base,
          change: { ...change, kind: 'modified' },
          before,
          after,
        }
        byPath.set(path, withLink(made, number, anchor.base))
      } else if (finding !== undefined) byPath.set(path, withLink(finding, number, undefined))
    }
    number++
  }
  return [...byPath.values()]
}

function withLink(finding: Finding, link: number, linkTo: BytePath | undefined): Finding {
  const change = { ...finding.change, link }
  return { ...finding, change, ...(linkTo === undefined ? {} : { linkTo }) }
}

function factsOfNode({ type, mode, uid, gid, sizeBytes, modifiedNs, target, device }: LinkedName['after']) {
  const rest = { ...(target === undefined ? {} : { target }), ...(device === undefined ? {} : { device }) }
  return { type, mode, uid, gid, sizeBytes, modifiedNs, ...rest }
}
