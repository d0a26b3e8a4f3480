/**
 * Pipelines that only show something to whoever asked, or test it: what a substitution gives them goes no further, and
 * above all to no `kill`.
 * Rules: the manual pages of the programs named.
 * @module
 */
import type { State } from './state.ts'
import type { Command, ShellCommand, Word } from './syntax.ts'

const SHOWING: ReadonlySet<string> = new Set(
  'cat ls ps pmap readlink lsof top pidstat head tail grep tr wc stat echo printf'.split(' '),
)
/** They take lines or parts of them away, behind a program that shows. */
const FILTERING: ReadonlySet<string> = new Set('head tail grep wc sort uniq column tr cut cat'.split(' '))
/** They put out nothing, wherever they stand. */
const TESTING: ReadonlySet<string> = new Set(['[', 'test'])

/** Of these nothing goes to another program, or only to one that is judged too. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...[...SHOWING, ...FILTERING, ...TESTING],
  ...['pidof', 'pgrep', 'read', 'sleep', 'date', 'uptime', 'free', 'df', 'true', 'false', ':', 'cd'],
])
/** Variables that say which program a name is, or where its words end. */
const DIRECTING: ReadonlySet<string> = new Set(['PATH', 'IFS', 'ENV', 'BASH_ENV', 'PS4'])

/** The name of a program that only its own words say what it does. */
function programOf(command: Command, { functions, aliases, variables }: State): string | undefined {
  if (command.kind !== 'simple' || command.assignments.length > 0 || variables.has('PATH')) return undefined
  if (command.redirects.some(({ fd, kind }) => fd !== 2 && kind !== 'read')) return undefined
  const program = textOf(command.words[0])
  return program === undefined || functions.has(program) || aliases.has(program) ? undefined : program
}

function textOf(word: Word | undefined): string | undefined {
  const part = word?.length === 1 ? word[0] : undefined
  return part?.kind === 'text' ? part.text : undefined
}

/** @param isTop whether nothing stands around them that could take what they put out */
export function onlyShows(commands: readonly Command[], state: State, isTop: boolean): boolean {
  const first = programAt(commands, 0, state)
  if (first === undefined) return false
  if (commands.length === 1 && TESTING.has(first)) return true
  if (!isTop || !SHOWING.has(first)) return false
  return commands.every((_, at) => at === 0 || FILTERING.has(programAt(commands, at, state) ?? ''))
}

function programAt(commands: readonly Command[], at: number, state: State): string | undefined {
  const command = commands[at]
  return command === undefined ? undefined : programOf(command, state)
}

function isHarmless({ words, assignments, redirects }: ShellCommand): boolean {
  const [program] = words
  const isNamed = program === undefined || (program.opaque === undefined && HARMLESS.has(program.text))
  return (
    isNamed &&
    assignments.every(({ name }) => !DIRECTING.has(name)) &&
    redirects.every(
      ({ fd, kind, target }) =>
        fd === 2 || kind === 'dup' || (fd === 0 && kind !== 'write') || target.text === '/dev/null',
    )
  )
}

/** Where a whole text only shows things, so does every substitution in it. */
export function shownThroughout(commands: readonly ShellCommand[]): readonly ShellCommand[] {
  if (!commands.some(({ isSubstitution }) => isSubstitution) || !commands.every(isHarmless)) return commands
  return commands.map((command) => (command.isSubstitution ? { ...command, isShown: true } : command))
}
