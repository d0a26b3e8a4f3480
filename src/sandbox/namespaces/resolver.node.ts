/**
 * Where programs look for whom to ask for names: in a network that the gate answers for it is the gate, whatever the
 * device has there, a file or a link into a directory that is made anew for each session. It lies over that file, so
 * that a branch holds no change of it. Where the device has none, or hides it, the C libraries ask 127.0.0.1 anyway.
 * Sources: resolv.conf(5), openat2(2).
 * @module
 */

import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { createAt, O_DIRECTORY, O_PATH, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS } from '../at.node.ts'
import { O_CLOEXEC } from '../syscalls.node.ts'
import {
  type Kernel,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_NOSUID,
  MOUNT_ATTR_RDONLY,
  MS_BIND,
} from './kernel.node.ts'
import { makeTarget } from './view-memory.node.ts'

/** Where all of them look first. */
export const RESOLVER = '/etc/resolv.conf'
const RESOLVER_TEXT = 'nameserver 127.0.0.1\n'
/** Beneath the directory in memory. */
const NAME = 'resolv.conf'

/** Puts it at `path` of the view, a file of a listed place or a branch; links on the way have been made by a session. */
function layOver({ syscalls, mount, change }: Kernel, stage: string, root: string, path: string): void {
  const at = createAt(syscalls)
  const top = openSync(root, O_PATH | O_DIRECTORY | O_CLOEXEC)
  const target = at.openPath(top, Buffer.from(path.slice(1)), O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
  closeSync(top)
  if (target < 0) return
  try {
    if (!fstatSync(target).isFile()) return
    const source = `${stage}/${NAME}`
    writeFileSync(source, RESOLVER_TEXT, { mode: 0o444 })
    mount(`bind ${path}`, source, `/proc/thread-self/fd/${target}`, '', MS_BIND, '')
    change(`${root}${path}`, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0n)
  } finally {
    closeSync(target)
  }
}

/**
 * Shows it in the view at `root`. `path`: what RESOLVER leads to on the device; `isPlaced`: in a listed place or a branch,
 * and not in memory.
 */
export function showResolver(
  kernel: Kernel,
  { stage, root }: { readonly stage: string; readonly root: string },
  path: string,
  isPlaced: boolean,
): void {
  if (isPlaced) return layOver(kernel, stage, root, path)
  makeTarget(`${root}${path}`, false)
  writeFileSync(`${root}${path}`, RESOLVER_TEXT, { mode: 0o644 })
}
