/**
 * A file of rules: strict JSON, checked whole, every problem at once with its place and what to write instead.
 * Refused are unknown keys, sets, actions and severities, an id twice, a rule without `pattern` or `argv` or with both,
 * a rule without examples, patterns that can never fit, and what is over the bounds.
 * Names of sets are replaced by what they stand for.
 * Rules: docs/policy.md.
 * @module
 */
import { parseStrictJson } from '../../../base/encoding/strict-json.ts'
import { CONFIG_PROBLEMS, RULES_FILE_BYTES } from '../../../limits.ts'
import type { CommandMatch, Rule, RuleAction, RuleSeverity } from './rule.ts'
import { type MatchReading, readMatch, readSets, wordProblem } from './rule-fields.ts'
import type { RuleSet, RulesProblem } from './rule-set.ts'
import { choiceOf, type Members, type Reader, readMembers, readStrings } from './rules-reader.ts'

/** A match costs some 20 ns a rule of the same program; nobody reads more. */
const RULES_MAX = 4_096
/** Patterns of all fields together, names of sets replaced, equal lists counted once: some 8 MB. */
const PATTERNS_TOTAL = 65_536
/** Ways in which one rule matches. */
const ALTERNATIVES_MAX = 32
const ID_CHARS = 64
const SENTENCE_CHARS = 512
const EXAMPLES_MAX = 64
const EXAMPLE_CHARS = 4_096

const ACTIONS: readonly RuleAction[] = Object.freeze(['deny', 'ask', 'challenge', 'note', 'allow'])
const SEVERITIES: readonly RuleSeverity[] = Object.freeze(['critical', 'high', 'medium', 'low'])
const FILE_KEYS = Object.freeze(['sets', 'rules'])
const RULE_KEYS = Object.freeze([
  'id',
  'pattern',
  'argv',
  'action',
  'severity',
  'description',
  'why',
  'examples',
])

export type RulesResult =
  | { readonly ok: true; readonly rules: RuleSet }
  | { readonly ok: false; readonly problems: readonly RulesProblem[] }

/** `subject.what-it-stops`: words of letters and digits, joined by dashes and at least one dot. */
const ID = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$/

function readText(reader: Reader, members: Members, key: string, path: string, chars: number): string {
  const at = `${path}.${key}`
  const value = members[key]
  if (value === undefined) reader.problem(at, 'is missing', 'write a text')
  else if (typeof value !== 'string') reader.problem(at, 'is not a text', 'write a text in quotes')
  else if (value.trim() === '') reader.problem(at, 'is empty', 'write a sentence')
  else if (value.length > chars) reader.problem(at, `is longer than ${chars} characters`, 'shorten it')
  else return value
  return ''
}

function readId(reader: Reader, members: Members, path: string): string {
  const id = readText(reader, members, 'id', path, ID_CHARS)
  if (id !== '' && !ID.test(id))
    reader.problem(
      `${path}.id`,
      'is not of the form subject.what-it-stops',
      'use small letters, digits, dashes and dots',
    )
  return id
}

function readExamples(reader: Reader, members: Members, path: string): Rule['examples'] {
  const at = `${path}.examples`
  const value = members['examples']
  if (value === undefined) {
    reader.problem(at, 'is missing', 'give command lines that match and that pass')
    return { match: [], pass: [] }
  }
  const lists = readMembers(reader, value, at, ['match', 'pass'])
  if (lists === undefined) return { match: [], pass: [] }
  const read = (key: 'match' | 'pass'): readonly string[] => {
    if (lists[key] === undefined) {
      reader.problem(`${at}.${key}`, 'is missing', 'give at least one command line')
      return []
    }
    return readStrings(reader, lists[key], `${at}.${key}`, EXAMPLES_MAX, EXAMPLE_CHARS)
  }
  return { match: read('match'), pass: read('pass') }
}

/** One match, or a list of them. */
function readAlternatives(reading: MatchReading, argv: unknown, path: string): readonly CommandMatch[] {
  if (!Array.isArray(argv)) return [readMatch(reading, argv, path)]
  if (argv.length === 0 || argv.length > ALTERNATIVES_MAX)
    reading.reader.problem(path, `has ${argv.length} entries`, `write 1 to ${ALTERNATIVES_MAX}`)
  return argv.slice(0, ALTERNATIVES_MAX).map((match, at) => readMatch(reading, match, `${path}[${at}]`))
}

/** Exactly one of the two says what the rule matches. */
function readSubject(
  reading: MatchReading,
  members: Members,
  path: string,
): { pattern: string } | { argv: readonly CommandMatch[] } | undefined {
  const { reader } = reading
  const { pattern, argv } = members
  if ((pattern === undefined) === (argv === undefined)) {
    const problem = pattern === undefined ? 'has neither pattern nor argv' : 'has both pattern and argv'
    reader.problem(path, problem, 'give exactly one of them')
    return undefined
  }
  if (argv !== undefined) return { argv: readAlternatives(reading, argv, `${path}.argv`) }
  if (typeof pattern !== 'string')
    reader.problem(`${path}.pattern`, 'is not a text', 'write one like rm -rf *')
  else {
    const found = wordProblem(pattern)
    if (found === undefined) return { pattern }
    reader.problem(`${path}.pattern`, found.problem, found.hint)
  }
  return undefined
}

function readRule(reading: MatchReading, value: unknown, path: string): Rule | undefined {
  const { reader } = reading
  const members = readMembers(reader, value, path, RULE_KEYS)
  if (members === undefined) return undefined
  const id = readId(reader, members, path)
  const subject = readSubject(reading, members, path)
  const action = choiceOf(reader, members['action'], `${path}.action`, ACTIONS)
  const severity = choiceOf(reader, members['severity'], `${path}.severity`, SEVERITIES)
  const description = readText(reader, members, 'description', path, SENTENCE_CHARS)
  const why = readText(reader, members, 'why', path, SENTENCE_CHARS)
  const examples = readExamples(reader, members, path)
  if (subject === undefined || action === undefined || severity === undefined) return undefined
  return { id, ...subject, action, severity, description, why, examples }
}

function refuseTwice(reader: Reader, rules: readonly (Rule | undefined)[]): void {
  const first = new Map<string, number>()
  rules.forEach((rule, index) => {
    if (rule === undefined || rule.id === '') return
    const earlier = first.get(rule.id)
    if (earlier === undefined) first.set(rule.id, index)
    else reader.problem(`rules[${index}].id`, `is the id of rules[${earlier}] too`, 'give each rule its own')
  })
}

function position(text: string, offset: number): string {
  const before = text.slice(0, offset)
  return `line ${before.split('\n').length}, column ${offset - before.lastIndexOf('\n')}`
}

/**
 * @param text the file
 * @param origin what the file is called where its rules are told apart: its path
 */
export function readRules(text: string, origin: string): RulesResult {
  const parsed = parseStrictJson(text, { size: RULES_FILE_BYTES })
  if (!parsed.ok) {
    const problem = `is not valid JSON at ${position(text, parsed.offset)}: ${parsed.problem}`
    return { ok: false, problems: [{ path: '', problem, hint: 'correct that place first' }] }
  }
  const problems: RulesProblem[] = []
  const reader: Reader = {
    problem(path, problem, hint) {
      if (problems.length < CONFIG_PROBLEMS) problems.push({ path, problem, hint })
    },
  }
  const members = readMembers(reader, parsed.value, '', FILE_KEYS)
  if (members === undefined) return { ok: false, problems }
  const reading: MatchReading = {
    reader,
    sets: readSets(reader, members['sets']),
    lists: new Map(),
    patternsLeft: PATTERNS_TOTAL,
  }
  const listed = members['rules']
  const rules: Rule[] = []
  if (!Array.isArray(listed)) reader.problem('rules', 'is not a list', 'write {"sets": {}, "rules": []}')
  else if (listed.length > RULES_MAX)
    reader.problem(
      'rules',
      `has more than ${RULES_MAX} rules`,
      'join those that differ in a name alone by a set',
    )
  else {
    const read = listed.map((value: unknown, index) => readRule(reading, value, `rules[${index}]`))
    refuseTwice(reader, read)
    for (const rule of read) if (rule !== undefined) rules.push(rule)
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules: { origins: [origin], rules } }
}

/** Several files as one set of rules. An id that two of them have is a problem, and so are too many rules. */
export function joinRules(sets: readonly RuleSet[]): RulesResult {
  const owner = new Map<string, string>()
  const problems: RulesProblem[] = []
  for (const { origins, rules } of sets) {
    const origin = origins.join(', ')
    rules.forEach(({ id }, index) => {
      const other = owner.get(id)
      if (other === undefined) owner.set(id, origin)
      else if (problems.length < CONFIG_PROBLEMS)
        problems.push({
          path: `rules[${index}].id`,
          problem: `in ${origin} is ${id}, which ${other} has too`,
          hint: 'give your own rules ids that begin with a word of your own',
        })
    })
  }
  const rules = sets.flatMap((set) => set.rules)
  if (rules.length > RULES_MAX)
    problems.push({
      path: 'rules',
      problem: `are more than ${RULES_MAX} in all files together`,
      hint: 'join those that differ in a name alone by a set',
    })
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, rules: { origins: sets.flatMap((set) => set.origins), rules } }
}

/** One line for one problem, as people read it. */
export function rulesProblemText({ path, problem, hint }: RulesProblem): string {
  return `${path === '' ? 'the file' : path} ${problem} (${hint})`
}
