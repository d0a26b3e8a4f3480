/**
 * Where programs look for whom to ask for names, and which they know without asking: in a network that the gate answers
 * for it is the gate, and nothing but the session itself, whatever the device has there, a file or a link into a
 * directory that is made anew for each session. An address that the device's own table gave would be connected to as a
 * bare one, which no name of a list lets through. It lies over those files, so that a branch holds no change of them.
 * Where the device has none, or hides it, the C libraries ask 127.0.0.1 anyway.
 * Sources: resolv.conf(5), hosts(5), openat2(2).
 * @module
 */

import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { closing } from '../../base/closing.node.ts'
import { createAt, O_DIRECTORY, O_PATH, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS } from '../kernel/at.node.ts'
import { O_CLOEXEC } from '../kernel/syscalls.node.ts'
import {
  type Kernel,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_NOSUID,
  MOUNT_ATTR_RDONLY,
  MS_BIND,
} from './kernel.node.ts'
import { makeTarget } from './view-memory.node.ts'

/** A file that programs find names by. */
export type NameFile = { readonly path: string; readonly text: () => string }

/** Debian gives the name of the device an address of its own, so that no program takes it for localhost. */
function hostsText(): string {
  const name = hostname()
  const own = /^[0-9A-Za-z_.-]{1,64}$/.test(name) && name !== 'localhost' ? `127.0.1.1 ${name}\n` : ''
  return `127.0.0.1 localhost\n${own}::1 localhost ip6-localhost ip6-loopback\n`
}

/** Where all of them look first. */
export const RESOLVER = '/etc/resolv.conf'
export const NAME_FILES: readonly NameFile[] = Object.freeze([
  { path: RESOLVER, text: () => 'nameserver 127.0.0.1\n' },
  { path: '/etc/hosts', text: hostsText },
])

/** Puts it at `path` of the view, a file of a listed place or a branch; links on the way have been made by a session. */
function layOver(
  { syscalls, mount, change }: Kernel,
  stage: string,
  root: string,
  path: string,
  file: NameFile,
): void {
  const at = createAt(syscalls)
  const top = openSync(root, O_PATH | O_DIRECTORY | O_CLOEXEC)
  const target = at.openPath(top, Buffer.from(path.slice(1)), O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
  closeSync(top)
  if (target < 0) return
  using _target = closing(target)
  if (!fstatSync(target).isFile()) return
  // Beneath the directory in memory.
  const source = `${stage}/${file.path.replaceAll('/', '-')}`
  writeFileSync(source, file.text(), { mode: 0o444 })
  mount(`bind ${path}`, source, `/proc/thread-self/fd/${target}`, '', MS_BIND, '')
  change(`${root}${path}`, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0n)
}

/**
 * Shows it in the view at `root`. `path`: what the path of `file` leads to on the device; `isPlaced`: in a listed place
 * or a branch, and not in memory.
 */
export function showNameFile(
  kernel: Kernel,
  { stage, root }: { readonly stage: string; readonly root: string },
  file: NameFile,
  path: string,
  isPlaced: boolean,
): void {
  if (isPlaced) return layOver(kernel, stage, root, path, file)
  makeTarget(`${root}${path}`, false)
  writeFileSync(`${root}${path}`, file.text(), { mode: 0o644 })
}
