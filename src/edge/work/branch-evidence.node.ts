/**
 * What a session's branch would change, for its evidence: the list that an operator is shown, as JSON, whose SHA-256 is
 * the digest that a merge is bound to. What has been merged is in the records, and not in the branch any more.
 * @module
 */
import { join } from 'node:path'
import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { changesJson } from '../../sandbox/branch/files/changes.ts'
import { surveyBranch } from '../../sandbox/branch/survey/survey.node.ts'
import { readBranch } from '../../sandbox/branch/threads/branch-store.node.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'

/**
 * RFC 8785 JSON of the list; undefined where the session has no branch. A branch in use may change meanwhile.
 * @throws SassError FILE_IO where it cannot be read
 */
export function branchEvidence(stateDirectory: string, session: string): string | undefined {
  const directory = join(stateDirectory, 'branches', session)
  const branch = readBranch(directory)
  if (branch === undefined) return undefined
  const { changes } = surveyBranch(loadSyscalls(), directory, branch)
  const roots = branch.roots.map(({ path }) => path)
  return [...changesJson(branch.session, roots, changes)].join('')
}

/** The digest of such a list, hex: what the record of a merge names. */
export function branchDigest(list: string): string {
  return hostTextDigest(list)
}
