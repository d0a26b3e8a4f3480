/**
 * Which files are being transferred: how many of whom, in which branch, and which one is written under which key. The
 * same file sent again takes the place of the one before, whose connection may be long dead: so a client that comes back
 * need not wait until the daemon has noticed that it was gone.
 * @module
 */
import { TRANSFERS_MAX, TRANSFERS_PER_CALLER } from '../../limits.ts'

/** Why a transfer must end: another one writes the same, or nobody may work in its branch for a while. */
export type WhyEnded = 'replaced' | 'withdrawn'

export type TransferPlace = {
  /** Resolves when nobody else writes under the key any more. */
  readonly ready: Promise<void>
  end(): void
}

export type TransferKind = {
  readonly owner: string
  /** Where its files are; empty: in no branch. */
  readonly branch: string
  /** What only one may write in that branch; undefined: nothing is written. */
  readonly key: string | undefined
  /** Told once. */
  readonly stop: (why: WhyEnded) => void
}

export type Transfers = {
  /** Whether that caller may begin one more. */
  isFree(owner: string): boolean
  countOf(owner: string): number
  readonly running: number
  begin(kind: TransferKind): TransferPlace
  /** Ends what goes on in a branch; resolves when none of it holds a file there any more. */
  endIn(branch: string): Promise<void>
}

type Running = TransferKind & { isStopped: boolean; readonly over: Promise<void> }

export function createTransfers(): Transfers {
  const counts = new Map<string, number>()
  const holders = new Map<string, Running>()
  const all = new Set<Running>()

  function count(owner: string, change: 1 | -1): void {
    const left = (counts.get(owner) ?? 0) + change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  function stop(running: Running, why: WhyEnded): void {
    if (running.isStopped) return
    running.isStopped = true
    running.stop(why)
  }

  return {
    isFree: (owner) => all.size < TRANSFERS_MAX && (counts.get(owner) ?? 0) < TRANSFERS_PER_CALLER,
    countOf: (owner) => counts.get(owner) ?? 0,
    get running() {
      return all.size
    },
    begin(kind) {
      const { owner, branch } = kind
      const key = kind.key === undefined ? undefined : `${branch}/${kind.key}`
      let settle = () => {}
      const own = new Promise<void>((resolve) => {
        settle = resolve
      })
      const before = key === undefined ? undefined : holders.get(key)
      // Whoever comes after waits for all that came before.
      const over = before === undefined ? own : Promise.all([before.over, own]).then(() => {})
      const running: Running = { ...kind, isStopped: false, over }
      count(owner, 1)
      all.add(running)
      if (key !== undefined) holders.set(key, running)
      if (before !== undefined) stop(before, 'replaced')
      return {
        ready: before?.over ?? Promise.resolve(),
        end() {
          if (!all.delete(running)) return
          count(owner, -1)
          if (key !== undefined && holders.get(key) === running) holders.delete(key)
          settle()
        },
      }
    },
    async endIn(branch) {
      const there = [...all].filter((running) => running.branch === branch)
      for (const running of there) stop(running, 'withdrawn')
      await Promise.all(there.map(({ over }) => over))
    },
  }
}
