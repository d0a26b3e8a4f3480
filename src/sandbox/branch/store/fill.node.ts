/**
 * A whole copy in the place of an overlay, for file systems that can hold none: measured first, then copied, as reflinks
 * where the file system can.
 * @module
 */

import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { closing } from '../../../base/closing.node.ts'
import { isWithin } from '../../../base/text/lexical-path.ts'
import { SassError } from '../../../errors.ts'
import type { Syscalls } from '../../kernel/syscalls.node.ts'
import { type Branch, type BranchRoot, copyOf } from '../files/branch.ts'
import { createFiles, type Files, namesIn, openRoot, statName, withDirectory } from '../files/files.node.ts'
import { type BytePath, joinPath } from '../files/paths.ts'
import { copyTree } from './copy-tree.node.ts'

const MODE = 0o700

function refusal(problem: string): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${problem}, so the session has no branch and nothing was started; run sass-edge doctor on this device.`,
  )
}

/** Bytes of the files beneath, up to just over `limitBytes`. */
function measure(files: Files, path: string, limitBytes: number): number {
  let bytes = 0
  const root = openRoot(path)
  using _root = closing(root)
  const waiting: BytePath[] = ['']
  for (let next = waiting.pop(); next !== undefined && bytes <= limitBytes; next = waiting.pop()) {
    const here = next
    withDirectory(files, root, here, (directory) => {
      for (const name of namesIn(directory, here)) {
        const stats = statName(directory, name)
        if (stats?.isDirectory()) waiting.push(joinPath(here, name))
        else bytes += Number(stats?.size ?? 0)
      }
    })
  }
  return bytes
}

function fillRoot(syscalls: Syscalls, root: BranchRoot): string {
  const copy = copyOf(root)
  mkdirSync(copy, { mode: MODE })
  const [from, to] = [openRoot(root.path), openRoot(copy)]
  using _both = closing(from, to)
  copyTree(createFiles(syscalls), from, to, new Map())
  const probe = join(root.store, 'copied')
  mkdirSync(probe, { mode: MODE })
  return String(statSync(probe, { bigint: true }).ctimeNs)
}

/**
 * Copies every root of a branch.
 * @returns for each root, the time when its copy was complete (`copiedNs`)
 * @throws SassError SANDBOX_UNAVAILABLE where they are larger than `limitBytes`, or hold their own copy
 */
export function fillCopies(syscalls: Syscalls, branch: Branch, limitBytes: number): readonly string[] {
  let bytes = 0
  for (const { path, store } of branch.roots) {
    if (isWithin(path, store))
      throw refusal(`${path} holds the state directory and cannot be copied into itself`)
    bytes += measure(createFiles(syscalls), path, limitBytes - bytes)
    if (bytes > limitBytes)
      throw refusal(`The branched directories hold more than the ${limitBytes} bytes of sandbox.copy_bytes`)
  }
  return branch.roots.map((root) => fillRoot(syscalls, root))
}
