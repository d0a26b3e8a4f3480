/**
 * A few threads that work on branches, each started when it is wanted and ended when it was not for a while. One order at
 * a time for each; what finds none free waits. Looks never take all of them, and looks of agents at their own branches
 * never all that looks may take: what lies in one branch, however much it is, holds up neither a human's look at another
 * one nor a merge or drop of it.
 * @module
 */

import type { IdleThread } from '../../kernel/idle-thread.node.ts'
import { BRANCH_LOOKS, BRANCH_OWN_LOOKS, BRANCH_THREADS } from '../../limits.ts'

/** What is done: a human's decision or what follows from it, a look, or an agent's look at its own branch. */
export type OrderClass = 'deed' | 'look' | 'own_look'

export interface BranchThreads<Request, Answer> {
  ask(what: OrderClass, make: (id: number) => Request): Promise<Answer>
  /** Ends them; what is being done is done first. */
  retire(): Promise<void>
}

type Waiting = { readonly what: OrderClass; readonly start: (place: number) => void }

export function createBranchThreads<Request, Answer>(
  makeThread: () => IdleThread<Request, Answer>,
): BranchThreads<Request, Answer> {
  const threads: IdleThread<Request, Answer>[] = []
  /** What each does. */
  const doing: (OrderClass | undefined)[] = []
  const waiting: Waiting[] = []

  function count(...classes: readonly OrderClass[]): number {
    return doing.filter((what) => what !== undefined && classes.includes(what)).length
  }

  function mayStart(what: OrderClass): boolean {
    if (what === 'own_look' && count('own_look') >= BRANCH_OWN_LOOKS) return false
    if (what !== 'deed' && count('look', 'own_look') >= BRANCH_LOOKS) return false
    return count('deed', 'look', 'own_look') < BRANCH_THREADS
  }

  function startWaiting(): void {
    for (;;) {
      const at = waiting.findIndex(({ what }) => mayStart(what))
      const [next] = at < 0 ? [] : waiting.splice(at, 1)
      if (next === undefined) return
      // The first that is free: one that was used before may still be there.
      const free = doing.indexOf(undefined)
      const place = free < 0 ? doing.length : free
      doing[place] = next.what
      next.start(place)
    }
  }

  async function askIn(place: number, make: (id: number) => Request): Promise<Answer> {
    try {
      const thread = threads[place] ?? makeThread()
      threads[place] = thread
      return await thread.ask(make)
    } finally {
      doing[place] = undefined
      startWaiting()
    }
  }

  return {
    ask: (what, make) =>
      new Promise((resolve, reject) => {
        waiting.push({ what, start: (place) => void askIn(place, make).then(resolve, reject) })
        startWaiting()
      }),
    async retire() {
      await Promise.all(threads.map((thread) => thread.retire()))
    },
  }
}
