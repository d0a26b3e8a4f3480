/**
 * The examples of rules as their tests: every command line under `match` must match its own rule, every one under
 * `pass` must not. They are shell text, judged as a caller would send it: one plain command as itself, anything else
 * as what `sh -c` is given.
 * Rules: docs/policy.md, "Examples".
 * @module
 */
import type { CommandSurroundings, Effective } from '../effective.ts'
import { parseShell } from '../shell/shell.ts'
import { effectiveCommands } from '../unwrap.ts'
import { createMatcher } from './matcher.ts'
import type { Rule } from './rule.ts'
import type { RuleSet } from './rule-set.ts'

/** Where the examples are taken to run. */
export const EXAMPLE_CWD = '/srv/work'
export const EXAMPLE_HOME = '/home/agent'

export type ExampleFailure = {
  /** The id of the rule that has the example. */
  readonly rule: string
  readonly kind: 'match' | 'pass'
  readonly example: string
  /** The ids of the rules that it does match, the strictest first. */
  readonly matched: readonly string[]
}

/** Whether an operator of the shell stands outside of quotes, so that there is more than words. */
function hasOperator(line: string): boolean {
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (char === '\\' && quote !== "'") at++
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === "'" || char === '"') quote = char
    else if (';&|()<>\n'.includes(char)) return true
  }
  return line.trimStart().startsWith('! ')
}

/** The words of one plain command of literal words; for everything else the argv of a shell that is given the line. */
export function exampleArgv(line: string): readonly string[] {
  const { commands, opaque } = parseShell(line, { cwd: EXAMPLE_CWD, home: EXAMPLE_HOME })
  const [command] = commands
  const isPlain =
    commands.length === 1 &&
    command !== undefined &&
    opaque.length === 0 &&
    !hasOperator(line) &&
    command.words.length > 0 &&
    command.assignments.length === 0 &&
    command.redirects.length === 0 &&
    !command.isSubstitution &&
    command.words.every((word) => !word.isGlob && word.opaque === undefined)
  return isPlain ? command.words.map(({ text }) => text) : ['sh', '-c', line]
}

/** What is around an example; a rule that asks for a terminal or a fed input has it. */
function surroundingsOf(rule: Rule): CommandSurroundings {
  return {
    cwd: EXAMPLE_CWD,
    home: EXAMPLE_HOME,
    resolved: undefined,
    terminal: rule.argv?.some(({ terminal }) => terminal === true) ?? false,
    stdin: rule.argv?.some(({ opaque }) => opaque?.includes('stdin')) ?? false,
  }
}

export function exampleCommands(rule: Rule, line: string): Effective {
  return effectiveCommands(exampleArgv(line), surroundingsOf(rule))
}

/**
 * @param rules whose examples are tried
 * @param beside further rules, to tell what matched instead
 */
export function testRules(
  rules: RuleSet,
  beside: RuleSet = { origins: [], rules: [] },
): readonly ExampleFailure[] {
  const own = new Set(rules.rules.map(({ id }) => id))
  const others = beside.rules.filter(({ id }) => !own.has(id))
  const matcher = createMatcher({ origins: rules.origins, rules: [...rules.rules, ...others] }, EXAMPLE_HOME)
  return rules.rules.flatMap((rule) =>
    (['match', 'pass'] as const).flatMap((kind) =>
      rule.examples[kind].flatMap((example) => {
        const matches = matcher.everyMatch(exampleCommands(rule, example))
        const matched = [...new Set(matches.map((match) => match.rule.id))]
        return matched.includes(rule.id) === (kind === 'match')
          ? []
          : [{ rule: rule.id, kind, example, matched }]
      }),
    ),
  )
}
