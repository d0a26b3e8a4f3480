/**
 * The upper layer of what a session may read: a directory in memory with whiteouts for what is not there, lying over the
 * real one. The kernel reads it as deleted; there is no mount that could fall off, and whoever keeps a descriptor finds
 * no more with it. The directories on the way look like the real ones, since their modes and owners are what is seen.
 * Sources: overlayfs.rst (whiteouts and opaque directories), mknod(2).
 * @module
 */

import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { AT_FDCWD } from '../at.node.ts'
import type { Kernel } from './kernel.node.ts'

/** A character device with the number 0: S_IFCHR. */
const WHITEOUT_MODE = 0o020000
/** What a session sees in the place of a real file. */
export type Substitute = { readonly path: string; readonly text: string }

/** Mode and owner of a real directory; a user without rights over owners leaves its own. */
function likeReal(layer: string, real: string): void {
  const { mode, uid, gid } = lstatSync(real)
  try {
    chownSync(layer, uid, gid)
  } catch {
    // In a user namespace nobody else's number is known.
  }
  chmodSync(layer, mode & 0o7777)
}

/**
 * Fills `layer`, an empty directory, for the place at `real`. `hidden`: paths beneath it that are there, none beneath
 * another one.
 */
export function makeHideLayer(
  kernel: Kernel,
  layer: string,
  real: string,
  hidden: readonly string[],
  substitutes: readonly Substitute[],
): void {
  const made = new Set<string>([real])
  likeReal(layer, real)
  const at = (path: string): string => `${layer}${path.slice(real === '/' ? 0 : real.length)}`
  const makeWay = (directory: string): void => {
    if (made.has(directory)) return
    makeWay(dirname(directory))
    made.add(directory)
    mkdirSync(at(directory))
    likeReal(at(directory), directory)
  }
  for (const path of hidden) {
    makeWay(dirname(path))
    const target = Buffer.from(`${at(path)}\0`)
    kernel.must(`whiteout ${path}`, kernel.syscalls.byNumber('mknodat', AT_FDCWD, target, WHITEOUT_MODE, 0))
  }
  for (const { path, text } of substitutes) {
    makeWay(dirname(path))
    writeFileSync(at(path), text, { mode: 0o644 })
  }
}
