/**
 * The state of taking one command line apart: what has been found, what it may still cost, and what a command stands in.
 * Rules: docs/responses.md, section 2.
 * @module
 */

import { spend, spendPass, type Work } from '../work.ts'
import type { Assignment, Stdin } from './arguments/inner.ts'
import { type Place, pathsOf } from './arguments/used-paths.ts'
import type { CommandSurroundings, EffectiveCommand, UsedPath } from './effective.ts'
import { joinPath } from './shell/join-path.ts'
import type { ShellCommand, ShellRedirect, ShellWord } from './shell/shell.ts'
import { addOpaque, type Draft } from './wrappers/pipeline.ts'

/** Commands within commands; what people write has three. */
export const DEPTH_MAX = 8

/** Commands of one request; each is judged by every rule. */
export const COMMANDS_MAX = 256

export type Run = {
  readonly surroundings: CommandSurroundings
  readonly drafts: Draft[]
  /** What the whole decision has cost and may cost. */
  readonly work: Work
  isOver: boolean
}

/** What a command stands in. */
export type Frame = {
  readonly cwd: string | undefined
  readonly via: readonly string[]
  readonly depth: number
  readonly assignments: readonly Assignment[]
  /** Those of `assignments` that nothing has looked at yet begin here. */
  readonly freshFrom: number
  readonly redirects: readonly ShellRedirect[]
  readonly stdin: Stdin
  readonly resolved: string | undefined
  /** Of a command of a shell text whose own text runs later or at once: what is known of the variables there. */
  readonly environment: ShellCommand['environment']
}

export function finish(draft: Draft): EffectiveCommand {
  return {
    names: draft.names,
    path: draft.path,
    argv: draft.argv,
    options: draft.options,
    optionValues: draft.optionValues,
    operands: draft.operands,
    paths: draft.paths,
    assignments: draft.assignments,
    via: draft.via,
    pipedFrom: draft.pipedFrom,
    pipedTo: draft.pipedTo,
    opaque: draft.opaque,
    cwd: draft.cwd,
    terminal: draft.terminal,
  }
}

/**
 * Pays for what every rule together looks at of a command: its words and its paths, each by its length.
 * @throws WorkSpent
 */
export function spendJudgement(work: Work, draft: Draft): void {
  const { options, operands, paths, argv, pipedFrom, pipedTo, assignments } = draft
  const named = options.length + operands.length + assignments.length
  spend(work, JUDGED_STEPS + WORD_STEPS * (named + pipedFrom.length + pipedTo.length))
  let characters = 0
  for (let at = 0; at < argv.length; at++) characters += argv[at]?.length ?? 0
  for (let at = 0; at < paths.length; at++) {
    const used = paths[at]
    if (used !== undefined)
      characters += PATH_LOOKS_AT_LEAST + used.path.length * (used.isGlob ? GLOB_LOOKS : PATH_LOOKS)
  }
  spendPass(work, characters)
}

/** Steps that every rule together takes for a command, and for each of its words. */
const JUDGED_STEPS = 200
const WORD_STEPS = 4
/** How often all patterns together go over a path, and over one with wild characters. */
const PATH_LOOKS = 8
const PATH_LOOKS_AT_LEAST = 64
const GLOB_LOOKS = 256

/** Of each redirection: a path that is written, and what is kept of it. */
const REDIRECT_STEPS = 32

const NONE: readonly never[] = Object.freeze([])

/** Says on the last command that there is more than was looked at. */
export function stop(run: Run): void {
  run.isOver = true
  const last = run.drafts.at(-1)
  if (last !== undefined) addOpaque(last, 'limit')
}

/** Paths of one command; a rule that needs more to see what is done would not see it with more. */
const PATHS_MAX = 4_096

export function addPaths(draft: Draft, paths: readonly UsedPath[]): void {
  for (const path of paths) {
    if (draft.paths.length >= PATHS_MAX) addOpaque(draft, 'limit')
    else draft.paths.push(path)
  }
}

/** What a word of a command is a path by. */
export function placeOf({ surroundings }: Run, { cwd }: Frame): Place {
  return { cwd, home: surroundings.home, root: surroundings.cwd }
}

export function draftOf(run: Run, words: readonly ShellWord[], frame: Frame): Draft {
  const program = words[0]?.text ?? ''
  const { cwd } = frame
  let path: string | undefined
  if (program.startsWith('/')) path = joinPath('/', program)
  else if (program.includes('/')) path = cwd === undefined ? undefined : joinPath(cwd, program)
  else path = frame.resolved
  return {
    names: NONE,
    path,
    argv: words.map(({ text }) => text),
    options: NONE,
    optionValues: NONE,
    operands: NONE,
    paths: [],
    assignments: NONE,
    via: frame.via,
    pipedFrom: NONE,
    pipedTo: NONE,
    opaque: NONE,
    cwd: frame.cwd,
    terminal: run.surroundings.terminal,
    output: undefined,
  }
}

export function settingOf({ name, value }: Assignment): Draft['assignments'][number] {
  if (value.opaque === undefined) return { name, value: value.text }
  return { name, value: undefined, ...(value.stands === undefined ? {} : { stands: value.stands }) }
}

/** Puts in what stands around the words: assignments and redirections. Gives the assignments that it passes on. */
export function addSurroundings(run: Run, draft: Draft, frame: Frame): readonly Assignment[] {
  const { assignments, redirects } = frame
  if (assignments.length > 0) {
    draft.assignments = assignments.map(settingOf)
    for (const { value } of assignments.slice(frame.freshFrom)) {
      if (value.opaque !== undefined) addOpaque(draft, value.opaque)
    }
  }
  if (redirects.length === 0) return assignments
  const place = placeOf(run, frame)
  spend(run.work, redirects.length * REDIRECT_STEPS)
  for (const { kind, target } of redirects) {
    if (target.opaque !== undefined) addOpaque(draft, target.opaque)
    if (kind === 'read') addPaths(draft, pathsOf(target, 'read', place))
    else if (kind === 'write' || kind === 'readwrite') addPaths(draft, pathsOf(target, 'write', place))
  }
  return assignments
}

export function directoryOf(word: ShellWord, frame: Frame, run: Run): string | undefined {
  const [path] = pathsOf(word, 'mention', placeOf(run, frame))
  return path === undefined || path.isOpaque || path.isGlob ? undefined : path.path
}
