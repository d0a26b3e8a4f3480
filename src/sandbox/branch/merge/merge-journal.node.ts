/**
 * Makes the journal of one root from its plan, when the stage is built: what each step has to find, what attributes have
 * to become again, and what else is touched.
 * @module
 */

import type { Branch } from '../files/branch.ts'
import { type Files, statName } from '../files/files.node.ts'
import type { Node } from '../files/finding.ts'
import type { BytePath } from '../files/paths.ts'
import type { JournalAttributes, JournalStep, RootJournal } from '../store/journal.node.ts'
import type { RootPlan } from '../store/merge-plan.ts'
import { planUpper } from '../store/upper-plan.ts'
import type { FullSurvey } from '../survey/survey.node.ts'
import type { Choice } from './merge-choice.ts'
import type { OpenRoot, StagePlace } from './merge-stage.node.ts'
import { attributesNow } from './steps.node.ts'

/** What is merged of one root. */
export type Part = { readonly root: number; readonly choice: Choice; readonly plan: RootPlan }

/** What is touched though it does not change, where it is as the branch knows it. */
export function besidesOf(
  branch: Branch,
  survey: FullSurvey,
  index: number,
  stage: StagePlace,
): RootJournal['besides'] {
  const root = survey.roots[index]
  const baseNs = BigInt(branch.roots[index]?.baseNs ?? 0)
  if (root === undefined) return []
  const isOurs = (node: Node | undefined): boolean =>
    node !== undefined &&
    (node.changedNs <= baseNs || survey.record[index]?.get(node.inode) === node.changedNs)
  const list: { base: BytePath; path: BytePath }[] = []
  for (const members of root.names.values())
    for (const { base, path, before } of members) if (isOurs(before)) list.push({ base, path })
  if (stage === 'root' && isOurs(root.top)) list.push({ base: '', path: '' })
  return list
}

/** Looks up what the steps have to find, and what attributes have to become again. */
export function journalOf(
  files: Files,
  open: OpenRoot,
  part: Part,
  survey: FullSurvey,
  stage: StagePlace,
  besides: RootJournal['besides'],
): RootJournal {
  const { plan, choice } = part
  const inodes = new Map<string, bigint>()
  for (const step of plan.steps) if (step.op === 'take') inodes.set(step.place, step.old.inode)
  const staged = (place: string): bigint => statName(open.stage, place)?.ino ?? inodes.get(place) ?? 0n
  const steps = plan.steps.map((step): JournalStep => {
    const { path, place } = step
    if (step.op === 'put') return { op: 'put', path, place, inode: staged(place) }
    const { inode, changedNs } = step.old
    const old = { inode, ...(changedNs === undefined ? {} : { changedNs }) }
    if (step.op === 'take') return { op: 'take', path, place, ...old }
    return { op: 'exchange', path, place, ...old, newInode: staged(place) }
  })
  const attributes: JournalAttributes[] = []
  for (const { path, base, after, isGone } of plan.attributes) {
    const before = base === undefined ? undefined : attributesNow(files, open.real, base, after ?? {})
    const wanted = after ?? before
    if (wanted === undefined) continue
    const known = base === undefined || before === undefined ? {} : { base, before }
    attributes.push({ path, after: wanted, ...known, ...(isGone ? { isGone } : {}) })
  }
  const root = survey.roots[part.root]
  return {
    root: part.root,
    stage,
    steps,
    attributes,
    besides,
    upper: root === undefined || root.isCopy ? [] : planUpper(root, choice.chosen),
    merged: choice.chosen.map(({ path, base, movedFrom, change }) => ({
      path,
      base,
      ...(movedFrom === undefined ? {} : { movedFrom }),
      isConflict: change.conflict !== undefined,
      isGone: change.kind === 'deleted',
      isWatched: change.after?.type !== 'directory' || change.kind === 'added' || change.kind === 'retyped',
    })),
  }
}
