/**
 * A daemon that is not root becomes root enough: it starts itself anew, once, in a user namespace with mounts of its
 * own, where it may make namespaces for sessions. Its user, files and number stay the same.
 * Where that is refused it goes on without: then sessions have no branch, and say so.
 * Sources: user_namespaces(7), unshare(1) of util-linux 2.35 and later.
 * @module
 */

import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { BranchLevel } from '../../sandbox/branch/files/branch.ts'
import { CAP_SYS_ADMIN, effectiveCapabilities } from '../../sandbox/kernel/capabilities.node.ts'
import { loadSyscalls, type Syscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { DEFAULT_PATH } from '../../sandbox/places/environment.ts'
import { ownCommand } from './own-program.node.ts'

/** Set in the daemon that has started itself anew: it does so once, whatever came of it. Holds a word of the first one. */
const MARK = 'SASS_EDGE_NAMESPACES'
/** glibc: one arena for all threads, for an idle daemon 5 MB less. It is read before the first of them is made. */
const SMALL = { MALLOC_ARENA_MAX: '1' }
const UNSHARE = 'unshare'
const NEW_USER_NAMESPACE: readonly string[] = ['--user', '--map-current-user', '--keep-caps']
/** linux/nsfs.h: the user namespace that another namespace belongs to. */
const NS_GET_USERNS = 0xb701n
const PROBE_MS = 5_000

/** Whether whoever leaves these mounts may come back to them. */
function areMountsOurs({ libc, checked }: Syscalls): boolean {
  const mounts = openSync('/proc/self/ns/mnt', 'r')
  const owner = checked(libc.ioctl(mounts, NS_GET_USERNS, new Uint8Array(8)))
  closeSync(mounts)
  if (owner < 0) return false
  const isOurs = fstatSync(owner).ino === statSync('/proc/self/ns/user').ino
  closeSync(owner)
  return isOurs
}

/**
 * Replaces this process by one in its own namespaces where that is needed and possible; then it does not return.
 * @param level what the configuration requires
 * @param word what the new one is to know: `wordOfFirst` gives it
 * @returns why it goes on as it is, where it would have needed them; undefined where it needs none
 */
export function enterOwnNamespaces(
  level: BranchLevel,
  environment: NodeJS.ProcessEnv,
  word: string,
): string | undefined {
  if (level === 'none') return undefined
  const syscalls = loadSyscalls()
  const hasRights = effectiveCapabilities(syscalls)(CAP_SYS_ADMIN)
  if (hasRights && areMountsOurs(syscalls)) return undefined
  const options = [...(hasRights ? [] : NEW_USER_NAMESPACE), '--mount', '--']
  const what = 'so commands have no branch to run in and none is started'
  if (environment[MARK] !== undefined)
    return `The user namespace gave no right to mount, ${what}; run sass-edge doctor on this device.`
  // Asked of a program that does nothing: after the change there is nobody left to say what went wrong.
  const probe = spawnSync(UNSHARE, [...options, 'true'], {
    encoding: 'utf8',
    timeout: PROBE_MS,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (probe.error !== undefined)
    return `unshare (util-linux 2.35 or later) cannot be run (${probe.error.message}), ${what}; install it, or run the daemon as root.`
  if (probe.status !== 0) {
    const reason = probe.stderr.trim().split('\n')[0] ?? ''
    return `This device lets no user make namespaces (${reason.slice(0, 200)}), ${what}; allow it (kernel.apparmor_restrict_unprivileged_userns=0, kernel.unprivileged_userns_clone=1), or run the daemon as root.`
  }
  const program = findProgram(UNSHARE, environment.PATH ?? DEFAULT_PATH)
  if (program === undefined) return `unshare (util-linux 2.35 or later) was not found, ${what}; install it.`
  const argv = [UNSHARE, ...options, ...ownCommand()]
  process.execve?.(program, argv, { ...environment, ...SMALL, [MARK]: word })
  return undefined
}

/** Absolute, as execve wants it. */
function findProgram(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path))
}

/** What the daemon that started this one had to tell; undefined where nobody did. */
export function wordOfFirst(environment: NodeJS.ProcessEnv): string | undefined {
  return environment[MARK]
}
