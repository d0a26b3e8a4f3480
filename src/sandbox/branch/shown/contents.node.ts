/**
 * The diff of a branch: contents before and after, read by descriptor, as a patch that `git apply --binary` takes or as
 * counts of lines. Content that steers a terminal is in it as binary, and escaped in lines that git passes over.
 * What git does not keep (directories, owners, times, devices) is told in a line that it passes over.
 * @module
 */

import { createHash } from 'node:crypto'
import { closeSync, readFileSync, readlinkSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import { closing } from '../../../base/closing.node.ts'
import { SassError } from '../../../errors.ts'
import { descriptorPath } from '../../kernel/at.node.ts'
import { DIFF_BINARY_BYTES, DIFF_TEXT_BYTES } from '../../limits.ts'
import type { Branch } from '../files/branch.ts'
import type { Change, ContentDigest } from '../files/changes.ts'
import {
  type Files,
  fileError,
  nameBytes,
  namesIn,
  openRoot,
  shownPath,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import type { Finding, RootSurvey } from '../files/finding.ts'
import { type BytePath, bytePath, isBeneath, joinPath, namePath, parentPath } from '../files/paths.ts'
import { digestOfBytes, isSameDigest, openFile } from '../files/reader.node.ts'
import { escapedHunks, steersTerminal } from '../files/steering.ts'
import { shownBytes } from '../files/text.ts'
import { linesOf, unifiedHunks } from './diff-lines.ts'
import { type GitBody, type GitMode, type GitSide, gitPatch, quotedPath, similarityOf } from './git-patch.ts'

export type DiffForm = 'patch' | 'stat'

/** What git looks at to tell a text from other files (buffer_is_binary of git's xdiff-interface.c). */
const BINARY_LOOK_BYTES = 8_000
const STAT_CHARS = 60
const OWNER_EXECUTES = 0o100

/** One file of the diff, as git sees it. */
type Side = {
  readonly path: BytePath
  readonly mode: GitMode
  readonly sizeBytes: number
  /** Undefined where it is too large. */
  readonly bytes: Buffer | undefined
  readonly blob: string
}

type Pair = {
  readonly before: Side | undefined
  readonly after: Side | undefined
  readonly isRename: boolean
}

/**
 * Reads one side of a change; undefined for what git does not keep.
 * @param seen the digest of it in the list, of new content: what is shown is what the list's digest stands for
 */
function sideAt(
  files: Files,
  root: number,
  place: BytePath,
  path: BytePath,
  seen?: ContentDigest,
): Side | undefined {
  return withDirectory(files, root, parentPath(place), (directory) => {
    const name = namePath(place)
    const stats = statName(directory, name)
    if (stats === undefined) return undefined
    let bytes: Buffer | undefined
    if (stats.isSymbolicLink())
      bytes = readlinkSync(descriptorPath(directory, nameBytes(name)), { encoding: 'buffer' })
    else if (!stats.isFile()) return undefined
    else if (stats.size <= BigInt(DIFF_BINARY_BYTES)) {
      const descriptor = openFile(files, directory, name, path)
      try {
        bytes = readFileSync(descriptor)
      } catch (error) {
        throw fileError('read', path, error)
      } finally {
        closeSync(descriptor)
      }
      if (seen !== undefined && !isSameDigest(digestOfBytes(bytes, seen), seen))
        throw new SassError(
          'FILE_IO',
          `${shownPath(path)} was changed while it was looked at, so nothing is shown; look again when nothing runs in the branch.`,
        )
    }
    const isProgram = (stats.mode & BigInt(OWNER_EXECUTES)) !== 0n
    const mode = stats.isSymbolicLink() ? '120000' : isProgram ? '100755' : '100644'
    const hash = createHash('sha1')
    if (bytes !== undefined) hash.update(`blob ${bytes.length}\0`).update(bytes)
    // What is too large to be read here has no name of a blob either; nobody can apply it.
    else hash.update(`${stats.dev} ${stats.ino} ${stats.size}`)
    return { path, mode, sizeBytes: Number(stats.size), bytes, blob: hash.digest('hex') } as const
  })
}

/** All files beneath a real directory, or the file itself. */
function* filesBeneath(files: Files, root: number, top: BytePath): Generator<BytePath> {
  const waiting: BytePath[] = [top]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const path = next
    const stats = withDirectory(files, root, parentPath(path), (directory) =>
      statName(directory, namePath(path)),
    )
    if (!stats?.isDirectory()) {
      yield path
      continue
    }
    const inner = withDirectory(files, root, path, (directory) => namesIn(directory, path)) ?? []
    waiting.unshift(...inner.map((name) => joinPath(path, name)))
  }
}

function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, BINARY_LOOK_BYTES).includes(0)
}

function isText(side: Side | undefined): boolean {
  return (
    side === undefined ||
    (side.bytes !== undefined && side.sizeBytes <= DIFF_TEXT_BYTES && !isBinary(side.bytes))
  )
}

function gitSide(side: Side | undefined): GitSide | undefined {
  return side === undefined ? undefined : { path: side.path, mode: side.mode, blob: side.blob }
}

function patchOf({ before, after, isRename }: Pair): string {
  if (before?.blob === after?.blob)
    return gitPatch(gitSide(before), gitSide(after), { kind: 'none' }, isRename ? 100 : undefined)
  let body: GitBody
  let similarity = isRename ? 50 : undefined
  let escaped = ''
  const literal = (): GitBody => {
    const bytes = after?.bytes ?? Buffer.alloc(0)
    return { kind: 'binary', sizeBytes: bytes.length, deflated: deflateSync(bytes) }
  }
  if (isText(before) && isText(after)) {
    const [oldText, newText] = [
      before?.bytes?.toString('latin1') ?? '',
      after?.bytes?.toString('latin1') ?? '',
    ]
    const hunks = unifiedHunks(oldText, newText)
    body = { kind: 'hunks', text: hunks.text }
    if (steersTerminal(hunks.text)) {
      escaped = escapedHunks(after?.path ?? before?.path ?? '', hunks.text)
      body = literal()
    }
    if (isRename)
      similarity = similarityOf(
        linesOf(oldText).length,
        linesOf(newText).length,
        hunks.inserted,
        hunks.deleted,
      )
  } else if (
    (before !== undefined && before.bytes === undefined) ||
    (after !== undefined && after.bytes === undefined)
  )
    body = { kind: 'omitted' }
  else body = literal()
  return escaped + gitPatch(gitSide(before), gitSide(after), body, similarity)
}

type Stat = { readonly line: string; readonly inserted: number; readonly deleted: number }

function statOf({ before, after, isRename }: Pair): Stat {
  const name =
    isRename && before !== undefined && after !== undefined
      ? `${quotedPath(before.path)} => ${quotedPath(after.path)}`
      : quotedPath(after?.path ?? before?.path ?? '')
  if (!isText(before) || !isText(after)) {
    const sizes = `${before?.sizeBytes ?? 0} -> ${after?.sizeBytes ?? 0}`
    return { line: ` ${name} | Bin ${sizes} bytes\n`, inserted: 0, deleted: 0 }
  }
  const { inserted, deleted } = unifiedHunks(
    before?.bytes?.toString('latin1') ?? '',
    after?.bytes?.toString('latin1') ?? '',
  )
  const scale = Math.min(1, STAT_CHARS / Math.max(1, inserted + deleted))
  const bar = '+'.repeat(Math.ceil(inserted * scale)) + '-'.repeat(Math.ceil(deleted * scale))
  return { line: ` ${name} | ${inserted + deleted}${bar === '' ? '' : ` ${bar}`}\n`, inserted, deleted }
}

/** The files of one change, in the form of git, which knows of no directories. */
function* pairsOf(
  files: Files,
  finding: Finding,
  all: readonly Finding[],
  real: number,
  store: number,
): Generator<Pair | string> {
  const { change, path, base, source } = finding
  const none = (why: string): string => `# ${shownBytes(change.path) || '.'}: ${why}\n`
  const gone = function* (top: BytePath): Generator<Pair> {
    const moves = all.filter(({ movedFrom }) => movedFrom !== undefined)
    for (const place of filesBeneath(files, real, top)) {
      if (isMovedAway(moves, top, place)) continue
      const before = sideAt(files, real, place, place)
      if (before !== undefined) yield { before, after: undefined, isRename: false }
    }
  }
  const made = (): Pair | string => {
    const after = source === undefined ? undefined : sideAt(files, store, source, path, change.after)
    if (after === undefined) return none(`${change.after?.type ?? 'nothing'}, which a patch cannot say`)
    return { before: undefined, after, isRename: false }
  }
  switch (change.kind) {
    case 'deleted':
      yield* gone(base)
      return
    case 'retyped':
      yield* gone(base)
      yield made()
      return
    case 'added':
      if (change.after?.type !== 'directory') yield made()
      return
    case 'renamed': {
      if (finding.over !== undefined) yield* gone(base)
      const from = finding.movedFrom ?? ''
      // What has a change of its own is told with that.
      const others = new Set(all.filter((other) => other !== finding).map((other) => other.base))
      const whole = new Set(
        all
          .filter(({ change: { kind } }) => kind === 'deleted' || kind === 'retyped')
          .map((other) => other.base),
      )
      const moves = all.filter((other) => other !== finding)
      for (const place of filesBeneath(files, real, from)) {
        if (others.has(place) || isUnder(whole, place, from) || isMovedAway(moves, from, place)) continue
        const before = sideAt(files, real, place, place)
        const after = sideAt(files, real, place, `${path}${place.slice(from.length)}`)
        if (before !== undefined && after !== undefined) yield { before, after, isRename: true }
      }
      return
    }
    case 'modified':
    case 'metadata':
    case 'replaced': {
      const before = sideAt(files, real, base, base)
      if (before === undefined) return
      const after =
        source === undefined
          ? sideAt(files, real, base, path)
          : sideAt(files, store, source, path, change.after)
      if (after === undefined) return yield none('attributes, which a patch cannot say')
      if (before.blob === after.blob && before.mode === after.mode && base === path)
        return yield none('metadata, which a patch cannot say')
      yield { before, after, isRename: base !== path }
    }
  }
}

/** True where a directory between was moved elsewhere with what is in it. */
function isMovedAway(moves: readonly Finding[], top: BytePath, place: BytePath): boolean {
  return moves.some(
    ({ movedFrom }) =>
      movedFrom !== undefined &&
      movedFrom !== top &&
      isBeneath(top, movedFrom) &&
      isBeneath(movedFrom, place),
  )
}

/** True where a directory between has a change of its own that tells of all in it. */
function isUnder(changed: ReadonlySet<BytePath>, place: BytePath, top: BytePath): boolean {
  for (let at = parentPath(place); at !== top && at !== ''; at = parentPath(at))
    if (changed.has(at)) return true
  return false
}

/**
 * The diff of a list of changes, piece by piece: each piece is bytes, since files need not be text.
 * `patch` is what `git apply --binary` takes, with paths relative to the root of each change; `stat` is one line a file.
 */
export function* diffBranch(
  files: Files,
  branch: Branch,
  roots: readonly RootSurvey[],
  changes: readonly Change[],
  form: DiffForm,
): Generator<Uint8Array> {
  const totals = { files: 0, inserted: 0, deleted: 0 }
  for (const [index, root] of branch.roots.entries()) {
    const wanted = new Set(
      changes.filter((change) => change.root === index).map(({ path }) => bytePath(path)),
    )
    const all = roots[index]?.findings ?? []
    const found = all.filter(({ path }) => wanted.has(path))
    if (found.length === 0) continue
    if (branch.roots.length > 1) yield Buffer.from(`# in ${shownBytes(Buffer.from(root.path))}\n`)
    const [real, store] = [openRoot(root.path), openRoot(root.store)]
    using _closed = closing(real, store)
    for (const finding of found) {
      for (const pair of pairsOf(files, finding, all, real, store)) {
        if (typeof pair === 'string') {
          if (form === 'patch') yield Buffer.from(pair)
        } else if (form === 'patch') yield Buffer.from(patchOf(pair), 'latin1')
        else {
          const { line, inserted, deleted } = statOf(pair)
          totals.files++
          totals.inserted += inserted
          totals.deleted += deleted
          yield Buffer.from(line, 'latin1')
        }
      }
    }
  }
  if (form === 'stat')
    yield Buffer.from(
      ` ${totals.files} file${totals.files === 1 ? '' : 's'} changed, ${totals.inserted} insertions(+), ${totals.deleted} deletions(-)\n`,
    )
}
