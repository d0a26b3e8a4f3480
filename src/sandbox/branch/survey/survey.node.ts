/**
 * Finds what a branch would change: reads what lies above each root, compares it with the real files, and says what is
 * there, never what somebody claims. Nothing is followed, nothing is written, and what cannot be read makes the survey
 * fail: a mark that is missed would bring deleted files back.
 * The branch must not be mounted and nothing may run in it; otherwise the result is a preview.
 * Rules: docs/sandbox.md (review); the kernel's Documentation/filesystems/overlayfs.rst.
 * @module
 */

import { createHash } from 'node:crypto'
import { closing } from '../../../base/closing.node.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import type { Branch, BranchRoot } from '../files/branch.ts'
import { createBudget, type SurveyBudget } from '../files/budget.ts'
import { type Change, changesJson, type Survey, sortChanges } from '../files/changes.ts'
import { factsOf, metadataOf } from '../files/compare.node.ts'
import { createFiles, type Files, nameBytes, openRoot, statName, withDirectory } from '../files/files.node.ts'
import type { LinkedName, Node, RootSurvey } from '../files/finding.ts'
import { nodeOf, readAttributes } from '../files/inspect.node.ts'
import { type BytePath, joinPath, namePath, parentPath } from '../files/paths.ts'
import { createReader } from '../files/reader.node.ts'
import { stageNames } from '../store/journal.node.ts'
import { type MergedRecord, readRecord } from '../store/record.node.ts'
import { flagsOf } from './flags.ts'
import { findAliases, groupLinks } from './links.node.ts'
import { explained, withoutIdle, withoutImpliedTimes, withRenames, withSeparated } from './sense.ts'
import { unseenPaths } from './unseen.node.ts'
import { unseenIn, withUnseen } from './unseen.ts'
import { walkRoot } from './walk.node.ts'

/** A survey with what only a merge needs to know. */
export type FullSurvey = {
  readonly survey: Survey
  readonly roots: readonly RootSurvey[]
  readonly record: MergedRecord
}

/** Volatile directories of one root, beneath it. */
function volatileOf(branch: Branch, root: BranchRoot): Set<BytePath> {
  const found = new Set<BytePath>()
  const prefix = root.path === '/' ? '/' : `${root.path}/`
  for (const path of branch.volatile)
    if (path.startsWith(prefix)) found.add(Buffer.from(path.slice(prefix.length)).toString('latin1'))
  return found
}

type AliasInput = {
  readonly index: number
  /** Absolute, as bytes. */
  readonly rootPath: BytePath
  readonly hidden: ReadonlySet<BytePath>
  readonly isChanged: (before: Node) => boolean
  readonly budget: SurveyBudget
}

/** Adds the names that show a file of the overlay's index and have nothing above them. */
function withAliases(
  files: Files,
  realRoot: number,
  store: number,
  input: RootSurvey,
  { index, rootPath, hidden, isChanged, budget }: AliasInput,
): RootSurvey {
  const { aliases, index: entries } = findAliases(files, realRoot, store, input, hidden)
  if (aliases.length === 0) return { ...input, index: entries }
  const reader = createReader(files, budget)
  const findings = [...input.findings]
  const names = new Map<bigint, LinkedName[]>(
    [...input.names].map(([inode, members]) => [inode, [...members]]),
  )
  for (const { base, path, entry } of aliases) {
    withDirectory(files, store, 'work/index', (above) =>
      withDirectory(files, realRoot, parentPath(base), (real) => {
        const stats = statName(above, entry)
        const old = statName(real, namePath(base))
        if (stats === undefined || old === undefined) return
        // Marks of the overlay are only ever trusted where there is an index.
        const shown = readAttributes(files, above, entry, path, 'trusted').shown
        const after = nodeOf(above, entry, path, stats, shown)
        const oldShown = readAttributes(files, real, namePath(base), base, undefined).shown
        const before = nodeOf(real, namePath(base), base, old, oldShown)
        const member: LinkedName = { path, base, before, after }
        const known = names.get(after.inode)
        if (known === undefined) names.set(after.inode, [member])
        else known.push(member)
        const sibling = input.findings.find((finding) => finding.after?.inode === after.inode)
        const now = { directory: above, name: entry, node: after }
        const isSame =
          before.sizeBytes === after.sizeBytes &&
          reader.compare({ directory: real, name: namePath(base), node: before }, now, path).isSame
        const differing = metadataOf(before, after)
        if (isSame && differing.metadata === undefined) return
        const whole = joinPath(rootPath === '/' ? '' : rootPath, path)
        const own = flagsOf(rootPath, whole, after, differing.attributes ?? [])
        const change: Change = {
          root: index,
          path: nameBytes(path),
          kind: isSame ? 'metadata' : 'modified',
          before: factsOf(before),
          after: factsOf(after, reader.digest(now, path)),
          ...differing,
          flags: [...new Set([...(sibling?.change.flags ?? []), ...own])],
          // Of the file that lies there now: the name that was written above may lie no more, or be another one's.
          conflict: isChanged(before) ? 'changed' : undefined,
        }
        findings.push({ path, base, change, before, after, source: `work/index/${entry}` })
      }),
    )
  }
  return { ...input, findings, names, index: entries }
}

function surveyRoot(
  files: Files,
  branch: Branch,
  index: number,
  root: BranchRoot,
  record: MergedRecord,
  hidden: ReadonlySet<BytePath>,
  budget: SurveyBudget,
): RootSurvey {
  const isCopy = branch.level === 'copy'
  const realRoot = openRoot(root.path)
  using _realRoot = closing(realRoot)
  const store = openRoot(root.store)
  using _store = closing(store)
  const upperRoot = openRoot(`${root.store}/${isCopy ? 'copy' : 'upper'}`)
  using _upperRoot = closing(upperRoot)
  const merged = record[index] ?? new Map()
  const baseNs = BigInt(root.baseNs)
  const volatile = volatileOf(branch, root)
  const rootPath = Buffer.from(root.path).toString('latin1')
  const found = walkRoot(files, {
    budget,
    rootIndex: index,
    rootPath,
    upperRoot,
    realRoot,
    overlay: isCopy ? undefined : branch.attributes,
    volatile,
    hidden,
    baseNs,
    copiedNs: root.copiedNs === undefined ? undefined : BigInt(root.copiedNs),
    merged,
  })
  const isChanged = ({ inode, changedNs }: Node): boolean =>
    changedNs > baseNs && merged.get(inode) !== changedNs
  const isParentChanged = (path: BytePath): boolean => {
    const before = found.directories.get(parentPath(path))?.before
    return before !== undefined && isChanged(before)
  }
  const all = isCopy
    ? found
    : withAliases(files, realRoot, store, found, {
        ...{ index, rootPath, isChanged, budget },
        hidden: new Set([...hidden, ...volatile]),
      })
  return {
    ...all,
    findings: withSeparated(
      withoutIdle(withoutImpliedTimes(withRenames(explained(all.findings, isParentChanged)))),
      all.names,
    ),
  }
}

/** @throws SassError FILE_IO */
export function surveyFully(
  files: Files,
  directory: string,
  branch: Branch,
  budget: SurveyBudget = createBudget(),
): FullSurvey {
  const record = readRecord(directory, branch.roots.length)
  const hidden = stageNames(directory)
  const unseen = unseenPaths(directory)
  const roots: RootSurvey[] = []
  let link = 1
  for (const [index, root] of branch.roots.entries()) {
    const found = surveyRoot(files, branch, index, root, record, hidden, budget)
    const own = withUnseen(found.findings, unseenIn(Buffer.from(root.path).toString('latin1'), unseen))
    const findings = groupLinks({ findings: own, names: found.names, rootIndex: index }, link)
    link += found.names.size
    roots.push({ ...found, findings })
  }
  const changes = sortChanges(roots.flatMap(({ findings }) => findings.map(({ change }) => change)))
  const paths = branch.roots.map(({ path }) => path)
  const sum = createHash('sha256')
  for (const piece of changesJson(branch.session, paths, changes)) sum.update(piece)
  const digest = sum.digest('hex')
  return { survey: { session: branch.session, changes, digest }, roots, record }
}

/**
 * What the branch would change, complete.
 * @param directory of the branch, where the record of its earlier merges lies
 * @throws SassError FILE_IO where a part of the branch or of the real files cannot be read, or is not understood
 */
export function surveyBranch(syscalls: Syscalls, directory: string, branch: Branch): Survey {
  return surveyFully(createFiles(syscalls), directory, branch).survey
}
