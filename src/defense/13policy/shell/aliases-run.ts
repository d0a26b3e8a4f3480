/**
 * Aliases on the walk: the text of one with the words that follow it, and the text of `eval`, in which they hold too.
 * Rules: POSIX.1-2024 XCU 2.3.1.
 * @module
 */
import type { Outcome } from './builtins.ts'
import type { Runner } from './expander.ts'
import { parseText } from './parser.ts'
import { SHELL_DEPTH } from './scan.ts'
import { literalOf } from './simple.ts'
import { type State, setAlias } from './state.ts'
import type { List, Redirect, ShellWord, Simple, Word } from './syntax.ts'
import { charge, type Walk, type Where } from './walk.ts'

/** The text of the alias that a command begins with; undefined where it begins with none. */
export function aliasOf(state: State, words: readonly Word[]): string | undefined {
  const [first] = words
  if (first?.length !== 1 || state.aliases.size === 0) return undefined
  const [part] = first
  const name = part?.kind === 'text' && !part.isQuoted ? literalOf(first) : undefined
  return name === undefined ? undefined : state.aliases.get(name)
}

/** The text of an alias with the other words after it. Whether the shell expands aliases is not known. */
export function runAlias(
  runner: Runner,
  walk: Walk,
  simple: Simple,
  text: string,
  state: State,
  where: Where,
): Outcome {
  if (!charge(walk, text.length)) return { success: state, failure: state }
  const { list, failure } = parseText(text, Math.min(walk.depth, SHELL_DEPTH), walk.work)
  if (failure !== undefined) walk.opaque.add(failure)
  const name = literalOf(simple.words[0] ?? []) ?? ''
  // An alias is not expanded within itself.
  setAlias(state, name, undefined)
  return runner.list(walk, withWords(list, simple.words.slice(1), simple.redirects), state, where)
}

/** In the text of `eval`, the aliases of the shell around it are expanded. */
export function runEvaluated(
  runner: Runner,
  walk: Walk,
  words: readonly ShellWord[],
  state: State,
  where: Where,
): void {
  if (words.some(({ opaque, isGlob }) => opaque !== undefined || isGlob)) return
  const text = words.map((word) => word.text).join(' ')
  if (!charge(walk, text.length)) return
  const { list, failure } = parseText(text, Math.min(walk.depth, SHELL_DEPTH), walk.work)
  // What cannot be read is told where the text of `eval` is judged.
  if (failure === undefined) runner.list(walk, list, state, where)
}

function withWords(list: List, words: readonly Word[], redirects: readonly Redirect[]): List {
  const item = list[list.length - 1]
  if (item === undefined) return list
  const pipelines = [item.first, ...item.rest.map(({ pipeline }) => pipeline)]
  const pipeline = pipelines[pipelines.length - 1]
  const command = pipeline?.commands[pipeline.commands.length - 1]
  if (pipeline === undefined || command?.kind !== 'simple') return list
  const longer: Simple = {
    ...{ ...command, words: [...command.words, ...words], redirects: [...command.redirects, ...redirects] },
  }
  const changed = { ...pipeline, commands: [...pipeline.commands.slice(0, -1), longer] }
  const rest = item.rest.map((entry, index) =>
    index === item.rest.length - 1 ? { ...entry, pipeline: changed } : entry,
  )
  return [...list.slice(0, -1), { ...item, first: item.rest.length === 0 ? changed : item.first, rest }]
}
