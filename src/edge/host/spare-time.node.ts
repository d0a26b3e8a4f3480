/**
 * Work that may wait a moment: it is done when somebody says that there is time, and within SPARE_TIME_MS at the
 * latest. In order; each piece does its own error handling.
 * @module
 */
import { SPARE_TIME_MS } from '../../limits.ts'

export type SpareTime = {
  later(work: () => void): void
  /** There is time now: does all of it. */
  spend(): void
}

export function createSpareTime(): SpareTime {
  let waiting: (() => void)[] = []
  let due: NodeJS.Timeout | undefined

  function spend(): void {
    clearTimeout(due)
    due = undefined
    const works = waiting
    waiting = []
    for (const work of works) work()
  }

  return {
    later(work) {
      waiting.push(work)
      due ??= setTimeout(spend, SPARE_TIME_MS).unref()
    },
    spend,
  }
}
