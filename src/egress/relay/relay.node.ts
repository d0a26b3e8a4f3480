/**
 * The daemon's side of the thread that passes bytes: it is started with the first connection, and ended when there was
 * none for a while. Where it ends otherwise, all that it had is lost, and the next connection starts another.
 * @module
 */

import { closeSync, fstatSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../base/worker.node.ts'
import type { Clock } from '../../ports.ts'
import type { GateReason } from '../gate-events.ts'
import { RELAY_HEAP_MIB, RELAY_IDLE_MS } from '../limits.ts'
import type { RelayPlan, RelayReport, RelayRequest } from './relay-messages.ts'

/** A descriptor, and the socket that it is of, as the kernel numbers it. */
type Handed = { readonly thread: Worker; readonly fd: number; readonly inode: number }

/** A thread that has ended has closed what it had taken, and nobody knows what that was: the socket itself tells. */
function closeLost({ fd, inode }: Handed): void {
  try {
    if (fstatSync(fd).ino === inode) closeSync(fd)
  } catch {
    // It had been taken: nothing has that number now.
  }
}

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
  /** What each connection that is open was handed over as. */
  const open = new Map<number, Handed>()
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
      if (worker === made) worker = undefined
    }
    made.on('error', ended)
    // The descriptors that it had taken are closed by now.
    made.on('exit', () => {
      ended()
      const nothing = { address: undefined, sentBytes: 0, receivedBytes: 0, reason: 'lost' } as const
      for (const [id, handed] of open) {
        if (handed.thread !== made) continue
        open.delete(id)
        closeLost(handed)
        tell({ kind: 'closed', id, ...nothing })
      }
    })
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

  /** To the thread that has the connection, where it is still open. */
  function say(id: number, request: RelayRequest): void {
    open.get(id)?.thread.postMessage(request)
  }

  return {
    prepare() {
      worker ??= start()
      rest()
    },
    connect(plan) {
      cancelIdle()
      worker ??= start()
      open.set(plan.id, { thread: worker, fd: plan.fd, inode: fstatSync(plan.fd).ino })
      say(plan.id, { kind: 'connect', plan })
      // What it has is waited for.
      worker.ref()
    },
    grant(id, bytes) {
      say(id, { kind: 'grant', id, bytes })
    },
    reset(id, reason) {
      say(id, { kind: 'reset', id, reason })
    },
    async close() {
      cancelIdle()
      await worker?.terminate()
    },
  }
}
