/**
 * Paths as a human names them, made paths of a branch: absolute, or from the workspace, as those of commands and copies
 * are. One above roots means all that is beneath; one outside of all of them means nothing, and is refused.
 * @module
 */

import { decodeUtf8, encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { visible } from '../../../base/text/visible.ts'
import type { BranchRoot } from '../files/branch.ts'
import { type BytePath, bytePath, isBeneath, pathBytes } from '../files/paths.ts'
import type { NamedPath } from './branch-work.ts'

export type ChosenPaths =
  | { readonly ok: true; readonly paths: readonly NamedPath[] }
  | { readonly ok: false; readonly problem: string }

/** `a/b` of `/a//b/./`; undefined where it leads upwards. */
function plain(path: BytePath): BytePath | undefined {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.includes('..') ? undefined : parts.join('/')
}

/** For an eye: its text, and every byte that is none by its number. */
export function shownPath(path: Uint8Array): string {
  const text = decodeUtf8(path)
  if (text !== undefined) return visible(text)
  return Array.from(path, (byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('')
}

function choose(
  base: string,
  roots: readonly BranchRoot[],
  named: Uint8Array,
): readonly NamedPath[] | undefined {
  const text = bytePath(named)
  const plainBase = plain(bytePath(encodeUtf8(base))) ?? ''
  const plainRoots = roots.map((root) => plain(bytePath(encodeUtf8(root.path))) ?? '')
  const relative = plain(text)
  if (relative === undefined) return undefined
  const whole = text.startsWith('/') ? relative : [plainBase, relative].filter(Boolean).join('/')
  const within = plainRoots
    .map((root, index) => ({ root, index }))
    .filter(({ root }) => isBeneath(root, whole))
    .sort((a, b) => b.root.length - a.root.length)[0]
  if (within !== undefined) {
    const path = within.root === '' ? whole : whole.slice(within.root.length + 1)
    return [{ root: within.index, path: pathBytes(path) }]
  }
  const above = plainRoots.flatMap((root, index) =>
    isBeneath(whole, root) ? [{ root: index, path: new Uint8Array(0) }] : [],
  )
  return above.length === 0 ? undefined : above
}

/**
 * Where those paths lie in a branch with these roots.
 * @param base what relative ones are from
 */
export function choosePaths(
  base: string,
  roots: readonly BranchRoot[],
  named: readonly Uint8Array[],
): ChosenPaths {
  const paths: NamedPath[] = []
  for (const one of named) {
    const found = choose(base, roots, one)
    if (found === undefined)
      return {
        ok: false,
        problem: `${shownPath(one)} is not in the branch, which has ${roots.map(({ path }) => visible(path)).join(', ')}`,
      }
    paths.push(...found)
  }
  return { ok: true, paths }
}
