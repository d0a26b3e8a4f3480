/**
 * The directories of an overlay's root as they have to be before it is mounted. The merged root shows mode, owner, times
 * and attributes of the upper directory, so that one is made like the real one; otherwise the branch would begin with
 * a change.
 * @module
 */

import { lstatSync, mkdirSync } from 'node:fs'
import { closing } from '../../../base/closing.node.ts'
import { SassError } from '../../../errors.ts'
import { AT_FDCWD, createAt, O_DIRECTORY } from '../../kernel/at.node.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import { type BranchRoot, upperOf, workOf } from '../files/branch.ts'

const OWN_MODE = 0o700
/** Not one of ours: what marks a layer must not begin in it. */
const OVERLAY_ATTRIBUTE = /^(user|trusted)\.overlay\./

/** Makes `upper` and `work` in the root's store, which exists; what is there already stays. */
export function makeUpper(syscalls: Syscalls, root: BranchRoot): void {
  const at = createAt(syscalls)
  const [upper, real] = [Buffer.from(upperOf(root)), Buffer.from(root.path)]
  mkdirSync(workOf(root), { recursive: true, mode: OWN_MODE })
  if (mkdirSync(upper, { recursive: true, mode: OWN_MODE }) === undefined) return
  const must = (what: string, result: number): void => {
    if (result >= 0) return
    throw new SassError(
      'FILE_IO',
      `${what} of ${upperOf(root)} could not be set (errno ${-result}), so the branch was not made; look at the state directory's file system.`,
      { path: upperOf(root), errno: -result },
    )
  }
  const status = lstatSync(real, { bigint: true })
  const { uid, gid, mode, atimeNs, mtimeNs } = status
  must('The owner', at.setOwner(AT_FDCWD, upper, Number(uid), Number(gid)))
  const names = at.listAttributes(real)
  for (const name of typeof names === 'number' ? [] : names) {
    if (OVERLAY_ATTRIBUTE.test(Buffer.from(name).toString('latin1'))) continue
    const value = at.getAttribute(real, name)
    if (typeof value !== 'number') at.setAttribute(upper, name, value)
  }
  const descriptor = at.open(AT_FDCWD, upper, O_DIRECTORY)
  must('The directory', descriptor)
  using _descriptor = closing(descriptor)
  must('The mode', at.setMode(descriptor, Number(mode & 0o7777n)))
  must('The times', at.setTimes(AT_FDCWD, upper, { accessedNs: atimeNs, modifiedNs: mtimeNs }))
}
