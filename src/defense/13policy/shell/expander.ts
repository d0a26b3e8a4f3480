/**
 * What the expansion of words asks of the walk: the commands in a substitution are run where they stand.
 * Rules: POSIX.1-2024 XCU 2.6.3, with process substitution of bash 5.2.
 * @module
 */

import type { Outcome } from './builtins.ts'
import { outputOf, outputSize } from './output.ts'
import type { Expander } from './parameters.ts'
import { SHELL_DEPTH } from './scan.ts'
import type { State } from './state.ts'
import type { Command, List, Redirect, ShellRedirect } from './syntax.ts'
import { charge, chargeText, copied, giveUp, type Walk, type Where } from './walk.ts'
import { expandSingle, patternSegments } from './words.ts'

/** The walk over lists, which simple commands need for substitutions, functions and aliases. */
export type Runner = {
  readonly list: (walk: Walk, list: List, state: State, where: Where) => Outcome
  readonly command: (walk: Walk, command: Command, state: State, where: Where) => Outcome
}

/** `pipeline`: of the command whose words are expanded. */
export function expanderFor(
  runner: Runner,
  walk: Walk,
  state: State,
  where: Where,
  pipeline: number,
): Expander {
  const inner = (body: List, at: Pick<Where, 'pipeline' | 'place'>): string | undefined =>
    runInside(runner, walk, body, state, { ...where, ...at, last: { place: at.place } })
  const expander: Expander = {
    state,
    home: walk.home,
    charge: (steps) => charge(walk, steps),
    hold: (characters) => chargeText(walk, characters),
    // It reads what the command itself would read.
    substitute: (body) => {
      const isPiped = where.place > 0
      const text = inner(body, { pipeline: isPiped ? pipeline : undefined, place: isPiped ? where.place : 0 })
      return text === undefined ? undefined : withoutLastNewlines(text)
    },
    substituted: (body, isInput) => {
      if (isInput) inner(body, { pipeline: undefined, place: 0 })
      else inner(body, { pipeline, place: where.place + 1 })
    },
    single: (word) => expandSingle(expander, word),
    segments: (word) => patternSegments(expander, word),
  }
  return expander
}

/** Runs what stands in a substitution. Gives what it prints, where that is one `echo` or `printf` of known words. */
export function runInside(
  runner: Runner,
  walk: Walk,
  body: List,
  state: State,
  where: Where,
): string | undefined {
  if (walk.depth >= SHELL_DEPTH * 4) giveUp(walk)
  if (walk.isOver) return undefined
  const { jumped } = walk
  const from = walk.commands.length
  walk.depth += 1
  runner.list(walk, body, copied(walk, state), { ...where, isSubstitution: true })
  walk.depth -= 1
  walk.jumped = jumped
  const only = walk.commands.length === from + 1 && body.length === 1 ? walk.commands[from] : undefined
  if (only === undefined || only.redirects.length > 0) return undefined
  if (only.words.some(({ opaque, isGlob }) => opaque !== undefined || isGlob)) return undefined
  const texts = only.words.map(({ text }) => text)
  return chargeText(walk, outputSize(texts)) ? outputOf(texts) : undefined
}

function withoutLastNewlines(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end -= 1
  return text.slice(0, end)
}

export function expandRedirects(
  expander: Expander,
  redirects: readonly Redirect[],
): readonly ShellRedirect[] {
  return redirects.map(({ fd, kind, target }) => ({ fd, kind, target: expander.single(target) }))
}
