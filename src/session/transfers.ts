/**
 * Which files are being transferred: how many of whom, and which one is written under which key. The same file sent
 * again takes the place of the one before, whose connection may be long dead: so a client that comes back need not wait
 * until the daemon has noticed that it was gone.
 * @module
 */
import { TRANSFERS_MAX, TRANSFERS_PER_CALLER } from '../limits.ts'

export type TransferPlace = {
  /** Resolves when nobody else writes under the key any more. */
  readonly ready: Promise<void>
  end(): void
}

export type Transfers = {
  /** Whether that caller may begin one more. */
  isFree(owner: string): boolean
  countOf(owner: string): number
  /**
   * @param key what only one may write; undefined: nothing is written
   * @param replaced told once when somebody else wants to write under the key
   */
  begin(owner: string, key: string | undefined, replaced: () => void): TransferPlace
}

type Holder = { readonly replaced: () => void; readonly over: Promise<void> }

export function createTransfers(): Transfers {
  const counts = new Map<string, number>()
  const holders = new Map<string, Holder>()
  let all = 0

  function count(owner: string, change: 1 | -1): void {
    all += change
    const left = (counts.get(owner) ?? 0) + change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  return {
    isFree: (owner) => all < TRANSFERS_MAX && (counts.get(owner) ?? 0) < TRANSFERS_PER_CALLER,
    countOf: (owner) => counts.get(owner) ?? 0,
    begin(owner, key, replaced) {
      count(owner, 1)
      let settle = () => {}
      const own = new Promise<void>((resolve) => {
        settle = resolve
      })
      const before = key === undefined ? undefined : holders.get(key)
      // Whoever comes after waits for all that came before.
      const over = before === undefined ? own : Promise.all([before.over, own]).then(() => {})
      const holder: Holder = { replaced, over }
      if (key !== undefined) holders.set(key, holder)
      before?.replaced()
      let isOver = false
      return {
        ready: before?.over ?? Promise.resolve(),
        end() {
          if (isOver) return
          isOver = true
          count(owner, -1)
          if (key !== undefined && holders.get(key) === holder) holders.delete(key)
          settle()
        },
      }
    },
  }
}
