/**
 * The rings that output goes into: as many pairs as executions may run, made at the start. One that has ended keeps its
 * pair for whoever comes back, until another one needs it: the oldest gives up its own first.
 * Rules: docs/protocol.md, section 6.
 * @module
 */
import { TOLD_LINGER_MS } from '../../limits.ts'
import type { Execution, RingPair } from './execution.ts'

export type RingPool = {
  /** Empty. Undefined where every pair is needed. */
  take(): RingPair | undefined
  /** It has ended: its rings may go elsewhere, as soon as nobody reads from them. */
  ended(execution: Execution): void
  release(execution: Execution): void
  /** Its session has ended. What was told a moment ago may not have arrived, and its client comes back for it. */
  giveUp(execution: Execution, nowMs: number): void
  tick(nowMs: number): void
  /** Pairs that can be taken. */
  readonly free: number
  /** Ended ones of that owner whose output somebody has yet to take. */
  readBy(owner: string): number
}

/** @param gone hears of an ended one whose rings went while it was known */
export function createRingPool(rings: readonly RingPair[], gone: (execution: Execution) => void): RingPool {
  const free = [...rings]
  /** Oldest first. */
  const ended = new Set<Execution>()
  /** Ended ones without a session. */
  const onTheirWay = new Set<Execution>()

  function release(execution: Execution): void {
    if (execution.rings !== undefined) free.push(execution.rings)
    execution.rings = undefined
    ended.delete(execution)
    onTheirWay.delete(execution)
  }

  function releaseIdle(execution: Execution): void {
    release(execution)
    gone(execution)
  }

  function giveUp(execution: Execution, nowMs: number): void {
    const { toldAtMs, watcher } = execution
    const isOver = watcher === undefined && (toldAtMs === undefined || nowMs - toldAtMs >= TOLD_LINGER_MS)
    if (isOver) releaseIdle(execution)
    else onTheirWay.add(execution)
  }

  /** Whoever still watches a finished execution is reading from its rings. */
  function idle(): Execution | undefined {
    for (const execution of ended) if (execution.watcher === undefined) return execution
    return undefined
  }

  return {
    take() {
      if (free.length === 0) {
        const execution = idle()
        if (execution === undefined) return undefined
        releaseIdle(execution)
      }
      const pair = free.pop()
      pair?.stdout.reset()
      pair?.stderr.reset()
      return pair
    },
    ended(execution) {
      if (execution.rings !== undefined) ended.add(execution)
    },
    release,
    giveUp,
    tick(nowMs) {
      for (const execution of onTheirWay) giveUp(execution, nowMs)
    },
    get free() {
      let count = free.length
      for (const execution of ended) if (execution.watcher === undefined) count++
      return count
    },
    readBy(owner) {
      let count = 0
      for (const execution of ended) if (execution.owner === owner && execution.watcher !== undefined) count++
      return count
    },
  }
}
