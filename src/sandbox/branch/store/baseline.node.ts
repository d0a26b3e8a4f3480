/**
 * Who has changed a file since the branch was made. The change time of a file cannot be set: what has a later one than the
 * branch was changed by somebody else, unless a merge of this branch has left it so. In a copy, what has no later one than
 * the copy was not touched by the branch.
 * @module
 */

import type { BigIntStats } from 'node:fs'
import type { Change } from '../files/changes.ts'
import { type Files, namesIn, statName, withDirectory } from '../files/files.node.ts'
import type { Node } from '../files/finding.ts'
import { type BytePath, joinPath } from '../files/paths.ts'

export type BaselineInput = {
  readonly realRoot: number
  readonly upperRoot: number
  /** What has a later change time was changed by somebody else. */
  readonly baseNs: bigint
  /** Of a copy: what has no later change time has not been touched in it. */
  readonly copiedNs: bigint | undefined
  /** What merges of this branch have touched themselves: change time by inode. */
  readonly merged: ReadonlyMap<bigint, bigint>
}

export type Subtree = { readonly removed: NonNullable<Change['removed']>; readonly isChanged: boolean }

export type Baseline = {
  /** By somebody else, of a real file. */
  isChanged(stats: Pick<BigIntStats, 'ctimeNs' | 'ino'>): boolean
  isNodeChanged(node: Node): boolean
  /** What is beneath a real directory, and whether any of it was changed by somebody else. */
  subtree(top: BytePath): Subtree
  /** Of a file in a copy. */
  isUntouched(stats: BigIntStats): boolean
  /** Of all in a directory of a copy. */
  isUntouchedBeneath(top: BytePath): boolean
}

/** @param moved real directories that the branch has elsewhere: they do not count to where they were */
export function createBaseline(
  files: Files,
  input: BaselineInput,
  moved: ReadonlyMap<BytePath, BytePath>,
): Baseline {
  const { baseNs, copiedNs, merged, realRoot, upperRoot } = input
  const isChanged: Baseline['isChanged'] = ({ ctimeNs, ino }) =>
    ctimeNs > baseNs && merged.get(ino) !== ctimeNs

  const isUntouched: Baseline['isUntouched'] = ({ ctimeNs }) => copiedNs !== undefined && ctimeNs <= copiedNs

  return {
    isChanged,
    isUntouched,
    isNodeChanged: ({ changedNs, inode }) => isChanged({ ctimeNs: changedNs, ino: inode }),
    isUntouchedBeneath(top) {
      const waiting = [top]
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const path = next
        const isStill = withDirectory(files, upperRoot, path, (above) =>
          namesIn(above, path).every((name) => {
            const stats = statName(above, name)
            if (stats?.isDirectory()) waiting.push(joinPath(path, name))
            return stats !== undefined && isUntouched(stats)
          }),
        )
        if (isStill === false) return false
      }
      return true
    },
    subtree(top) {
      const removed = { files: 0, directories: 0, sizeBytes: 0 }
      let changed = false
      const waiting = [top]
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const path = next
        withDirectory(files, realRoot, path, (directory) => {
          for (const name of namesIn(directory, path)) {
            const inner = joinPath(path, name)
            const stats = moved.has(inner) ? undefined : statName(directory, name)
            if (stats === undefined) continue
            changed ||= isChanged(stats)
            if (stats.isDirectory()) {
              removed.directories++
              waiting.push(inner)
            } else {
              removed.files++
              if (stats.isFile()) removed.sizeBytes += Number(stats.size)
            }
          }
        })
      }
      return { removed, isChanged: changed }
    },
  }
}
