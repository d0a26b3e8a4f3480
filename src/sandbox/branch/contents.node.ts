/**
 * What the texts of a diff are made from: the contents of a changed file before and after, read by descriptor.
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'
import type { Branch } from './branch.ts'
import type { Change } from './changes.ts'

export type DiffForm = 'patch' | 'stat'

/**
 * The diff of a list of changes, piece by piece: each piece is bytes, since files need not be text.
 * `patch` is what `git apply --binary` takes, with paths relative to the root of each change; `stat` is one line a file.
 */
export function* diffBranch(
  syscalls: Syscalls,
  directory: string,
  branch: Branch,
  changes: readonly Change[],
  form: DiffForm,
): Generator<Uint8Array> {
  yield new Uint8Array(0)
  throw new SassError('INTERNAL', `Not built: ${[syscalls, directory, branch, changes, form].length}.`)
}
