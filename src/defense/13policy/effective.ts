/**
 * What a command line comes down to: the programs that would really run, with their options as sets, their operands,
 * the paths they use, and what of it cannot be known. Types alone; unwrap.ts makes them, the rules judge them.
 * Rules: docs/responses.md, section 2.
 * @module
 */
import type { Tool } from '../../base/tool-name.ts'
import type { ToxicProperty } from '../../base/toxic-property.ts'

/**
 * Why a part of a command line cannot be known beforehand:
 * - `expansion`: a word holds a variable or arithmetic whose value is not in the text
 * - `substitution`: a word is the output of a command (the command itself is judged as well)
 * - `program`: which program runs is not known (its word is an expansion, a substitution or a glob)
 * - `eval`: text is put together and then run as a program (`eval`, `exec(...)` of an interpreter, `source <(...)`)
 * - `piped`: a shell or an interpreter reads its program from another command
 * - `stdin`: a shell or an interpreter reads its program from its standard input, which is not part of the request
 * - `syntax`: the text is not what the shell's grammar allows; nothing in it can be relied upon
 * - `limit`: too deep, too many commands or too much text to look at, or processes that are started without an end
 */
export type Opaque =
  | 'expansion'
  | 'substitution'
  | 'program'
  | 'eval'
  | 'piped'
  | 'stdin'
  | 'syntax'
  | 'limit'

/** What is known of the request around a command line. */
export type CommandSurroundings = {
  /** Absolute and normalised. */
  readonly cwd: string
  /** The home directory of the user that commands run as; absolute. */
  readonly home: string
  /** The real path of the program that argv[0] resolves to, where the host found one. */
  readonly resolved: string | undefined
  readonly terminal: boolean
  /** Whether the caller feeds the standard input. */
  readonly stdin: boolean
}

export type PathUse = 'read' | 'write' | 'mention'

/** A path that a command is given, in its operands, option values, redirections or scripts. */
export type UsedPath = {
  /** Absolute and lexically normalised (`~` and `$HOME` put in); for a glob, with its wild characters. */
  readonly path: string
  /**
   * `mention`: it is there, and the program does nothing with it, or only looks at it. A program that is not known is
   * taken to read what it is given. A `write` also covers removal.
   */
  readonly use: PathUse
  /** A shell would expand it: `*`, `?` and `[` in it stand for other characters. */
  readonly isGlob: boolean
  /** Only its beginning is known: the rest is an expansion. `path` is then the known directory. */
  readonly isOpaque: boolean
}

export type EffectiveCommand = {
  /**
   * Every name the program goes by, without a directory: as the file that it resolves to is called, as it is called, and its family
   * (`python3.11` is also `python3` and `python`; `vim.basic` is `vim`; `mawk` is `awk`; a busybox applet is itself).
   * Empty where the program is not known.
   */
  readonly names: readonly string[]
  /** As written or resolved, absolute, where it has a directory. */
  readonly path: string | undefined
  /** The program and its arguments, as they would run. */
  readonly argv: readonly string[]
  /**
   * Options as a set: each letter of a cluster (`-rf` gives `-r` and `-f`), the whole token as well (`-rf`, `-delete`),
   * long ones without their value (`--force`). What follows `--` is no option.
   */
  readonly options: readonly string[]
  /** The values of options, as `--output=x` or `-o x` give them: `{option, value}`. */
  readonly optionValues: readonly { readonly option: string; readonly value: string }[]
  /** The arguments that are neither options nor values of options, in order. */
  readonly operands: readonly string[]
  readonly paths: readonly UsedPath[]
  /** Names of environment variables set for it, with their values where known: `LD_PRELOAD=x env A=b cmd`. */
  readonly assignments: readonly {
    readonly name: string
    readonly value: string | undefined
    /** Of a value that is not known as a whole: with `<unknown>` or `<part>` for what is not. */
    readonly stands?: string
  }[]
  /** What it was reached through, outermost first: `sudo`, `env`, `sh -c`, `find -exec`, `xargs`, `python -c`, `$()`... */
  readonly via: readonly string[]
  /** Names of the programs before and after it in its pipeline, nearest first. */
  readonly pipedFrom: readonly string[]
  readonly pipedTo: readonly string[]
  readonly opaque: readonly Opaque[]
  /** Where it would run; undefined where a `cd` goes to a place that is not known. */
  readonly cwd: string | undefined
  readonly terminal: boolean
}

export type Effective = {
  readonly commands: readonly EffectiveCommand[]
  /** What a layer has worked out from the commands alone, for those that ask the same; absent: nothing is kept. */
  readonly kept?: KeptFindings
}

export type KeptFindings = { tools?: ReadonlySet<Tool>; properties?: readonly ToxicProperty[] }
