/**
 * Rules that are legal and weak: they miss what they are meant for, stop more than that, or never decide.
 * Rules: docs/policy.md, "Lint".
 * @module
 */
import { EXAMPLE_HOME, exampleCommands } from './examples.ts'
import { createMatcher } from './matcher.ts'
import type { CommandMatch, Rule } from './rule.ts'
import { type RuleSet, strictness } from './rule-set.ts'

export type RuleFinding = {
  readonly rule: string
  /** `info`: as it may well be meant. */
  readonly level: 'warning' | 'info'
  /** A clause that follows the rule's id. */
  readonly finding: string
}

/** Without one of these a rule without a program looks at what every command has. */
const SUBJECTS: readonly (keyof CommandMatch)[] = Object.freeze([
  'paths',
  'writes',
  'reads',
  'opaque',
  'opaque_path',
  'assigns',
  'piped_from',
  'piped_to',
  'via',
])

/** What narrows a rule beside its program. */
function narrowing({ program: _program, ...rest }: CommandMatch): number {
  return Object.keys(rest).length
}

type Found = Pick<RuleFinding, 'level' | 'finding'>

function warn(finding: string): Found {
  return { level: 'warning', finding }
}

function findingsOfPattern(pattern: string): readonly Found[] {
  const spelling =
    'compares the spelling, so that -r -f and -fr are others than -rf: use argv where options or paths matter'
  const found: Found[] = [{ level: 'info', finding: spelling }]
  if (pattern.replaceAll('*', '').trim() === '') found.push(warn('matches every command'))
  else if (pattern.startsWith('*'))
    found.push(warn('begins with *, so that it fires on a mere mention in any argument'))
  return found
}

function findingsOfMatch(match: CommandMatch, action: Rule['action']): readonly Found[] {
  const found: Found[] = []
  const { program, operands, options, not_paths } = match
  const isAnyProgram = program === undefined || program.includes('*')
  if (isAnyProgram && narrowing(match) === 0) found.push(warn('matches every command'))
  else if (isAnyProgram && !SUBJECTS.some((field) => match[field] !== undefined))
    found.push(
      warn(
        'names no program and no path, call or other way in, so that it fires on arguments of any program',
      ),
    )
  if (program?.some((name) => name !== '*' && name.startsWith('*')))
    found.push(warn('names programs by their end, which unrelated ones have too'))
  if (operands?.includes('*')) found.push(warn('has the operand *, which any operand fits: use has_operands'))
  if (options?.some((entry) => entry.split('|').some((option) => option === '-*' || option === '--*')))
    found.push(warn('has an option that any option fits'))
  if (not_paths?.includes('/**')) found.push(warn('exempts every path'))
  const { not_operands, not_options, not_subcommand } = match
  const isLifted = (not_operands ?? not_options ?? not_subcommand) !== undefined
  if (action !== 'allow' && isLifted)
    found.push({ level: 'info', finding: 'is lifted by one operand or option, which a caller can add' })
  return found
}

/** The first words of what an allow rule lets through, for a comparison with denials. */
function isWiderThan(allow: Rule, deny: Rule): boolean {
  return (allow.argv ?? []).some((match) => {
    if (narrowing(match) > 0) return false
    const { program } = match
    if (program === undefined || program.includes('*')) return deny.argv !== undefined
    return deny.argv?.some((denied) => denied.program?.some((name) => program.includes(name))) ?? false
  })
}

function allowsOverDenials(rules: readonly Rule[]): RuleFinding[] {
  const denials = rules.filter(({ action }) => action !== 'allow')
  return rules
    .filter(({ action }) => action === 'allow')
    .flatMap((allow) => {
      const wider = denials.find((deny) => isWiderThan(allow, deny))
      if (wider === undefined) return []
      const finding = `allows a program that ${wider.id} also looks at; it never lifts that rule`
      return [{ rule: allow.id, level: 'info' as const, finding }]
    })
}

/** Rules that decide none of their own examples, since a stricter one does. */
function shadowed(rules: RuleSet): RuleFinding[] {
  const matcher = createMatcher(rules, EXAMPLE_HOME)
  return rules.rules.flatMap((rule) => {
    const stricter = new Set<string>()
    for (const example of rule.examples.match) {
      const decides = matcher.strictest(exampleCommands(rule, example))?.rule
      if (decides === undefined || decides.id === rule.id || strictness(decides) >= strictness(rule))
        return []
      stricter.add(decides.id)
    }
    const finding = `decides none of its own examples, since ${[...stricter].join(', ')} is stricter there`
    return [{ rule: rule.id, level: 'info' as const, finding }]
  })
}

/** Warnings first, in the order of the rules' ids. */
export function lintRules(rules: RuleSet): readonly RuleFinding[] {
  const single = rules.rules.flatMap((rule) => {
    const { id, pattern, argv, action } = rule
    const found =
      pattern === undefined
        ? (argv ?? []).flatMap((match) => findingsOfMatch(match, action))
        : findingsOfPattern(pattern)
    return found.map((finding) => ({ rule: id, ...finding }))
  })
  const place = ({ level, rule }: RuleFinding) => `${level === 'warning' ? 0 : 1} ${rule}`
  return [...single, ...allowsOverDenials(rules.rules), ...shadowed(rules)].toSorted((a, b) =>
    place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0,
  )
}
