/**
 * What a branch would change, as data: one entry for each path, complete, in the order in which a human has to see it:
 * deletions, replacements and what is flagged first, and nothing ever cut. The JSON of the list is what the digest is
 * made of that an approval is bound to, so the same changes have the same text wherever they are listed.
 * Rules: docs/sandbox.md (review).
 * @module
 */

import { encodeBase64 } from '../../../base/encoding/base64.ts'
import { canonicalize } from '../../../base/encoding/canonical-json.ts'
import type { Json } from '../../../base/encoding/strict-json.ts'
import { decodeUtf8, encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { compareBytes, comparePaths } from './paths.ts'

export type FileType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character' | 'block'

/** Of a regular file, lower-case hex; one of both. */
export type ContentDigest = {
  /** SHA-256 of its bytes. */
  readonly sha256?: string | undefined
  /** Of a file with large holes: SHA-256 of its data and where that lies (reader.node.ts). */
  readonly dataSha256?: string | undefined
}

/** What lies at a path, before or after. */
export type FileFacts = ContentDigest & {
  readonly type: FileType
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
  readonly modifiedNs: bigint
  /** Of a symbolic link. */
  readonly target?: Uint8Array | undefined
  /** Of a device node. */
  readonly device?: readonly [major: number, minor: number] | undefined
  /** Extended attributes, access lists among them; absent where there are none. */
  readonly attributes?: ReadonlyMap<string, Uint8Array> | undefined
}

export type ChangeKind =
  | 'added'
  | 'modified'
  | 'deleted'
  /** A directory that was made anew in place of one: what the new one does not have has an entry of its own. */
  | 'replaced'
  /** Another type of file than before. */
  | 'retyped'
  /** Content as before: mode, owner, time or attributes differ, as `metadata` says. */
  | 'metadata'
  /** A directory that was moved with all that is in it, from `from`. */
  | 'renamed'

export type MetadataKind = 'mode' | 'owner' | 'time' | 'attributes'

export type Flag =
  | 'setuid'
  | 'setgid'
  | 'world_writable'
  /** A file capability, which gives rights as setuid does. */
  | 'file_capability'
  /** An access list, which gives rights that the mode does not show. */
  | 'access_list'
  /** A symbolic link to outside of its root. */
  | 'leaves_root'
  | 'fifo'
  | 'socket'
  | 'device'
  | 'control_characters'
  /** Something that the host runs or obeys by itself: hooks, units, profiles, keys of who may log in. */
  | 'runs_on_host'
  /** The real file has further names, which keep the old content. */
  | 'breaks_link'
  /** No command of the branch could see what lies there, or in it. */
  | 'hidden'

/** Why the real file is not what the branch was made from. */
export type ConflictKind =
  /** Changed since, or made since where nothing was. */
  | 'changed'
  /** Gone, but the branch changed it. */
  | 'gone'

export type Change = {
  /** Index in `Branch.roots`. */
  readonly root: number
  /** From the root, without a slash in front; empty for the root itself. */
  readonly path: Uint8Array
  readonly kind: ChangeKind
  readonly before?: FileFacts | undefined
  readonly after?: FileFacts | undefined
  /** renamed: where the directory was. added: where a file with this content was deleted, as a hint for the eye. */
  readonly from?: Uint8Array | undefined
  readonly metadata?: readonly MetadataKind[] | undefined
  /** Names of the extended attributes that differ. */
  readonly attributes?: readonly string[] | undefined
  /** Same number, same file under several names. */
  readonly link?: number | undefined
  /** deleted, and retyped from a directory: what goes with it, itself not counted. */
  readonly removed?:
    | {
        readonly files: number
        readonly directories: number
        readonly sizeBytes: number
      }
    | undefined
  readonly flags: readonly Flag[]
  readonly conflict?: ConflictKind | undefined
}

/** The list of one branch at one time. */
export type Survey = {
  readonly session: string
  readonly changes: readonly Change[]
  /** SHA-256 of the canonical JSON of `changesJson`, lower-case hex. */
  readonly digest: string
}

/** Files that are merged only where they are named, or where the caller allows it for all. */
const HELD_BACK: readonly Flag[] = ['setuid', 'setgid', 'file_capability', 'fifo', 'socket', 'device']

/** True for what a merge leaves out unless exactly this path is named: it writes over what the branch did not know. */
export function isUnseen({ flags }: Change): boolean {
  return flags.includes('hidden')
}

/** True for what a merge leaves out unless it is told otherwise. */
export function isHeldBack(change: Change): boolean {
  if (isUnseen(change)) return true
  if (change.kind === 'deleted' || change.after === undefined) return false
  if (change.after.type === 'directory') return false
  return change.flags.some((flag) => HELD_BACK.includes(flag))
}

/** What a human has to see first has the lower number. */
function rank(change: Change): number {
  if (change.kind === 'deleted') return 0
  if (change.kind === 'replaced' || change.kind === 'retyped') return 1
  if (change.conflict !== undefined) return 2
  return change.flags.length > 0 ? 3 : 4
}

/** In the order of the list; the same changes always come in the same order. */
export function sortChanges(changes: readonly Change[]): Change[] {
  return [...changes].sort((a, b) => rank(a) - rank(b) || a.root - b.root || compareBytes(a.path, b.path))
}

/** A path as JSON: its text, and its bytes where they are no UTF-8. */
function pathJson(key: string, bytes: Uint8Array): Record<string, Json> {
  const text = decodeUtf8(bytes)
  if (text !== undefined) return { [key]: text }
  const shown = Array.from(bytes, (byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`,
  ).join('')
  return { [key]: shown, [`${key}_base64`]: encodeBase64(bytes) }
}

/** Whole, as a merge sets them: what is not listed is not approved. */
function attributesJson(attributes: ReadonlyMap<string, Uint8Array>): Json {
  return [...attributes]
    .sort(([a], [b]) => comparePaths(a, b))
    .map(([name, value]) => ({ name, value_base64: encodeBase64(value) }))
}

function factsJson(facts: FileFacts): Json {
  return {
    type: facts.type,
    mode: facts.mode.toString(8).padStart(4, '0'),
    uid: facts.uid,
    gid: facts.gid,
    size_bytes: facts.sizeBytes,
    modified_ns: facts.modifiedNs.toString(),
    ...(facts.sha256 === undefined ? {} : { sha256: facts.sha256 }),
    ...(facts.dataSha256 === undefined ? {} : { data_sha256: facts.dataSha256 }),
    ...(facts.target === undefined ? {} : pathJson('target', facts.target)),
    ...(facts.device === undefined ? {} : { device: [...facts.device] }),
    ...(facts.attributes === undefined || facts.attributes.size === 0
      ? {}
      : { attributes: attributesJson(facts.attributes) }),
  }
}

/** The absolute path of what lies at `path` in a root. */
export function absolutePath(root: string, path: Uint8Array): Uint8Array {
  const directory = encodeUtf8(root === '/' ? '' : root)
  if (path.length === 0) return encodeUtf8(root)
  const whole = new Uint8Array(directory.length + 1 + path.length)
  whole.set(directory)
  whole[directory.length] = 0x2f
  whole.set(path, directory.length + 1)
  return whole
}

function changeJson(change: Change, roots: readonly string[]): Json {
  const root = roots[change.root] ?? ''
  return {
    ...pathJson('path', absolutePath(root, change.path)),
    root,
    change: change.kind,
    ...(change.before === undefined ? {} : { before: factsJson(change.before) }),
    ...(change.after === undefined ? {} : { after: factsJson(change.after) }),
    ...(change.from === undefined ? {} : pathJson('from', absolutePath(root, change.from))),
    ...(change.metadata === undefined ? {} : { metadata: [...change.metadata] }),
    ...(change.attributes === undefined ? {} : { attributes: [...change.attributes] }),
    ...(change.link === undefined ? {} : { link: change.link }),
    ...(change.removed === undefined
      ? {}
      : {
          removed: {
            files: change.removed.files,
            directories: change.removed.directories,
            size_bytes: change.removed.sizeBytes,
          },
        }),
    flags: [...change.flags],
    ...(change.conflict === undefined ? {} : { conflict: change.conflict }),
  }
}

/**
 * The whole list as canonical JSON, piece by piece: what `branch diff --json` shows, and what its digest is made of. It is
 * never held as a whole.
 */
export function* changesJson(
  session: string,
  roots: readonly string[],
  changes: readonly Change[],
): Generator<string> {
  yield '{"changes":['
  let separator = ''
  for (const change of changes) {
    yield separator + canonicalize(changeJson(change, roots))
    separator = ','
  }
  yield `],"session":${canonicalize(session)}}`
}
