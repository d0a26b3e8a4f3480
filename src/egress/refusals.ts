/**
 * Which refusals are written down: each once a minute, with how many there were since; beyond 256 different ones within
 * a minute all others as one. What somebody tries in a loop is one line a minute, and none is lost.
 * @module
 */

import { REFUSAL_EVERY_MS, REFUSALS_MAX } from './limits.ts'

export interface Refusals<Line> {
  /** How often it happened since the last line of it, this one included; undefined: no line now. */
  note(key: string, line: Line, nowMs: number): number | undefined
  /** What happened and has no line yet. */
  flush(): readonly { readonly line: Line; readonly times: number }[]
}

/** They are counted, and not told apart. */
const OTHERS = ''

export function createRefusals<Line>(): Refusals<Line> {
  const kept = new Map<string, { writtenAtMs: number; times: number; line: Line }>()

  function makeRoom(nowMs: number): boolean {
    if (kept.size < REFUSALS_MAX) return true
    for (const [key, { writtenAtMs, times }] of kept)
      if (times === 0 && nowMs - writtenAtMs >= REFUSAL_EVERY_MS) kept.delete(key)
    return kept.size < REFUSALS_MAX
  }

  return {
    note(key, line, nowMs) {
      const own = kept.get(key)
      const known = own ?? (makeRoom(nowMs) ? undefined : kept.get(OTHERS))
      if (known === undefined) {
        kept.set(kept.size < REFUSALS_MAX ? key : OTHERS, { writtenAtMs: nowMs, times: 0, line })
        return 1
      }
      known.times++
      known.line = line
      if (nowMs - known.writtenAtMs < REFUSAL_EVERY_MS) return undefined
      const { times } = known
      known.writtenAtMs = nowMs
      known.times = 0
      return times
    },
    flush() {
      const left = [...kept.values()].filter(({ times }) => times > 0)
      kept.clear()
      return left.map(({ line, times }) => ({ line, times }))
    },
  }
}
