/**
 * Which changes a merge takes when a human names paths: what is beneath each, and what none of it can be without, such as
 * the new directory that a file lies in, or the move of a directory out of the place where another one comes.
 * @module
 */

import { isHeldBack, isUnseen } from '../files/changes.ts'
import type { Finding, RootSurvey } from '../files/finding.ts'
import { type BytePath, isBeneath, parentPath } from '../files/paths.ts'

export type Choice = {
  readonly chosen: readonly Finding[]
  readonly leftOut: readonly Finding[]
  readonly brought: readonly Finding[]
}

/** Changes that make a directory where none was, or another one. */
function makesDirectory({ change, after }: Finding): boolean {
  return after?.type === 'directory' && change.kind !== 'metadata' && change.kind !== 'replaced'
}

/** The files of the index whose old names go by a change. */
function takenAway(
  { base, before, change, isSeparated, over }: Finding,
  oldNames: ReadonlyMap<BytePath, bigint>,
): bigint[] {
  if (oldNames.size === 0) return []
  const isWhole = change.kind === 'deleted' || change.kind === 'retyped' || over !== undefined
  if (isWhole && (over ?? before)?.type === 'directory')
    return [...oldNames].flatMap(([name, inode]) => (isBeneath(base, name) ? [inode] : []))
  const inode = oldNames.get(base)
  const isGoing = isWhole || change.kind === 'modified' || isSeparated === true
  return inode !== undefined && isGoing ? [inode] : []
}

/**
 * @param paths undefined: everything
 * @param allowHeldBack takes what is only merged by name otherwise
 */
export function chooseFindings(
  findings: readonly Finding[],
  paths: readonly BytePath[] | undefined,
  allowHeldBack: boolean,
  index: RootSurvey['index'],
): Choice {
  const byPath = new Map(findings.map((finding) => [finding.path, finding]))
  const named = new Set(paths ?? [])
  const isWanted = (path: BytePath): boolean => {
    if (paths === undefined || named.has('')) return true
    for (let at = path; at !== ''; at = parentPath(at)) if (named.has(at)) return true
    return false
  }
  const moves = findings.filter(({ movedFrom }) => movedFrom !== undefined)
  const byLink = Map.groupBy(
    findings.filter(({ change }) => change.link !== undefined),
    ({ change }) => change.link,
  )
  const shownBy = Map.groupBy(
    findings.filter(({ after, source }) => after?.type === 'file' && source !== undefined),
    ({ after }) => after?.inode,
  )
  const oldNames = new Map<BytePath, bigint>()
  for (const [inode, { bases }] of index) for (const base of bases) oldNames.set(base, inode)
  const needs = (finding: Finding): Finding[] => {
    // All names of one file, or they would be several files.
    const needed = finding.change.link === undefined ? [] : [...(byLink.get(finding.change.link) ?? [])]
    // A file of the overlay's index is gone when its old one loses its names: it is merged before.
    for (const inode of takenAway(finding, oldNames)) needed.push(...(shownBy.get(inode) ?? []))
    for (let at = parentPath(finding.path); at !== ''; at = parentPath(at)) {
      const parent = byPath.get(at)
      if (parent !== undefined && (makesDirectory(parent) || parent.movedFrom !== undefined))
        needed.push(parent)
    }
    for (const move of moves) {
      const source = move.movedFrom ?? ''
      // Where something moves away from, nothing else can come before; and what is taken away must not go with it.
      const isInTheWay = isBeneath(source, finding.base) && finding.change.kind !== 'deleted'
      const isWithin =
        (finding.change.kind === 'deleted' ||
          finding.change.kind === 'retyped' ||
          finding.over !== undefined) &&
        isBeneath(finding.base, source)
      const isWithinMoved = finding.movedFrom !== undefined && isBeneath(finding.movedFrom, source)
      if (isInTheWay || isWithin || isWithinMoved) needed.push(move)
    }
    return needed
  }
  /** What is not merged without being named, and what cannot be without that. */
  const barred = new Set(
    findings.filter(
      ({ change, path }) => !named.has(path) && (isUnseen(change) || (!allowHeldBack && isHeldBack(change))),
    ),
  )
  for (let before = -1; barred.size > 0 && barred.size !== before; ) {
    before = barred.size
    for (const finding of findings)
      if (!barred.has(finding) && needs(finding).some((needed) => barred.has(needed))) barred.add(finding)
  }
  const leftOut: Finding[] = []
  const asked = new Set<Finding>()
  for (const finding of findings) {
    const isNamedFrom = finding.movedFrom !== undefined && isWanted(finding.movedFrom)
    if (!isWanted(finding.path) && !isNamedFrom) continue
    if (barred.has(finding)) leftOut.push(finding)
    else asked.add(finding)
  }
  const chosen = new Set(asked)
  const waiting = [...chosen]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
    for (const needed of needs(next)) {
      if (chosen.has(needed)) continue
      chosen.add(needed)
      waiting.push(needed)
    }
  return {
    chosen: findings.filter((finding) => chosen.has(finding)),
    leftOut,
    brought: findings.filter((finding) => chosen.has(finding) && !asked.has(finding)),
  }
}

/** Those that stand against a merge: the real file was changed since, and nobody said that it does not matter. */
export function conflictsOf(chosen: readonly Finding[], forced: readonly BytePath[]): Finding[] {
  return chosen.filter(
    ({ change, path }) =>
      change.conflict !== undefined && !forced.some((directory) => isBeneath(directory, path)),
  )
}
