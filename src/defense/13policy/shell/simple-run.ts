/**
 * Simple commands on the walk: expands their words, finds what they change, and calls functions and aliases.
 * Rules: POSIX.1-2024 XCU 2.9.1.
 * @module
 */

import { aliasOf, runAlias, runEvaluated } from './aliases-run.ts'
import { assign, declared } from './assign.ts'
import { applyBuiltin, DECLARERS, type Outcome, readFrom, SPECIAL_BUILTINS } from './builtins.ts'
import { expanderFor, expandRedirects, type Runner, runInside } from './expander.ts'
import { outputOf, outputSize } from './output.ts'
import type { Expander } from './parameters.ts'
import { parseExpansions, parseText } from './parser.ts'
import { NAMING, pathPrinted } from './paths-printed.ts'
import { SHELL_DEPTH } from './scan.ts'
import { assignmentOf } from './simple.ts'
import {
  deleteVariable,
  forgetAll,
  joinDirectories,
  replaceState,
  restartHistory,
  type State,
  setVariable,
  type Value,
  variableOf,
  variablesNow,
} from './state.ts'
import type {
  Command,
  List,
  Redirect,
  ShellCommand,
  ShellRedirect,
  ShellWord,
  Simple,
  Word,
} from './syntax.ts'
import { environmentNow } from './traps.ts'
import {
  charge,
  chargeText,
  copied,
  emit,
  functionsOf,
  joined,
  perhaps,
  type Walk,
  type Where,
} from './walk.ts'
import { expandSingle, expandWord, plainField } from './words.ts'

const NONE: readonly never[] = Object.freeze([])

/** `name < <(other)` is `other | name`: what is inside stands before it in its pipeline. */
function runFed(runner: Runner, walk: Walk, simple: Simple, body: List, state: State, where: Where): Outcome {
  const pipeline = where.pipeline ?? walk.pipelines
  if (where.pipeline === undefined) walk.pipelines += 1
  const last = { place: where.place }
  runInside(runner, walk, body, state, { ...where, pipeline, last })
  const place = last.place + 1
  where.last.place = Math.max(where.last.place, place)
  const redirects = simple.redirects.map((redirect) =>
    feederOf(redirect) === body ? { ...redirect, target: FED } : redirect,
  )
  return runSimple(runner, walk, { ...simple, redirects }, state, { ...where, pipeline, place })
}

const FED: Word = Object.freeze([{ kind: 'substituted', isInput: true, body: [] } as const])

/** The commands of `< <( )`. */
function feederOf({ fd, kind, target }: Redirect): List | undefined {
  const [part] = target
  if (fd !== 0 || kind !== 'read' || target.length !== 1 || part?.kind !== 'substituted') return undefined
  return part.isInput && part.body.length > 0 ? part.body : undefined
}

export function runSimple(runner: Runner, walk: Walk, simple: Simple, state: State, where: Where): Outcome {
  const feeder = simple.redirects.length === 0 ? undefined : simple.redirects.map(feederOf).findLast(Boolean)
  if (feeder !== undefined) return runFed(runner, walk, simple, feeder, state, where)
  const pipeline = where.pipeline ?? walk.pipelines
  if (where.pipeline === undefined) walk.pipelines += 1
  // Most commands have plain words alone, and need none.
  let made: Expander | undefined
  const expander = (): Expander => {
    if (made !== undefined) return made
    const inside = isKill(simple.words) ? { ...where, namesProcesses: true } : where
    made = expanderFor(runner, walk, state, inside, pipeline)
    return made
  }
  const words = expandWords(walk, expander, simple.words)
  const own = simple.redirects.length === 0 ? NONE : expandRedirects(expander(), simple.redirects)
  const hasInput = where.inherited.length === 0 || own.some(({ fd }) => fd === 0)
  const redirects = hasInput ? own : [...where.inherited, ...own]
  // Before a command they are for its environment alone.
  const isScoped = words.length > 0 && simple.assignments.length > 0
  const scope = isScoped ? copied(walk, state) : state
  const assignments =
    simple.assignments.length === 0
      ? NONE
      : assignAll(
          isScoped ? expanderFor(runner, walk, scope, where, pipeline) : expander(),
          simple.assignments,
        )
  const record = () => emitSimple(walk, state, where, { words, assignments, redirects, pipeline })
  const [program] = words
  if (program === undefined || EVALUATING.includes(program.text)) {
    runIndexes(walk, expander(), [...words, ...assignments.map(({ value }) => value)])
  }
  if (program === undefined) {
    record()
    if (own.some(({ fd, kind }) => fd === 0 && kind !== 'dup')) walk.output = undefined
    return { success: state, failure: simple.redirects.length > 0 ? state : undefined }
  }
  if (program.text === 'eval' && state.aliases.size > 0) {
    perhaps(walk, () =>
      runEvaluated(runner, walk, words.slice(1), copied(walk, state), { ...where, isTop: false }),
    )
  }
  const alias = aliasOf(state, simple.words)
  if (alias !== undefined) {
    const at = { ...where, isTop: false }
    const end = perhaps(walk, () => runAlias(runner, walk, simple, alias, copied(walk, state), at))
    replaceState(state, joined(walk, state, merged(walk, end)) ?? state)
  }
  if (walk.isTrapping) functionsOf(walk).trapNames.add(program.text)
  const called = program.opaque === undefined ? state.functions.get(program.text) : undefined
  if (called !== undefined) {
    const isHidden = called.isCertain && isHiding(program.text) && alias === undefined
    if (!isHidden) record()
    if (own.length > 0 && !isHidden) walk.output = undefined
    for (const { name, value } of assignments) setVariable(state, name, { kind: 'text', word: value })
    const outcome = callFunction(runner, walk, called.bodies, words.slice(1), state, {
      ...where,
      inherited: redirects.filter(({ fd }) => fd === 0),
      isTop: false,
    })
    if (own.some(({ fd }) => fd !== 0)) {
      // What a function writes to goes where its call says.
      walk.output = undefined
      if (isHidden)
        emit(walk, state, {
          words: [],
          assignments: [],
          redirects: own,
          pipeline,
          place: where.place,
          isSubstitution: where.isSubstitution,
        })
    }
    for (const { name } of assignments) forget(merged(walk, outcome), name)
    return outcome
  }
  if (program.text === 'trap' && walk.dry === 0) {
    if (walk.traps.length === 0) restartHistory(state)
    for (let at = 0; at < state.directories.length; at += 1)
      walk.traps.push({ at: walk.commands.length + at, variables: variablesNow(state) })
  }
  record()
  const printed =
    NAMING.includes(program.text) && walk.output !== undefined
      ? pathPrinted(walk, simple, words, scope)
      : undefined
  noteOutput(walk, words, redirects, printed)
  if (DECLARERS.includes(program.text)) declared(expander(), walk.locals, program.text, simple, words)
  if (SPECIAL_BUILTINS.includes(program.text)) {
    // dash keeps what is assigned before one of these.
    for (const { name, value } of assignments) {
      if (state.variables.has(name)) deleteVariable(state, name)
      else setVariable(state, name, { kind: 'text', word: value })
    }
  }
  charge(walk, words.length + (state.positional?.length ?? 0))
  if (program.text === 'printf') chargeText(walk, outputSize(words.map(({ text }) => text)))
  const outcome = applyBuiltin(state, words, walk.home)
  if (program.text === 'read') readFrom(state, words, redirects)
  if (
    MOVERS.includes(program.text) &&
    outcome.success !== undefined &&
    assignments.some(({ name }) => DIRECTED.includes(name))
  ) {
    // `HOME=/ cd` goes by what is assigned before it.
    outcome.success.directories = joinDirectories(outcome.success.directories, [undefined])
  }
  if (JUMPS.includes(program.text)) {
    walk.jumped = joined(walk, walk.jumped, copied(walk, state))
  }
  if (program.text === 'exit' && !where.isSubstitution) walk.exited = copied(walk, state)
  if (program.text === 'trap') noteTrap(runner, walk, state, words, where)
  return outcome
}

function assignAll(expander: Expander, assignments: Simple['assignments']): ShellCommand['assignments'] {
  return assignments.map((assignment) => ({ name: assignment.name, value: assign(expander, assignment) }))
}

function emitSimple(
  walk: Walk,
  state: State,
  { place, isSubstitution, namesProcesses = false, isShown = false }: Where,
  found: Pick<ShellCommand, 'words' | 'assignments' | 'redirects' | 'pipeline'>,
): void {
  const own = { ...found, place, isSubstitution }
  const command = namesProcesses ? { ...own, namesProcesses } : isShown ? { ...own, isShown } : own
  if (found.words[0]?.text !== 'eval') emit(walk, state, command)
  else emit(walk, state, { ...command, environments: [environmentNow(state)] })
}

/** `kill`, or `kill` behind a few plain words: `sudo kill -9`. */
function isKill(words: readonly Word[]): boolean {
  if (words.length < 2) return false
  for (const word of words.slice(0, KILL_WORDS)) {
    const text = plainField(word)?.text
    if (text === undefined) return false
    if (text === 'kill' || text.endsWith('/kill')) return true
  }
  return false
}

const KILL_WORDS = 4
const JUMPS: readonly string[] = Object.freeze(['break', 'continue', 'return'])
/** Builtins that take arithmetic or names with an index. */
const EVALUATING: readonly string[] = Object.freeze([
  ...['[', 'test', 'let', 'printf', 'read', 'unset', 'wait', 'mapfile', 'readarray', 'getopts'],
  ...['declare', 'typeset', 'local', 'export', 'readonly'],
])

/** Arithmetic runs the substitutions in an index, wherever the text comes from: `x='a[$(id)]'; ((x))`. */
export function runIndexes(walk: Walk, expander: Expander, words: readonly ShellWord[]): void {
  for (const { text } of words) {
    const at = Math.max(text.indexOf('[$('), text.indexOf('[`'))
    if (at === -1 || !charge(walk, text.length)) continue
    const { word, failure } = parseExpansions(
      text.slice(at + 1),
      Math.min(walk.depth, SHELL_DEPTH),
      walk.work,
    )
    if (failure === undefined) expander.single(word)
  }
}

/** A function of that name is what every shell calls. */
function isHiding(name: string): boolean {
  return !SPECIAL_BUILTINS.includes(name) && !name.includes('/')
}

function forget(state: State | undefined, name: string): void {
  if (state !== undefined) deleteVariable(state, name)
}

function merged(walk: Walk, { success, failure }: Outcome): State | undefined {
  return joined(walk, success, failure)
}

/** `$x` in the place of a program, where it is an array: zsh, rc, fish and yash run all of it, others the first item. */
function wholeArray(expander: () => Expander, [part, ...others]: Word): readonly ShellWord[] | undefined {
  if (part?.kind !== 'parameter' || others.length > 0) return undefined
  const { name, index, form, operator } = part.parameter
  if (index !== undefined || form !== 'value' || operator !== undefined) return undefined
  const value = variableOf(expander().state, name)
  return value?.kind === 'array' && value.items.length > 1 ? value.items : undefined
}

function expandWords(walk: Walk, expander: () => Expander, words: readonly Word[]): readonly ShellWord[] {
  const all: ShellWord[] = []
  let isDeclarer = false
  for (const word of words) {
    if (walk.isOver) break
    const assignment = isDeclarer ? assignmentOf(word) : undefined
    const isPlain = assignment !== undefined && assignment.index === undefined && !assignment.isAppend
    if (assignment !== undefined && isPlain) {
      // `export x=$y` is not split in bash.
      const value = expandSingle(expander(), assignment.value as Word)
      const stands = value.stands === undefined ? {} : { stands: `${assignment.name}=${value.stands}` }
      all.push({ ...value, text: `${assignment.name}=${value.text}`, ...stands })
      continue
    }
    const plain = plainField(word)
    if (plain !== undefined) {
      if (charge(walk, 1)) all.push(plain)
      if (all.length === 1 && !isDeclarer) isDeclarer = DECLARERS.includes(plain.text)
      continue
    }
    const expanded =
      (all.length === 0 ? wholeArray(expander, word) : undefined) ?? expandWord(expander(), word)
    if (expanded === undefined) walk.opaque.add('limit')
    for (const item of expanded ?? []) all.push(item)
    if (all.length > 0 && !isDeclarer) isDeclarer = DECLARERS.includes(all[0]?.text ?? '') && all.length === 1
  }
  return all
}

const MOVERS: readonly string[] = Object.freeze(['cd', 'command', 'builtin'])
const DIRECTED: readonly string[] = Object.freeze(['HOME', 'CDPATH', 'OLDPWD', 'PWD'])

/** Adds what the command prints to what is known, or makes it unknown. */
function noteOutput(
  walk: Walk,
  words: readonly ShellWord[],
  redirects: readonly ShellRedirect[],
  made: string | undefined,
): void {
  if (walk.output === undefined) return
  const isKnown = made !== undefined || words.every(({ isGlob, opaque }) => !isGlob && opaque === undefined)
  const isOwn = redirects.every(({ fd, kind }) => fd === 0 || (fd === 2 && kind === 'write'))
  if (!isKnown || !isOwn) {
    walk.output = undefined
    return
  }
  const texts = words.map(({ text }) => text)
  const size = outputSize(texts)
  if (size > 0 && !chargeText(walk, size)) return
  const printed =
    SILENT.includes(texts[0] ?? '') || (texts[0] === 'cd' && texts[1] !== '-')
      ? ''
      : (made ?? copiedInput(texts, redirects) ?? outputOf(texts))
  walk.output = printed === undefined || !chargeText(walk, printed.length) ? undefined : walk.output + printed
}

const SILENT: readonly string[] = Object.freeze([
  ...[':', 'true', 'false', 'set', 'shift', 'unset', 'local', 'exit', 'return', 'break', 'continue', 'trap'],
])

/** `cat` of a here-document. */
function copiedInput(texts: readonly string[], redirects: readonly ShellRedirect[]): string | undefined {
  const input = redirects.findLast(({ fd }) => fd === 0)
  const isCopy =
    texts.length === 1 && texts[0] === 'cat' && input?.kind === 'text' && input.target.opaque === undefined
  return isCopy ? input.target.text : undefined
}

/** DEBUG, ERR, RETURN and signals run their text between any two commands. */
function isSignalled(words: readonly ShellWord[]): boolean {
  const [, text, ...conditions] = words
  return (
    conditions.length > 0 &&
    (text?.opaque !== undefined || !['', '-', '--'].includes(text?.text ?? '')) &&
    !conditions.every((word) => word.text === 'EXIT' || word.text === '0')
  )
}

function noteTrap(runner: Runner, walk: Walk, state: State, words: readonly ShellWord[], where: Where): void {
  const text = words[1]
  for (const name of text?.text.match(/[^\s;&|()]+/g) ?? []) {
    functionsOf(walk).trapNames.add(name)
    // It is called when the rest is done, whatever it has been called with before.
    for (const body of state.functions.get(name)?.bodies ?? []) {
      functionsOf(walk).called.delete(body)
      functionsOf(walk).trapped.add(body)
    }
  }
  if (text === undefined || !isSignalled(words)) return
  walk.hasSignals = true
  if (text.opaque !== undefined || !keepsVariables(runner, walk, text.text, state, where))
    state.isForgetful = true
}

/** Whether the text of a trap leaves the variables as they are. */
function keepsVariables(runner: Runner, walk: Walk, text: string, state: State, where: Where): boolean {
  if (!charge(walk, text.length)) return false
  const { list, failure } = parseText(text, Math.min(walk.depth, SHELL_DEPTH), walk.work)
  if (failure !== undefined) return false
  const { output, jumped, exited, isTrapping } = walk
  const entry = copied(walk, state)
  const { variables } = entry
  walk.isTrapping = true
  walk.dry += 1
  const { success, failure: failed } = runner.list(walk, list, entry, where)
  walk.dry -= 1
  Object.assign(walk, { output, jumped, exited, isTrapping })
  return [success, failed].every(
    (end) => end === undefined || (end.variables === variables && !(end.isForgetful && !state.isForgetful)),
  )
}

/** Calls within one another of the same function that are followed: once as given, once with anything. */
const SELF_CALLS = 2

function callFunction(
  runner: Runner,
  walk: Walk,
  bodies: readonly Command[],
  operands: readonly ShellWord[],
  state: State,
  where: Where,
): Outcome {
  let result: State | undefined
  for (const body of bodies) {
    if (walk.isOver) break
    const { calls, called } = functionsOf(walk)
    const level = calls.get(body) ?? 0
    called.add(body)
    // Processes that start themselves again have no end.
    if (level > 0 && where.isForked) walk.opaque.add('limit')
    if (level >= SELF_CALLS || walk.depth >= SHELL_DEPTH * 4) {
      forgetAll(state)
      state.directories = [undefined]
      walk.output = undefined
      result = joined(walk, result, state)
      continue
    }
    const entry = copied(walk, state)
    const before = variablesNow(state)
    const { positional } = state
    const { jumped, locals } = walk
    walk.jumped = undefined
    const own = new Set<string>()
    walk.locals = own
    calls.set(body, level + 1)
    entry.positional = operands
    if (level > 0) {
      forgetAll(entry)
      walk.output = undefined
    }
    walk.depth += 1
    const outcome = runner.command(walk, body, entry, { ...where, isForked: false })
    walk.depth -= 1
    const end = joined(walk, merged(walk, outcome), walk.jumped)
    if (end !== undefined) {
      end.positional = positional
      for (const name of own) restore(end, name, before.get(name))
      result = joined(walk, result, end)
    }
    calls.set(body, level)
    walk.jumped = jumped
    walk.locals = locals
  }
  if (result === undefined) return { success: undefined, failure: undefined }
  replaceState(state, result)
  return { success: state, failure: state }
}

function restore(state: State, name: string, value: Value | undefined): void {
  if (value === undefined) deleteVariable(state, name)
  else setVariable(state, name, value)
}
