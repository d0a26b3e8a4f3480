/**
 * A whole branch with its view, really made in a directory for that alone, and taken down again.
 * Rules: docs/sandbox.md.
 * @module
 */

import { closeSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemErrno, whyNotMade } from '../../base/files.node.ts'
import { SECRETS_WORD } from '../../config/caller-fields.ts'
import { READ_PLACES, SANDBOX } from '../../config/sandbox-fields.ts'
import { asSassError } from '../../errors.ts'
import { type BranchRoot, upperOf, workOf } from '../../sandbox/branch/files/branch.ts'
import { makeUpper } from '../../sandbox/branch/store/upper.node.ts'
import { overlayAttributes } from '../../sandbox/branch/threads/branch-store.node.ts'
import { ERRNO, loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { createKeeper } from '../../sandbox/namespaces/keeper.node.ts'
import type { SessionNetwork, ViewGaps } from '../../sandbox/namespaces/namespace-plan.ts'
import { threadTexts } from '../host/thread-texts.node.ts'

const MIB = 1_048_576

/** Sentences; `remedy` is empty where nothing is wrong. */
export type BranchTrial = {
  readonly state: 'ok' | 'failed'
  readonly detail: string
  readonly remedy: string
  /** ok: where the view of these lists is weaker than it should be. */
  readonly gaps?: ViewGaps
}

/** What the trial shows: that of a configuration. */
export type TriedLists = {
  readonly read: readonly string[]
  readonly hidden: readonly string[]
  readonly sockets: readonly string[]
  readonly network: SessionNetwork
  /** The daemon's own. */
  readonly own: readonly string[]
}

/** Without a configuration. */
export const SHIPPED_LISTS: TriedLists = {
  read: READ_PLACES,
  hidden: [SECRETS_WORD],
  sockets: [],
  network: SANDBOX.fields.network.default,
  own: [],
}

/** Tries a whole branch beneath `parent`, where the daemon would keep its own, with a view of these lists. */
export async function tryBranch(parent: string, lists: TriedLists = SHIPPED_LISTS): Promise<BranchTrial> {
  const syscalls = loadSyscalls()
  const wanted = join(parent, '.sass-edge-doctor-')
  let directory: string
  try {
    directory = mkdtempSync(wanted)
  } catch (error) {
    systemErrno(error)
    return {
      state: 'failed',
      detail: `No directory can be made in ${parent} to try a branch in, since ${whyNotMade(error, wanted)}.`,
      remedy: 'Name a state_directory that the daemon may write.',
    }
  }
  const keeper = createKeeper(threadTexts()?.keeper)
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
    const { descriptors: made, gaps } = await keeper.open({
      stage,
      read: lists.read,
      hidden: lists.hidden.filter((path) => path !== SECRETS_WORD),
      hidesSecrets: lists.hidden.includes(SECRETS_WORD),
      own: lists.own.filter(existsSync),
      sockets: lists.sockets,
      homes: [],
      roots: [{ kind: 'overlay', path: workspace, upper: upperOf(root), work: workOf(root), options }],
      shown: [],
      scratch: ['/tmp'],
      scratchBytes: MIB,
      kept: [],
      volatile: [],
      devices: [],
      network: lists.network,
      listens: [],
      userId: process.getuid?.() ?? 0,
      groupId: process.getgid?.() ?? 0,
      caches: [],
    })
    const seen = join(workspace, 'file').slice(1)
    writeFileSync(`/proc/self/fd/${made.root}/${seen}`, 'changed in the branch')
    const isApart = readFileSync(join(workspace, 'file'), 'utf8') === 'real'
    const { gate } = made
    const ofNetwork = [made.network, made.networkRest, gate?.names ?? -1, gate?.refusals ?? -1]
    for (const descriptor of [made.lifeline, made.mount, made.pid, made.ipc, made.root, ...ofNetwork])
      if (descriptor >= 0) closeSync(descriptor)
    await keeper.end(made.initPid)
    return isApart
      ? {
          state: 'ok',
          detail: `Commands run in a branch (level overlay, ${attributes} attributes): the real files stay as they are.`,
          remedy: '',
          gaps,
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
