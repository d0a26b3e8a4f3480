/**
 * The upper layer of what a session may read: a directory in memory with whiteouts for what is not there, lying over the
 * real one. The kernel reads it as deleted; there is no mount that could fall off, and whoever keeps a descriptor finds
 * no more with it. The directories on the way look like the real ones, since their modes and owners are what is seen.
 * Sources: overlayfs.rst (whiteouts and opaque directories), mknod(2).
 * @module
 */

import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { bytesOfEscaped, escapedText } from '../../base/text/escaped-path.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import { AT_FDCWD } from '../kernel/at.node.ts'
import type { Kernel } from './kernel.node.ts'
import { kernelPath, seenFile, seenOnce } from './seen-file.node.ts'

/** A character device with the number 0: S_IFCHR. */
const WHITEOUT_MODE = 0o020000
/** A directory with this mark hides what lies beneath it in lower layers. */
const OPAQUE_MARKS: readonly string[] = ['trusted.overlay.opaque', 'user.overlay.opaque']
const OPAQUE_VALUE = 'y'

/** A path (escaped-path.ts) that is not there; where other places lie beneath it, it is a directory with nothing but the ways to them. */
export type Absent = { readonly path: string; readonly ways: readonly string[] }

/** What a session sees in the place of a real file. */
export type Substitute = { readonly path: string; readonly text: string }

/** Mode and owner of a real directory; a user without rights over owners leaves its own. */
function likeReal(layer: string, real: string): void {
  const seen = seenFile(real)
  // It has gone in this very moment.
  if (seen === undefined) return
  const { mode, uid, gid } = seen
  try {
    chownSync(kernelPath(layer), uid, gid)
  } catch {
    // In a user namespace nobody else's number is known.
  }
  chmodSync(kernelPath(layer), mode & 0o7777)
}

/**
 * Fills `layer`, an empty directory, for the place at `real`. `absent`: paths beneath it, none beneath another one.
 * True where the kernel reads its marks only with `userxattr`.
 */
export function makeHideLayer(
  kernel: Kernel,
  layer: string,
  real: string,
  absent: readonly Absent[],
  substitutes: readonly Substitute[],
): boolean {
  const made = new Set<string>([real])
  let needsUserMarks = false
  likeReal(layer, real)
  const at = (path: string): string => `${layer}${path.slice(real === '/' ? 0 : real.length)}`
  const makeWay = (directory: string): void => {
    if (made.has(directory)) return
    makeWay(dirname(directory))
    made.add(directory)
    mkdirSync(kernelPath(at(directory)))
    likeReal(at(directory), directory)
  }
  const whiteOut = (path: string): void => {
    makeWay(dirname(path))
    const target = bytesOfEscaped(`${at(path)}\0`)
    kernel.must(`whiteout ${path}`, kernel.syscalls.byNumber('mknodat', AT_FDCWD, target, WHITEOUT_MODE, 0))
  }
  const isOpaque = (path: string): boolean =>
    OPAQUE_MARKS.some((mark) => {
      const [target, name] = [bytesOfEscaped(`${at(path)}\0`), Buffer.from(`${mark}\0`)]
      const value = Buffer.from(OPAQUE_VALUE)
      const result = kernel.syscalls.byNumber('lsetxattr', target, name, value, value.length, 0)
      if (result === 0 && mark.startsWith('user.')) needsUserMarks = true
      return result === 0
    })
  /** What is there now and on no way, one by one: for a kernel that takes no mark here. */
  const whiteOutAround = (directory: string, ways: readonly string[]): void => {
    for (const name of readdirSync(kernelPath(directory), { encoding: 'buffer' })) {
      const path = `${directory}/${escapedText(name)}`
      if (!ways.some((way) => isWithin(path, way))) whiteOut(path)
      else if (!ways.includes(path)) whiteOutAround(path, ways)
    }
  }
  const seen = seenOnce()
  for (const { path, ways } of absent) {
    // Whatever lay there has gone with its directory since it was looked for.
    if (seen(dirname(path)) === undefined) continue
    if (ways.length === 0) {
      whiteOut(path)
      continue
    }
    makeWay(path)
    for (const way of ways) makeWay(way)
    if (!isOpaque(path)) whiteOutAround(path, ways)
  }
  for (const { path, text } of substitutes) {
    makeWay(dirname(path))
    writeFileSync(at(path), text, { mode: 0o644 })
  }
  return needsUserMarks
}
