/**
 * What this device offers to keep commands apart, found by trying it: a branch is really made, in a directory for that
 * alone, and taken down again. Nothing else is changed.
 * Each finding says what it means and, where something is missing, what to change.
 * Rules: docs/sandbox.md.
 * @module
 */

import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Config } from '../../config/config.ts'
import type { Weakness } from '../../defense/facts.ts'
import { WEAKNESS_TEXTS } from '../../defense/opaque.ts'
import { AT_FDCWD, createAt, O_DIRECTORY, O_PATH, RESOLVE_IN_ROOT } from '../../sandbox/kernel/at.node.ts'
import { loadSyscalls, type Syscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { areProcessesBounded, openControlGroups } from '../../sandbox/launcher/control-groups.node.ts'
import { landlockVersion } from '../../sandbox/launcher/shield.node.ts'
import { weaknessesOf } from '../../sandbox/places/weaknesses.ts'
import { isClockSet } from '../host/clock.node.ts'
import { ownPlaces } from '../policy/policy.node.ts'
import { whatIsNotKept } from '../state/state-place.node.ts'
import { type BranchTrial, SHIPPED_LISTS, type TriedLists, tryBranch } from './branch-trial.node.ts'
import { DISK_WARN_BYTES } from './preflight-device.node.ts'
import { checkWritable } from './preflight-files.node.ts'
import { checkState } from './preflight-state.node.ts'

export type Finding = {
  readonly name: string
  /** `missing`: something works less well or less safely without it; `failed`: commands do not run. */
  readonly state: 'ok' | 'missing' | 'failed'
  readonly text: string
}

const MIB = 1_048_576
/** Landlock's version that keeps signals and abstract sockets among the commands. */
const SCOPE_VERSION = 6
function ok(name: string, text: string): Finding {
  return { name, state: 'ok', text }
}

function missing(name: string, text: string): Finding {
  return { name, state: 'missing', text }
}

/** What it means that something is there, or that it is not. */
function either(name: string, isThere: boolean, there: string, without: string): Finding {
  return isThere ? ok(name, there) : missing(name, without)
}

function branchFinding({ state, detail, remedy }: BranchTrial): Finding {
  return { name: 'branch', state, text: `${detail} ${remedy}`.trim() }
}

const listOf = (paths: readonly string[]): string => paths.join(', ')

/** What the view of these lists is like; nothing where none could be made, which is told already. */
function viewFindings({ gaps }: BranchTrial, { read, hidden }: TriedLists): Finding[] {
  if (gaps === undefined) return []
  const { covered, refused } = gaps
  const found: Finding[] = []
  if (covered.length > 0)
    found.push(
      missing(
        'view',
        `No overlay can lie over ${listOf(covered)} (level covered): what is hidden there is covered instead of absent, and a socket of the device in it can be connected to; take it out of sandbox.read, or list what is needed of it.`,
      ),
    )
  if (refused.length > 0)
    found.push(
      missing(
        'view',
        `${listOf(refused)} would show the daemon's own files and cannot be made without them, so commands find nothing there; take it out of the list, or move the state directory.`,
      ),
    )
  if (found.length > 0) return found
  const there = read.filter(existsSync).length
  const without = hidden.length === 0 ? 'and nothing in it is hidden' : 'without what is hidden in it'
  return [
    ok(
      'view',
      `Of the device commands see the ${there} places of sandbox.read that are there, ${without}, and what they work on.`,
    ),
  ]
}

/** What becomes of code, build tools, terminals and programs that nobody knows. */
function opaqueFinding(weak: readonly Weakness[]): Finding {
  return either(
    'opaque',
    weak.length === 0,
    'Commands that nobody has read (code, build tools, a terminal) run: they reach nothing but what is listed.',
    `Commands that nobody has read (code, build tools, a terminal) could reach the device, since ${weak.map((one) => WEAKNESS_TEXTS[one]).join(', and ')}: security.opaque says what happens to them, as shipped a human is asked about each.`,
  )
}

function who(): Finding {
  const user = process.geteuid?.() ?? -1
  if (user === 0)
    return ok('user', 'The daemon is root: renaming directories and hard links work in a branch as outside.')
  return ok(
    'user',
    `The daemon is user ${user}, in a user namespace of its own: in a branch, renaming a directory that is not new fails with EXDEV (mv copies instead), and a hard link is broken by the first write.`,
  )
}

function layers(syscalls: Syscalls): Finding[] {
  const version = landlockVersion(syscalls)
  const at = createAt(syscalls)
  const opened = syscalls.byNumber(
    'openat2',
    AT_FDCWD,
    Buffer.from('/\0'),
    BigUint64Array.of(BigInt(O_PATH | O_DIRECTORY), 0n, BigInt(RESOLVE_IN_ROOT)),
    24,
  )
  if (opened >= 0) at.close(opened)
  const { bounds } = openControlGroups()
  return [
    either(
      'landlock',
      version >= SCOPE_VERSION,
      `Version ${version}: signals and abstract sockets of commands stay among them.`,
      version === 0
        ? 'This kernel has no Landlock: namespaces alone keep commands apart; a kernel from 6.12 on with lsm=landlock adds a layer.'
        : `Version ${version} has no scopes: abstract sockets of the device can be reached where the network is the host's; a kernel from 6.12 on closes them.`,
    ),
    either(
      'openat2',
      opened >= 0,
      'Paths of transfers are resolved by the kernel within the branch.',
      'This kernel (before 5.6) resolves no path within a directory: paths are walked part by part, and links in them refused.',
    ),
    either(
      'memory',
      bounds.memory,
      'The memory of a session is bounded by a control group.',
      'No control group for memory may be made: a command can take all memory of the device; run under systemd with Delegate=yes, or as root.',
    ),
    either(
      'processes',
      areProcessesBounded({ bounds }),
      bounds.processes
        ? 'The processes of a session are bounded by a control group.'
        : 'The processes of the daemon’s user are bounded together (RLIMIT_NPROC).',
      'No control group for processes may be made, and root is bounded by nothing else: a fork bomb can fill the device; run under systemd with Delegate=yes, or as another user.',
    ),
    either(
      'cpu',
      bounds.cpu,
      'The processor time of a session can be bounded by a control group (sandbox.limits.cpu_percent).',
      'No control group for the processor may be made, so sandbox.limits.cpu_percent bounds nothing: a command can take all of its time; run under systemd with Delegate=yes, or as root.',
    ),
  ]
}

function surroundings(state: string): Finding[] {
  const { bavail, bsize } = statfsSync(state)
  const free = bavail * bsize
  return [
    free < DISK_WARN_BYTES
      ? missing('disk', `${Math.floor(free / MIB)} MiB are free at ${state}, where branches grow; make room.`)
      : ok('disk', `${Math.floor(free / MIB)} MiB are free at ${state}.`),
    isClockSet(Date.now())
      ? ok('clock', `The clock says ${new Date().toISOString().slice(0, 19)}Z.`)
      : missing(
          'clock',
          `The clock was never set: it says ${new Date().toISOString().slice(0, 19)}Z, before this program was built. The daemon works; its record has wrong times; install a time service.`,
        ),
  ]
}

/** Whether this program may use the state of the installation, and whether that will be there tomorrow. */
function stateOf(config: Config): Finding[] {
  const { ok: isFit, detail, remedy } = checkState(config)
  const volatile = whatIsNotKept(config)
  const kept = checkWritable('state_directory', config.state_directory)
  return [
    isFit
      ? ok('state', `${detail}.`)
      : { name: 'state', state: 'failed', text: `${detail}: ${remedy ?? ''}.` },
    ...(kept.ok
      ? []
      : [
          {
            name: 'state',
            state: 'failed' as const,
            text: `${kept.detail}: nothing runs unrecorded, so the daemon does not start; ${kept.remedy}.`,
          },
        ]),
    ...(volatile === undefined ? [] : [missing('state', `${volatile}; put it on a disk.`)]),
  ]
}

/** The nearest directory that is there and can be written: the state directory, or where the daemon would make it. */
function stateDirectory(config: Config | undefined): string {
  const wanted = config?.state_directory
  if (wanted === undefined || !existsSync(wanted)) return tmpdir()
  try {
    accessSync(wanted, constants.W_OK)
    return wanted
  } catch {
    return tmpdir()
  }
}

/** A branch and the view of what is listed, really made. */
async function branchAndView(state: string, config: Config | undefined, configPath: string | undefined) {
  const lists =
    config === undefined ? SHIPPED_LISTS : { ...config.sandbox, own: ownPlaces(config, configPath) }
  const trial = await tryBranch(state, lists)
  const { network, sockets } = lists
  const isCovered = (trial.gaps?.covered.length ?? 0) > 0
  const isUnbounded = !areProcessesBounded(openControlGroups())
  const given = { network, sockets, devices: config?.sandbox.devices ?? [] }
  return [
    branchFinding(trial),
    ...viewFindings(trial, lists),
    ...(trial.gaps === undefined ? [] : [opaqueFinding(weaknessesOf(given, { isCovered, isUnbounded }))]),
  ]
}

/**
 * Looks at everything, and changes nothing. `config` undefined: the device as it is, without an installation.
 * `configPath`: the file that it is from.
 */
export async function examine(config: Config | undefined, configPath?: string): Promise<readonly Finding[]> {
  const syscalls = loadSyscalls()
  const state = stateDirectory(config)
  const isBare = config?.sandbox.require === 'none'
  return [
    who(),
    ...(isBare
      ? [
          missing('branch', 'sandbox.require is none: commands run on the real files.'),
          opaqueFinding(['real_files']),
        ]
      : await branchAndView(state, config, configPath)),
    ...layers(syscalls),
    ...surroundings(state),
    ...(config === undefined ? [] : stateOf(config)),
  ]
}
