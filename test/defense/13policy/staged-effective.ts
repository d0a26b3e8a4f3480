/**
 * Effective commands and rules made by hand, for tests of what judges them.
 * @module
 */
import type { Effective, EffectiveCommand, UsedPath } from '../../../src/defense/13policy/effective.ts'
import type { CommandMatch, Rule } from '../../../src/defense/13policy/rules/rule.ts'
import type { RuleSet } from '../../../src/defense/13policy/rules/rule-set.ts'

export function command(change: Partial<EffectiveCommand> = {}): EffectiveCommand {
  const argv = change.argv ?? ['rm']
  return {
    names: [argv[0] ?? ''],
    path: undefined,
    argv,
    options: [],
    optionValues: [],
    operands: [],
    paths: [],
    assignments: [],
    via: [],
    pipedFrom: [],
    pipedTo: [],
    opaque: [],
    cwd: '/srv/work',
    terminal: false,
    ...change,
  }
}

export function effective(...commands: readonly Partial<EffectiveCommand>[]): Effective {
  return { commands: commands.map(command) }
}

export function path(
  text: string,
  use: UsedPath['use'] = 'mention',
  change: Partial<UsedPath> = {},
): UsedPath {
  return { path: text, use, isGlob: /[*?[]/.test(text), isOpaque: false, ...change }
}

/** A rule of which `argv` may also be one match alone. */
export type LooseRule = Partial<Omit<Rule, 'argv'>> & {
  readonly argv?: CommandMatch | readonly CommandMatch[]
}

export function matchesOf(argv: LooseRule['argv']): readonly CommandMatch[] {
  if (argv === undefined) return []
  return Array.isArray(argv) ? argv : [argv as CommandMatch]
}

export function rule({ argv, ...change }: LooseRule & { readonly id: string }): Rule {
  const subject = change.pattern === undefined ? { argv: matchesOf(argv ?? { program: ['rm'] }) } : {}
  return {
    ...subject,
    action: 'deny',
    severity: 'high',
    description: 'It is stopped.',
    why: 'It does harm.',
    examples: { match: ['rm x'], pass: ['ls x'] },
    ...change,
  }
}

export function ruleSet(...rules: readonly Rule[]): RuleSet {
  return { origins: ['rules.json'], rules }
}
