/**
 * Puts the sandbox together for a configuration: what starts programs, what keeps branches, what makes the places that
 * sessions run in.
 * Rules: docs/sandbox.md.
 * @module
 */

import { brotliDecompressSync } from 'node:zlib'
import type { Config } from '../config.ts'
import type { Clock, Log, Spawner } from '../ports.ts'
import { createAt } from '../sandbox/at.node.ts'
import { openBranchStore } from '../sandbox/branch/branch-store.node.ts'
import type { BranchWork } from '../sandbox/branch/branch-work.ts'
import { createBranchWorker } from '../sandbox/branch/branch-worker.node.ts'
import { createKeeper } from '../sandbox/namespaces/keeper.node.ts'
import { createOpenIn } from '../sandbox/namespaces/view-finder.node.ts'
import { withPins } from '../sandbox/pinned.node.ts'
import type { Places } from '../sandbox/place.ts'
import { createPlaces } from '../sandbox/places.node.ts'
import { createProgramFinder } from '../sandbox/program-finder.node.ts'
import { makeShield } from '../sandbox/shield.node.ts'
import { createSpawner } from '../sandbox/spawner.node.ts'
import { loadSyscalls } from '../sandbox/syscalls.node.ts'

declare const KEEPER_SOURCE: string | undefined
declare const BRANCH_SOURCE: string | undefined

export type Sandbox = {
  /** Starts pinned programs as what they were seen to be. */
  readonly spawner: Spawner
  readonly places: Places
  readonly branches: BranchWork
  close(): Promise<void>
}

/** The text of a thread, as the bundler has packed it. */
function unpack(packed: string): string {
  return brotliDecompressSync(Buffer.from(packed, 'base64')).toString()
}

/** A command may keep no right of the daemon's; on the real files it has all of them, as was asked for. */
const NO_CAPABILITIES: readonly number[] = []

/**
 * `launcherSource`: text of the bundled thread, undefined from source. `covers`: what no session may see.
 * @throws SassError RUNTIME_UNSUITABLE or SANDBOX_UNAVAILABLE where programs cannot be started
 */
export async function createSandbox(
  {
    config,
    clock,
    log,
    launcherSource,
  }: { config: Config; clock: Clock; log: Log; launcherSource: string | undefined },
  covers: () => readonly string[],
): Promise<Sandbox> {
  const syscalls = loadSyscalls()
  const { sandbox, state_directory } = config
  const store = openBranchStore(syscalls, {
    stateDirectory: state_directory,
    roots: sandbox.branch_roots,
    volatile: sandbox.volatile,
  })
  const isBare = sandbox.require === 'none'
  const fence = isBare ? undefined : makeShield(syscalls)
  const keepCapabilities = isBare ? undefined : NO_CAPABILITIES
  const spawner = await createSpawner({ launcherSource, keepCapabilities, fence }).finally(() => {
    if (fence?.rulesetDescriptor !== undefined) syscalls.libc.close(fence.rulesetDescriptor)
  })
  const packed = typeof BRANCH_SOURCE === 'string' ? BRANCH_SOURCE : undefined
  const branches = createBranchWorker(store, packed === undefined ? undefined : () => unpack(packed))
  const keeper = createKeeper(typeof KEEPER_SOURCE === 'string' ? KEEPER_SOURCE : undefined)
  const places = createPlaces(
    {
      syscalls,
      keeper,
      store,
      log,
      leave: spawner.leave,
      hostFinder: createProgramFinder(),
    },
    {
      require: sandbox.require,
      network: sandbox.network,
      devices: sandbox.devices,
      memoryDirectoryBytes: sandbox.memory_directory_bytes,
      roots: sandbox.branch_roots,
      covers,
      nowMs: clock.wallMs,
    },
  )
  return {
    spawner: withPins(spawner, createOpenIn(createAt(syscalls))),
    places,
    branches,
    async close() {
      await spawner.endAll()
      await branches.close()
      await places.closeAll()
      await spawner.close()
    },
  }
}
