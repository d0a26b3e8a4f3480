/**
 * What a human is asked about, of one session: a name, or a name or an address with a port. Three wait at most, the same
 * once, and whoever else wants it waits with them. After a no, or none, the same is not asked again for five minutes.
 * @module
 */

import { ASKED_MAX, DENIAL_KEPT_MS, QUESTIONS_WAITING_PER_NAME, REFUSALS_MAX } from './limits.ts'

/** `none`: nobody has answered in time. */
export type HumanAnswer = 'yes' | 'no' | 'none'

/** `waiting`: it waits with others; `asked`: a human is to be asked; the rest: it is refused, and why. */
export type Asked = 'asked' | 'waiting' | 'denied' | 'unanswered' | 'too_many_asked'

export interface Asking<Connection, Question> {
  connection(key: string, one: Connection, nowMs: number): Asked
  /** Of several that wait the last few are answered. */
  question(key: string, one: Question, nowMs: number): Asked
  /** Who waited for it. */
  answered(key: string, answer: HumanAnswer, nowMs: number): Waiting<Connection, Question>
  /** Everything that is being asked; nothing is, afterwards. */
  withdraw(): readonly string[]
  readonly size: number
}

export type Waiting<Connection, Question> = {
  readonly connections: readonly Connection[]
  readonly questions: readonly Question[]
}

export function createAsking<Connection, Question>(): Asking<Connection, Question> {
  const open = new Map<string, { readonly connections: Connection[]; readonly questions: Question[] }>()
  const denials = new Map<string, { readonly untilMs: number; readonly asked: Asked }>()

  function ask(
    key: string,
    nowMs: number,
    join: (waiting: { connections: Connection[]; questions: Question[] }) => void,
  ): Asked {
    const known = open.get(key)
    if (known !== undefined) {
      join(known)
      return 'waiting'
    }
    const denial = denials.get(key)
    if (denial !== undefined && nowMs < denial.untilMs) return denial.asked
    if (open.size >= ASKED_MAX) return 'too_many_asked'
    const waiting = { connections: [], questions: [] }
    open.set(key, waiting)
    join(waiting)
    return 'asked'
  }

  return {
    connection: (key, one, nowMs) => ask(key, nowMs, ({ connections }) => connections.push(one)),
    question: (key, one, nowMs) =>
      ask(key, nowMs, ({ questions }) => {
        questions.push(one)
        if (questions.length > QUESTIONS_WAITING_PER_NAME) questions.shift()
      }),
    answered(key, answer, nowMs) {
      const waiting = open.get(key) ?? { connections: [], questions: [] }
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
