/**
 * A thread that is there only while it is wanted: started with the first question, ended when there was none for a while.
 * Each question has a number, and its answer has the same. A thread that ends otherwise fails what waits for it, and the
 * next question starts another.
 * @module
 */

import type { Worker } from 'node:worker_threads'
import { startThread, type ThreadOptions } from '../../base/worker.node.ts'

export type IdleThreadOptions = ThreadOptions & {
  readonly idleMs: number
  /** What whoever waits is told when it has ended: `cause` is undefined where it gave none. */
  readonly lost: (cause: unknown) => unknown
}

export interface IdleThread<Request, Answer> {
  /** Starts it, so that the first question does not wait for that. */
  prepare(): void
  ask(make: (id: number) => Request): Promise<Answer>
  /** What waits now fails with that; the thread stays. */
  fail(cause: unknown): void
  /** Ends it; what is being done is done first. */
  retire(): Promise<void>
}

type Waiting<Answer> = {
  readonly resolve: (answer: Answer) => void
  readonly reject: (cause: unknown) => void
}

/** `unasked`: what it says that is no answer; true where it was that. A request of kind `close` ends it. */
export function createIdleThread<Request, Answer extends object>(
  { idleMs, lost, ...options }: IdleThreadOptions,
  unasked: (said: unknown) => boolean = () => false,
): IdleThread<Request, Answer & { readonly id: number }> {
  const waiting = new Map<number, Waiting<Answer & { readonly id: number }>>()
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let next = 1

  function start(): Worker {
    const made = startThread(options)
    made.on('message', (said: Answer & { readonly id: number }) => {
      if (unasked(said)) return
      const one = waiting.get(said.id)
      waiting.delete(said.id)
      one?.resolve(said)
      rest()
    })
    const ended = (cause: unknown): void => {
      if (worker !== made) return
      worker = undefined
      fail(lost(cause))
    }
    made.on('error', ended)
    made.on('exit', () => ended(undefined))
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
    old.postMessage({ kind: 'close' })
    return gone
  }

  function rest(): void {
    clearTimeout(idle)
    if (waiting.size > 0) return
    worker?.unref()
    idle = setTimeout(() => void retire(), idleMs)
    idle.unref()
  }

  return {
    prepare() {
      worker ??= start()
      rest()
    },
    ask(make) {
      clearTimeout(idle)
      worker ??= start()
      worker.ref()
      const id = next++
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker?.postMessage(make(id))
      })
    },
    fail,
    retire,
  }
}
