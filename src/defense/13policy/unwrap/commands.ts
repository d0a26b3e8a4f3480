/**
 * The way through one command line: each command is taken down with what its words say, and then what it runs in its
 * turn is followed, through shells, interpreters and programs that run other programs.
 * Rules: docs/responses.md, section 2.
 * @module
 */
import { enter, hold, leave } from '../../work.ts'
import { spendCode } from '../code/bounds.ts'
import { gapped, staysInPlace, UNKNOWN_PART } from '../code/script-parts.ts'
import { readCode, readGuess } from '../code/words.ts'
import { outputSize } from '../shell/output.ts'
import { parseShell, type ShellContext, type ShellScript, type ShellWord } from '../shell/shell.ts'
import { SETTINGS_MARK } from '../shell/words.ts'
import { spendCommand } from './command-cost.ts'
import { argumentPaths } from './command-paths.ts'
import { bareSetting, environmentText, takesSettings } from './environment-commands.ts'
import { copiedText, inputOf, isSelf, type Made, madeProgram, scriptAt } from './flow.ts'
import { type Assignment, type Call, type Inner, isOfProtocol, type Language } from './inner.ts'
import {
  innerOfInterpreter,
  isCommandFile,
  LANGUAGES,
  languageOf,
  programOf,
  readsCommands,
} from './interpreters.ts'
import { makesText } from './made-text.ts'
import { goesBy, isMultiple, isShell, namesOf } from './names.ts'
import type { ParsedArguments } from './options.ts'
import { addOpaque, connect, type Draft, isDecoder, type Segment, stdinOf, viaOf } from './pipeline.ts'
import { formOf, takesAnything, UNKNOWN_FORM } from './programs.ts'
import { innerOfProject, loadedFiles } from './project-files.ts'
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
import { settle } from './settle.ts'
import { innerOfScript, innerOfShell, isAllArguments, positionals } from './shell-invocation.ts'
import { knownOutput } from './stream.ts'
import { parseCall } from './subcommands.ts'
import { commandOfTool, isTool, textsOfTool } from './tool-words.ts'
import { unknownStarts } from './unknown-starts.ts'
import { liesWithin, pathsOf } from './used-paths.ts'
import { operandText, partlyKnown, valueTexts } from './word-texts.ts'
import { innerOfWrapper, isWrapper, readAssignment } from './wrappers.ts'

const NO_ARGUMENTS: ParsedArguments = Object.freeze({
  options: [],
  values: [],
  operands: [],
  firstOperand: 1,
})

/** They take an owner first, which is no place: `chown -R "$(id -u):$(id -g)" build`. */
const OWNER_PROGRAMS: ReadonlySet<string> = new Set(['chown', 'chgrp'])
const OWNER = /^<part>(?:[:.](?:<part>)?)?$/

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
  const isKnown = form !== UNKNOWN_FORM && !frame.assignments.some(({ name }) => name === 'PATH')
  const made =
    program === undefined || program.opaque !== undefined
      ? undefined
      : madeProgram(run.flow, program.text, draft.path, isKnown)
  // Then its names are also those of what it was copied from.
  if (made?.kind === 'program') draft.names = [...new Set([...made.names, ...draft.names])]
  const assignments = addSurroundings(run, draft, frame)
  const stdin = inputOf(run.flow, frame)
  let parsed = NO_ARGUMENTS
  if (words.length > 1) {
    const known = made?.kind === 'program' ? formOf(draft.names) : form
    parsed = parseCall(draft.names, words, known)
    draft.options = parsed.options
    const givesOwner = goesBy(draft.names, OWNER_PROGRAMS)
    draft.operands = parsed.operands.map((word, index) =>
      givesOwner && index === 0 && OWNER.test(word.stands ?? '') ? (word.stands ?? '') : operandText(word),
    )
    if (parsed.operands.some(({ opaque }) => opaque !== undefined))
      draft.operands = [...draft.operands, ...parsed.operands.flatMap(partlyKnown)]
    if (parsed.values.length > 0)
      draft.optionValues = parsed.values.flatMap(({ option, word }) =>
        valueTexts(word).map((value) => ({ option, value })),
      )
    const place = placeOf(run, frame)
    const paths = argumentPaths(draft.names, known, parsed, place)
    if (paths.length > 0) addPaths(draft, paths)
  }
  if (program !== undefined) {
    const call = {
      names: draft.names,
      name: '',
      words,
      parsed,
      stdin,
      terminal: draft.terminal,
      work: run.work,
    }
    unwrap(run, draft, call, stdin === frame.stdin ? frame : { ...frame, stdin }, assignments)
    if (made !== undefined && made.kind !== 'program')
      runMade(run, draft, made, words, undefined, 'sh', frame, assignments)
  }
  // What `read` takes is what its variables are.
  const taken = draft.names[0] === 'read' && stdin.kind === 'text' ? stdin.word.text : undefined
  if (draft.names[0] === 'echo' || draft.names[0] === 'printf')
    hold(run.work, outputSize([draft.names[0], ...draft.argv.slice(1)]))
  draft.output =
    taken ??
    knownOutput(draft.names, words, stdin) ??
    copiedText(run.flow, { names: draft.names, parsed, cwd: frame.cwd })
  const maker = {
    names: draft.names,
    options: draft.options,
    parsed,
    words,
    stdin,
    output: draft.output,
    redirects: frame.redirects,
    cwd: frame.cwd,
    calls: draft.calls,
    paths: draft.paths,
  }
  settle(run.flow, draft, maker, run.surroundings.cwd, run.work)
  leave(run.work)
}

/** Runs a file that the request has made: what was written into it, or what hides there. */
function runMade(
  run: Run,
  draft: Draft,
  made: Exclude<Made, { kind: 'program' }>,
  positional: readonly ShellWord[],
  given: Language | undefined,
  via: string,
  frame: Frame,
  assignments: readonly Assignment[],
): void {
  if (made.kind === 'hidden') {
    addOpaque(draft, made.opaque)
    return
  }
  if (frame.depth >= DEPTH_MAX) {
    stop(run)
    return
  }
  const word: ShellWord = { text: made.text, isGlob: false, opaque: undefined }
  const language = given ?? languageOf(made.text)
  const deeper = { ...frame, depth: frame.depth + 1 }
  const program = language === undefined && via === 'sh' && given === undefined ? programOf(made.text) : []
  if (program.length > 0) {
    follow(run, draft, { kind: 'argv', words: [...program, ...positional], via }, frame, assignments)
    return
  }
  if (language !== undefined) follow(run, draft, { kind: 'code', language, word, via }, deeper, assignments)
  else follow(run, draft, { kind: 'shell', word, via, positional }, frame, assignments)
}

const NO_ASSIGNMENTS: readonly Assignment[] = Object.freeze([])

const DECLARERS: readonly string[] = Object.freeze(['export', 'declare', 'typeset', 'local', 'readonly'])

/** Follows what the command runs in its turn. */
function unwrap(run: Run, draft: Draft, call: Call, frame: Frame, assignments: readonly Assignment[]): void {
  const { names } = call
  let fresh = assignments.length > frame.freshFrom ? assignments.slice(frame.freshFrom) : NO_ASSIGNMENTS
  if (DECLARERS.includes(names[0] ?? '')) {
    const set = call.parsed.operands.flatMap((word) => readAssignment(word) ?? [])
    draft.assignments = [...draft.assignments, ...set.map(settingOf)]
    fresh = [...fresh, ...set]
  }
  if (takesSettings(names))
    fresh = [...fresh, ...call.words.slice(1).flatMap((word) => readAssignment(bareSetting(word)) ?? [])]
  if (fresh.length > 0)
    for (const { name, value } of fresh)
      for (const inner of environmentText(name, value)) follow(run, draft, inner, frame, assignments)
  if (run.flow.files.size > 0)
    for (const inner of innerOfProject(run.flow, names)) follow(run, draft, inner, frame, assignments)
  if (isShell(names) && !isMultiple(names)) {
    for (const inner of innerOfShell(call)) follow(run, draft, inner, frame, assignments)
    return
  }
  const count = run.drafts.length
  const wrapper = names.find((name) => isWrapper(name) && (!isMultiple([name]) || isMultiple(names)))
  if (wrapper !== undefined) {
    for (const inner of innerOfWrapper({ ...call, name: wrapper }))
      follow(run, draft, inner, frame, assignments)
  }
  const loaded = loadedFiles(call)
  if (loaded.length > 0) for (const inner of loaded) follow(run, draft, inner, frame, assignments)
  const interpreter = names.find((name) => LANGUAGES.has(name))
  if (interpreter !== undefined) {
    // What is started reads the rest of an input of which the beginning was the program.
    const later = call.stdin.kind === 'text' ? { ...frame, stdin: { kind: 'caller' } as const } : frame
    for (const inner of innerOfInterpreter({ ...call, name: interpreter }))
      follow(run, draft, inner, later, assignments)
  }
  if (wrapper === undefined && interpreter === undefined && takesAnything(formOf(names)))
    for (const inner of unknownStarts(call)) follow(run, draft, inner, frame, assignments)
  if (isTool(names)) {
    for (const inner of textsOfTool(call, fresh)) follow(run, draft, inner, frame, assignments)
    // What its own form has not told already.
    if (run.drafts.length === count)
      for (const inner of commandOfTool(call)) follow(run, draft, inner, frame, assignments)
  }
  for (const { option, word, use } of call.parsed.values) {
    // A file with commands that is the output of one.
    const isHidden = use === 'read' && word.opaque === 'substitution' && isCommandFile(option)
    if (isHidden && (wrapper !== undefined || names.some(readsCommands)))
      for (const inner of innerOfScript(word, 'sh')) follow(run, draft, inner, frame, assignments)
    if (isOfProtocol(call, option)) continue
    if (use === 'shell')
      follow(run, draft, { kind: 'shell', word, via: `${names[0]} ${option}` }, frame, assignments)
    else if (use === 'program' && call.parsed.operands.length >= 0 && wrapper === undefined) {
      follow(run, draft, { kind: 'argv', words: [word], via: `${names[0]} ${option}` }, frame, assignments)
    }
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
      if (frame.isDecoded && inner.opaque === 'piped') addOpaque(draft, 'decoded')
      return
    case 'path':
      addPaths(draft, pathsOf(inner.word, inner.use, placeOf(run, frame)))
      return
    case 'script': {
      const { word, language, via, positional = [], read } = inner
      const made = scriptAt(run.flow, word, frame)
      if (made === undefined && inner.otherwise !== undefined) {
        draft.calls = [...draft.calls, inner.otherwise]
        return
      }
      if (read !== undefined) {
        const isFound = made?.kind === 'hidden' && (made.isFetched === true || made.opaque === 'decoded')
        if (isFound) addOpaque(draft, made.opaque)
        if (made?.kind !== 'text') return
        const text: ShellWord = { text: made.text, isGlob: false, opaque: undefined }
        for (const next of read(text)) follow(run, draft, next, frame, assignments)
        return
      }
      addPaths(draft, pathsOf(word, 'read', placeOf(run, frame)))
      if (made !== undefined && made.kind !== 'program')
        runMade(run, draft, made, positional, language, via, frame, assignments)
      return
    }
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
        environments: undefined,
      })
      return
    }
    case 'shell':
      followShell(run, draft, inner, frame, assignments)
      return
    case 'code': {
      const { word } = inner
      if (inner.isGuess === true) {
        if (word.opaque !== undefined) return
        spendCode(run.work, word.text)
        const guess = readGuess(word.text, inner.language, inner.via)
        for (const opaque of guess.opaque) addOpaque(draft, opaque)
        for (const next of guess.inner) follow(run, draft, next, frame, assignments)
        return
      }
      // What is text, a pattern or a number of a script is no program.
      const script = frame.isMade || frame.isDecoded ? undefined : gapped(word)
      const isKept = script !== undefined && staysInPlace(script, inner.language)
      if (word.opaque !== undefined && !isKept) addOpaque(draft, frame.isDecoded ? 'decoded' : 'eval')
      const text = isKept ? script : word.text
      spendCode(run.work, text)
      const reading = readCode(text, inner.language, inner.via)
      if (isKept) {
        draft.calls = [...draft.calls, UNKNOWN_PART]
        if (reading.inner.some(({ kind }) => kind !== 'path')) addOpaque(draft, 'eval')
      }
      const calls = new Set([...draft.calls, ...reading.calls])
      draft.calls = [...calls]
      for (const opaque of reading.opaque) addOpaque(draft, opaque)
      for (const next of reading.inner) follow(run, draft, next, frame, assignments)
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
    environments: undefined,
  }
  if (positional !== undefined && positional.length > 1 && isAllArguments(word.text)) {
    runCommand(run, positional.slice(1), base)
    return
  }
  // Programs that are there for it print what this evaluates.
  const isSettings = inner.via === 'eval' && word.stands === SETTINGS_MARK
  if (isSettings) return
  if (word.opaque !== undefined)
    addOpaque(draft, frame.isDecoded && word.opaque === 'substitution' ? 'decoded' : 'eval')
  // A text that runs in the shell itself finds its variables, and parameters that are not told.
  const isOwn = inner.via === 'eval' || inner.via === 'trap' || inner.via === 'alias'
  const variables = positional === undefined ? (isOwn ? NOTHING_KNOWN : undefined) : positionals(positional)
  const context: ShellContext = {
    ...{ cwd: frame.cwd, home: run.surroundings.home, environment: assignments },
    ...(variables === undefined ? {} : { variables }),
    ...(positional === undefined || positional.length < 2 ? {} : { positional: positional.slice(1) }),
  }
  const environments = isOwn ? frame.environments : undefined
  for (const environment of environments ?? [assignments]) {
    const script = parseShell(word.text, { ...context, environment }, run.work)
    // Of a text of which only the beginning is known, the end is cut anywhere.
    for (const opaque of script.opaque)
      if (opaque !== 'syntax' || word.opaque === undefined) addOpaque(draft, opaque)
    runScript(run, script, base)
    if (run.isOver) return
  }
}

const NOTHING_KNOWN: ReadonlyMap<string, string> = Object.freeze(new Map())

function runScript(run: Run, script: ShellScript, base: Frame): void {
  const pipelines = new Map<number, Segment[]>()
  const isMade = base.isMade || makesText(script.commands, run.surroundings.stdin)
  const isDecoded =
    base.isDecoded || script.commands.some((command) => command.isSubstitution && isDecoder(command))
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
      isDecoded,
      isMade,
      environments: command.environments,
    })
    if (run.isOver) break
    segments.push({ place: command.place, start, end: run.drafts.length, output: run.drafts[start]?.output })
  }
  for (const segments of pipelines.values()) if (segments.length > 1) connect(run.drafts, segments, run.work)
}
