/**
 * The walk over lists, pipelines and compound commands: every way through the text is taken, and what differs between
 * the ways is not known after they meet.
 * Rules: POSIX.1-2024 XCU 2.9.
 * @module
 */
import { enter, leave } from '../../work.ts'
import type { Outcome } from './builtins.ts'
import { expanderFor, expandRedirects, type Runner } from './expander.ts'
import { SHELL_DEPTH } from './scan.ts'
import { literalOf } from './simple.ts'
import { runIndexes, runSimple } from './simple-run.ts'
import { deleteVariable, forgetAll, type State, setFunction, setVariable, UNKNOWN } from './state.ts'
import type { AndOr, Command, Compound, List, Pipeline, ShellWord, Word } from './syntax.ts'
import {
  charge,
  copied,
  emit,
  functionsOf,
  giveUp,
  joined,
  sameState,
  type Walk,
  type Where,
} from './walk.ts'
import { expandArithmetic, expandWord } from './words.ts'

/** Values of a loop variable that are followed one by one. */
const LOOP_WORDS = 64
/** Rounds until a loop changes nothing more; after them nothing stays known. */
const LOOP_ROUNDS = 3

/** What running an item of a list and a command costs, whatever they are. */
const ITEM_STEPS = 4
const COMMAND_STEPS = 16

export const RUNNER: Runner = Object.freeze({ list: runList, command: runCommand })

/** Runs a list in `state`, which it may change. */
export function runList(walk: Walk, list: List, state: State, where: Where): Outcome {
  let outcome: Outcome = { success: state, failure: undefined }
  let last = state
  if (walk.depth >= SHELL_DEPTH * 4) giveUp(walk)
  enter(walk.work)
  walk.depth += 1
  for (const item of list) {
    if (!charge(walk, ITEM_STEPS)) break
    // After `exit` nothing runs; it is looked at all the same.
    const start: State = joined(walk, outcome.success, outcome.failure) ?? last
    last = start
    if (item.isBackground) {
      runAndOr(walk, item, copied(walk, start), { ...where, isForked: true })
      outcome = { success: start, failure: undefined }
    } else outcome = runAndOr(walk, item, start, where)
  }
  walk.depth -= 1
  leave(walk.work)
  return outcome
}

function runAndOr(walk: Walk, { first, rest }: AndOr, state: State, where: Where): Outcome {
  let left = runPipeline(walk, first, state, where)
  for (const { isAnd, pipeline } of rest) {
    if (walk.isOver) break
    const before = left
    const entry = copied(
      walk,
      (isAnd ? before.success : before.failure) ?? before.success ?? before.failure ?? state,
    )
    const right = runPipeline(walk, pipeline, entry, where)
    left = isAnd
      ? { success: before.success && right.success, failure: joined(walk, before.failure, right.failure) }
      : { success: joined(walk, before.success, right.success), failure: right.failure }
  }
  return left
}

function runPipeline(walk: Walk, { commands, isNegated }: Pipeline, state: State, where: Where): Outcome {
  const [only] = commands
  if (only === undefined) return { success: state, failure: state }
  if (commands.length === 1) {
    const { success, failure } = runCommand(walk, only, state, where)
    return isNegated ? { success: failure, failure: success } : { success, failure }
  }
  const pipeline = where.pipeline ?? walk.pipelines
  if (where.pipeline === undefined) walk.pipelines += 1
  let { place } = where
  let last: State = state
  for (const command of commands) {
    if (walk.isOver) break
    const taken = { place }
    const inherited = command === only ? where.inherited : []
    const own = copied(walk, state)
    const outcome = runCommand(walk, command, own, {
      ...where,
      pipeline,
      place,
      inherited,
      isForked: true,
      last: taken,
    })
    last = joined(walk, outcome.success, outcome.failure) ?? state
    place = taken.place + 1
  }
  where.last.place = Math.max(where.last.place, place - 1)
  // Some shells run the last one in their own process.
  const after = joined(walk, state, last) ?? state
  return { success: after, failure: after }
}

export function runCommand(walk: Walk, command: Command, state: State, where: Where): Outcome {
  if (!charge(walk, COMMAND_STEPS)) return { success: state, failure: state }
  where.last.place = Math.max(where.last.place, where.place)
  if (command.kind === 'simple') return runSimple(RUNNER, walk, command, state, where)
  if (command.redirects.length === 0) return runCompound(walk, command.compound, state, where)
  const pipeline = where.pipeline ?? walk.pipelines
  if (where.pipeline === undefined) walk.pipelines += 1
  const redirects = expandRedirects(expanderFor(RUNNER, walk, state, where, pipeline), command.redirects)
  const { place, isSubstitution } = where
  emit(walk, state, { words: [], assignments: [], redirects, pipeline, place, isSubstitution })
  const inputs = redirects.filter(({ fd }) => fd === 0)
  const inherited = inputs.length > 0 ? inputs : where.inherited
  return runCompound(walk, command.compound, state, { ...where, inherited })
}

function merged(walk: Walk, outcome: Outcome): State | undefined {
  return joined(walk, outcome.success, outcome.failure)
}

function both(state: State): Outcome {
  return { success: state, failure: state }
}

function runCompound(walk: Walk, compound: Compound, state: State, where: Where): Outcome {
  switch (compound.kind) {
    case 'group':
      return runList(walk, compound.body, state, where)
    case 'subshell': {
      const jumped = walk.jumped
      runList(walk, compound.body, copied(walk, state), where)
      walk.jumped = jumped
      return both(state)
    }
    case 'if':
      return runIf(walk, compound, state, where)
    case 'loop':
      return runLoop(walk, state, (entry) => {
        const condition = merged(walk, runList(walk, compound.condition, entry, where)) ?? entry
        const body = merged(walk, runList(walk, compound.body, copied(walk, condition), where))
        return joined(walk, condition, body) ?? condition
      })
    case 'for':
      return runFor(walk, compound, state, where)
    case 'case':
      return runCase(walk, compound, state, where)
    case 'arithmetic': {
      const expander = expanderFor(RUNNER, walk, state, where, where.pipeline ?? walk.pipelines)
      expandArithmetic(expander, compound.expression)
      const { reading } = compound
      if (reading !== undefined && looksLikeCommands(reading)) {
        runList(walk, reading, copied(walk, state), where)
      }
      return both(state)
    }
    case 'condition':
      return runCondition(walk, compound, state, where)
    case 'define':
      functionsOf(walk).defined.add(compound.body)
      setFunction(state, compound.name, { bodies: [compound.body], isCertain: true })
      return { success: state, failure: undefined }
  }
}

function runIf(
  walk: Walk,
  { arms, otherwise }: Extract<Compound, { kind: 'if' }>,
  state: State,
  where: Where,
): Outcome {
  let entry = state
  let result: State | undefined
  let isEnded = false
  for (const { condition, body } of arms) {
    const tested = runList(walk, condition, entry, where)
    const start = copied(walk, tested.success ?? tested.failure ?? entry)
    const end = runList(walk, body, start, where)
    result = joined(walk, result, merged(walk, end))
    entry = tested.failure ?? copied(walk, tested.success ?? entry)
  }
  if (otherwise !== undefined) {
    const start = entry
    const end = merged(walk, runList(walk, otherwise, start, where))
    isEnded = end === undefined && result === undefined
    result = joined(walk, result, end)
  } else result = joined(walk, result, entry)
  return isEnded ? { success: undefined, failure: undefined } : both(result ?? entry)
}

/** Finds what stays as it is in every round, then runs `round` from there for good. */
function runLoop(walk: Walk, state: State, round: (entry: State) => State): Outcome {
  const outer = walk.jumped
  let entry = state
  let isStable = false
  walk.dry += 1
  for (let rounds = 0; !isStable && rounds < LOOP_ROUNDS && !walk.isOver; rounds += 1) {
    walk.jumped = undefined
    const end = round(copied(walk, entry))
    const next = joined(walk, joined(walk, entry, end), walk.jumped) ?? entry
    isStable = sameState(next, entry)
    entry = next
  }
  walk.dry -= 1
  if (!isStable) {
    entry = copied(walk, entry)
    forgetAll(entry)
    entry.directories = [undefined]
  }
  walk.jumped = undefined
  const end = round(copied(walk, entry))
  const after = joined(walk, joined(walk, entry, end), walk.jumped) ?? entry
  walk.jumped = outer
  return both(after)
}

function runFor(
  walk: Walk,
  { name, words, body }: Extract<Compound, { kind: 'for' }>,
  state: State,
  where: Where,
): Outcome {
  const items = forItems(walk, words, state, where)
  const isExact = items.every(({ isGlob, opaque }) => !isGlob && opaque === undefined)
  const round = (entry: State, item: ShellWord): State => {
    if (item === UNKNOWN) deleteVariable(entry, name)
    else setVariable(entry, name, { kind: 'text', word: item })
    return merged(walk, runList(walk, body, entry, where)) ?? entry
  }
  if (!isExact || items.length === 0) {
    const values = items.length === 0 ? [UNKNOWN] : items
    return runLoop(walk, state, (entry) => {
      let end = entry
      for (const item of values) end = joined(walk, end, round(copied(walk, entry), item)) ?? end
      return end
    })
  }
  const outer = walk.jumped
  let entry = state
  for (const item of items) {
    if (walk.isOver) break
    walk.jumped = undefined
    const end = round(entry, item)
    entry = joined(walk, end, walk.jumped) ?? end
  }
  walk.jumped = outer
  return both(entry)
}

function forItems(
  walk: Walk,
  words: Extract<Compound, { kind: 'for' }>['words'],
  state: State,
  where: Where,
): readonly ShellWord[] {
  if (words === undefined) return state.positional ?? [UNKNOWN]
  const expander = expanderFor(RUNNER, walk, state, where, where.pipeline ?? walk.pipelines)
  const items: ShellWord[] = []
  for (const word of words) {
    const expanded = expandWord(expander, word)
    if (expanded === undefined) return [UNKNOWN]
    for (const item of expanded) items.push(item)
  }
  return items.length > LOOP_WORDS ? [UNKNOWN] : items
}

function runCase(
  walk: Walk,
  { subject, arms }: Extract<Compound, { kind: 'case' }>,
  state: State,
  where: Where,
): Outcome {
  const expander = expanderFor(RUNNER, walk, state, where, where.pipeline ?? walk.pipelines)
  expander.single(subject)
  let result: State | undefined = state
  for (const { patterns, body } of arms) {
    for (const pattern of patterns) expander.single(pattern)
    // `;&` goes on from the arm before.
    const start = copied(walk, result ?? state)
    const end = runList(walk, body, start, where)
    result = joined(walk, result, merged(walk, end))
  }
  return both(result ?? state)
}

const BINARY: readonly string[] = Object.freeze([
  ...['=', '==', '!=', '=~', '<', '>', '-eq', '-ne', '-lt', '-le', '-gt', '-ge', '-nt', '-ot', '-ef'],
])

/** A shell that takes `[[` for a program gives this to the last command. */
const CLOSING: Word = Object.freeze([{ kind: 'text', text: ']]', isQuoted: true } as const])

function runCondition(
  walk: Walk,
  { parts }: Extract<Compound, { kind: 'condition' }>,
  state: State,
  where: Where,
): Outcome {
  const expander = expanderFor(RUNNER, walk, state, where, where.pipeline ?? walk.pipelines)
  for (const [index, { words, isAfterOr }] of parts.entries()) {
    const expanded = words.map((word) => expander.single(word))
    runIndexes(walk, expander, expanded)
    const [first, second] = expanded
    if (!isAfterOr || first === undefined || first.opaque !== undefined) continue
    const isTest = first.text.startsWith('-') || first.text === '!' || first.text === ''
    const isComparison =
      BINARY.includes(second?.text ?? '') && words.length <= 3 && literalOf(words[0] ?? []) === undefined
    if (isTest || isComparison || !isProgramName(first.text)) continue
    const closing = index === parts.length - 1 ? [CLOSING] : []
    runSimple(
      RUNNER,
      walk,
      { kind: 'simple', assignments: [], words: [...words, ...closing], arrays: [], redirects: [] },
      copied(walk, state),
      where,
    )
  }
  return both(state)
}

function isProgramName(text: string): boolean {
  return /^[A-Za-z_./][A-Za-z0-9_./-]*$/.test(text) && !/^\.*$/.test(text)
}

/** In dash `((rm -rf x))` runs; `((i++))` and `((i < 3))` are left as arithmetic. */
function looksLikeCommands(list: List): boolean {
  return list.some(({ first, rest }) =>
    [first, ...rest.map(({ pipeline }) => pipeline)].some(({ commands }) =>
      commands.some((command) => {
        if (command.kind !== 'simple') return true
        const [word, next] = command.words
        if (word === undefined) return false
        const isAlone = next === undefined && command.redirects.length > 0
        const text = literalOf(word)
        return text === undefined ? next !== undefined : isProgramName(text) && !isAlone
      }),
    ),
  )
}
