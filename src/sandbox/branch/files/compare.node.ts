/**
 * Compares the facts of two files: what of them differs besides their content, and the part of them that is shown.
 * @module
 */

import { SURVEY_BEFORE_BYTES } from '../../limits.ts'
import type { Change, ContentDigest, MetadataKind } from './changes.ts'
import type { Node } from './finding.ts'
import { differingAttributes } from './inspect.node.ts'
import type { BytePath } from './paths.ts'
import type { FileAt, Reader } from './reader.node.ts'

/** What differs, as a change has it: absent where nothing does. */
export function metadataOf(before: Node, after: Node): Pick<Change, 'metadata' | 'attributes'> {
  const kinds: MetadataKind[] = []
  if (before.mode !== after.mode && after.type !== 'symlink') kinds.push('mode')
  if (before.uid !== after.uid || before.gid !== after.gid) kinds.push('owner')
  if (before.modifiedNs !== after.modifiedNs) kinds.push('time')
  const attributes = differingAttributes(before.attributes, after.attributes)
  if (attributes.length > 0) kinds.push('attributes')
  return {
    metadata: kinds.length > 0 ? kinds : undefined,
    attributes: attributes.length > 0 ? attributes : undefined,
  }
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
  old: FileAt,
  now: FileAt,
  path: BytePath,
): {
  isSame: boolean
  digests: readonly [before: ContentDigest | undefined, after: ContentDigest | undefined]
} {
  const [before, after] = [old.node, now.node]
  if (before.type !== 'file') return { isSame: isSameSpecial(before, after), digests: [undefined, undefined] }
  if (before.sizeBytes === after.sizeBytes) return reader.compare(old, now, path)
  const digest = before.sizeBytes <= SURVEY_BEFORE_BYTES ? reader.digest(old, path) : undefined
  return { isSame: false, digests: [digest, reader.digest(now, path)] }
}
