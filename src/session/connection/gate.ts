/**
 * Connections that have not authenticated yet: a bounded number, each for a bounded time. When one too many comes,
 * the oldest goes: an honest client is through in a moment, so it is the waiting ones that are suspect.
 * Rules: docs/protocol.md, section 1.
 * @module
 */
import { LOGIN_GRACE_MS, UNAUTHENTICATED_CONNECTIONS } from '../../limits.ts'

export type Place = { leave(): void }
export type Gate = {
  readonly size: number
  /** `dismiss` is called when the place is taken away: `grace` when its time is over, `crowd` to make room. */
  enter(nowMs: number, dismiss: (why: 'grace' | 'crowd') => void): Place
  tick(nowMs: number): void
}

type Waiting = { readonly sinceMs: number; readonly dismiss: (why: 'grace' | 'crowd') => void }

export function createGate(): Gate {
  const waiting = new Set<Waiting>()

  function dismissOldest(why: 'grace' | 'crowd'): void {
    for (const entry of waiting) {
      waiting.delete(entry)
      return entry.dismiss(why)
    }
  }

  return {
    get size() {
      return waiting.size
    },
    enter(nowMs, dismiss) {
      if (waiting.size >= UNAUTHENTICATED_CONNECTIONS) dismissOldest('crowd')
      const entry: Waiting = { sinceMs: nowMs, dismiss }
      waiting.add(entry)
      return { leave: () => waiting.delete(entry) }
    },
    tick(nowMs) {
      for (const entry of waiting) {
        // In the order of arrival: the first one still in its grace ends the walk.
        if (nowMs - entry.sinceMs < LOGIN_GRACE_MS) return
        waiting.delete(entry)
        entry.dismiss('grace')
      }
    },
  }
}
