/**
 * What is known at one point of a shell text: variables, positional parameters, functions, the working directory. Where
 * two ways lead to a point, only what both agree upon stays known. States are copied, never shared, by their users.
 * @module
 */
import type { Command, ShellContext, ShellWord } from './syntax.ts'

/** Of one variable. A variable that is not in the map has a value that is not known, or none. */
export type Value =
  | { readonly kind: 'text'; readonly word: ShellWord }
  | { readonly kind: 'array'; readonly items: readonly ShellWord[] }
  | { readonly kind: 'unset' }

export type ShellFunction = { readonly bodies: readonly Command[]; readonly isCertain: boolean }

export type State = {
  variables: Map<string, Value>
  functions: Map<string, ShellFunction>
  aliases: Map<string, string>
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
  /** Nothing stays known of variables: a trap may change them at any time. */
  isForgetful: boolean
}

const SET_BY_SHELL: readonly string[] = Object.freeze([
  ...[
    '_',
    'BASHOPTS',
    'BASHPID',
    'BASH_ARGC',
    'BASH_ARGV',
    'BASH_COMMAND',
    'BASH_LINENO',
    'BASH_REMATCH',
    'BASH_SOURCE',
  ],
  ...[
    'BASH_SUBSHELL',
    'BASH_VERSINFO',
    'COMP_WORDS',
    'DIRSTACK',
    'EPOCHREALTIME',
    'EPOCHSECONDS',
    'EUID',
    'FUNCNAME',
  ],
  ...[
    'GROUPS',
    'HISTCMD',
    'LINENO',
    'PIPESTATUS',
    'PPID',
    'RANDOM',
    'SECONDS',
    'SHELLOPTS',
    'SRANDOM',
    'UID',
  ],
])

/** Directories a command may run in, of which each is judged; more become unknown. */
const DIRECTORIES = 8

export function known(text: string): ShellWord {
  return { text, isGlob: false, opaque: undefined }
}

export const UNKNOWN: ShellWord = Object.freeze({ text: '', isGlob: false, opaque: 'expansion' })

export const DEFAULT_IFS = ' \t\n'

export function startState(context: ShellContext): State {
  const { cwd, home, variables } = context
  const entries: [string, Value][] = [
    ['HOME', { kind: 'text', word: known(home) }],
    ['IFS', { kind: 'text', word: known(DEFAULT_IFS) }],
    ['CDPATH', { kind: 'unset' }],
  ]
  for (const [name, text] of variables ?? []) entries.push([name, { kind: 'text', word: known(text) }])
  return {
    ...{
      variables: new Map(entries),
      functions: new Map(),
      aliases: new Map(),
      stack: [],
      isForgetful: false,
    },
    fixed: new Set(SET_BY_SHELL),
    ...{ positional: positionalOf(variables), directories: [cwd], previous: undefined },
  }
}

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
  return {
    ...state,
    variables: new Map(state.variables),
    functions: new Map(state.functions),
    aliases: new Map(state.aliases),
  }
}

/** Puts what `from` knows in the place of what `into` knows. */
export function replaceState(into: State, from: State): void {
  Object.assign(into, from)
}

function isSameWord(left: ShellWord, right: ShellWord): boolean {
  return left.text === right.text && left.isGlob === right.isGlob && left.opaque === right.opaque
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
  for (const [name, value] of left.variables) {
    if (!isSame(value, right.variables.get(name))) merged.variables.delete(name)
  }
  for (const [name, entry] of right.functions) {
    const own = left.functions.get(name)
    if (own === entry) continue
    const bodies = [...new Set([...(own?.bodies ?? []), ...entry.bodies])]
    merged.functions.set(name, { bodies, isCertain: false })
  }
  for (const [name, entry] of left.functions) {
    if (!right.functions.has(name)) merged.functions.set(name, { ...entry, isCertain: false })
  }
  for (const [name, text] of right.aliases) merged.aliases.set(name, text)
  const isPositionalSame =
    left.positional !== undefined &&
    right.positional !== undefined &&
    isSameWords(left.positional, right.positional)
  if (!isPositionalSame) merged.positional = undefined
  merged.directories = joinDirectories(left.directories, right.directories)
  if (left.previous !== right.previous) merged.previous = undefined
  if (left.stack.length !== right.stack.length) merged.stack = []
  if (left.fixed !== right.fixed) merged.fixed = new Set([...left.fixed, ...right.fixed])
  merged.isForgetful = left.isForgetful || right.isForgetful
  return merged
}

export function joinDirectories(
  left: readonly (string | undefined)[],
  right: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  const all = [...new Set([...left, ...right])]
  return all.length > DIRECTORIES ? [undefined] : all
}

/** From now on no variable has a value that is known. */
export function forgetAll(state: State): void {
  state.variables = new Map()
  state.positional = undefined
}

/** Gives a variable a value, where it takes one. */
export function setVariable(state: State, name: string, value: Value): void {
  if (state.fixed.has(name)) state.variables.delete(name)
  else state.variables.set(name, value)
}

/** What the variable is given from now on is not known to stay. */
export function fixVariable(state: State, name: string): void {
  if (!state.fixed.has(name)) state.fixed = new Set([...state.fixed, name])
}

export function variableOf(state: State, name: string): Value | undefined {
  if (state.isForgetful) return undefined
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
