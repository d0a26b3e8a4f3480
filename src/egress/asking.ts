/**
 * What a human is asked about, of one session: a name or an address, with a port. Three wait at most, the same once, and
 * whatever else wants it waits with them. After a no, or none, the same is not asked again for five minutes.
 * @module
 */

import { ASKED_MAX, DENIAL_KEPT_MS, REFUSALS_MAX } from './limits.ts'

/** `none`: nobody has answered in time. */
export type HumanAnswer = 'yes' | 'no' | 'none'

/** `waiting`: it waits with others; `asked`: a human is to be asked; the rest: it is refused, and why. */
export type Asked = 'asked' | 'waiting' | 'denied' | 'unanswered' | 'too_many_asked'

export interface Asking {
  /** A connection wants what `key` stands for. */
  ask(key: string, connection: number, nowMs: number): Asked
  /** The connections that waited for it. */
  answered(key: string, answer: HumanAnswer, nowMs: number): readonly number[]
  /** Everything that is being asked; nothing is, afterwards. */
  withdraw(): readonly string[]
  readonly size: number
}

export function createAsking(): Asking {
  const open = new Map<string, number[]>()
  const denials = new Map<string, { readonly untilMs: number; readonly asked: Asked }>()

  return {
    ask(key, connection, nowMs) {
      const waiting = open.get(key)
      if (waiting !== undefined) {
        waiting.push(connection)
        return 'waiting'
      }
      const denial = denials.get(key)
      if (denial !== undefined && nowMs < denial.untilMs) return denial.asked
      if (open.size >= ASKED_MAX) return 'too_many_asked'
      open.set(key, [connection])
      return 'asked'
    },
    answered(key, answer, nowMs) {
      const waiting = open.get(key) ?? []
      open.delete(key)
      denials.delete(key)
      if (answer !== 'yes') {
        const [oldest] = denials.keys()
        if (oldest !== undefined && denials.size >= REFUSALS_MAX) denials.delete(oldest)
        denials.set(key, {
          untilMs: nowMs + DENIAL_KEPT_MS,
          asked: answer === 'no' ? 'denied' : 'unanswered',
        })
      }
      return waiting
    },
    withdraw() {
      const keys = [...open.keys()]
      open.clear()
      return keys
    },
    get size() {
      return open.size
    },
  }
}
