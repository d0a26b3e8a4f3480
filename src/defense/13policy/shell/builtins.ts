/**
 * What the commands of a shell change in what is known: `cd`, `export`, `set`, `read`, `unset`, `alias`, `trap`, `eval`...
 * Rules: POSIX.1-2024 XCU 2.15 and `cd`; bash 5.2 for `declare`, `pushd`, `mapfile`.
 * @module
 */
import { joinPath } from './join-path.ts'
import {
  copyState,
  deleteVariable,
  forgetAll,
  known,
  type State,
  setFunction,
  setVariable,
  UNKNOWN,
  variableOf,
} from './state.ts'
import type { ShellWord } from './syntax.ts'

/** The state after success and after failure; undefined where that does not come about. */
export type Outcome = { readonly success: State | undefined; readonly failure: State | undefined }

/** Taken before functions by dash, so that a function of that name may not be called. */
export const SPECIAL_BUILTINS: readonly string[] = Object.freeze([
  ...['break', ':', 'continue', '.', 'eval', 'exec', 'exit', 'export', 'readonly', 'return', 'set', 'shift'],
  ...['times', 'trap', 'unset'],
])

/** Behind `command` and `builtin` with their options, what these run; themselves where nothing is behind them. */
export function withoutPrefix(words: readonly ShellWord[]): readonly ShellWord[] {
  let at = 0
  for (let next = 0; next < words.length; next += 1) {
    const { text, opaque, isGlob } = words[next] ?? UNKNOWN
    if (next > at && text.startsWith('-')) continue
    at = next
    if (opaque !== undefined || isGlob || (text !== 'command' && text !== 'builtin')) break
  }
  return at === 0 ? words : words.slice(at)
}

/** Effects of a command on `state`, which it may change. */
export function applyBuiltin(state: State, given: readonly ShellWord[], home: string): Outcome {
  const words = withoutPrefix(given)
  const [program, ...operands] = words
  const always: Outcome = { success: state, failure: undefined }
  const either: Outcome = { success: state, failure: state }
  if (program === undefined) return always
  if (program.opaque !== undefined || program.isGlob) {
    // It may be `export` or `eval` as well as any other; a path is none of them.
    if (!program.text.includes('/')) forgetAll(state)
    return either
  }
  const [first] = operands
  switch (program.text) {
    case ':':
    case 'true':
      return always
    case 'command':
    case 'builtin':
      return either
    case 'exit':
    case 'return':
    case 'break':
    case 'continue':
      return { success: undefined, failure: undefined }
    case 'exec':
      return operands.length === 0 ? always : { success: undefined, failure: state }
    case 'eval':
      forgetAll(state)
      if (operands.some(mayMove)) state.directories = [undefined]
      return either
    case '.':
    case 'source':
      // A file that is there is taken to leave what it does not know of as it is.
      if (first === undefined || first.opaque !== undefined) forgetAll(state)
      return either
    case 'cd':
      return changeDirectory(state, cdTarget(state, operands, home))
    case 'pushd':
      return pushDirectory(state, first)
    case 'popd': {
      const success = copyState(state)
      const [top, ...rest] = state.stack
      success.directories = [top]
      success.stack = rest
      return { success, failure: state }
    }
    case 'unset':
      unsetNames(state, operands)
      return either
    case 'set':
      setPositional(state, operands)
      return either
    case 'shift':
      shift(state, first)
      return either
    case 'alias':
    case 'unalias':
      return either
    case 'trap':
      return either
    case 'printf':
      // `printf -v NAME`
      if (first?.text.startsWith('-v')) forgetNames(state, operands, 'printf')
      return either
    case 'read':
    case 'mapfile':
    case 'readarray':
    case 'getopts':
    case 'let':
    case 'wait':
      forgetNames(state, operands, program.text)
      return either
    default:
      return either
  }
}

/** Whether the text of `eval` could lead to another directory. */
function mayMove({ text, opaque }: ShellWord): boolean {
  return opaque !== undefined || /(?:^|[^\w-])(?:cd|pushd|popd|eval|source|\.)(?:\s|$)/.test(text)
}

/** Directories of which one is meant: a glob, or a word of which only the beginning is known. */
function manyDirectories({ text, isGlob, opaque }: ShellWord): ShellWord | undefined {
  if (opaque === undefined) return isGlob && !/(?:^|\/)\.[*?[]/.test(text) ? known(text) : undefined
  const slash = text.lastIndexOf('/')
  return slash === -1 ? undefined : known(`${text.slice(0, slash + 1)}*`)
}

function cdTarget(state: State, operands: readonly ShellWord[], home: string): ShellWord | undefined {
  const [target, second] = operands.some(isSwitch) ? operands.filter((word) => !isSwitch(word)) : operands
  if (second !== undefined) return undefined
  if (target !== undefined && (target.isGlob || target.opaque !== undefined)) return manyDirectories(target)
  if (target === undefined) {
    const value = variableOf(state, 'HOME')
    if (value?.kind === 'unset') return known(home)
    return value?.kind === 'text' && value.word.opaque === undefined ? value.word : undefined
  }
  if (target.text === '-') return state.previous === undefined ? undefined : known(state.previous)
  const path = variableOf(state, 'CDPATH')
  return path === undefined || path.kind === 'unset' || isPlaced(target.text) ? target : undefined
}

/** `-L`, `-P` and their kin; `-` alone is a directory. */
function isSwitch({ text, opaque }: ShellWord): boolean {
  return opaque === undefined && text.startsWith('-') && text !== '-' && /^-[LPe@]*-?$/.test(text)
}

/** What begins with a slash or a dot is not looked for by `CDPATH`. */
function isPlaced(text: string): boolean {
  return /^\.{0,2}(?:\/|$)/.test(text)
}

function changeDirectory(state: State, target: ShellWord | undefined): Outcome {
  const success = copyState(state)
  const [from] = state.directories
  success.directories = target === undefined ? [undefined] : resolved(state, target.text)
  success.previous = state.directories.length === 1 ? from : undefined
  deleteVariable(success, 'PWD')
  deleteVariable(success, 'OLDPWD')
  return { success, failure: state }
}

function resolved(state: State, path: string): readonly (string | undefined)[] {
  if (path.startsWith('/')) return [joinPath('/', path)]
  const directories = state.directories.map((from) => (from === undefined ? undefined : joinPath(from, path)))
  return [...new Set(directories)]
}

/** Directories that `pushd` may leave; a longer stack is not followed. */
const STACK = 64

function pushDirectory(state: State, target: ShellWord | undefined): Outcome {
  const isPlain = target !== undefined && !/^[-+]/.test(target.text)
  const isKnown = isPlain && target.opaque === undefined && !target.isGlob
  const place = isKnown || !isPlain ? target : manyDirectories(target)
  const { success, failure } = changeDirectory(state, isPlain ? place : undefined)
  const from = state.directories.length === 1 ? state.directories[0] : undefined
  if (success !== undefined)
    success.stack = isPlain && state.stack.length < STACK ? [from, ...state.stack] : []
  return { success, failure }
}

function unsetNames(state: State, operands: readonly ShellWord[]): void {
  if (operands.some(({ opaque }) => opaque !== undefined)) forgetAll(state)
  const isFunction = operands[0]?.text === '-f'
  for (const { text } of operands) {
    const entry = state.functions.get(text)
    if (entry !== undefined) setFunction(state, text, { ...entry, isCertain: false })
    if (!isFunction && /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) setVariable(state, text, { kind: 'unset' })
    else if (!isFunction) deleteVariable(state, text.split('[')[0] ?? '')
  }
}

function setPositional(state: State, operands: readonly ShellWord[]): void {
  const isOperand = ({ text, opaque }: ShellWord) =>
    opaque !== undefined || text === '--' || !/^[-+]/.test(text)
  let at = operands.findIndex(isOperand)
  // `-o name` takes the word after it; which it is here does not matter to what follows `--`.
  while (at > 0 && operands[at]?.opaque === undefined && /^[-+][a-z]*o$/.test(operands[at - 1]?.text ?? ''))
    at = operands.findIndex((word, index) => index > at && isOperand(word))
  if (at === -1) return
  if (operands[at]?.opaque !== undefined) {
    state.positional = undefined
    return
  }
  state.positional = operands.slice(operands[at]?.text === '--' ? at + 1 : at)
}

function shift(state: State, count: ShellWord | undefined): void {
  const number = count === undefined ? 1 : Number.parseInt(count.text, 10)
  const isKnown =
    count?.opaque === undefined && Number.isSafeInteger(number) && state.positional !== undefined
  if (!isKnown) state.positional = undefined
  else if (state.positional !== undefined && number >= 0 && number <= state.positional.length)
    state.positional = state.positional.slice(number)
}

function forgetNames(state: State, operands: readonly ShellWord[], program: string): void {
  // The name may stand in the same word as its option.
  if (operands.some(({ text, opaque }) => opaque !== undefined || isJoined(text))) forgetAll(state)
  for (const { text } of operands)
    for (const name of text.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []) deleteVariable(state, name)
  for (const name of SET_ALONG.get(program) ?? []) deleteVariable(state, name)
}

function isJoined(text: string): boolean {
  return /^-./.test(text) && !/^-[erst]*[a-zA-Z]$/.test(text)
}

/** What these set beside what they are told to. */
const SET_ALONG: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', ['REPLY']],
  ['mapfile', ['MAPFILE']],
  ['readarray', ['MAPFILE']],
  ['getopts', ['OPTARG', 'OPTIND']],
])
