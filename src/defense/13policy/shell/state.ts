/**
 * What is known at one point of a shell text: variables, positional parameters, functions, the working directory. Where
 * two ways lead to a point, only what both agree upon stays known. Copies share what is in them until one is changed.
 * @module
 */
import { spend, type Work } from '../../work.ts'
import type { Command, ShellContext, ShellWord } from './syntax.ts'

/** What copying an entry of a map or a set costs. */
const COPIED_STEPS = 2

/** Of one variable. A variable that is not in the map has a value that is not known, or none. */
export type Value =
  | { readonly kind: 'text'; readonly word: ShellWord }
  | { readonly kind: 'array'; readonly items: readonly ShellWord[] }
  | { readonly kind: 'unset' }

export type ShellFunction = { readonly bodies: readonly Command[]; readonly isCertain: boolean }

export type State = {
  /** Pays for what is copied and compared of this state. */
  readonly work: Work
  /** Changed by the functions of this file alone: other states may share it. */
  variables: ReadonlyMap<string, Value>
  functions: ReadonlyMap<string, ShellFunction>
  /** What of the two is this state's own; the rest is copied before it is changed. */
  ownsVariables: boolean
  ownsFunctions: boolean
  /** Undefined: not known. */
  positional: readonly ShellWord[] | undefined
  /** Every directory it can be in (a `cd` may fail); undefined in it: somewhere else. The likeliest is first. */
  directories: readonly (string | undefined)[]
  previous: string | undefined
  stack: readonly (string | undefined)[]
  /**
   * Variables that do not have the value they are given: read-only ones (a shell may go on after it refuses), integers,
   * references, those that the shell sets itself.
   */
  fixed: ReadonlySet<string>
}

const SET_BY_SHELL: ReadonlySet<string> = new Set(
  [
    '_ BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_COMMAND BASH_LINENO BASH_REMATCH BASH_SOURCE',
    'BASH_SUBSHELL BASH_VERSINFO COMP_WORDS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD',
    'LINENO PIPESTATUS PPID RANDOM SECONDS SHELLOPTS SRANDOM UID',
  ].flatMap((line) => line.split(' ')),
)

/** Directories a command may run in, of which each is judged; more become unknown. */
const DIRECTORIES = 8

export function known(text: string): ShellWord {
  return { text, isGlob: false, opaque: undefined }
}

export const UNKNOWN: ShellWord = Object.freeze({ text: '', isGlob: false, opaque: 'expansion' })

export const DEFAULT_IFS = ' \t\n'

export function startState(context: ShellContext, work: Work): State {
  const { cwd, home, variables, environment } = context
  const values = new Map<string, Value>()
  values.set('HOME', { kind: 'text', word: known(home) })
  values.set('IFS', IFS)
  values.set('CDPATH', UNSET)
  values.set('TMPDIR', UNSET)
  if (environment !== undefined)
    for (const { name, value } of environment)
      if (!NOT_INHERITED.includes(name) && !SET_BY_SHELL.has(name))
        values.set(name, { kind: 'text', word: value })
  if (variables !== undefined)
    for (const [name, text] of variables) values.set(name, { kind: 'text', word: known(text) })
  return {
    work,
    variables: values,
    functions: NO_FUNCTIONS,
    ownsVariables: true,
    ownsFunctions: false,
    positional: context.positional ?? positionalOf(variables),
    directories: [cwd],
    previous: undefined,
    stack: [],
    fixed: SET_BY_SHELL,
  }
}

const IFS: Value = Object.freeze({ kind: 'text', word: known(DEFAULT_IFS) })
const UNSET: Value = Object.freeze({ kind: 'unset' })
const NO_FUNCTIONS: State['functions'] = Object.freeze(new Map())

/** Variables that a shell sets itself when it starts. */
const NOT_INHERITED: readonly string[] = Object.freeze(['IFS', 'PWD'])

function positionalOf(variables: ReadonlyMap<string, string> | undefined): readonly ShellWord[] | undefined {
  if (variables === undefined) return []
  const all = variables.get('@')
  if (all === undefined) return undefined
  const words: ShellWord[] = []
  for (let text = variables.get('1'); text !== undefined; text = variables.get(String(words.length + 1))) {
    words.push(known(text))
  }
  return words.length > 0
    ? words
    : all
        .split(' ')
        .filter((text) => text !== '')
        .map(known)
}

export function copyState(state: State): State {
  share(state)
  return {
    work: state.work,
    variables: state.variables,
    functions: state.functions,
    ownsVariables: false,
    ownsFunctions: false,
    positional: state.positional,
    directories: state.directories,
    previous: state.previous,
    stack: state.stack,
    fixed: state.fixed,
  }
}

function share(state: State): void {
  state.ownsVariables = false
  state.ownsFunctions = false
}

/** The variables as they are now, which stay as they are. */
export function variablesNow(state: State): ReadonlyMap<string, Value> {
  state.ownsVariables = false
  return state.variables
}

function ownVariables(state: State): Map<string, Value> {
  if (!state.ownsVariables) {
    spend(state.work, state.variables.size * COPIED_STEPS)
    state.variables = new Map(state.variables)
    state.ownsVariables = true
  }
  return state.variables as Map<string, Value>
}

export function setFunction(state: State, name: string, entry: ShellFunction): void {
  if (!state.ownsFunctions) {
    spend(state.work, state.functions.size * COPIED_STEPS)
    state.functions = new Map(state.functions)
    state.ownsFunctions = true
  }
  ;(state.functions as Map<string, ShellFunction>).set(name, entry)
}

/** Puts what `from` knows in the place of what `into` knows. */
export function replaceState(into: State, from: State): void {
  if (into === from) return
  share(from)
  Object.assign(into, from)
}

function isSameWord(left: ShellWord, right: ShellWord): boolean {
  return (
    left === right ||
    (left.text === right.text &&
      left.isGlob === right.isGlob &&
      left.opaque === right.opaque &&
      left.stands === right.stands)
  )
}

function isSameWords(left: readonly ShellWord[], right: readonly ShellWord[]): boolean {
  return (
    left.length === right.length && left.every((word, index) => isSameWord(word, right[index] ?? UNKNOWN))
  )
}

function isSame(left: Value | undefined, right: Value | undefined): boolean {
  if (left === right) return true
  if (left?.kind === 'text' && right?.kind === 'text') return isSameWord(left.word, right.word)
  if (left?.kind === 'array' && right?.kind === 'array') return isSameWords(left.items, right.items)
  return left?.kind === 'unset' && right?.kind === 'unset'
}

/** What holds whether it came from `left` or from `right`. */
export function mergeStates(left: State, right: State): State {
  const merged = copyState(left)
  if (left.variables !== right.variables) spend(left.work, left.variables.size)
  if (left.functions !== right.functions)
    spend(left.work, left.functions.size + right.functions.size * COPIED_STEPS)
  if (left.variables !== right.variables) {
    for (const [name, value] of left.variables) {
      if (!isSame(value, right.variables.get(name))) ownVariables(merged).delete(name)
    }
  }
  if (left.functions !== right.functions) {
    for (const [name, entry] of right.functions) {
      const own = left.functions.get(name)
      if (own === entry) continue
      const bodies = [...new Set([...(own?.bodies ?? []), ...entry.bodies])]
      setFunction(merged, name, { bodies, isCertain: false })
    }
    for (const [name, entry] of left.functions) {
      if (!right.functions.has(name)) setFunction(merged, name, { ...entry, isCertain: false })
    }
  }
  const isPositionalSame =
    left.positional !== undefined &&
    right.positional !== undefined &&
    (left.positional === right.positional || isSameWords(left.positional, right.positional))
  if (!isPositionalSame) merged.positional = undefined
  merged.directories = joinDirectories(left.directories, right.directories)
  if (left.previous !== right.previous) merged.previous = undefined
  if (left.stack.length !== right.stack.length) merged.stack = []
  if (left.fixed !== right.fixed) merged.fixed = new Set([...left.fixed, ...right.fixed])
  return merged
}

export function joinDirectories(
  left: readonly (string | undefined)[],
  right: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  if (left === right || (left.length === 1 && right.length === 1 && left[0] === right[0])) return left
  const all = [...left]
  // Few: each side has been joined itself.
  for (const directory of right) if (!all.includes(directory)) all.push(directory)
  return all.length > DIRECTORIES ? [undefined] : all
}

/** From now on no variable has a value that is known. */
export function forgetAll(state: State): void {
  state.variables = new Map()
  state.ownsVariables = true
  state.positional = undefined
}

/** Gives a variable a value, where it takes one. */
export function setVariable(state: State, name: string, value: Value): void {
  if (state.fixed.has(name)) {
    deleteVariable(state, name)
    return
  }
  ownVariables(state).set(name, value)
}

/** The variable has a value that is not known, or none. */
export function deleteVariable(state: State, name: string): void {
  if (state.variables.has(name)) ownVariables(state).delete(name)
}

/** What the variable is given from now on is not known to stay. */
export function fixVariable(state: State, name: string): void {
  if (state.fixed.has(name)) return
  spend(state.work, state.fixed.size * COPIED_STEPS)
  state.fixed = new Set([...state.fixed, name])
}

export function variableOf(state: State, name: string): Value | undefined {
  const value = state.variables.get(name)
  if (value !== undefined) return value
  const [directory, ...others] = state.directories
  if (name === 'PWD' && directory !== undefined && others.length === 0)
    return { kind: 'text', word: known(directory) }
  if (name === 'OLDPWD' && state.previous !== undefined) return { kind: 'text', word: known(state.previous) }
  return undefined
}

/** The separators of fields; undefined where they are not known. */
export function separatorsOf(state: State): string | undefined {
  const value = variableOf(state, 'IFS')
  if (value?.kind === 'unset') return DEFAULT_IFS
  return value?.kind === 'text' && value.word.opaque === undefined ? value.word.text : undefined
}
