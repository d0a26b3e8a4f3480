/**
 * `sass-edge policy`: the rules over commands, looked through for weak ones, or held against their own examples; and
 * what would happen to one command. Without a file it works on the rules that ship.
 * @module
 */

import { type ExampleFailure, testRules } from '../../defense/13policy/rules/examples.ts'
import { lintRules } from '../../defense/13policy/rules/lint.ts'
import type { RulesProblem } from '../../defense/13policy/rules/rule-set.ts'
import { rulesProblemText } from '../../defense/13policy/rules/rules-file.ts'
import { readRulesFile } from '../../edge/policy/policy-file.node.ts'
import { shippedRulesPath } from '../../edge/policy/rules-path.node.ts'
import { asSassError, misuse } from '../../errors.ts'
import { localConfig, takeWords } from '../common/local-config.node.ts'
import { isGiven, optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { counted } from '../words/listing.ts'
import { type Subcommand, subcommandOf } from '../words/subcommand.ts'

/** The rules do not hold; what is wrong with the call itself is EXIT.LOCAL. */
const EXIT_FAILED = 1

/** The problems of a file that was read and cannot be used; undefined for any other error. */
function problemsOf(error: unknown): readonly RulesProblem[] | undefined {
  const known = asSassError(error)
  if (known?.code !== 'CONFIG_INVALID') return undefined
  // readRulesFile alone makes this code here, and it puts the list there.
  return known.details['problems'] as readonly RulesProblem[]
}

function reportInvalid(context: CommandContext, file: string, problems: readonly RulesProblem[]): number {
  const count = counted(problems.length, 'problem')
  const reason = `${file} has ${count}, so none of its rules can be used: correct what is listed.`
  context.output.result({ ok: false, file, reason, problems }, problems.map(rulesProblemText))
  context.output.warn(reason)
  return EXIT.LOCAL
}

/** The file named after the subcommand, or the rules that ship. */
function rulesPath(context: CommandContext): string {
  return takeWords(context, 2)[1] ?? shippedRulesPath()
}

/** What is wrong with an example, and what matched beside or instead. */
function whatHappened({ rule, kind, matched }: ExampleFailure): string {
  const others = matched.filter((id) => id !== rule)
  const verb = others.length === 1 ? 'does' : 'do'
  if (kind === 'pass') {
    const beside = others.length === 0 ? '' : `; ${others.join(', ')} ${verb} too`
    return `must pass and matches${beside}`
  }
  return `must match and does not; ${others.length === 0 ? 'nothing does' : `${others.join(', ')} ${verb}`}`
}

const testExamples: Subcommand = async (context) => {
  const path = rulesPath(context)
  const set = readRulesFile(path)
  const failures = testRules(set)
  const examples = set.rules.reduce(
    (sum, { examples: { match, pass } }) => sum + match.length + pass.length,
    0,
  )
  const value = { ok: failures.length === 0, file: path, rules: set.rules.length, examples, failures }
  const total = `${counted(set.rules.length, 'rule')}, ${counted(examples, 'example')}`
  if (failures.length === 0) {
    return context.output.result(value, [`${total}, all hold`])
  }
  const lines = failures.map((failure) => `${failure.rule}: ${failure.example} ${whatHappened(failure)}`)
  context.output.result(value, [...lines, `${total}, ${failures.length} do not hold`])
  return EXIT_FAILED
}

const lintFile: Subcommand = async (context) => {
  const path = rulesPath(context)
  const set = readRulesFile(path)
  const findings = lintRules(set)
  const warnings = findings.filter(({ level }) => level === 'warning').length
  const lines = findings.map(({ rule, level, finding }) => `${level.padEnd(7)} ${rule} ${finding}`)
  const total = `${counted(set.rules.length, 'rule')}, ${counted(warnings, 'warning')}`
  context.output.result({ ok: warnings === 0, file: path, rules: set.rules.length, findings }, [
    ...lines,
    total,
  ])
  return warnings === 0 ? EXIT.OK : EXIT_FAILED
}

const explain: Subcommand = async (context) => {
  const { options, rest } = context.arguments
  takeWords({ ...context, arguments: { ...context.arguments, rest: undefined } }, 1)
  if (rest === undefined || rest.length === 0)
    throw misuse('No command is named: write sass-edge policy explain -- CMD ARGS.')
  const { path, config } = localConfig(context)
  const { explainCommand } = await import('./explain.node.ts')
  const answer = await explainCommand(config, path, {
    argv: rest,
    agent: optionValue(options, 'as'),
    cwd: optionValue(options, 'cwd'),
    terminal: isGiven(options, 'pty'),
    stdin: isGiven(options, 'stdin'),
  })
  const { response, layer, rule, reason, advice, effective, severity, code, agent, verdict } = answer
  const { opaque, confinement } = answer
  const value = {
    response,
    layer,
    rule,
    reason,
    effective,
    opaque,
    confinement,
    advice,
    severity,
    code,
    agent,
  }
  return context.output.result({ ...value, enhanced_audit: verdict.enhancedAudit }, [
    `${response}  ${layer}  ${rule}`,
    reason,
    ...effective.map((line) => `  would run  ${line}`),
    `  not read   ${opaque === '' ? 'nothing: its words say what it does' : opaque}`,
    `  sandbox    ${confinement}`,
    ...(advice === '' ? [] : [advice]),
  ])
}

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  ['explain', explain],
  ['lint', lintFile],
  ['test', testExamples],
])

export const command: Command = {
  usage: ['policy explain [--as AGENT] -- CMD [ARGS...]', 'policy lint [FILE]', 'policy test [FILE]'],
  options: {
    '--as AGENT': 'explain: for this agent; without it the first that is listed',
    '--cwd DIR': 'explain: where the command would start',
    '--pty': 'explain: with a terminal',
    '--stdin': 'explain: with a standard input',
  },
  examples: {
    'sass-edge policy explain -- find . -delete': 'what would happen to this command, and why',
    'sass-edge policy test /etc/sass-edge/rules.json': 'do its own examples hold?',
    'sass-edge policy lint --json': 'the rules that ship, for a script',
  },
  async run(context) {
    const subcommand = subcommandOf('policy', SUBCOMMANDS, context)
    try {
      return await subcommand(context)
    } catch (error) {
      const problems = subcommand === explain ? undefined : problemsOf(error)
      if (problems === undefined) throw error
      return reportInvalid(context, rulesPath(context), problems)
    }
  },
}
