/**
 * A command line as the commands that it would really run: the outermost one, and what it wraps, through shells,
 * interpreters and programs that run other programs. Reads no file and runs nothing. What cannot be known is said so;
 * nothing is guessed. A request that would cost more than one decision may (`work.ts`) is not read at all: it is its
 * own argv, opaque by `limit`.
 * Rules: docs/responses.md, section 2.
 * @module
 */
import { spend, startWork, type Work, WorkSpent } from '../work.ts'
import { runCommand } from './commands.ts'
import type { CommandSurroundings, Effective, EffectiveCommand } from './effective.ts'
import { namesOf } from './programs/names.ts'
import { draftOf, type Frame, finish, type Run, spendJudgement } from './run.ts'
import type { ShellWord } from './shell/shell.ts'

export { COMMANDS_MAX, DEPTH_MAX } from './run.ts'

/**
 * Every command that `argv` would run, the outermost first. `argv` is what execve gets: nothing in it is expanded.
 * @param environment `NAME=value`, as the caller sets them
 */
export function effectiveCommands(
  argv: readonly string[],
  surroundings: CommandSurroundings,
  environment: readonly string[] = [],
): Effective {
  return countEffective(argv, surroundings, environment).effective
}

/** As `effectiveCommands`, with what it has cost. */
export function countEffective(
  argv: readonly string[],
  surroundings: CommandSurroundings,
  environment: readonly string[] = [],
): { readonly effective: Effective; readonly work: Readonly<Work> } {
  const work = startWork()
  try {
    return { effective: { commands: readRequest(argv, surroundings, environment, work) }, work }
  } catch (cause) {
    if (!(cause instanceof WorkSpent)) throw cause
    const unread = { ...unreadCommand(argv, surroundings), opaque: LIMIT }
    return { effective: { commands: [withVariables(unread, environment)] }, work }
  }
}

/** What rules and tools ask of a variable that is set for a command. */
const VARIABLE_STEPS = 4

const LIMIT = Object.freeze(['limit'] as const)

function readRequest(
  argv: readonly string[],
  surroundings: CommandSurroundings,
  environment: readonly string[],
  work: Work,
): readonly EffectiveCommand[] {
  const own = readCommands(argv, surroundings, work)
  if (environment.length === 0) return own
  spend(work, environment.length * own.length * VARIABLE_STEPS)
  return own.map((command) => withVariables(command, environment))
}

/** The command as it is, with the variables that are set for it. */
function withVariables(command: EffectiveCommand, environment: readonly string[]): EffectiveCommand {
  if (environment.length === 0) return command
  const set = environment.map((entry) => {
    const at = entry.indexOf('=')
    return { name: entry.slice(0, at), value: entry.slice(at + 1) }
  })
  return { ...command, assignments: [...set, ...command.assignments] }
}

function readCommands(
  argv: readonly string[],
  surroundings: CommandSurroundings,
  work: Work,
): readonly EffectiveCommand[] {
  const run: Run = { surroundings, drafts: [], work, isOver: false }
  runCommand(run, wordsOf(argv), frameOf(surroundings))
  for (const draft of run.drafts) spendJudgement(work, draft)
  return run.drafts.map(finish)
}

/** The command itself, of which nothing was read but its name. */
function unreadCommand(argv: readonly string[], surroundings: CommandSurroundings): EffectiveCommand {
  const run: Run = { surroundings, drafts: [], work: startWork(), isOver: true }
  const draft = draftOf(run, wordsOf(argv), frameOf(surroundings))
  draft.names = namesOf(argv[0] ?? '', surroundings.resolved)
  return finish(draft)
}

function wordsOf(argv: readonly string[]): ShellWord[] {
  const words: ShellWord[] = []
  // By number: what iterates over a frozen array is garbage for each of its items.
  for (let at = 0; at < argv.length; at++)
    words.push({ text: argv[at] ?? '', isGlob: false, opaque: undefined })
  return words
}

function frameOf({ cwd, resolved }: CommandSurroundings): Frame {
  return {
    cwd,
    via: [],
    depth: 0,
    assignments: [],
    freshFrom: 0,
    redirects: [],
    stdin: { kind: 'caller' },
    resolved,
    environment: undefined,
  }
}
