/**
 * Compares the facts of two files: what of them differs besides their content, and the part of them that is shown.
 * @module
 */

import type { FileFacts, MetadataKind } from './changes.ts'
import type { Node } from './finding.ts'
import { differingAttributes } from './inspect.node.ts'

export function metadataOf(before: Node, after: Node): { kinds: MetadataKind[]; attributes: string[] } {
  const kinds: MetadataKind[] = []
  if (before.mode !== after.mode && after.type !== 'symlink') kinds.push('mode')
  if (before.uid !== after.uid || before.gid !== after.gid) kinds.push('owner')
  if (before.modifiedNs !== after.modifiedNs) kinds.push('time')
  const attributes = differingAttributes(before.attributes, after.attributes)
  if (attributes.length > 0) kinds.push('attributes')
  return { kinds, attributes }
}

export function factsOf(node: Node, sha256?: string): FileFacts {
  const { type, mode, uid, gid, sizeBytes, modifiedNs, target, device } = node
  return {
    type,
    mode,
    uid,
    gid,
    sizeBytes,
    modifiedNs,
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(target === undefined ? {} : { target }),
    ...(device === undefined ? {} : { device }),
  }
}

export function isSameSpecial(before: Node, after: Node): boolean {
  if (before.type === 'symlink')
    return Buffer.compare(before.target ?? Buffer.of(), after.target ?? Buffer.of()) === 0
  return String(before.device) === String(after.device)
}
