/**
 * A rule of the policy, as data: what it matches, what follows, and why. rules-file.ts reads and checks
 * them, matcher.ts matches them.
 * Rules: docs/policy.md.
 * @module
 */
import type { Opaque } from '../effective.ts'

/**
 * `deny`: hostile, what nobody does by accident. `ask`: a human decides. `challenge`: the connection is proven once
 * more. `note`: it runs and is recorded. `allow`: it is expected.
 */
export type RuleAction = 'deny' | 'ask' | 'challenge' | 'note' | 'allow'
export type RuleSeverity = 'critical' | 'high' | 'medium' | 'low'

/**
 * What an effective command must be. Every field that is there must hold (and); within a field one entry must fit
 * (or), except `options`, of which every entry must. A word pattern is compared whole and with case; `*` in it stands
 * for any run of characters. `@name` stands for the set of that name.
 */
export type CommandMatch = {
  /** One of the program's names; `*` alone is no condition, so that it also means a program that is not known. */
  readonly program?: readonly string[]
  /** The first operands, as words at spaces: `remote add`. */
  readonly subcommand?: readonly string[]
  /** What the first operands are not; unlike `not_operands`, it is not met by a word further behind. */
  readonly not_subcommand?: readonly string[]
  /**
   * Each entry is alternatives: `-r|-R|--recursive`. A long option also fits its beginnings (`--recur`), unless `*` is
   * in the pattern; a set is alternatives.
   */
  readonly options?: readonly string[]
  /** None of them is given; beginnings do not count. */
  readonly not_options?: readonly string[]
  /**
   * One is given that none of these fits. The letters of a cluster count one by one, a long name behind a single dash
   * does not.
   */
  readonly other_options?: readonly string[]
  /** `option=value pattern`: `-o=ProxyCommand*`, `-c|--checkpoint-action=*`. */
  readonly option_values?: readonly string[]
  readonly operands?: readonly string[]
  readonly not_operands?: readonly string[]
  /**
   * A used path (any use; only written ones; only read ones) lies in one of these path patterns: an absolute path for
   * that very path, with `*` within a part for any characters, with a last part `**` for itself and everything beneath.
   * `~` at the start is the home directory. A path that a shell would expand fits what it could expand to. One of which
   * only the beginning is known fits where everything beneath that beginning does.
   */
  readonly paths?: readonly string[]
  readonly writes?: readonly string[]
  readonly reads?: readonly string[]
  /**
   * Used paths that lie in one of these do not count: beside `paths`, `writes` or `reads` another path must fit; alone,
   * another path must be used, or none at all. So an innocent path does not exempt the one beside it.
   */
  readonly not_paths?: readonly string[]
  /** Names of environment variables set for it. */
  readonly assigns?: readonly string[]
  readonly via?: readonly string[]
  readonly piped_from?: readonly string[]
  readonly piped_to?: readonly string[]
  /** Reasons why a part cannot be known; `*` for any. */
  readonly opaque?: readonly (Opaque | '*')[]
  /** A used path of which only the beginning is known, or none. */
  readonly opaque_path?: boolean
  readonly terminal?: boolean
  /** It has operands at all, or none. */
  readonly has_operands?: boolean
}

export type Rule = {
  /** `subject.what-it-stops`, lower case. */
  readonly id: string
  /** The draft's form: a glob over program (base name) and arguments joined by spaces. Either this or `argv`, of which one must fit. */
  readonly pattern?: string
  readonly argv?: readonly CommandMatch[]
  readonly action: RuleAction
  readonly severity: RuleSeverity
  /** One sentence: what is stopped. */
  readonly description: string
  /** One sentence: what would be lost, and for the operator what to do instead. */
  readonly why: string
  /** Command lines in the shell's language: at least one that must match this rule and one close by that must not. */
  readonly examples: { readonly match: readonly string[]; readonly pass: readonly string[] }
}

/** One way in which a rule matches: `argv` is one of those that it names. */
export type Alternative = Omit<Rule, 'argv'> & { readonly argv?: CommandMatch }

/** Every way in which rules match, each with its rule's head. */
export function alternativesOf(rule: Rule): readonly Alternative[] {
  const { argv, ...head } = rule
  return argv === undefined ? [head] : argv.map((match) => ({ ...head, argv: match }))
}
