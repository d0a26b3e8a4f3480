/**
 * The way through one command line: each command is taken down with what its words say, and then what it runs in its
 * turn is followed, through shells, interpreters and programs that run other programs.
 * Rules: docs/responses.md, section 2.
 * @module
 */
import { enter, hold, leave } from '../work.ts'
import { argumentPaths } from './arguments/command-paths.ts'
import { type Assignment, type Call, type Inner, isOfProtocol } from './arguments/inner.ts'
import type { ParsedArguments } from './arguments/options.ts'
import { parseCall } from './arguments/subcommands.ts'
import { liesWithin, pathsOf } from './arguments/used-paths.ts'
import { operandText, partlyKnown, valueTexts } from './arguments/word-texts.ts'
import { spendCommand } from './command-cost.ts'
import { readFilter } from './filters/filter.ts'
import { isMultiple, isShell, namesOf } from './programs/names.ts'
import { formOf } from './programs/programs.ts'
import {
  addPaths,
  addSurroundings,
  COMMANDS_MAX,
  DEPTH_MAX,
  directoryOf,
  draftOf,
  type Frame,
  placeOf,
  type Run,
  settingOf,
  stop,
} from './run.ts'
import { outputSize } from './shell/output.ts'
import { parseShell, type ShellContext, type ShellScript, type ShellWord } from './shell/shell.ts'
import { DECLARERS } from './shell/simple.ts'
import { innerOfInterpreter } from './wrappers/interpreters.ts'
import { addOpaque, connect, type Draft, type Segment, stdinOf, viaOf } from './wrappers/pipeline.ts'
import { innerOfShell, isAllArguments, positionals } from './wrappers/shell-invocation.ts'
import { knownOutput } from './wrappers/stream.ts'
import { innerOfWrapper, isWrapper, readAssignment } from './wrappers/wrappers.ts'

const NO_ARGUMENTS: ParsedArguments = Object.freeze({
  options: [],
  values: [],
  operands: [],
  firstOperand: 1,
})

/** `/proc/self/exe` and open files: which program that is depends on who runs it. */
function isSelf(text: string): boolean {
  if (!text.startsWith('/proc/') && !text.startsWith('/dev/fd/')) return false
  return text.endsWith('/exe') || text.includes('/fd/')
}

/** Takes down one command and all that it runs. */
export function runCommand(run: Run, words: readonly ShellWord[], frame: Frame): void {
  if (run.isOver) return
  if (frame.depth > DEPTH_MAX || run.drafts.length >= COMMANDS_MAX) {
    stop(run)
    return
  }
  enter(run.work)
  spendCommand(run.work, words, frame.assignments.length)
  const draft = draftOf(run, words, frame)
  run.drafts.push(draft)
  for (const { opaque } of words) if (opaque !== undefined) addOpaque(draft, opaque)
  const program = words[0]
  if (program === undefined) draft.names = [':']
  else if (program.opaque !== undefined) addOpaque(draft, 'program')
  else if (program.isGlob) {
    if (!liesWithin(program.text, frame.cwd, run.surroundings.cwd)) addOpaque(draft, 'program')
  } else draft.names = namesOf(program.text, frame.resolved)
  if (program !== undefined && isSelf(program.text)) addOpaque(draft, 'program')
  const form = formOf(draft.names)
  const assignments = addSurroundings(run, draft, frame)
  let parsed = NO_ARGUMENTS
  if (words.length > 1) {
    parsed = parseCall(draft.names, words, form)
    draft.options = parsed.options
    draft.operands = parsed.operands.map(operandText)
    if (parsed.operands.some(({ opaque }) => opaque !== undefined))
      draft.operands = [...draft.operands, ...parsed.operands.flatMap(partlyKnown)]
    if (parsed.values.length > 0)
      draft.optionValues = parsed.values.flatMap(({ option, word }) =>
        valueTexts(word).map((value) => ({ option, value })),
      )
    const paths = argumentPaths(draft.names, form, parsed, placeOf(run, frame))
    if (paths.length > 0) addPaths(draft, paths)
  }
  if (program !== undefined) {
    const call = {
      names: draft.names,
      name: '',
      words,
      parsed,
      stdin: frame.stdin,
      terminal: draft.terminal,
      work: run.work,
    }
    unwrap(run, draft, call, frame, assignments)
  }
  // What `read` takes is what its variables are.
  const taken = draft.names[0] === 'read' && frame.stdin.kind === 'text' ? frame.stdin.word.text : undefined
  if (draft.names[0] === 'echo' || draft.names[0] === 'printf')
    hold(run.work, outputSize([draft.names[0], ...draft.argv.slice(1)]))
  draft.output = taken ?? knownOutput(draft.names, words, frame.stdin)
  leave(run.work)
}

/** Follows what the command runs in its turn. */
function unwrap(run: Run, draft: Draft, call: Call, frame: Frame, assignments: readonly Assignment[]): void {
  const { names } = call
  if (DECLARERS.includes(names[0] ?? '')) {
    const set = call.parsed.operands.flatMap((word) => readAssignment(word) ?? [])
    draft.assignments = [...draft.assignments, ...set.map(settingOf)]
  }
  const followAll = (all: readonly Inner[]): void => {
    for (const inner of all) follow(run, draft, inner, frame, assignments)
  }
  if (isShell(names) && !isMultiple(names)) return followAll(innerOfShell(call))
  const wrapper = names.find((name) => isWrapper(name) && (!isMultiple([name]) || isMultiple(names)))
  if (wrapper !== undefined) followAll(innerOfWrapper({ ...call, name: wrapper }))
  followAll(innerOfInterpreter(call))
  for (const { option, word, use } of call.parsed.values) {
    if (isOfProtocol(call, option)) continue
    if (use === 'shell') followAll([{ kind: 'shell', word, via: `${names[0]} ${option}` }])
    else if (use === 'program' && wrapper === undefined)
      followAll([{ kind: 'argv', words: [word], via: `${names[0]} ${option}` }])
  }
}

function follow(
  run: Run,
  draft: Draft,
  inner: Inner,
  frame: Frame,
  assignments: readonly Assignment[],
): void {
  if (run.isOver) return
  switch (inner.kind) {
    case 'opaque':
      addOpaque(draft, inner.opaque)
      return
    case 'path':
      addPaths(draft, pathsOf(inner.word, inner.use, placeOf(run, frame)))
      return
    case 'argv': {
      const added = inner.assignments ?? []
      runCommand(run, inner.words, {
        ...frame,
        cwd: inner.directory === undefined ? frame.cwd : directoryOf(inner.directory, frame, run),
        via: [...frame.via, inner.via],
        depth: frame.depth + 1,
        assignments: [...assignments, ...added],
        freshFrom: assignments.length,
        redirects: [],
        stdin: inner.stdin ?? frame.stdin,
        resolved: undefined,
        environment: undefined,
      })
      return
    }
    case 'shell':
      followShell(run, draft, inner, frame, assignments)
      return
    case 'code': {
      const { word, filter, via } = inner
      if (filter === undefined) {
        if (word.opaque !== undefined) addOpaque(draft, 'eval')
        return
      }
      const read = readFilter(filter, word, via, run.work)
      for (const opaque of read.opaque) addOpaque(draft, opaque)
      for (const next of read.inner) follow(run, draft, next, frame, assignments)
      return
    }
  }
}

function followShell(
  run: Run,
  draft: Draft,
  inner: Extract<Inner, { kind: 'shell' }>,
  frame: Frame,
  assignments: readonly Assignment[],
): void {
  const { word, positional } = inner
  if (frame.depth >= DEPTH_MAX) {
    stop(run)
    return
  }
  const via = [...frame.via, inner.via]
  const depth = frame.depth + 1
  const stdin = inner.stdin ?? frame.stdin
  const base: Frame = {
    ...frame,
    via,
    depth,
    assignments,
    freshFrom: assignments.length,
    redirects: [],
    stdin,
    resolved: undefined,
    environment: undefined,
  }
  if (positional !== undefined && positional.length > 1 && isAllArguments(word.text)) {
    runCommand(run, positional.slice(1), base)
    return
  }
  if (word.opaque !== undefined) addOpaque(draft, 'eval')
  // A text that runs in the shell itself finds its variables, and parameters that are not told.
  const isOwn = inner.via === 'eval' || inner.via === 'trap'
  const variables = positional === undefined ? (isOwn ? NOTHING_KNOWN : undefined) : positionals(positional)
  const context: ShellContext = {
    ...{ cwd: frame.cwd, home: run.surroundings.home, environment: assignments },
    ...(variables === undefined ? {} : { variables }),
    ...(positional === undefined || positional.length < 2 ? {} : { positional: positional.slice(1) }),
  }
  const environment = (isOwn ? frame.environment : undefined) ?? assignments
  const script = parseShell(word.text, { ...context, environment }, run.work)
  // Of a text of which only the beginning is known, the end is cut anywhere.
  for (const opaque of script.opaque)
    if (opaque !== 'syntax' || word.opaque === undefined) addOpaque(draft, opaque)
  runScript(run, script, base)
}

const NOTHING_KNOWN: ReadonlyMap<string, string> = Object.freeze(new Map())

function runScript(run: Run, script: ShellScript, base: Frame): void {
  const pipelines = new Map<number, Segment[]>()
  for (const command of script.commands) {
    const segments = pipelines.get(command.pipeline) ?? []
    pipelines.set(command.pipeline, segments)
    const start = run.drafts.length
    const stdin = stdinOf(run.drafts, command, segments, base, run.work)
    runCommand(run, command.words, {
      ...base,
      cwd: command.cwd,
      via: viaOf(base.via, command),
      assignments:
        command.assignments.length === 0 ? base.assignments : [...base.assignments, ...command.assignments],
      freshFrom: base.assignments.length,
      redirects: command.redirects,
      stdin,
      resolved: undefined,
      environment: command.environment,
    })
    if (run.isOver) break
    segments.push({ place: command.place, start, end: run.drafts.length, output: run.drafts[start]?.output })
  }
  for (const segments of pipelines.values()) if (segments.length > 1) connect(run.drafts, segments, run.work)
}
