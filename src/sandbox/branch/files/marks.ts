/**
 * Marks of overlays among extended attributes. Those that the kernel makes are understood one by one, and any other ends a
 * look: a mark that is passed over would show a branch as it is not. And an attribute that a session gives to a file and
 * that an overlay elsewhere would take for a mark goes into no real file, where it would hide or break the file in the
 * next branch.
 * Sources: fs/overlayfs/overlayfs.h; Documentation/filesystems/overlayfs.rst, "Nesting overlayfs mounts".
 * @module
 */

import { visible } from '../../../base/text/visible.ts'
import { SassError } from '../../../errors.ts'
import type { OverlayAttributes } from './branch.ts'
import { type BytePath, bytePath, pathBytes } from './paths.ts'
import { shownBytes } from './text.ts'

/** What the kernel writes by itself, with the options that a branch is mounted with. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  ...['opaque', 'whiteout', 'origin', 'impure', 'nlink', 'upper', 'uuid', 'protattr'],
])
const WOULD_BE_MARK = /^(?:user|trusted)\.overlay\./

export type FoundAttributes = {
  readonly shown: ReadonlyMap<string, Uint8Array>
  readonly marks: ReadonlyMap<string, Uint8Array>
}

/**
 * @param overlay undefined: of a copy, which has no marks
 * @param before of the real file, where there is one
 * @throws SassError FILE_IO
 */
export function checkMarks(
  path: BytePath,
  { shown, marks }: FoundAttributes,
  overlay: OverlayAttributes | undefined,
  before: ReadonlyMap<string, Uint8Array> | undefined,
): void {
  const name = shownBytes(pathBytes(path)) || '.'
  for (const mark of marks.keys()) {
    if (UNDERSTOOD.has(mark) || (mark === 'redirect' && overlay === 'trusted')) continue
    throw new SassError(
      'FILE_IO',
      `${name} has the mark ${visible(mark)}, which no overlay of this daemon makes, so nothing is shown or merged of this branch; look who changed it, and drop it.`,
      { path: name },
    )
  }
  for (const [attribute, value] of shown) {
    if (!WOULD_BE_MARK.test(attribute)) continue
    const old = before?.get(attribute)
    if (old !== undefined && bytePath(old) === bytePath(value)) continue
    throw new SassError(
      'FILE_IO',
      `${name} was given the attribute ${visible(attribute)}, which an overlay would take for its own mark in a real file, so nothing is shown or merged of this branch; remove it there with setfattr -x, or drop the branch.`,
      { path: name },
    )
  }
}
