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
  const [part, ...others] = word ?? []
  return part?.kind === 'text' && others.length === 0 ? part.text : undefined
}

/** @param isTop whether nothing stands around them that could take what they put out */
export function onlyShows(commands: readonly Command[], state: State, isTop: boolean): boolean {
  const [first, ...filters] = commands.map((command) => programOf(command, state))
  if (first === undefined) return false
  if (filters.length === 0 && TESTING.has(first)) return true
  return (
    isTop && SHOWING.has(first) && filters.every((program) => program !== undefined && FILTERING.has(program))
  )
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
