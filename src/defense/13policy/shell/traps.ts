/**
 * What is known of the variables when the text of a `trap` runs, which may be at any time from there on: what they are
 * at the trap, and what they are given anywhere. A variable that is given two values has none that is known.
 * Rules: POSIX.1-2024 XCU 2.15, trap.
 * @module
 */
import { spend } from '../../work.ts'
import {
  copyState,
  deleteVariable,
  forgetAll,
  known,
  type State,
  setVariable,
  UNKNOWN,
  type Value,
} from './state.ts'
import type { ShellCommand, ShellContext, ShellWord } from './syntax.ts'
import type { Walk } from './walk.ts'

type Environment = NonNullable<ShellContext['environment']>

/** What a variable costs that is told to a text. */
const ENTRY_STEPS = 4

/** Variables that are there before a text sets them, on most devices. */
const INHERITED: readonly string[] = Object.freeze([
  ...['PATH', 'SHELL', 'MAIL', 'HOME', 'USER', 'LOGNAME', 'PWD', 'OLDPWD', 'LANG', 'TERM', 'HOSTNAME'],
])

/** Tells each `trap` of a walk that has ended of its variables. */
export function closeTraps(walk: Walk, end: State): void {
  for (const { at, variables } of walk.traps) {
    const command = walk.commands[at]
    if (command === undefined) continue
    spend(walk.work, (variables.size + end.history.values.size) * ENTRY_STEPS)
    walk.commands[at] = { ...command, environments: environmentsOf(variables, end) } satisfies ShellCommand
  }
}

function wordOf(value: Value | 'many' | undefined): ShellWord | undefined {
  return value !== undefined && value !== 'many' && value.kind === 'text' ? value.word : undefined
}

function isSameValue(given: Value | 'many', word: ShellWord | undefined): boolean {
  const other = wordOf(given)
  return (
    word !== undefined &&
    other?.text === word.text &&
    other.isGlob === word.isGlob &&
    other.opaque === word.opaque
  )
}

/** What `eval` finds: the variables as they are. */
export function environmentNow({ variables, work }: State): Environment {
  spend(work, variables.size * ENTRY_STEPS)
  const environment: { name: string; value: ShellWord }[] = []
  for (const [name, value] of variables) {
    const word = wordOf(value)
    if (word !== undefined) environment.push({ name, value: word })
  }
  return withHome(environment, variables)
}

/** Where nothing is known of the home directory any more, it is not what it was. */
function withHome(environment: Environment, variables: ReadonlyMap<string, Value>): Environment {
  const lost = ['HOME', 'TMPDIR'].filter((name) => !variables.has(name))
  return lost.length === 0 ? environment : [...environment, ...lost.map((name) => ({ name, value: UNKNOWN }))]
}

function environmentsOf(variables: ReadonlyMap<string, Value>, end: State): readonly Environment[] {
  const { history } = end
  const later: { name: string; value: ShellWord }[] = []
  const now: { name: string; value: ShellWord }[] = []
  let isSame = true
  for (const [name, value] of variables) {
    const word = wordOf(value)
    // What it has at the beginning, it also has.
    const given = history.values.get(name)
    const isKnown = !history.isOpen && (given === undefined || isSameValue(given, word))
    if (word !== undefined) later.push({ name, value: isKnown ? word : UNKNOWN })
    if (word !== undefined) now.push({ name, value: isKnown ? word : UNKNOWN })
  }
  for (const [name, value] of history.values) {
    if (variables.has(name)) continue
    const word = history.isOpen ? undefined : wordOf(value)
    if (word === undefined || INHERITED.includes(name)) continue
    later.push({ name, value: word })
    now.push({ name, value: known('') })
    isSame = false
  }
  return (isSame ? [later] : [later, now]).map((environment) => withHome(environment, variables))
}

/**
 * The states that a function finds which a trap calls: as at the end, without what is not always so; and, where there
 * is a variable that is first set behind the trap, with that one empty.
 */
export function trapStates(walk: Walk, end: State): readonly State[] {
  const state = copyState(end)
  const { history } = state
  if (history.isOpen) {
    forgetAll(state)
    return [state]
  }
  for (const [name, value] of [...history.values]) if (value === 'many') deleteVariable(state, name)
  const before = walk.traps[0]?.variables
  const later = [...history.values].filter(
    ([name, value]) => value !== 'many' && before?.has(name) === false && !INHERITED.includes(name),
  )
  if (later.length === 0) return [state]
  const early = copyState(state)
  for (const [name] of later) setVariable(early, name, { kind: 'text', word: known('') })
  return [state, early]
}
