/**
 * Which branch a command means: one that is named, by as many digits as tell it apart, or the only one that there is.
 * @module
 */
import type { Branch } from '../../client/branch-client.ts'
import type { Client } from '../../client/client.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { pickId, plainId, shortIds } from '../words/listing.ts'

const BRANCH = Object.freeze({ name: 'branch', listedBy: 'sass-edge branch list' })
const ID_LIKE = /^[0-9a-f]{4,32}$/
/** Whoever writes so many digits means a branch, mistyped or not there any more, sooner than a file or a label. */
const SURELY_ID = /^[0-9a-f]{6,32}$/

export type BranchChoice = { readonly id: string; readonly words: readonly string[] }

/** Which branch is meant where none is named, and whether the words behind its name are paths. */
export type Choosing = {
  readonly prefers?: (branch: Branch) => boolean
  readonly takesPaths?: boolean
}

const isToReview = ({ isEmpty }: Branch): boolean => !isEmpty

/**
 * The branch, and the words behind its name. Without a name it is the only one, or the only one that `prefers`.
 * @throws SassError USAGE where that is not clear, PROCESS_NOT_FOUND where there is none
 */
export async function chooseBranch(
  { branches: client }: Client,
  words: readonly string[],
  { prefers = isToReview, takesPaths = false }: Choosing = {},
): Promise<BranchChoice> {
  const [given, ...rest] = words
  const first = given === undefined ? undefined : plainId(given)
  const { branches } = await client.list()
  const ids = branches.map(({ id }) => id)
  if (first !== undefined && ID_LIKE.test(first)) {
    const isNamed = ids.some((id) => id.startsWith(first)) || first.length === 32
    // The list holds the latest: whoever has the whole id of an older one may name it.
    if (first.length === 32) return { id: first, words: rest }
    if (isNamed) return { id: pickId(first, ids, BRANCH), words: rest }
  }
  const preferred = branches.filter(prefers)
  const [only] = preferred.length > 0 ? preferred : branches
  if (only === undefined)
    throw new SassError(
      'PROCESS_NOT_FOUND',
      'There is no branch on this device: one is made when an agent runs its first command.',
    )
  const isOnly = preferred.length === 1 || branches.length === 1
  if (given !== undefined && first !== undefined && SURELY_ID.test(first)) {
    const isPath = takesPaths && isOnly && (await client.diff(only.id, 'stat', () => {}, [given])).shown > 0
    if (!isPath) return { id: pickId(first, ids, BRANCH), words: rest }
  }
  if (isOnly) return { id: only.id, words }
  const short = shortIds(ids)
  const some = ids.slice(0, 3).map(short).join(', ')
  throw misuse(
    `There are ${branches.length} branches, so name the one that you mean: ${some}${ids.length > 3 ? ' and more' : ''}, see sass-edge branch list.`,
  )
}
