/**
 * What a command of the command line is, as data and one function. One file a command, each exporting `command`.
 * @module
 */
import type { Described, ParsedArguments } from './arguments.ts'

/** Where a command's words go: results to stdout, everything about them to stderr. */
export type Output = {
  /** True with --json: the result is one JSON object on stdout, and nothing else is. */
  readonly json: boolean
  /** True where stdout is a terminal that wants colours. */
  readonly colour: boolean
  /** The result: the object with --json, else the lines. Gives the exit code of a command that has one, 0. */
  result(value: object, lines: readonly string[]): number
  /** One line for people on stderr. */
  note(text: string): void
  /** One sentence of our own on stderr, after `sass-edge: `; with --json too. */
  warn(sentence: string): void
  /** One line that begins `sass-edge:` on stderr; with --json also `{error, reason, ...details}` on stdout. */
  error(error: unknown): void
}

/** What a command may use of the process it runs in. */
export type CommandContext = {
  readonly arguments: ParsedArguments
  readonly output: Output
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

export type Command = {
  /** The forms of the command line after `sass-edge `, like `agent add NAME`. */
  readonly usage: readonly string[]
  /** Its own options; those of every command are in COMMON_OPTIONS. */
  readonly options: Described
  /** Command lines, and what each does. */
  readonly examples: Described
  /** The exit code; a thrown SassError is told and turned into one by exit-codes.ts. */
  run(context: CommandContext): Promise<number>
}

/** With its name and its line of the overview, for whoever shows commands. */
export type NamedCommand = Command & { readonly name: string; readonly summary: string }
