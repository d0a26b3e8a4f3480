/**
 * How much may be spent on deceiving: so many at a time, and each for so long and so many bytes. Who asks beyond it is
 * nobody that this is for. A state machine without a clock: the time is told.
 * Source: draft 8.4, whose deception must not become a load of its own.
 * @module
 */

export type DeceptionLimits = {
  readonly concurrent: number
  readonly milliseconds: number
  readonly bytes: number
}

/** The place of one that is being deceived. */
export type Stay = {
  /** When it is over, on the clock of `enter`. */
  readonly endsAtMs: number
  /** How many of `bytes` may still leave at `nowMs`; they are counted as having left. */
  take(bytes: number, nowMs: number): number
  /** Gives the place free; a second time does nothing. */
  leave(): void
}

export type DeceptionBudget = {
  readonly free: number
  /** Undefined: no place is free. A place is free again by `leave` alone, when what ran in it has ended. */
  enter(nowMs: number): Stay | undefined
}

export function createDeceptionBudget(limits: DeceptionLimits): DeceptionBudget {
  let taken = 0
  return {
    get free() {
      return Math.max(0, limits.concurrent - taken)
    },
    enter(nowMs) {
      if (taken >= limits.concurrent) return undefined
      taken++
      const endsAtMs = nowMs + limits.milliseconds
      let left = limits.bytes
      let isOver = false
      return {
        endsAtMs,
        take(bytes, atMs) {
          if (isOver || atMs >= endsAtMs) return 0
          const allowed = Math.min(Math.max(0, bytes), left)
          left -= allowed
          return allowed
        },
        leave() {
          if (isOver) return
          isOver = true
          taken--
        },
      }
    },
  }
}
