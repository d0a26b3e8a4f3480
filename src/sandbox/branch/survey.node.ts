/**
 * Finds what a branch would change: reads what lies above each root, compares it with the real files, and says what is
 * there, never what somebody claims. Nothing is followed, nothing is written, and what cannot be read makes the survey
 * fail: a mark that is missed would bring deleted files back.
 * The branch must not be mounted and nothing may run in it; otherwise the result is a preview.
 * Rules: docs/sandbox.md (review); the kernel's Documentation/filesystems/overlayfs.rst.
 * @module
 */

import { SassError } from '../../errors.ts'
import type { Syscalls } from '../syscalls.node.ts'
import type { Branch } from './branch.ts'
import type { Survey } from './changes.ts'

/**
 * What the branch would change, complete.
 * @param directory of the branch, where the record of its earlier merges lies
 * @throws SassError FILE_IO where a part of the branch or of the real files cannot be read, or is not understood
 */
export function surveyBranch(syscalls: Syscalls, directory: string, branch: Branch): Survey {
  throw new SassError('INTERNAL', `Not built: ${typeof syscalls} ${directory} ${branch.session}.`)
}
