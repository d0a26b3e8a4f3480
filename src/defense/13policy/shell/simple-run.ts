/**
 * Simple commands on the walk: expands their words, finds what they change, and calls functions.
 * Rules: POSIX.1-2024 XCU 2.9.1.
 * @module
 */

import { spend } from '../../work.ts'
import { assign, declared } from './assign.ts'
import { applyBuiltin, type Outcome, SPECIAL_BUILTINS, withoutPrefix } from './builtins.ts'
import { expanderFor, expandRedirects, type Runner, runInside } from './expander.ts'
import type { Expander } from './parameters.ts'
import { parseExpansions } from './parser.ts'
import { SHELL_DEPTH } from './scan.ts'
import { assignmentOf, DECLARERS } from './simple.ts'
import {
  deleteVariable,
  forgetAll,
  joinDirectories,
  replaceState,
  type State,
  setVariable,
  UNKNOWN,
  type Value,
  variablesNow,
} from './state.ts'
import type { Command, List, Redirect, ShellCommand, ShellWord, Simple, Word } from './syntax.ts'
import { charge, copied, emit, functionsOf, joined, type Walk, type Where } from './walk.ts'
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
    made = expanderFor(runner, walk, state, where, pipeline)
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
  if (assignments.some(({ name }) => NAMES.has(name))) walk.opaque.add('eval')
  if (program === undefined) {
    record()
    return { success: state, failure: simple.redirects.length > 0 ? state : undefined }
  }
  const called = program.opaque === undefined ? state.functions.get(program.text) : undefined
  if (called !== undefined) {
    const isHidden = called.isCertain && isHiding(program.text)
    if (!isHidden) record()
    for (const { name, value } of assignments) setVariable(state, name, { kind: 'text', word: value })
    const outcome = callFunction(runner, walk, called.bodies, words.slice(1), state, {
      ...where,
      inherited: redirects.filter(({ fd }) => fd === 0),
    })
    // What a function writes to goes where its call says.
    if (isHidden && own.some(({ fd }) => fd !== 0))
      emit(walk, state, {
        words: [],
        assignments: [],
        redirects: own,
        pipeline,
        place: where.place,
        isSubstitution: where.isSubstitution,
      })
    for (const { name } of assignments) forget(merged(walk, outcome), name)
    return outcome
  }
  // What a name stands for from here on is not followed.
  if (isRenaming(words, state)) walk.opaque.add('eval')
  record()
  if (DECLARERS.includes(program.text)) declared(expander(), walk.locals, program.text, simple, words)
  if (SPECIAL_BUILTINS.includes(program.text)) {
    // dash keeps what is assigned before one of these.
    for (const { name, value } of assignments) {
      if (state.variables.has(name)) deleteVariable(state, name)
      else setVariable(state, name, { kind: 'text', word: value })
    }
  }
  charge(walk, words.length + (state.positional?.length ?? 0))
  const outcome = applyBuiltin(state, words, walk.home)
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
  return outcome
}

function assignAll(expander: Expander, assignments: Simple['assignments']): ShellCommand['assignments'] {
  return assignments.map((assignment) => ({ name: assignment.name, value: assign(expander, assignment) }))
}

function emitSimple(
  walk: Walk,
  state: State,
  { place, isSubstitution }: Where,
  found: Pick<ShellCommand, 'words' | 'assignments' | 'redirects' | 'pipeline'>,
): void {
  const command = { ...found, place, isSubstitution }
  // Their text runs in the shell itself: `eval` at once, `trap` later, with what is known here.
  if (!OWN_TEXTS.includes(found.words[0]?.text ?? '')) emit(walk, state, command)
  else emit(walk, state, { ...command, environment: environmentNow(state) })
}

const OWN_TEXTS: readonly string[] = Object.freeze(['eval', 'trap'])
/** What a variable costs that is told to a text. */
const ENTRY_STEPS = 4

function environmentNow({ variables, work }: State): NonNullable<ShellCommand['environment']> {
  spend(work, variables.size * ENTRY_STEPS)
  const environment: { name: string; value: ShellWord }[] = []
  for (const [name, value] of variables)
    if (value.kind === 'text') environment.push({ name, value: value.word })
  // Where nothing is known of the home directory any more, it is not what it was.
  for (const name of ['HOME', 'TMPDIR']) if (!variables.has(name)) environment.push({ name, value: UNKNOWN })
  return environment
}

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

/** Arrays of bash and zsh of which an element is what a name runs from then on. */
const NAMES: ReadonlySet<string> = new Set(
  'BASH_ALIASES BASH_CMDS aliases galiases functions commands'.split(' '),
)

/** A text that ends the shell or does nothing, whenever it runs. */
const ENDINGS = /^(?:|-|:|[0-9]+|true|exit(?: [0-9]+)?)$/

/**
 * What makes names, values or directories others than those that are written from here on: an alias with its text, a
 * variable that is another one (`declare -n`), a trap; `eval` where it may call a function of this text.
 */
function isRenaming(given: readonly ShellWord[], state: State): boolean {
  const [program, ...operands] = withoutPrefix(given)
  const name = program?.text ?? ''
  const isPrefixed = program !== given[0]
  switch (name) {
    case 'alias':
      return operands.some(({ text }) => !text.startsWith('-'))
    case 'trap': {
      const text = operands.find(({ text }) => !/^-./.test(text))
      return operands.length > 1 && text !== undefined && !ENDINGS.test(text.text)
    }
    case 'eval':
      return isPrefixed || state.functions.size > 0
    case 'hash':
      return operands.some(({ text }) => text.startsWith('-p'))
    case 'shopt':
    case 'setopt':
      return operands.some(({ text }) => /cd_?able/i.test(text))
    case 'export':
      return isPrefixed
    default:
      return (
        DECLARERS.includes(name) && (isPrefixed || operands.some(({ text }) => /^-[A-Za-z]*n/.test(text)))
      )
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
    const expanded = expandWord(expander(), word)
    if (expanded === undefined) walk.opaque.add('limit')
    for (const item of expanded ?? []) all.push(item)
    if (all.length > 0 && !isDeclarer) isDeclarer = DECLARERS.includes(all[0]?.text ?? '') && all.length === 1
  }
  return all
}

const MOVERS: readonly string[] = Object.freeze(['cd', 'command', 'builtin'])
const DIRECTED: readonly string[] = Object.freeze(['HOME', 'CDPATH', 'OLDPWD', 'PWD'])

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
    if (level > 0) forgetAll(entry)
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
