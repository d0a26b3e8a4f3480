/**
 * What has to leave the upper directory after a merge, so that the branch shows the real files where it has none of its
 * own any more. What is wholly merged goes in one piece. Within a directory that hides what is beneath nothing goes alone:
 * it would be hidden.
 * @module
 */

import type { Finding, RootSurvey, UpperEntry } from '../files/finding.ts'
import { type BytePath, parentPath } from '../files/paths.ts'

export type UpperStep =
  /** Out of the upper directory, into a place of its own. */
  | { readonly op: 'remove'; readonly path: BytePath; readonly place: string }
  /** A moved directory that has come to its new place beneath too: `after` absent, it is an ordinary one now. */
  | { readonly op: 'redirect'; readonly path: BytePath; readonly before: BytePath; readonly after?: BytePath }
  /** Out of the overlay's index: the other names of that file show what is beneath again. */
  | { readonly op: 'index'; readonly path: BytePath; readonly place: string }
  /**
   * How many names more than above a file of the index has in the branch. The overlay may have counted from what is
   * beneath, where names go by a merge; with none left it throws the file away.
   */
  | { readonly op: 'links'; readonly path: BytePath; readonly more: number }
  | { readonly op: 'time'; readonly path: BytePath; readonly modifiedNs: bigint }

/** What is merged goes, and what is no change: the branch shows the same without it. */
export function planUpper(survey: RootSurvey, chosen: readonly Finding[]): readonly UpperStep[] {
  const merged = new Set(chosen.map(({ path }) => path))
  const movedFrom = new Set(chosen.map((finding) => finding.movedFrom))
  const findings = new Map(survey.findings.map((finding) => [finding.path, finding]))
  const children = new Map<BytePath, UpperEntry[]>()
  for (const entry of survey.upper) {
    const parent = parentPath(entry.path)
    const known = children.get(parent)
    if (known === undefined) children.set(parent, [entry])
    else known.push(entry)
  }
  /** Changes that are not merged, by each directory above them. */
  const keepers = new Set<BytePath>()
  for (const { path } of survey.findings) {
    if (merged.has(path)) continue
    for (let at = path; ; at = parentPath(at)) {
      keepers.add(at)
      if (at === '') break
    }
  }
  /** Files of changes that are not merged: their other names stay with them. */
  const kept = new Set<bigint>()
  for (const { path, after } of survey.findings)
    if (after !== undefined && !merged.has(path)) kept.add(after.inode)
  /** Entries that can go with all beneath them. */
  const free = new Set<BytePath>()
  for (let at = survey.upper.length - 1; at >= 0; at--) {
    const entry = survey.upper[at]
    if (entry !== undefined && isFree(entry)) free.add(entry.path)
  }
  function isFree({ path, kind, redirect, inode }: UpperEntry): boolean {
    if (keepers.has(path)) return false
    const inner = children.get(path) ?? []
    if (kind === 'file') return inode === undefined || !kept.has(inode)
    if (kind === 'whiteout') return redirect === undefined || movedFrom.has(redirect)
    if (kind === 'redirected' && !merged.has(path)) return false
    return inner.every((entry) => free.has(entry.path))
  }

  const steps: UpperStep[] = []
  const times: UpperStep[] = []
  let number = 0
  function descend(directory: BytePath, isHiding: boolean): void {
    let hasChanged = false
    for (const { path, kind, redirect } of children.get(directory) ?? []) {
      if (!isHiding && free.has(path)) {
        steps.push({ op: 'remove', path, place: `u${number++}` })
        hasChanged = true
        continue
      }
      if (kind === 'file' || kind === 'whiteout') continue
      if (kind === 'redirected') {
        if (!merged.has(path)) continue
        const after = isHiding ? { after: `/${path}` } : {}
        steps.push({ op: 'redirect', path, before: redirect ?? '', ...after })
        descend(path, false)
      } else descend(path, kind === 'opaque')
    }
    const modifiedNs =
      survey.directories.get(directory)?.after.modifiedNs ?? findings.get(directory)?.after?.modifiedNs
    if (hasChanged && modifiedNs !== undefined) times.push({ op: 'time', path: directory, modifiedNs })
  }
  descend('', false)
  const removedPaths = new Set(steps.filter(({ op }) => op === 'remove').map(({ path }) => path))
  const isRemoved = (path: BytePath): boolean => {
    for (let at = path; at !== ''; at = parentPath(at)) if (removedPaths.has(at)) return true
    return false
  }
  if (survey.index.size > 0) {
    /** Files of the index that are still needed. */
    const needed = new Set(kept)
    for (const { path, inode } of survey.upper) if (inode !== undefined && !isRemoved(path)) needed.add(inode)
    for (const [inode, { name, aliases }] of survey.index) {
      if (!needed.has(inode)) steps.push({ op: 'index', path: name, place: `u${number++}` })
      else steps.push({ op: 'links', path: name, more: aliases - 1 })
    }
  }
  return [...steps, ...times]
}
