/**
 * The main thread's side of the keeper thread, which is there only while it is wanted: started with the first session
 * that runs something, ended when nothing has been asked of it for a while.
 * @module
 */

import { Worker } from 'node:worker_threads'
import { SassError } from '../../errors.ts'
import { KEEPER_HEAP_MIB, KEEPER_IDLE_MS, LAUNCHER_HEAP_FROM_SOURCE_MIB } from '../../limits.ts'
import type { KeeperAnswer, KeeperRequest, NamespaceDescriptors, NamespacePlan } from './namespace-plan.ts'

const THREAD_LIMITS = { maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }
const THREAD_LIMITS_FROM_SOURCE = { maxYoungGenerationSizeMb: 4, stackSizeMb: 4 }

export interface Keeper {
  /** Starts the thread, so that the first session does not wait for it. */
  prepare(): void
  /** @throws SassError SANDBOX_UNAVAILABLE with the step that the kernel refused */
  open(plan: NamespacePlan): Promise<NamespaceDescriptors>
  /** Kills what is left of a session. False: something of it waits for a device and ends when it wakes. */
  end(initPid: number): Promise<boolean>
  close(): Promise<void>
}

type Waiting = { readonly resolve: (answer: KeeperAnswer) => void; readonly reject: (cause: unknown) => void }

function refusal(step: string, errno: number): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `The kernel refused ${step} with errno ${errno}, so this session has no branch and nothing was started; run sass-edge doctor on this device.`,
    { step, errno },
  )
}

/** `source`: CommonJS text of the bundled thread; undefined starts it from its file. */
export function createKeeper(source: string | undefined): Keeper {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let next = 1

  function start(): Worker {
    const shared = { execArgv: ['--no-warnings'], env: {}, name: 'keeper', trackUnmanagedFds: false }
    const made =
      source === undefined
        ? new Worker(new URL('./keeper-thread.node.ts', import.meta.url), {
            ...shared,
            resourceLimits: {
              ...THREAD_LIMITS_FROM_SOURCE,
              maxOldGenerationSizeMb: LAUNCHER_HEAP_FROM_SOURCE_MIB,
            },
          })
        : new Worker(source, {
            ...shared,
            eval: true,
            resourceLimits: { ...THREAD_LIMITS, maxOldGenerationSizeMb: KEEPER_HEAP_MIB },
          })
    made.on('message', (answer: KeeperAnswer) => {
      if (answer.kind === 'ready') return
      if (answer.kind === 'unsuitable') return fail(new SassError('RUNTIME_UNSUITABLE', answer.message))
      const one = waiting.get(answer.id)
      waiting.delete(answer.id)
      one?.resolve(answer)
      rest()
    })
    made.on('error', fail)
    made.on('exit', () => {
      if (worker !== made) return
      worker = undefined
      fail(refusal('the keeper thread', 0))
    })
    return made
  }

  function fail(cause: unknown): void {
    const all = [...waiting.values()]
    waiting.clear()
    for (const { reject } of all) reject(cause)
  }

  function retire(): Promise<void> {
    clearTimeout(idle)
    const old = worker
    worker = undefined
    if (old === undefined) return Promise.resolve()
    const gone = new Promise<void>((resolve) => {
      old.once('exit', () => resolve())
    })
    // Whoever waits for its end must not be the only one left.
    old.ref()
    old.postMessage({ kind: 'close' } satisfies KeeperRequest)
    return gone
  }

  function rest(): void {
    clearTimeout(idle)
    if (waiting.size > 0) return
    worker?.unref()
    idle = setTimeout(() => void retire(), KEEPER_IDLE_MS)
    idle.unref()
  }

  function ask(make: (id: number) => KeeperRequest): Promise<KeeperAnswer> {
    clearTimeout(idle)
    worker ??= start()
    worker.ref()
    const id = next++
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker?.postMessage(make(id))
    })
  }

  return {
    prepare() {
      worker ??= start()
      rest()
    },
    async open(plan) {
      const answer = await ask((id) => ({ kind: 'open', id, plan }))
      if (answer.kind === 'opened') return answer.descriptors
      throw answer.kind === 'refused' ? refusal(answer.step, answer.errno) : refusal('namespaces', 0)
    },
    async end(initPid) {
      const answer = await ask((id) => ({ kind: 'end', id, initPid }))
      return answer.kind === 'ended' && answer.isGone
    },
    close: retire,
  }
}
