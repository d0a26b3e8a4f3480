/**
 * The directories of an overlay's root as they have to be before it is mounted. The merged root shows mode, owner, times
 * and attributes of the upper directory, so that one is made like the real one; otherwise the branch would begin with
 * a change.
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'
import type { BranchRoot } from './branch.ts'

/** Makes `upper` and `work` in the root's store, which exists; what is there already stays. */
export function makeUpper(syscalls: Syscalls, root: BranchRoot): void {
  throw new SassError('INTERNAL', `Not built: ${[syscalls, root].length}.`)
}
