/**
 * Walks what is above one root and compares it with the real files. Above is the raw upper directory of an overlay, with
 * its marks, or a whole copy. What is above without any difference (the kernel copies a file up when it is opened to be
 * written) is no change; what cannot be read ends the walk.
 * Rules: the kernel's Documentation/filesystems/overlayfs.rst, "Whiteouts and opaque directories", "redirect_dir".
 * @module
 */

import type { BigIntStats } from 'node:fs'
import { isPartialName } from '../../files/partial-name.ts'
import { SURVEY_BEFORE_BYTES } from '../../limits.ts'
import type { OverlayAttributes } from '../files/branch.ts'
import { heldBytes, type SurveyBudget } from '../files/budget.ts'
import type { Change, ConflictKind } from '../files/changes.ts'
import { contents, factsOf, metadataOf } from '../files/compare.node.ts'
import {
  type Files,
  fileError,
  namesIn,
  statDirectory,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import type { Finding, LinkedName, Node, RootSurvey, SharedDirectory, UpperEntry } from '../files/finding.ts'
import { NO_ATTRIBUTES, nodeOf, type ReadAttributes, readAttributes } from '../files/inspect.node.ts'
import { checkMarks } from '../files/marks.ts'
import { findMoved, redirectedPath } from '../files/moved.node.ts'
import { type BytePath, createPathBytes, joinPath, parentPath } from '../files/paths.ts'
import { createReader, type FileAt } from '../files/reader.node.ts'
import { type BaselineInput, createBaseline } from '../store/baseline.node.ts'
import { flagsOf, isObeyedInRepository, isRepository } from './flags.ts'

export type WalkInput = BaselineInput & {
  readonly budget: SurveyBudget
  readonly rootIndex: number
  /** Absolute, as bytes. */
  readonly rootPath: BytePath
  /** Of an overlay; undefined: a whole copy. */
  readonly overlay: OverlayAttributes | undefined
  readonly volatile: ReadonlySet<BytePath>
  /** Names at the top that are the daemon's own. */
  readonly hidden: ReadonlySet<BytePath>
}

/** A directory on the way, and what is known of it by those that it lies in. */
type Directory = {
  readonly path: BytePath
  /** Where the real directory is; undefined: there is none to compare with. */
  readonly base: BytePath | undefined
  /** Shows only what is above. */
  readonly isWhole: boolean
  /** Marks whiteouts by an attribute. */
  readonly hasMarkedWhiteouts: boolean
  /** In a copy: neither it nor what it lies in was touched, so that nothing in it came, went or was moved. */
  readonly isStill: boolean
  /** In a copy: it is where it was. Moving what it lies in would not show in the times of what is in it. */
  readonly isFixed: boolean
}

/** Beneath what is not where it was. */
const ELSEWHERE = { isStill: false, isFixed: false } as const

const conflictOf = (isChanged: boolean | undefined): ConflictKind | undefined =>
  isChanged ? 'changed' : undefined

const isWhiteout = (stats: BigIntStats): boolean => stats.isCharacterDevice() && stats.rdev === 0n

/** @throws SassError FILE_IO; FILE_TOO_LARGE where the branch is too large to be looked at */
export function walkRoot(files: Files, input: WalkInput): RootSurvey {
  const { budget, overlay, realRoot, upperRoot } = input
  const reader = createReader(files, budget)
  const aboveName = overlay === undefined ? 'copy' : 'upper'
  const findings: Finding[] = []
  const directories = new Map<BytePath, SharedDirectory>()
  const upper: UpperEntry[] = []
  const bytesOf = createPathBytes()
  const names = new Map<bigint, LinkedName[]>()
  /** What git obeys in directories that it takes for repositories, and all beneath. */
  const obeyed = new Set<BytePath>()
  /** Directories of the real tree that the branch has elsewhere, and where. */
  const moved = overlay === 'trusted' ? findMoved(files, upperRoot, realRoot) : new Map<BytePath, BytePath>()

  function attributes(directory: number, name: BytePath, path: BytePath, isAbove: boolean): ReadAttributes {
    return readAttributes(files, directory, name, path, isAbove ? overlay : undefined)
  }

  const node = (
    directory: number,
    name: BytePath,
    path: BytePath,
    stats: BigIntStats,
    read: ReadAttributes,
  ) => nodeOf(directory, name, path, stats, read.shown)
  const { isChanged, isNodeChanged, subtree, isUntouched, isUntouchedBeneath } = createBaseline(
    files,
    input,
    moved,
  )

  function keep(entry: UpperEntry): void {
    budget.entry(entry.path.length)
    upper.push(entry)
  }

  function report(
    path: BytePath,
    base: BytePath,
    change: Omit<Change, 'root' | 'path' | 'flags'> & Pick<Finding, 'before' | 'after'>,
    around: Pick<Finding, 'source' | 'movedFrom' | 'over' | 'origin'> = {},
  ): void {
    const { before, after } = change
    const whole = joinPath(input.rootPath === '/' ? '' : input.rootPath, path)
    budget.change(2 * path.length + heldBytes(before) + heldBytes(after))
    const gained = [...(after?.attributes.keys() ?? [])].filter(
      (name) => !before?.attributes.has(name) || change.attributes?.includes(name),
    )
    const flags = flagsOf(input.rootPath, whole, after, gained)
    if (!flags.includes('runs_on_host') && obeyed.has(path)) flags.push('runs_on_host')
    if (before?.type === 'file' && before.links > 1)
      if (change.kind === 'modified' || change.kind === 'retyped') flags.push('breaks_link')
    const whatItIs = { root: input.rootIndex, path: bytesOf(path), ...change, flags }
    findings.push({ path, base, ...around, before, after, change: whatItIs })
  }

  function reportDeleted(
    path: BytePath,
    base: BytePath,
    directory: number,
    name: BytePath,
    stats: BigIntStats,
  ) {
    const before = node(directory, name, base, stats, attributes(directory, name, base, false))
    const beneath = before.type === 'directory' ? subtree(base) : undefined
    const digest =
      before.type === 'file' && before.sizeBytes <= SURVEY_BEFORE_BYTES
        ? reader.digest({ directory, name, node: before }, base)
        : undefined
    report(path, base, {
      kind: 'deleted',
      before: factsOf(before, digest),
      removed: beneath?.removed,
      conflict: conflictOf(isChanged(stats) || beneath?.isChanged),
    })
  }

  function visit(here: Directory): Directory[] {
    const inner: Directory[] = []
    const look = (above: number, real: number | undefined) => {
      const names = namesIn(above, here.path)
      const shown = new Set(names)
      const isThere = (name: BytePath) =>
        shown.has(name) || (real !== undefined && statName(real, name) !== undefined)
      const isRepositoryHere = isRepository(isThere)
      const noteObeyed = (name: BytePath, path: BytePath): void => {
        if (obeyed.has(here.path) || (isRepositoryHere && isObeyedInRepository(name))) obeyed.add(path)
      }
      for (const name of names) {
        if (isPartialName(name) || (here.path === '' && input.hidden.has(name))) continue
        const path = joinPath(here.path, name)
        if (input.volatile.has(path)) continue
        const stats = statName(above, name)
        if (stats === undefined) throw fileError('read', path, -2)
        noteObeyed(name, path)
        const next = entry(here, path, name, above, stats, real)
        if (next !== undefined) inner.push(next)
      }
      if (here.isWhole && real !== undefined && here.base !== undefined)
        missing(here, shown, real, noteObeyed)
    }
    withDirectory(files, upperRoot, here.path, (above) => {
      if (here.base === undefined) return look(above, undefined)
      const seen = withDirectory(files, realRoot, here.base, (real) => {
        look(above, real)
        return true
      })
      if (seen === undefined) look(above, undefined)
    })
    return inner
  }

  /** What a directory that hides the real one does not have: deleted. */
  function missing(
    here: Directory,
    shown: ReadonlySet<BytePath>,
    real: number,
    noteObeyed: (name: BytePath, path: BytePath) => void,
  ): void {
    const base = here.base ?? ''
    for (const name of namesIn(real, base)) {
      const path = joinPath(here.path, name)
      const inner = joinPath(base, name)
      if (shown.has(name) || moved.has(inner) || input.volatile.has(path)) continue
      if (here.path === '' && input.hidden.has(name)) continue
      const stats = statName(real, name)
      if (stats === undefined) continue
      // In a copy nobody has deleted what came into being after it was made.
      const isNew = stats.birthtimeNs > input.baseNs && isChanged(stats)
      if (overlay === undefined && (isNew || here.isStill)) continue
      noteObeyed(name, path)
      reportDeleted(path, inner, real, name, stats)
    }
  }

  /** One name above. A directory to descend into is returned. */
  function entry(
    here: Directory,
    path: BytePath,
    name: BytePath,
    above: number,
    stats: BigIntStats,
    real: number | undefined,
  ): Directory | undefined {
    const base = joinPath(here.base ?? here.path, name)
    const isMoved = here.base !== undefined && moved.has(base)
    const beneath = real === undefined || isMoved ? undefined : statName(real, name)
    const isGone = overlay !== undefined && isWhiteout(stats)
    const read = isGone ? NO_ATTRIBUTES : attributes(above, name, path, true)
    const isMarked = here.hasMarkedWhiteouts && stats.isFile() && stats.size === 0n
    if (isGone || (isMarked && read.marks.has('whiteout'))) {
      keep({ path, kind: 'whiteout', redirect: isMoved ? base : undefined })
      if (beneath !== undefined && real !== undefined) reportDeleted(path, base, real, name, beneath)
      return undefined
    }
    const after = node(above, name, path, stats, read)
    const before =
      beneath === undefined || real === undefined
        ? undefined
        : node(real, name, base, beneath, attributes(real, name, base, false))
    checkMarks(path, read, overlay, before?.attributes)
    if (after.type === 'directory') return directory(here, path, base, after, before, read, stats)
    keep({ path, kind: 'file', inode: after.inode })
    if (after.links > 1) {
      const known = names.get(after.inode)
      const member = { path, base, after, before }
      if (known === undefined) names.set(after.inode, [member])
      else known.push(member)
    }
    if (here.isFixed && isUntouched(stats)) return undefined
    const isLost = overlay === undefined && isUntouched(stats) && isParentChanged(here)
    const old = before && real !== undefined ? { directory: real, name, node: before } : undefined
    other(path, base, old, { directory: above, name, node: after }, read.marks.get('origin'), isLost)
    return undefined
  }

  function directory(
    here: Directory,
    path: BytePath,
    base: BytePath,
    after: Node,
    before: Node | undefined,
    read: ReadAttributes,
    stats: BigIntStats,
  ): Directory | undefined {
    const mark = overlay === 'trusted' ? read.marks.get('redirect') : undefined
    const opaque = read.marks.get('opaque')
    const isOpaque = opaque?.[0] === 0x79
    const hasMarkedWhiteouts = opaque?.[0] === 0x78
    const source = mark === undefined ? undefined : redirectedPath(mark, here.base)
    if (source !== undefined && moved.get(source) === path) {
      keep({ path, kind: 'redirected', redirect: Buffer.from(mark ?? []).toString('latin1') })
      reportMoved(path, base, source, after, before)
      return { path, base: source, isWhole: false, hasMarkedWhiteouts, ...ELSEWHERE }
    }
    if (source === path && before?.type === 'directory') {
      // Moved by the branch once, and merged since.
      keep({ path, kind: 'settled' })
      shared(path, path, before, after, false)
      return { path, base: path, isWhole: false, hasMarkedWhiteouts, ...ELSEWHERE }
    }
    keep({ path, kind: isOpaque || here.isWhole || mark !== undefined ? 'opaque' : 'merged' })
    if (before?.type === 'directory') {
      const isWhole = here.isWhole || isOpaque || mark !== undefined
      const isStill = here.isFixed && isUntouched(stats)
      if (!isStill) shared(path, base, before, after, isWhole && !here.isWhole)
      return { path, base, isWhole, hasMarkedWhiteouts, isStill, isFixed: isStill }
    }
    // Somebody else has removed it, with nothing in it that the branch has touched.
    if (here.isFixed && isUntouched(stats) && isUntouchedBeneath(path)) return undefined
    const wasCopied = read.marks.has('origin') && !isOpaque && !here.isWhole
    const isLost = overlay === undefined && isUntouched(stats) && (here.isFixed || isParentChanged(here))
    const isGone = before === undefined && (mark !== undefined || wasCopied || isLost)
    const kind = before === undefined ? 'added' : 'retyped'
    const conflict = isGone ? 'gone' : conflictOf(before !== undefined && isNodeChanged(before))
    report(path, base, { kind, before, after, conflict }, { source: joinPath(aboveName, path) })
    return { path, base: undefined, isWhole: true, hasMarkedWhiteouts, ...ELSEWHERE }
  }

  /** Whether somebody else has changed the real directory beneath this one. */
  function isParentChanged({ path, base }: Directory): boolean {
    if (base === undefined) return false
    const before = directories.get(path)?.before
    return before === undefined ? true : isNodeChanged(before)
  }

  /** A directory in both. Its time is no change of its own: it follows from what is in it. */
  function shared(path: BytePath, base: BytePath, before: Node, after: Node, isReplaced: boolean): void {
    directories.set(path, { path, base, before, after })
    const { metadata = [], attributes } = metadataOf(before, after)
    const hasChanged = isNodeChanged(before)
    const own = metadata.filter((kind) => kind !== 'time' || !hasChanged)
    const isOwn = own.length > 0
    if (!isReplaced && !isOwn) return
    report(path, base, {
      ...{ kind: isReplaced ? 'replaced' : 'metadata', before, after, attributes },
      metadata: isOwn ? own : undefined,
      conflict: conflictOf(hasChanged && isOwn),
    })
  }

  function reportMoved(
    path: BytePath,
    base: BytePath,
    source: BytePath,
    after: Node,
    over: Node | undefined,
  ): void {
    withDirectory(files, realRoot, parentPath(source), (directory) => {
      const name = source.slice(source.lastIndexOf('/') + 1)
      const stats = statName(directory, name)
      if (stats === undefined) return
      const before = node(directory, name, source, stats, attributes(directory, name, source, false))
      const differing = metadataOf(before, after)
      directories.set(path, { path, base: source, before, after })
      const hidden = over?.type === 'directory' ? subtree(base) : undefined
      const isConflict =
        hidden?.isChanged ||
        (over !== undefined && isNodeChanged(over)) ||
        (differing.metadata?.some((kind) => kind !== 'time') && isNodeChanged(before))
      const [removed, conflict] = [hidden?.removed, conflictOf(isConflict)]
      const change = { before, after, from: bytesOf(source), ...differing, removed, conflict }
      report(path, base, { kind: 'renamed', ...change }, { movedFrom: source, over })
    })
  }

  /** What is no directory above. */
  function other(
    path: BytePath,
    base: BytePath,
    old: FileAt | undefined,
    now: FileAt,
    origin: Uint8Array | undefined,
    isLost: boolean,
  ): void {
    const source = joinPath(aboveName, path)
    const [before, after] = [old?.node, now.node]
    const digestAbove = (): Node =>
      factsOf(after, after.type === 'file' ? reader.digest(now, path) : undefined)
    if (old === undefined || before === undefined) {
      const conflict = isLost ? 'gone' : undefined
      return report(path, base, { kind: 'added', after: digestAbove(), conflict }, { source, origin })
    }
    const hasChanged = isNodeChanged(before)
    if (before.type !== after.type) {
      const beneath = before.type === 'directory' ? subtree(base) : undefined
      const conflict = conflictOf(hasChanged || beneath?.isChanged)
      const change = { before, after: digestAbove(), removed: beneath?.removed, conflict }
      return report(path, base, { kind: 'retyped', ...change }, { source })
    }
    const differing = metadataOf(before, after)
    const { isSame, digests } = contents(reader, old, now, path)
    if (isSame && differing.metadata === undefined) return
    const facts = { before: factsOf(before, digests[0]), after: factsOf(after, digests[1]) }
    const kind = isSame ? 'metadata' : 'modified'
    report(path, base, { kind, ...facts, ...differing, conflict: conflictOf(hasChanged) }, { source })
  }

  const realTop = withDirectory(files, realRoot, '', (real) =>
    node(real, '', '', statDirectory(real), attributes(real, '', '', false)),
  )
  if (realTop === undefined) throw fileError('opened', input.rootPath, -2)
  const top = withDirectory(files, upperRoot, '', (above) => {
    const stats = statDirectory(above)
    const read = attributes(above, '', '', true)
    checkMarks('', read, overlay, realTop.attributes)
    const after = node(above, '', '', stats, read)
    const isStill = overlay === undefined && isUntouched(stats)
    if (!isStill) shared('', '', realTop, after, false)
    const isFixed = overlay === undefined
    return { path: '', base: '', isWhole: isFixed, hasMarkedWhiteouts: false, isStill, isFixed }
  })
  const waiting: Directory[] = top === undefined ? [] : [top]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const inner = visit(next)
    for (let at = inner.length - 1; at >= 0; at--) {
      const directoryAt = inner[at]
      if (directoryAt !== undefined) waiting.push(directoryAt)
    }
  }
  const isCopy = overlay === undefined
  return { isCopy, top: realTop, findings, directories, upper, names, moved, index: new Map() }
}
