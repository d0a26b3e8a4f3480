/**
 * Compares the facts of two files: what of them differs besides their content, and the part of them that is shown.
 * @module
 */

import { SURVEY_BEFORE_BYTES } from '../../limits.ts'
import type { ContentDigest, MetadataKind } from './changes.ts'
import type { Node } from './finding.ts'
import { differingAttributes } from './inspect.node.ts'
import type { BytePath } from './paths.ts'
import type { Reader } from './reader.node.ts'

export function metadataOf(before: Node, after: Node): { kinds: MetadataKind[]; attributes: string[] } {
  const kinds: MetadataKind[] = []
  if (before.mode !== after.mode && after.type !== 'symlink') kinds.push('mode')
  if (before.uid !== after.uid || before.gid !== after.gid) kinds.push('owner')
  if (before.modifiedNs !== after.modifiedNs) kinds.push('time')
  const attributes = differingAttributes(before.attributes, after.attributes)
  if (attributes.length > 0) kinds.push('attributes')
  return { kinds, attributes }
}

/** The node itself with the digest: a list of many files holds each once. */
export function factsOf(node: Node, digest?: ContentDigest): Node {
  return digest === undefined ? node : { ...node, ...digest }
}

function isSameSpecial(before: Node, after: Node): boolean {
  if (before.type === 'symlink')
    return Buffer.compare(before.target ?? Buffer.of(), after.target ?? Buffer.of()) === 0
  return String(before.device) === String(after.device)
}

/** Whether two of the same type have the same content, and the digests of what was read for it. */
export function contents(
  reader: Reader,
  real: readonly [directory: number, name: BytePath],
  before: Node,
  above: readonly [directory: number, name: BytePath],
  after: Node,
  path: BytePath,
): {
  isSame: boolean
  digests: readonly [before: ContentDigest | undefined, after: ContentDigest | undefined]
} {
  if (before.type !== 'file') return { isSame: isSameSpecial(before, after), digests: [undefined, undefined] }
  const [old, now] = [
    { directory: real[0], name: real[1], node: before },
    { directory: above[0], name: above[1], node: after },
  ]
  if (before.sizeBytes === after.sizeBytes) return reader.compare(old, now, path)
  const digest = before.sizeBytes <= SURVEY_BEFORE_BYTES ? reader.digest(old, path) : undefined
  return { isSame: false, digests: [digest, reader.digest(now, path)] }
}
