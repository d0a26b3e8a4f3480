/**
 * Turns chosen changes of one root into steps that can be done again, and taken back, whatever came in between.
 * New content is built beforehand in places of a hidden directory, the stage. Then, in this order: what has to go or to
 * move is taken from where it is now, the deepest first; what is new or moved is put where it belongs, from the top down,
 * and where a file is replaced both change places at once, so that a reader sees the old or the new one; last come modes,
 * owners, attributes and the times of directories, from the bottom up. What was taken and what was replaced lies in the
 * stage then, for the merge to be taken back.
 * @module
 */

import type { Finding, Node, RootSurvey } from '../files/finding.ts'
import { type BytePath, comparePaths, depthOf, joinPath, namePath, parentPath } from '../files/paths.ts'

export type Step =
  /** Real path to place. */
  | { readonly op: 'take'; readonly path: BytePath; readonly place: string; readonly old: Identity }
  /** Place to real path, where nothing is. */
  | { readonly op: 'put'; readonly path: BytePath; readonly place: string }
  /** Both change places. */
  | { readonly op: 'exchange'; readonly path: BytePath; readonly place: string; readonly old: Identity }

/** What has to be found where something is taken. */
export type Identity = {
  readonly inode: bigint
  /** Undefined: not looked at, as steps before change it: of directories, and of files with several names. */
  readonly changedNs: bigint | undefined
}

/** Something to be built in the stage: `place` is beneath it. */
export type Build = {
  readonly place: BytePath
  readonly finding: Finding
  readonly node: Node
  /** Another name of the file at this place, or at this real path. */
  readonly linkPlace?: BytePath
  readonly linkPath?: BytePath
}

/** What to set on a file that stays: absent fields stay as they are. */
export type Attributes = {
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  readonly modifiedNs?: bigint
  /** All of them: others are removed. */
  readonly attributes?: ReadonlyMap<string, Uint8Array>
}

export type AttributeStep = {
  /** Where the file is when everything has been put. */
  readonly path: BytePath
  /** Where it is before; undefined: it is new. */
  readonly base: BytePath | undefined
  /** Undefined: times as they were before the merge. */
  readonly after: Attributes | undefined
  /** It is gone by the merge, and only has to be as before when that is taken back. */
  readonly isGone?: true
}

export type RootPlan = {
  readonly builds: readonly Build[]
  readonly steps: readonly Step[]
  readonly attributes: readonly AttributeStep[]
}

function identityOf(node: Node): Identity {
  return {
    inode: node.inode,
    changedNs: node.type === 'directory' || node.links > 1 ? undefined : node.changedNs,
  }
}

function changesOf({ before, after, change }: Finding): Attributes | undefined {
  if (before === undefined || after === undefined || change.metadata === undefined) return undefined
  const kinds = change.metadata
  const rights = kinds.some((kind) => kind !== 'time')
  return {
    ...(rights ? { mode: after.mode, uid: after.uid, gid: after.gid } : {}),
    ...(kinds.includes('attributes') ? { attributes: after.attributes } : {}),
    modifiedNs: after.modifiedNs,
  }
}

export function planRoot(chosen: readonly Finding[], survey: RootSurvey): RootPlan {
  const sorted = [...chosen].sort((a, b) => comparePaths(a.path, b.path))
  const builds: Build[] = []
  const takes: Extract<Step, { op: 'take' }>[] = []
  const puts: Step[] = []
  const attributes = new Map<BytePath, AttributeStep>()
  /** Directories that are built, by the path that they are for. */
  const built = new Map<BytePath, { place: BytePath; node: Node }>()
  const links = new Map<number, BytePath>()
  /** Real paths of what changes places with something new. */
  const replaced = new Set<BytePath>()
  const moves = new Map<BytePath, BytePath>()
  let number = 0

  function build(finding: Finding, node: Node, place: BytePath): void {
    const { link } = finding.change
    const other = link === undefined ? undefined : links.get(link)
    if (finding.linkTo !== undefined) builds.push({ place, finding, node, linkPath: finding.linkTo })
    else if (other !== undefined) builds.push({ place, finding, node, linkPlace: other })
    else builds.push({ place, finding, node })
    if (link !== undefined && other === undefined && finding.linkTo === undefined) links.set(link, place)
    if (node.type === 'directory') built.set(finding.path, { place, node })
  }

  for (const finding of sorted) {
    const { path, base, before, after, change } = finding
    if (change.kind === 'deleted') {
      if (before !== undefined)
        takes.push({ op: 'take', path: base, place: `o${number++}`, old: identityOf(before) })
      continue
    }
    if (after === undefined) continue
    const set = changesOf(finding)
    if (finding.movedFrom !== undefined && before !== undefined) {
      if (finding.over !== undefined)
        takes.push({ op: 'take', path: base, place: `o${number++}`, old: identityOf(finding.over) })
      const place = `m${number++}`
      takes.push({ op: 'take', path: finding.movedFrom, place, old: identityOf(before) })
      puts.push({ op: 'put', path, place })
      moves.set(finding.movedFrom, path)
      attributes.set(path, {
        path,
        base: finding.movedFrom,
        after: set ?? { modifiedNs: after.modifiedNs },
      })
    } else if ((change.kind === 'metadata' && !finding.isSeparated) || change.kind === 'replaced') {
      if (set !== undefined) attributes.set(path, { path, base, after: set })
    } else if (change.kind === 'added') {
      const parent = built.get(parentPath(path))
      if (parent !== undefined) {
        build(finding, after, joinPath(parent.place, namePath(path)))
        continue
      }
      const place = `n${number++}`
      build(finding, after, place)
      puts.push({ op: 'put', path, place })
    } else if (before !== undefined) {
      const place = `n${number++}`
      build(finding, after, place)
      replaced.add(base)
      puts.push({ op: 'exchange', path, place, old: identityOf(before) })
    }
  }
  takes.sort((a, b) => depthOf(b.path) - depthOf(a.path) || comparePaths(a.path, b.path))

  const takenAt = new Set(takes.map(({ path }) => path))
  /** Where a real path is when everything has been put; undefined: it is gone. */
  const finalPath = (path: BytePath): BytePath | undefined => {
    for (let at = path; at !== ''; at = parentPath(at)) {
      if (replaced.has(at)) return undefined
      if (!takenAt.has(at)) continue
      const target = moves.get(at)
      return target === undefined ? undefined : `${target}${path.slice(at.length)}`
    }
    return path
  }
  const touch = (path: BytePath, base: BytePath | undefined): void => {
    if (attributes.has(path)) return
    const shared = survey.directories.get(path)
    const own = built.get(path)
    const node = own?.node ?? shared?.after
    attributes.set(path, {
      path,
      base: own === undefined ? (shared?.base ?? base) : undefined,
      after: node === undefined ? undefined : { modifiedNs: node.modifiedNs },
    })
  }
  const gone: AttributeStep[] = []
  const taken = new Set(takes.map(({ path }) => parentPath(path)))
  for (const directory of taken) {
    const path = finalPath(directory)
    if (path !== undefined) touch(path, directory)
    else gone.push({ path: directory, base: directory, after: undefined, isGone: true })
  }
  const targets = new Map([...moves].map(([source, target]) => [target, source]))
  /** Where a path is before anything has moved. */
  const firstPath = (path: BytePath): BytePath => {
    for (let at = path; at !== ''; at = parentPath(at)) {
      const source = targets.get(at)
      if (source !== undefined) return `${source}${path.slice(at.length)}`
    }
    return path
  }
  for (const { path } of puts) touch(parentPath(path), firstPath(parentPath(path)))
  const ordered = [...attributes.values(), ...gone].sort(
    (a, b) => depthOf(b.path) - depthOf(a.path) || comparePaths(a.path, b.path),
  )
  return { builds, steps: [...takes, ...puts], attributes: ordered }
}
