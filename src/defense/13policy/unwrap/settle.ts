/**
 * What is known of a command once its words have been read: where its paths lead through links that the request has
 * made, whether it stands in what was fetched, what it tells a database, and which files it leaves to those behind it.
 * Rules: docs/policy.md, "Effective commands".
 * @module
 */

import { spend, type Work } from '../../work.ts'
import { LISTED, TREE_ELSEWHERE, treeElsewhere, writtenByVariables } from './elsewhere.ts'
import { environmentCalls } from './environment-calls.ts'
import type { Flow } from './flow.ts'
import { FETCHED_TREE, linkedPaths, type Maker, noteFiles, usesTree } from './flow.ts'
import type { Draft } from './pipeline.ts'
import { secretSends } from './secret-sends.ts'
import { statementCalls } from './statements.ts'

/** @param root where the request runs; absolute */
export function settle(flow: Flow, draft: Draft, maker: Maker, root: string, work: Work): void {
  const places = draft.paths.length + maker.words.length
  spend(work, Math.floor(((flow.links.size + flow.trees.length) * places) / 4))
  if (flow.links.size > 0) draft.paths.push(...linkedPaths(flow, maker))
  noteFiles(flow, maker)
  const statements = statementCalls(flow, maker)
  const environment = environmentCalls(draft)
  const sends = secretSends(draft, maker)
  const isInTree = usesTree(flow, maker)
  if (draft.assignments.length > 0) draft.paths.push(...writtenByVariables(draft))
  const elsewhere = treeElsewhere(maker, root)
  if (elsewhere !== undefined) {
    draft.paths.push(elsewhere)
    if (elsewhere.path !== LISTED) draft.calls = [...draft.calls, TREE_ELSEWHERE]
  }
  if (sends.length > 0) draft.calls = [...draft.calls, ...sends]
  if (isInTree || statements.length > 0 || environment.length > 0)
    draft.calls = [...draft.calls, ...statements, ...environment, ...(isInTree ? [FETCHED_TREE] : [])]
}
