/**
 * The daemon's side of the thread that passes bytes: it is started with the first connection, and ended when there was
 * none for a while. Where it ends otherwise, all that it had is lost, and the next connection starts another.
 * @module
 */

import type { Worker } from 'node:worker_threads'
import { startThread } from '../../base/worker.node.ts'
import type { Clock } from '../../ports.ts'
import type { GateReason } from '../gate-events.ts'
import { RELAY_HEAP_MIB, RELAY_IDLE_MS } from '../limits.ts'
import type { RelayPlan, RelayReport, RelayRequest } from './relay-messages.ts'

export interface Relay {
  /** Starts it, so that the first connection does not wait for that. */
  prepare(): void
  connect(plan: RelayPlan): void
  grant(id: number, bytes: number): void
  reset(id: number, reason: GateReason): void
  /** Ends it, and what it has is lost. */
  close(): Promise<void>
}

/** `source`: CommonJS text of the bundled thread; undefined starts it from its file. `tell` is never called from inside. */
export function createRelay(
  source: (() => string) | undefined,
  clock: Clock,
  tell: (report: RelayReport) => void,
): Relay {
  const open = new Set<number>()
  let worker: Worker | undefined
  let cancelIdle = (): void => {}

  function start(): Worker {
    const made = startThread({
      ...{ name: 'relay', text: source },
      file: () => new URL('./relay-thread.node.ts', import.meta.url),
      limits: { young: 4, old: RELAY_HEAP_MIB, stack: 1 },
    })
    made.on('message', (report: RelayReport) => {
      if (report.kind === 'closed') open.delete(report.id)
      if (worker === made) rest()
      tell(report)
    })
    const ended = (): void => {
      if (worker !== made) return
      worker = undefined
      const lost = [...open]
      open.clear()
      const nothing = { address: undefined, sentBytes: 0, receivedBytes: 0, reason: 'lost' } as const
      for (const id of lost) tell({ kind: 'closed', id, ...nothing })
    }
    made.on('error', ended)
    made.on('exit', ended)
    return made
  }

  function rest(): void {
    cancelIdle()
    if (open.size > 0) return
    worker?.unref()
    cancelIdle = clock.after(RELAY_IDLE_MS, () => {
      worker?.postMessage({ kind: 'close' } satisfies RelayRequest)
      worker = undefined
    })
  }

  function say(request: RelayRequest): void {
    worker ??= start()
    worker.postMessage(request)
  }

  return {
    prepare() {
      worker ??= start()
      rest()
    },
    connect(plan) {
      cancelIdle()
      open.add(plan.id)
      say({ kind: 'connect', plan })
      // What it has is waited for.
      worker?.ref()
    },
    grant(id, bytes) {
      if (open.has(id)) say({ kind: 'grant', id, bytes })
    },
    reset(id, reason) {
      if (open.has(id)) say({ kind: 'reset', id, reason })
    },
    async close() {
      cancelIdle()
      await worker?.terminate()
    },
  }
}
