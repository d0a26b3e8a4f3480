/**
 * What this device offers to keep commands apart, found by trying it: a branch is really made, in a directory for that
 * alone, and taken down again. Nothing else is changed.
 * Each finding says what it means and, where something is missing, what to change.
 * Rules: docs/sandbox.md.
 * @module
 */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { asSassError } from '../errors.ts'
import { AT_FDCWD, createAt, O_DIRECTORY, O_PATH, RESOLVE_IN_ROOT } from '../sandbox/at.node.ts'
import { type BranchRoot, upperOf, workOf } from '../sandbox/branch/branch.ts'
import { overlayAttributes } from '../sandbox/branch/branch-store.node.ts'
import { makeUpper } from '../sandbox/branch/upper.node.ts'
import { openControlGroups } from '../sandbox/control-groups.node.ts'
import { createKeeper } from '../sandbox/namespaces/keeper.node.ts'
import { landlockVersion } from '../sandbox/shield.node.ts'
import { ERRNO, loadSyscalls, type Syscalls } from '../sandbox/syscalls.node.ts'

import { isClockSet } from './clock.node.ts'
import { checkState } from './preflight.node.ts'
import { checkWritable } from './preflight-files.node.ts'
import { whatIsNotKept } from './state-place.node.ts'
import { keeperText } from './thread-texts.node.ts'

export type Finding = {
  readonly name: string
  /** `missing`: something works less well or less safely without it; `failed`: commands do not run. */
  readonly state: 'ok' | 'missing' | 'failed'
  readonly text: string
}

const MIB = 1_048_576
/** Landlock's version that keeps signals and abstract sockets among the commands. */
const SCOPE_VERSION = 6
/** Less than this fills up within one build. */
export const DISK_WARN_BYTES = 256 * MIB

function ok(name: string, text: string): Finding {
  return { name, state: 'ok', text }
}

function missing(name: string, text: string): Finding {
  return { name, state: 'missing', text }
}

/** Sentences; `remedy` is empty where nothing is wrong. */
export type BranchTrial = {
  readonly state: 'ok' | 'failed'
  readonly detail: string
  readonly remedy: string
}

/** Tries a whole branch beneath `parent`, where the daemon would keep its own. */
export async function tryBranch(parent: string): Promise<BranchTrial> {
  const syscalls = loadSyscalls()
  const directory = mkdtempSync(join(parent, '.sass-edge-doctor-'))
  const keeper = createKeeper(keeperText())
  const attributes = overlayAttributes()
  try {
    const workspace = join(directory, 'workspace')
    mkdirSync(workspace)
    writeFileSync(join(workspace, 'file'), 'real')
    const root: BranchRoot = { path: workspace, store: join(directory, 'store'), baseNs: '0' }
    mkdirSync(root.store)
    makeUpper(syscalls, root)
    const options = attributes === 'trusted' ? 'redirect_dir=on,index=on' : 'userxattr'
    const stage = join(directory, 'view')
    mkdirSync(stage)
    const { descriptors: made } = await keeper.open({
      stage,
      read: ['/usr', '/etc'],
      hidden: [],
      hidesSecrets: true,
      own: [],
      sockets: [],
      homes: [],
      roots: [{ kind: 'overlay', path: workspace, upper: upperOf(root), work: workOf(root), options }],
      shown: [],
      scratch: ['/tmp'],
      scratchBytes: MIB,
      kept: [],
      volatile: [],
      devices: [],
      network: 'host',
      userId: process.getuid?.() ?? 0,
      groupId: process.getgid?.() ?? 0,
      caches: [],
    })
    const seen = join(workspace, 'file').slice(1)
    writeFileSync(`/proc/self/fd/${made.root}/${seen}`, 'changed in the branch')
    const isApart = readFileSync(join(workspace, 'file'), 'utf8') === 'real'
    for (const descriptor of [made.lifeline, made.mount, made.pid, made.ipc, made.root]) closeSync(descriptor)
    await keeper.end(made.initPid)
    return isApart
      ? {
          state: 'ok',
          detail: `Commands run in a branch (level overlay, ${attributes} attributes): the real files stay as they are.`,
          remedy: '',
        }
      : {
          state: 'failed',
          detail: 'A write in a branch came through to the real file.',
          remedy: 'Do not run agents on this device.',
        }
  } catch (cause) {
    const why = asSassError(cause)?.message ?? (cause instanceof Error ? cause.message : String(cause))
    return { state: 'failed', detail: why, remedy: remedyFor(asSassError(cause)?.details) }
  } finally {
    await keeper.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** What to change, by the step that was refused. */
function remedyFor(details: Readonly<Record<string, unknown>> | undefined): string {
  const step = String(details?.['step'] ?? '')
  const errno = Number(details?.['errno'] ?? 0)
  if (step.startsWith('overlay') && errno === ERRNO.EINVAL)
    return 'The file system of the state directory cannot hold an overlay, as inside a container: put state_directory on a volume of its own (ext4, xfs, btrfs, tmpfs).'
  if (step.startsWith('overlay')) return 'Load the module: modprobe overlay, and add it to /etc/modules.'
  if (step.startsWith('unshare') || step.startsWith('setns') || errno === ERRNO.EPERM)
    return 'Run the daemon as root, or let users make namespaces: kernel.unprivileged_userns_clone=1 and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns=0.'
  if (step.startsWith('mount_setattr')) return 'A kernel from 5.12 on is needed.'
  return 'See docs/sandbox.md.'
}

function branchFinding({ state, detail, remedy }: BranchTrial): Finding {
  return { name: 'branch', state, text: `${detail} ${remedy}`.trim() }
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
    version >= SCOPE_VERSION
      ? ok('landlock', `Version ${version}: signals and abstract sockets of commands stay among them.`)
      : missing(
          'landlock',
          version === 0
            ? 'This kernel has no Landlock: namespaces alone keep commands apart; a kernel from 6.12 on with lsm=landlock adds a layer.'
            : `Version ${version} has no scopes: abstract sockets of the device can be reached where the network is the host's; a kernel from 6.12 on closes them.`,
        ),
    opened >= 0
      ? ok('openat2', 'Paths of transfers are resolved by the kernel within the branch.')
      : missing(
          'openat2',
          'This kernel (before 5.6) resolves no path within a directory: paths are walked part by part, and links in them refused.',
        ),
    bounds.memory
      ? ok('memory', 'The memory of a session is bounded by a control group.')
      : missing(
          'memory',
          'No control group for memory may be made: a command can take all memory of the device; run under systemd with Delegate=yes, or as root.',
        ),
    bounds.processes
      ? ok('processes', 'The processes of a session are bounded by a control group.')
      : process.geteuid?.() === 0
        ? missing(
            'processes',
            'No control group for processes may be made, and root is bounded by nothing else: a fork bomb can fill the device; run under systemd with Delegate=yes, or as another user.',
          )
        : ok('processes', 'The processes of the daemon’s user are bounded together (RLIMIT_NPROC).'),
    bounds.cpu
      ? ok(
          'cpu',
          'The processor time of a session can be bounded by a control group (sandbox.limits.cpu_percent).',
        )
      : missing(
          'cpu',
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

/** Looks at everything, and changes nothing. `config` undefined: the device as it is, without an installation. */
export async function examine(config: Config | undefined): Promise<readonly Finding[]> {
  const syscalls = loadSyscalls()
  const state = stateDirectory(config)
  const isBare = config?.sandbox.require === 'none'
  return [
    who(),
    isBare
      ? missing('branch', 'sandbox.require is none: commands run on the real files.')
      : branchFinding(await tryBranch(state)),
    ...layers(syscalls),
    ...surroundings(state),
    ...(config === undefined ? [] : stateOf(config)),
  ]
}
