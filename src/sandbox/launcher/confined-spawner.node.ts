/**
 * A second spawner, for programs that nobody has been allowed to run: they can read what anybody may read, change
 * nothing and reach no network. Its thread is made when it is first wanted, and is confined for ever:
 * - Landlock opens the file system for reading and starting, and nothing for writing; network and signals are closed
 *   where the kernel knows these rights;
 * - a seccomp filter (seccomp-filter.ts) forbids the rest: sockets, signals, modes and owners, mounts, the kernel;
 * - a daemon that is root makes the thread a user of its own, without groups and capabilities, and covers what is to
 *   stay hidden in a mount namespace of the thread. Otherwise what is hidden is left out of what Landlock opens, with
 *   the devices, and the directories on the way to it cannot be listed;
 * - each program gets limits of its own, a fixed environment, no stdin and no terminal.
 * A kernel or a container without one of these means no confined spawner: SANDBOX_UNAVAILABLE, and nothing is run.
 *
 * The user is none that anything else runs as, nobody least of all: the kernel lets a process signal a whole daemon
 * through any one of its threads that has the same user.
 *
 * Refuses terminals, and arguments that name what is hidden.
 * Sources: landlock(7), seccomp(2), kill(2), credentials(7), getrlimit(2), mount_namespaces(7).
 * @module
 */

import { randomBytes } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { isWithin } from '../../base/text/lexical-path.ts'
import { SassError } from '../../errors.ts'
import type { Child, Spawner } from '../../ports.ts'
import { CAP_KILL, CAP_SYS_ADMIN, effectiveCapabilities } from '../kernel/capabilities.node.ts'
import { loadSyscalls, type Syscalls } from '../kernel/syscalls.node.ts'
import { type Grant, grantsAround, namesHidden, readingRule, rulesetAttributes } from '../walls/fence.ts'
import { seccompFilter } from '../walls/seccomp-filter.ts'
import type { Fence } from './launcher-memory.ts'
import { createSpawner } from './spawner.node.ts'

/** Users 65520 to 65533 belong to nobody: systemd's dynamic ones end before, nobody and the last one come after. */
const CONFINED_USER = 65_529
/** linux/landlock.h */
const LANDLOCK_CREATE_RULESET_VERSION = 1
const LANDLOCK_RULE_PATH_BENEATH = 1
/** asm-generic/fcntl.h: names a file without opening it. */
const O_PATH = 0o10000000
/** asm-generic/resource.h */
const RLIMIT_CPU = 0
const RLIMIT_FSIZE = 1
const RLIMIT_CORE = 4
const RLIMIT_NPROC = 6
const RLIMIT_NOFILE = 7
const RLIMIT_AS = 9
/** A reader that needs more is no reader; none of them has to start another program. */
const LIMITS: readonly (readonly [resource: number, limit: number])[] = [
  [RLIMIT_CPU, 10],
  [RLIMIT_FSIZE, 0],
  [RLIMIT_CORE, 0],
  [RLIMIT_NPROC, 0],
  [RLIMIT_NOFILE, 64],
  [RLIMIT_AS, 268_435_456],
]
const ENVIRONMENT: readonly string[] = [
  'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  'LANG=C',
  'HOME=/nonexistent',
]
/** Reading a device can take something out of it; these give the same to everybody. */
const DEVICES = '/dev'
const OPEN_DEVICES: readonly string[] = ['/dev/null', '/dev/zero', '/dev/urandom']

export interface ConfinedOptions {
  /** CommonJS text of the bundled launcher thread; undefined starts it from its source file. */
  readonly launcherSource?: string | undefined
  /** Absolute paths that must stay unreadable; what does not exist is hidden by name only. */
  readonly hidden: readonly string[]
}

function unavailable(problem: string, details: Readonly<Record<string, unknown>> = {}): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `${problem}, so no program can be confined and none is started; run sass-edge doctor on this device.`,
    details,
  )
}

/** The real paths of what is there. @throws SassError SANDBOX_UNAVAILABLE for the root itself. */
function realPaths(paths: readonly string[]): string[] {
  const real: string[] = []
  for (const path of paths) {
    try {
      real.push(realpathSync.native(path))
    } catch {
      // Not there: nothing to read.
    }
  }
  if (real.includes('/')) throw unavailable('The whole file system is to be hidden')
  // What lies within another one is hidden with it, and cannot be covered any more once that is.
  return [...new Set(real)].filter((path) => !real.some((outer) => outer !== path && isWithin(outer, path)))
}

function entriesOf(directory: string): { name: string; isDirectory: boolean }[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => !entry.isSymbolicLink())
      .map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }))
  } catch {
    return []
  }
}

/** A ruleset that opens `grants`. Its descriptor is the caller's. */
function makeRuleset(grants: readonly Grant[], syscalls: Syscalls): number {
  const version = syscalls.byNumber('landlock_create_ruleset', 0, 0, LANDLOCK_CREATE_RULESET_VERSION)
  if (version < 1) throw unavailable(`This kernel has no Landlock (errno ${-version})`, { errno: -version })
  const attributes = rulesetAttributes(version)
  const ruleset = syscalls.byNumber('landlock_create_ruleset', attributes, attributes.length, 0)
  if (ruleset < 0) throw unavailable(`Landlock took no rules (errno ${-ruleset})`, { errno: -ruleset })
  for (const { path, isDirectory } of grants) {
    let descriptor: number
    try {
      descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW)
    } catch {
      // Gone, or not ours to look at: it stays closed.
      continue
    }
    // What has become something else meanwhile is not taken by the kernel, and stays closed.
    const rule = readingRule(descriptor, isDirectory)
    syscalls.byNumber('landlock_add_rule', ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    closeSync(descriptor)
  }
  return ruleset
}

/** What the thread has to put up on this machine. */
function planFence(hidden: readonly string[], syscalls: Syscalls): Fence & { rulesetDescriptor: number } {
  const machine = process.arch
  if (machine !== 'x64' && machine !== 'arm64') throw unavailable(`No filter is known for ${machine}`)
  const isRoot = process.geteuid?.() === 0
  const may = effectiveCapabilities(syscalls)
  if (isRoot && !may(CAP_KILL))
    throw unavailable('The daemon is root, but may not end another user’s programs')
  const isCovering = isRoot && may(CAP_SYS_ADMIN)
  const grants: Grant[] = isCovering
    ? [{ path: '/', isDirectory: true }]
    : [
        ...grantsAround([...hidden, DEVICES], entriesOf),
        ...OPEN_DEVICES.map((path) => ({ path, isDirectory: false })),
      ]
  const limitsSecret = randomBytes(8).readBigInt64LE()
  const covers = hidden.map((path) => ({ path, isDirectory: lstatSync(path).isDirectory() }))
  return {
    filter: seccompFilter(machine, limitsSecret),
    limits: LIMITS,
    limitsSecret,
    covers: isCovering ? covers : undefined,
    userId: isRoot ? CONFINED_USER : undefined,
    rulesetDescriptor: makeRuleset(grants, syscalls),
  }
}

/** False where a program runs without its limits. One that has ended is still there: nobody has waited for it. */
function isLimited(pid: number): boolean {
  try {
    return /^Max processes +0 +0 /m.test(readFileSync(`/proc/${pid}/limits`, 'latin1'))
  } catch {
    return false
  }
}

/**
 * Makes the confined spawner. `spawn` takes a plan's program, argv and directory, and nothing else of it.
 * @throws SassError SANDBOX_UNAVAILABLE where anything of the confinement cannot be had, RUNTIME_UNSUITABLE without FFI.
 */
export async function createConfinedSpawner(
  options: ConfinedOptions,
): Promise<Spawner & { close(): Promise<void> }> {
  const syscalls = loadSyscalls()
  const hidden = realPaths(options.hidden)
  const hiddenNames = [...new Set([...hidden, ...options.hidden])]
  const fence = planFence(hidden, syscalls)
  let inner: Awaited<ReturnType<typeof createSpawner>>
  try {
    inner = await createSpawner({ launcherSource: options.launcherSource, fence })
  } finally {
    syscalls.libc.close(fence.rulesetDescriptor)
  }
  return {
    spawn(plan, events) {
      if (plan.terminal !== undefined)
        throw new SassError(
          'PTY_UNAVAILABLE',
          'A confined program has no terminal, so it was not started; run it without.',
        )
      if (namesHidden(hiddenNames, plan.cwd, [plan.cwd, plan.file, ...plan.argv]))
        throw new SassError(
          'CAPABILITY_PATH_DENIED',
          'A confined program was to read what is hidden from it, so it was not started; read something else.',
        )
      const confined = { ...plan, environment: ENVIRONMENT, stdin: 'none', terminal: undefined } as const
      const child: Child = inner.spawn(confined, {
        spawned(pid) {
          if (!isLimited(pid)) child.killTree()
          events.spawned(pid)
        },
        failed: (errno) => events.failed(errno),
        output: (source, bytes) => events.output(source, bytes),
        pace: events.pace,
        stdinDrained: () => events.stdinDrained(),
        exited: (status) => events.exited(status),
      })
      return child
    },
    close: () => inner.close(),
  }
}
