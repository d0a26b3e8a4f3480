/**
 * What a session is to see, from what is configured and from its branch: the plan that the keeper makes a view of.
 * Rules: docs/sandbox.md (what a command sees).
 * @module
 */

import { existsSync, realpathSync } from 'node:fs'
import { homedir, totalmem } from 'node:os'
import { SECRETS_WORD } from '../../config/caller-fields.ts'
import { type Branch, copyOf, upperOf, workOf } from '../branch/files/branch.ts'
import type { ListenPlace, NamespacePlan, RootMount, SessionNetwork } from '../namespaces/namespace-plan.ts'
import { RESOLVER } from '../namespaces/resolver.node.ts'
import { CACHE_DIRECTORIES } from './environment.ts'
import type { PlaceUser } from './place.ts'

/** What is configured of it, the same for all sessions. */
export type PlanOptions = {
  readonly devices: readonly string[]
  readonly memoryDirectoryBytes: number | null
  /** What a session can read beside its branches, and what of it is not there. */
  readonly read: readonly string[]
  readonly hidden: readonly string[]
  /** Unix sockets of the device that a session may connect to. */
  readonly sockets: readonly string[]
  /** The daemon's own, which no session sees by any name. */
  readonly own: () => readonly string[]
  /** An existing directory of the daemon's own, for putting views together. */
  readonly stage: string
}

/** Directories that every program expects to write in, and what of them must stay: how names are resolved. */
const SCRATCH: readonly string[] = ['/tmp', '/var/tmp', '/run', '/var/run']
const MEMORY_SHARE = 4
/** What /etc/resolv.conf leads to, where that lies in a directory that is empty for the session. */
function keptFiles(): string[] {
  try {
    const real = realpathSync(RESOLVER)
    return SCRATCH.some((path) => real.startsWith(`${path}/`)) ? [real] : []
  } catch {
    return []
  }
}

function rootMounts(branch: Branch): RootMount[] {
  // A directory that is renamed and a file with several names behave as outside; only the kernel's own marks can tell.
  const options = branch.attributes === 'trusted' ? 'redirect_dir=on,index=on' : 'userxattr'
  return branch.roots.map((root) =>
    branch.level === 'copy'
      ? { kind: 'bind', path: root.path, source: copyOf(root) }
      : { kind: 'overlay', path: root.path, upper: upperOf(root), work: workOf(root), options },
  )
}

/** What is to be seen in that branch by commands of that user; undefined: the daemon's own. */
export function sessionPlan(
  options: PlanOptions,
  branch: Branch,
  user: PlaceUser | undefined,
  network: SessionNetwork,
  listens: readonly ListenPlace[] = [],
): NamespacePlan {
  const home = user?.home ?? homedir()
  return {
    stage: options.stage,
    roots: rootMounts(branch),
    read: options.read,
    hidden: options.hidden.filter((path) => path !== SECRETS_WORD),
    hidesSecrets: options.hidden.includes(SECRETS_WORD),
    own: options.own().filter(existsSync),
    sockets: options.sockets,
    shown: branch.shown ?? [],
    scratch: SCRATCH,
    scratchBytes: options.memoryDirectoryBytes ?? Math.floor(totalmem() / MEMORY_SHARE),
    kept: network === 'gate' ? [] : keptFiles(),
    volatile: branch.volatile,
    devices: options.devices,
    network,
    listens,
    userId: user?.userId ?? process.getuid?.() ?? 0,
    groupId: user?.groupId ?? process.getgid?.() ?? 0,
    homes: [home],
    caches: CACHE_DIRECTORIES,
  }
}
