/**
 * What a human has to look at twice: files that the host runs or obeys without being asked, repositories of git that are
 * not called so, links that lead out, and rights that outlive the branch.
 * Sources: inode(7), symlink(7), capabilities(7), gitrepository-layout(5).
 * @module
 */

import { isAccessList } from '../files/attributes-text.ts'
import type { FileFacts, Flag } from '../files/changes.ts'
import { type BytePath, bytePath } from '../files/paths.ts'
import { hostObeys } from './host-obeys.ts'

/**
 * What git looks for to take a directory for a repository, each of these: of a worktree, and of what it shares with
 * others, only one half lies in one place.
 */
const MAKES_REPOSITORY: readonly (readonly BytePath[])[] = [
  ['objects', 'refs'],
  ['HEAD', 'commondir'],
]
/** And what it obeys in one. */
const OBEYED_IN_REPOSITORY: ReadonlySet<BytePath> = new Set([
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'hooks', 'info', 'modules', 'worktrees'],
])

const SETUID = 0o4000
const SETGID = 0o2000
const WORLD_WRITE = 0o002
const STICKY = 0o1000
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/
const FILE_CAPABILITY = 'security.capability'

/** True for a directory that git takes for a repository, whatever it is called: it obeys what is configured in it. */
export function isRepository(has: (name: BytePath) => boolean): boolean {
  return MAKES_REPOSITORY.some((names) => names.every(has))
}

/** True for a name that git obeys, with all beneath it, where it lies directly in a repository. */
export function isObeyedInRepository(name: BytePath): boolean {
  return OBEYED_IN_REPOSITORY.has(name)
}

/**
 * True where a link in `directory` (absolute) with this target leads out of `root`, or may: what `..` leads to behind a
 * name depends on that name, which can be a link itself. Without that no link leads out by others that do not.
 */
function leaves(root: BytePath, directory: BytePath, target: BytePath): boolean {
  const parts = target.startsWith('/') ? [] : directory.split('/').filter((part) => part !== '')
  let hasDescended = target.startsWith('/')
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') {
      hasDescended = true
      parts.push(part)
    } else if (hasDescended && root !== '/') return true
    else parts.pop()
  }
  const path = `/${parts.join('/')}`
  return root !== '/' && path !== root && !path.startsWith(`${root}/`)
}

/**
 * @param root absolute, as bytes
 * @param path absolute, as bytes
 */
export function flagsOf(
  root: BytePath,
  path: BytePath,
  after: FileFacts | undefined,
  attributes: Iterable<string>,
): Flag[] {
  const flags: Flag[] = []
  if (after !== undefined) {
    const { type, mode } = after
    if (type !== 'symlink') {
      if (type === 'file' && (mode & SETUID) !== 0) flags.push('setuid')
      if ((mode & SETGID) !== 0) flags.push('setgid')
      if ((mode & WORLD_WRITE) !== 0 && !(type === 'directory' && (mode & STICKY) !== 0))
        flags.push('world_writable')
    }
    if (type === 'fifo') flags.push('fifo')
    if (type === 'socket') flags.push('socket')
    if (type === 'character' || type === 'block') flags.push('device')
    const directory = path.slice(0, path.lastIndexOf('/'))
    if (after.target !== undefined && leaves(root, directory, bytePath(after.target)))
      flags.push('leaves_root')
  }
  const gained = [...attributes]
  if (gained.includes(FILE_CAPABILITY)) flags.push('file_capability')
  if (gained.some(isAccessList)) flags.push('access_list')
  if (CONTROL.test(path)) flags.push('control_characters')
  if (hostObeys(root, path)) flags.push('runs_on_host')
  return flags
}
