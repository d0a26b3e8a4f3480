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
import type { Change, ConflictKind, ContentDigest } from '../files/changes.ts'
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
import { createReader } from '../files/reader.node.ts'
import { type BaselineInput, createBaseline } from '../store/baseline.node.ts'
import { flagsOf, isObeyed, isRepository } from './flags.ts'
import type { Sides } from './walked-directory.ts'
import { type WalkedDirectory as Directory, ELSEWHERE } from './walked-directory.ts'

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
  /** Directories that git takes for repositories. */
  const repositories = new Set<BytePath>()
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
    change: Omit<Change, 'root' | 'path' | 'flags'> & { readonly before?: Node; readonly after?: Node },
    more: Sides,
  ): void {
    const whole = joinPath(input.rootPath === '/' ? '' : input.rootPath, path)
    const before = more.before?.attributes
    budget.change(2 * path.length + heldBytes(more.before) + heldBytes(more.after))
    const gained = [...(more.after?.attributes.keys() ?? [])].filter(
      (name) => before === undefined || !before.has(name) || change.attributes?.includes(name),
    )
    const flags = flagsOf(input.rootPath, whole, change.after, gained)
    if (!flags.includes('runs_on_host') && isObeyed(repositories, path)) flags.push('runs_on_host')
    if (more.before !== undefined && more.before.type === 'file' && more.before.links > 1)
      if (change.kind === 'modified' || change.kind === 'retyped') flags.push('breaks_link')
    findings.push({
      path,
      base,
      ...more,
      ...(change.before === undefined ? {} : { before: change.before }),
      ...(change.after === undefined ? {} : { after: change.after }),
      change: { root: input.rootIndex, path: bytesOf(path), ...change, flags },
    })
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
    const conflict: ConflictKind | undefined = isChanged(stats) || beneath?.isChanged ? 'changed' : undefined
    const digest =
      before.type === 'file' && before.sizeBytes <= SURVEY_BEFORE_BYTES
        ? reader.digest({ directory, name, node: before }, base)
        : undefined
    report(
      path,
      base,
      {
        kind: 'deleted',
        before: factsOf(before, digest),
        ...(beneath === undefined ? {} : { removed: beneath.removed }),
        ...(conflict === undefined ? {} : { conflict }),
      },
      { before },
    )
  }

  function visit(here: Directory): Directory[] {
    const inner: Directory[] = []
    const look = (above: number, real: number | undefined) => {
      const names = namesIn(above, here.path)
      const shown = new Set(names)
      const isThere = (name: BytePath) =>
        shown.has(name) || (real !== undefined && statName(real, name) !== undefined)
      if (isRepository(isThere)) repositories.add(here.path)
      for (const name of names) {
        if (isPartialName(name) || (here.path === '' && input.hidden.has(name))) continue
        const path = joinPath(here.path, name)
        if (input.volatile.has(path)) continue
        const stats = statName(above, name)
        if (stats === undefined) throw fileError('read', path, -2)
        const next = entry(here, path, name, above, stats, real)
        if (next !== undefined) inner.push(next)
      }
      if (here.isWhole && real !== undefined && here.base !== undefined) missing(here, shown, real)
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
  function missing(here: Directory, shown: ReadonlySet<BytePath>, real: number): void {
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
      keep({ path, kind: 'whiteout', ...(isMoved ? { redirect: base } : {}) })
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
      const member = { path, base, after, ...(before === undefined ? {} : { before }) }
      if (known === undefined) names.set(after.inode, [member])
      else known.push(member)
    }
    if (here.isFixed && isUntouched(stats)) return undefined
    const isLost = overlay === undefined && isUntouched(stats) && isParentChanged(here)
    other(path, base, [above, name], after, before, real, read.marks.get('origin'), isLost)
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
    const conflict: ConflictKind | undefined = isGone
      ? 'gone'
      : before !== undefined && isNodeChanged(before)
        ? 'changed'
        : undefined
    report(
      path,
      base,
      {
        kind: before === undefined ? 'added' : 'retyped',
        ...(before === undefined ? {} : { before: factsOf(before) }),
        after: factsOf(after),
        ...(conflict === undefined ? {} : { conflict }),
      },
      { ...(before === undefined ? {} : { before }), after, source: joinPath(aboveName, path) },
    )
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
    const { kinds, attributes: differing } = metadataOf(before, after)
    const hasChanged = isNodeChanged(before)
    const own = kinds.filter((kind) => kind !== 'time' || !hasChanged)
    if (!isReplaced && own.length === 0) return
    const isConflict = hasChanged && own.length > 0
    report(
      path,
      base,
      {
        kind: isReplaced ? 'replaced' : 'metadata',
        before: factsOf(before),
        after: factsOf(after),
        ...(own.length > 0 ? { metadata: own } : {}),
        ...(differing.length > 0 ? { attributes: differing } : {}),
        ...(isConflict ? { conflict: 'changed' as const } : {}),
      },
      { before, after },
    )
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
      const { kinds, attributes: differing } = metadataOf(before, after)
      directories.set(path, { path, base: source, before, after })
      const hidden = over?.type === 'directory' ? subtree(base) : undefined
      const isConflict =
        hidden?.isChanged ||
        (over !== undefined && isNodeChanged(over)) ||
        (kinds.some((kind) => kind !== 'time') && isNodeChanged(before))
      report(
        path,
        base,
        {
          kind: 'renamed',
          before: factsOf(before),
          after: factsOf(after),
          from: bytesOf(source),
          ...(kinds.length > 0 ? { metadata: kinds } : {}),
          ...(differing.length > 0 ? { attributes: differing } : {}),
          ...(hidden === undefined ? {} : { removed: hidden.removed }),
          ...(isConflict ? { conflict: 'changed' as const } : {}),
        },
        { before, after, movedFrom: source, ...(over === undefined ? {} : { over }) },
      )
    })
  }

  /** What is no directory above. */
  function other(
    path: BytePath,
    base: BytePath,
    above: readonly [directory: number, name: BytePath],
    after: Node,
    before: Node | undefined,
    real: number | undefined,
    origin: Uint8Array | undefined,
    isLost: boolean,
  ): void {
    const digestAbove = (): ContentDigest | undefined =>
      after.type === 'file'
        ? reader.digest({ directory: above[0], name: above[1], node: after }, path)
        : undefined
    if (before === undefined || real === undefined) {
      report(
        path,
        base,
        {
          kind: 'added',
          after: factsOf(after, digestAbove()),
          ...(isLost ? { conflict: 'gone' as const } : {}),
        },
        { after, source: joinPath(aboveName, path), origin },
      )
      return
    }
    const hasChanged = isNodeChanged(before)
    const conflict = hasChanged ? { conflict: 'changed' as const } : {}
    if (before.type !== after.type) {
      const beneath = before.type === 'directory' ? subtree(base) : undefined
      const isConflict = hasChanged || beneath?.isChanged
      report(
        path,
        base,
        {
          kind: 'retyped',
          before: factsOf(before),
          after: factsOf(after, digestAbove()),
          ...(beneath === undefined ? {} : { removed: beneath.removed }),
          ...(isConflict ? { conflict: 'changed' as const } : {}),
        },
        { before, after, source: joinPath(aboveName, path) },
      )
      return
    }
    const { kinds, attributes: differing } = metadataOf(before, after)
    const metadata = {
      ...(kinds.length > 0 ? { metadata: kinds } : {}),
      ...(differing.length > 0 ? { attributes: differing } : {}),
    }
    const { isSame, digests } = contents(reader, [real, above[1]], before, above, after, path)
    if (isSame && kinds.length === 0) return
    const change = {
      before: factsOf(before, digests[0]),
      after: factsOf(after, digests[1]),
      ...metadata,
      ...conflict,
    }
    if (isSame)
      report(
        path,
        base,
        { kind: 'metadata', ...change },
        { before, after, source: joinPath(aboveName, path) },
      )
    else
      report(
        path,
        base,
        { kind: 'modified', ...change },
        { before, after, source: joinPath(aboveName, path) },
      )
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
