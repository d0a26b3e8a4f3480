/**
 * Puts the sandbox together for a configuration: what starts programs, what keeps branches, what makes the places that
 * sessions run in.
 * Rules: docs/sandbox.md.
 * @module
 */

import { totalmem } from 'node:os'
import { join } from 'node:path'
import { makeDirectories } from '../../base/files.node.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import type { Config } from '../../config/config.ts'
import { CLEARING_BYTES, SESSIONS_PROCESSES_FACTOR, SPAWNER_IDLE_MS } from '../../limits.ts'
import type { Clock, Log, Spawner } from '../../ports.ts'
import { type BranchBounds, createBranchBounds } from '../../sandbox/branch/threads/branch-bounds.node.ts'
import { openBranchStore } from '../../sandbox/branch/threads/branch-store.node.ts'
import type { BranchWork } from '../../sandbox/branch/threads/branch-work.ts'
import { createBranchWorker } from '../../sandbox/branch/threads/branch-worker.node.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { type ControlGroups, openControlGroups } from '../../sandbox/launcher/control-groups.node.ts'
import { withPins } from '../../sandbox/launcher/pinned.node.ts'
import { makeShield } from '../../sandbox/launcher/shield.node.ts'
import { createSleepingSpawner, type SleepingSpawner } from '../../sandbox/launcher/sleeping-spawner.node.ts'
import { createSpawner } from '../../sandbox/launcher/spawner.node.ts'
import { createKeeper } from '../../sandbox/namespaces/keeper.node.ts'
import type { NetworkGate } from '../../sandbox/places/network-gate.ts'
import type { Places } from '../../sandbox/places/place.ts'
import { createPlaces } from '../../sandbox/places/places.node.ts'
import { createProgramFinder } from '../../sandbox/places/program-finder.node.ts'
import { threadTexts } from '../host/thread-texts.node.ts'
import type { Reserve } from '../state/reserve.node.ts'
import { boundUserCounts, processLimits } from './command-limits.node.ts'
export type Sandbox = {
  /** Starts pinned programs as what they were seen to be. */
  readonly spawner: Spawner
  readonly places: Places
  readonly branches: BranchWork
  readonly bounds: BranchBounds
  /** Rejects with RUNTIME_UNSUITABLE or SANDBOX_UNAVAILABLE where programs cannot be started. */
  readonly ready: Promise<void>
  /**
   * To be called every now and then: gives up what only a caller needs, when none has been there for a while.
   * True where it did.
   */
  tick(isAlone: boolean, nowMs: number): boolean
  close(): Promise<void>
}

/**
 * What is branched. A workspace within it is a branch root of its own where something else would hide it: a place in
 * memory, as of the whole device, or the daemon's own directory.
 */
function branchRoots({ sandbox, security }: Config, covers: readonly string[]): readonly string[] {
  const workspace = security.workspace_root
  const { branch_roots } = sandbox
  const isWithinOne = branch_roots.some((root) => root !== workspace && isWithin(root, workspace))
  const isHidden = branch_roots.includes('/') || covers.some((place) => isWithin(place, workspace))
  return isWithinOne && isHidden ? [...new Set([...branch_roots, workspace])] : branch_roots
}

/** A command may keep no right of the daemon's; on the real files it has all of them, as was asked for. */
const NO_CAPABILITIES: readonly number[] = []

/** Of a session, and of all together: three quarters of the device's. */
const sessionsMemoryBytes = (): number => Math.floor((totalmem() * 3) / 4)

/** What starts programs, and `ready` when it can. */
export type StartingSpawner = {
  readonly spawner: SleepingSpawner
  readonly ready: Promise<void>
  readonly groups: ControlGroups
  /** Who is told of a session that had to be ended. */
  onLost: (namespaces: number) => void
}

/**
 * Begins the thread that starts programs. It takes as long as the rest of a start, so it comes first: nothing runs in it
 * before a sandbox is made of it. Whoever makes none closes it.
 * @param launcherSource text of the bundled thread, undefined from source
 * @throws SassError RUNTIME_UNSUITABLE
 */
export function wakeSpawner(config: Config, launcherSource: string | undefined): StartingSpawner {
  const syscalls = loadSyscalls()
  const isBare = config.sandbox.require === 'none'
  if (!isBare) boundUserCounts()
  const keepCapabilities = isBare ? undefined : NO_CAPABILITIES
  const groups = openControlGroups({
    memoryBytes: sessionsMemoryBytes(),
    processes: config.sandbox.limits.processes * SESSIONS_PROCESSES_FACTOR,
    cpuPercent: null,
  })
  const spawner = createSleepingSpawner(() => {
    const fence = isBare ? undefined : makeShield(syscalls, processLimits(config, syscalls))
    return createSpawner({
      ...{ launcherSource, keepCapabilities, fence },
      // On the real files there is no session whose group a program could be taken to.
      ...(isBare ? {} : { groups: groups.start }),
      lost: (namespaces) => starting.onLost(namespaces),
    }).finally(() => {
      if (fence?.rulesetDescriptor !== undefined) syscalls.libc.close(fence.rulesetDescriptor)
    })
  })
  // Whoever starts the daemon waits for it, and does something else meanwhile.
  const ready = spawner.wake()
  ready.catch(() => undefined)
  const starting: StartingSpawner = { spawner, ready, groups, onLost: () => undefined }
  return starting
}

/** Where views are put together, in mounts that nobody else sees. */
function makeStage(stateDirectory: string): string {
  const stage = join(stateDirectory, 'view')
  makeDirectories(stage, 0o700)
  return stage
}

/**
 * `covers`: what no session may see. `gate`: who serves the networks of sessions.
 * @throws SassError RUNTIME_UNSUITABLE or SANDBOX_UNAVAILABLE where programs cannot be started
 */
export function createSandbox(
  { config, clock, log, reserve }: { config: Config; clock: Clock; log: Log; reserve: Reserve },
  starting: StartingSpawner,
  covers: () => readonly string[],
  gate?: NetworkGate,
): Sandbox {
  const { spawner, ready, groups } = starting
  const syscalls = loadSyscalls()
  const { sandbox, state_directory } = config
  const roots = branchRoots(config, covers())
  const store = openBranchStore(syscalls, {
    stateDirectory: state_directory,
    roots,
    volatile: sandbox.volatile,
  })
  const branches = createBranchWorker(store, threadTexts()?.branch)
  const { limits } = sandbox
  const bounds = createBranchBounds({
    store,
    limits: { bytes: limits.branch_bytes, files: limits.branch_files, lowBytes: reserve.wholeBytes },
    copyBytes: sandbox.copy_bytes,
    monotonicMs: clock.monotonicMs,
    makeRoom: reserve.pieceFor(state_directory),
  })
  const keeper = createKeeper(threadTexts()?.keeper)
  const places = createPlaces(
    {
      syscalls,
      keeper,
      groups,
      store,
      bounds,
      makeRoom: () => reserve.make(CLEARING_BYTES),
      log,
      leave: spawner.leave,
      gate,
      awake: spawner.wake,
      fill: (branch) => branches.fill(branch, sandbox.copy_bytes),
      hostFinder: createProgramFinder(),
    },
    {
      require: sandbox.require,
      network: sandbox.network,
      devices: sandbox.devices,
      memoryDirectoryBytes: sandbox.memory_directory_bytes,
      roots,
      read: sandbox.read,
      hidden: sandbox.hidden,
      sockets: sandbox.sockets,
      own: covers,
      stage: makeStage(state_directory),
      limits: {
        memoryBytes: sandbox.limits.memory_bytes ?? sessionsMemoryBytes(),
        processes: sandbox.limits.processes,
        cpuPercent: sandbox.limits.cpu_percent,
      },
      nowMs: clock.wallMs,
    },
  )
  starting.onLost = places.lost
  /** Since when nobody is there; undefined while somebody is. */
  let aloneSinceMs: number | undefined
  return {
    ready,
    tick(isAlone, nowMs) {
      if (!isAlone || !places.isEmpty) aloneSinceMs = undefined
      else aloneSinceMs ??= nowMs
      return aloneSinceMs !== undefined && nowMs - aloneSinceMs >= SPAWNER_IDLE_MS && spawner.sleep()
    },
    spawner: withPins(spawner, syscalls),
    places,
    branches,
    bounds,
    async close() {
      bounds.close()
      await spawner.endAll()
      await branches.close()
      await places.closeAll()
      await spawner.close()
      groups.closeAll()
    },
  }
}
