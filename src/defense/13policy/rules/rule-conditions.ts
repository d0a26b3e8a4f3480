/**
 * The fields of a rule as conditions on one effective command, the cheapest first. Equal lists of patterns are compiled
 * once; all paths of all rules are in one tree.
 * Rules: docs/policy.md, "Fields".
 * @module
 */
import { baseName } from '../../../base/lexical-path.ts'
import type { EffectiveCommand, Opaque, UsedPath } from '../effective.ts'
import { onlyLists } from '../listing.ts'
import type { CommandMatch, Rule } from '../rule.ts'
import { asksOnly, inquirable } from './inquiry.ts'
import { createPathIndex, type PathIndex } from './path-pattern.ts'
import { isPlainSetting } from './plain-setting.ts'
import {
  compileWord,
  compileWords,
  fitsAnyOf,
  fitsOneOf,
  fitsWord,
  type WordList,
  type WordPattern,
} from './word-pattern.ts'

/** A used path with the lists of patterns that it fits, and those that exempt it once that is asked for. */
type LocatedPath = {
  readonly used: UsedPath
  readonly fits: readonly number[]
  exempt: readonly number[] | undefined
}

/** What conditions ask of a command, worked out when it is first asked for. */
export type Facts = {
  readonly command: EffectiveCommand
  readonly paths: readonly LocatedPath[]
  readonly exempt: PathIndex
  /** The lists that some path fits: of any use, of those written, of those read. */
  readonly used: ReadonlySet<number>
  written: ReadonlySet<number> | undefined
  read: ReadonlySet<number> | undefined
  longOptions: readonly string[] | undefined
  lines: readonly string[] | undefined
}

export type Condition = (facts: Facts) => boolean
export type PathIndexes = { readonly positive: PathIndex; readonly exempt: PathIndex }

/** Numbers for the distinct lists of path patterns. */
export type PathLists = { readonly lists: (readonly string[])[]; readonly numbers: Map<string, number> }
/** What is shared by rules while they are compiled. */
export type Shared = {
  readonly words: Map<string, WordList>
  readonly positive: PathLists
  readonly exempt: PathLists
}

export function createShared(): Shared {
  return {
    words: new Map(),
    positive: { lists: [], numbers: new Map() },
    exempt: { lists: [], numbers: new Map() },
  }
}

export function indexPaths(shared: Shared, home: string): PathIndexes {
  return {
    positive: createPathIndex(shared.positive.lists, home),
    exempt: createPathIndex(shared.exempt.lists, home),
  }
}

export function listNumber(registry: PathLists, patterns: readonly string[]): number {
  const key = patterns.join('\0')
  const known = registry.numbers.get(key)
  if (known !== undefined) return known
  const number = registry.lists.push(patterns) - 1
  registry.numbers.set(key, number)
  return number
}

function wordsOf(shared: Shared, patterns: readonly string[]): WordList {
  const key = patterns.join('\0')
  const known = shared.words.get(key)
  if (known !== undefined) return known
  const words = compileWords(patterns)
  shared.words.set(key, words)
  return words
}

const NO_LISTS: ReadonlySet<number> = Object.freeze(new Set<number>())
const NO_WORDS: readonly string[] = Object.freeze([])
const NO_PATHS: readonly LocatedPath[] = Object.freeze([])

/** @param hidden whether a shell's `*` also stands for a dot at the beginning of a name */
export function gatherFacts(command: EffectiveCommand, indexes: PathIndexes, hidden: boolean): Facts {
  const { positive, exempt } = indexes
  let paths = NO_PATHS
  if (command.paths.length > 0 && !(positive.isEmpty && exempt.isEmpty)) {
    // Who only lists has what a wild path could also stand for seen by its name.
    const lists = command.paths.some(({ isGlob }) => isGlob) && onlyLists(command)
    paths = command.paths.map((used) => ({
      used,
      fits: lists && used.isGlob && !used.isOpaque ? positive.alwaysFits(used) : positive.fits(used, hidden),
      exempt: undefined,
    }))
  }
  return {
    command,
    paths,
    exempt,
    used: listsOf(paths),
    written: undefined,
    read: undefined,
    longOptions: undefined,
    lines: undefined,
  }
}

function listsOf(paths: readonly LocatedPath[]): ReadonlySet<number> {
  if (paths.every(({ fits }) => fits.length === 0)) return NO_LISTS
  const lists = new Set<number>()
  for (const { fits } of paths) for (const list of fits) lists.add(list)
  return lists
}

/** Long options as they are given, each of which may be the beginning of one, as `getopt_long` takes it. */
function longOptions(facts: Facts): readonly string[] {
  facts.longOptions ??= facts.command.options.filter(isLong)
  return facts.longOptions
}

function isLong(option: string): boolean {
  return option.length > 2 && option.startsWith('--')
}

/** A list that was filtered, without room to grow. */
function noMore(words: readonly string[]): readonly string[] {
  return words.length === 0 ? NO_WORDS : words.slice()
}

/** One of the alternatives of an entry of `options`. */
function givesOne(shared: Shared, entry: string): Condition {
  const alternatives = entry.split('|')
  const long = alternatives.filter((alternative) => alternative.startsWith('--') && !alternative.includes('*'))
  return givesAnyOf(wordsOf(shared, alternatives), noMore(long))
}

function givesAnyOf(words: WordList, long: readonly string[]): Condition {
  return (facts) =>
    fitsAnyOf(words, facts.command.options) ||
    (long.length > 0 &&
      longOptions(facts).some((given) => long.some((alternative) => alternative.startsWith(given))))
}

/** Beside `-tT` stand `-t` and `-T`, which are what counts. */
function isCluster(option: string): boolean {
  return option.length > 2 && !option.startsWith('--')
}

function givesOther(shared: Shared, entries: readonly string[]): Condition {
  const known = wordsOf(
    shared,
    entries.flatMap((entry) => entry.split('|')),
  )
  return ({ command: { options } }) =>
    options.some((option) => !isCluster(option) && !fitsOneOf(known, option))
}

/**
 * `-o|--option=value`: the option as in `options`, its value as a word; one of the entries. Many of a rule's entries are
 * about the same options, which are looked at once.
 */
function givesAnyValue(shared: Shared, entries: readonly string[]): Condition {
  const byNames = Map.groupBy(entries, (entry) => entry.slice(0, entry.indexOf('=')))
  const conditions = [...byNames].map(([names, alike]) =>
    givesValue(shared, names.split('|'), compileWords(alike.map((entry) => entry.slice(names.length + 1)))),
  )
  const [only] = conditions
  return only !== undefined && conditions.length === 1 ? only : oneOf(conditions)
}

function givesValue(shared: Shared, names: readonly string[], values: WordList): Condition {
  return givesFitting(wordsOf(shared, names), noMore(names.filter(isLong)), values)
}

function givesFitting(words: WordList, long: readonly string[], values: WordList): Condition {
  return ({ command }) => {
    for (const { option, value } of command.optionValues) {
      const isIt =
        fitsOneOf(words, option) || (isLong(option) && long.some((name) => name.startsWith(option)))
      if (isIt && fitsOneOf(values, value)) return true
    }
    return false
  }
}

/** One of the entries is what the operands begin with, word by word. */
function beginsWith(entries: readonly string[]): Condition {
  // Words never hold a NUL; an entry without a star is looked up as a whole.
  const spelled = entries.map((entry) =>
    entry
      .split(' ')
      .filter((word) => word !== '')
      .join('\0'),
  )
  const literals = compileWords(spelled.filter((entry) => !entry.includes('*')))
  const patterns = spelled
    .filter((entry) => entry.includes('*'))
    .map((entry) => entry.split('\0').map(compileWord))
  return beginsWithOne(literals, patterns, Math.max(0, ...spelled.map((entry) => entry.split('\0').length)))
}

function beginsWithOne(
  literals: WordList,
  patterns: readonly (readonly WordPattern[])[],
  longest: number,
): Condition {
  return ({ command: { operands } }) => {
    let beginning = ''
    for (let count = 1; count <= longest && count <= operands.length; count++) {
      beginning = count === 1 ? (operands[0] ?? '') : `${beginning}\0${operands[count - 1]}`
      if (fitsOneOf(literals, beginning)) return true
    }
    return patterns.some(
      (words) =>
        words.length <= operands.length &&
        words.every((word, index) => fitsWord(word, operands[index] ?? '')),
    )
  }
}

/*
 * Each condition is made by a function of its own: closures of one function share what any of them uses, and would
 * keep the whole rule.
 */

function ofWords(list: WordList, of: (command: EffectiveCommand) => readonly string[]): Condition {
  return ({ command }) => fitsAnyOf(list, of(command))
}

function not(condition: Condition): Condition {
  return (facts) => !condition(facts)
}

function oneOf(conditions: readonly Condition[]): Condition {
  return (facts) => conditions.some((condition) => condition(facts))
}

function isOpaque(reasons: readonly (Opaque | '*')[]): Condition {
  const isAny = reasons.includes('*')
  return ({ command }) => command.opaque.some((reason) => isAny || reasons.includes(reason))
}

function hasOpaquePath(wanted: boolean): Condition {
  return ({ command }) => command.paths.some((path) => path.isOpaque) === wanted
}

function hasOperands(wanted: boolean): Condition {
  return ({ command }) => command.operands.length > 0 === wanted
}

function isNoQuestion(subcommands: readonly string[]): Condition {
  return ({ command }) => !asksOnly(command, subcommands)
}

function hasTerminal(wanted: boolean): Condition {
  return ({ command }) => command.terminal === wanted
}

function assignsOne(list: WordList): Condition {
  return ({ command }) =>
    command.assignments.some(
      (setting) => fitsOneOf(list, setting.name) && !isPlainSetting(setting, command.cwd),
    )
}

function listsFor(facts: Facts, use: PathField): ReadonlySet<number> {
  if (use === 'paths' || use === 'takes' || facts.used.size === 0) return facts.used
  if (use === 'writes') {
    facts.written ??= listsOf(facts.paths.filter(({ used }) => used.use === 'write'))
    return facts.written
  }
  facts.read ??= listsOf(facts.paths.filter(({ used }) => used.use === 'read'))
  return facts.read
}

function isExempt(facts: Facts, path: LocatedPath, list: number): boolean {
  path.exempt ??= facts.exempt.alwaysFits(path.used)
  return path.exempt.includes(list)
}

type PathField = 'paths' | 'writes' | 'reads' | 'takes'
const PATH_FIELDS: readonly PathField[] = Object.freeze(['paths', 'writes', 'reads', 'takes'])

function hasUse({ used: { use } }: LocatedPath, field: PathField): boolean {
  if (field === 'paths') return true
  return field === 'takes' ? use !== 'write' : use === (field === 'writes' ? 'write' : 'read')
}

function liesIn(list: number, field: PathField): Condition {
  if (field !== 'takes') return (facts) => listsFor(facts, field).has(list)
  return (facts) =>
    facts.used.has(list) && facts.paths.some((path) => hasUse(path, field) && path.fits.includes(list))
}

function liesInWithout(list: number, field: PathField, exempt: number): Condition {
  return (facts) =>
    listsFor(facts, field).has(list) &&
    facts.paths.some(
      (path) => hasUse(path, field) && path.fits.includes(list) && !isExempt(facts, path, exempt),
    )
}

function hasPathWithout(exempt: number): Condition {
  return (facts) =>
    facts.command.paths.length === 0 || facts.paths.some((path) => !isExempt(facts, path, exempt))
}

/** Paths that are exempt do not count; without another path field one that counts must be there, or none at all. */
function pathConditions(match: CommandMatch, shared: Shared): Condition[] {
  const exempt = match.not_paths === undefined ? undefined : listNumber(shared.exempt, match.not_paths)
  const conditions: Condition[] = []
  for (const field of PATH_FIELDS) {
    const patterns = match[field]
    if (patterns === undefined) continue
    const list = listNumber(shared.positive, patterns)
    conditions.push(exempt === undefined ? liesIn(list, field) : liesInWithout(list, field, exempt))
  }
  if (exempt !== undefined && conditions.length === 0) conditions.push(hasPathWithout(exempt))
  return conditions
}

/** Fields that are lists of words of a command. */
const WORD_FIELDS = Object.freeze({
  via: ({ via }: EffectiveCommand) => via,
  piped_from: ({ pipedFrom }: EffectiveCommand) => pipedFrom,
  piped_to: ({ pipedTo }: EffectiveCommand) => pipedTo,
  calls: ({ calls }: EffectiveCommand) => calls,
  operands: ({ operands }: EffectiveCommand) => operands,
})
const WORD_FIELD_NAMES = Object.freeze(Object.keys(WORD_FIELDS) as (keyof typeof WORD_FIELDS)[])

function argvConditions(match: CommandMatch, shared: Shared): Condition[] {
  const conditions: Condition[] = []
  const asked = inquirable(match)
  if (asked !== undefined) conditions.push(isNoQuestion(asked))
  const { terminal, has_operands, opaque, opaque_path, subcommand, option_values, assigns, not_operands } =
    match
  if (terminal !== undefined) conditions.push(hasTerminal(terminal))
  if (has_operands !== undefined) conditions.push(hasOperands(has_operands))
  if (opaque !== undefined) conditions.push(isOpaque(opaque))
  if (opaque_path !== undefined) conditions.push(hasOpaquePath(opaque_path))
  if (subcommand !== undefined) conditions.push(beginsWith(subcommand))
  if (match.not_subcommand !== undefined) conditions.push(not(beginsWith(match.not_subcommand)))
  for (const entry of match.options ?? []) conditions.push(givesOne(shared, entry))
  for (const entry of match.not_options ?? [])
    conditions.push(not(ofWords(wordsOf(shared, entry.split('|')), ({ options }) => options)))
  if (match.other_options !== undefined) conditions.push(givesOther(shared, match.other_options))
  if (option_values !== undefined) conditions.push(givesAnyValue(shared, option_values))
  if (assigns !== undefined) conditions.push(assignsOne(wordsOf(shared, assigns)))
  conditions.push(...pathConditions(match, shared))
  for (const field of WORD_FIELD_NAMES) {
    const patterns = match[field]
    if (patterns !== undefined) conditions.push(ofWords(wordsOf(shared, patterns), WORD_FIELDS[field]))
  }
  if (match.not_via !== undefined)
    conditions.push(not(ofWords(wordsOf(shared, match.not_via), WORD_FIELDS.via)))
  if (not_operands !== undefined)
    conditions.push(not(ofWords(wordsOf(shared, not_operands), WORD_FIELDS.operands)))
  return conditions
}

/** The lines that a `pattern` is compared with: each of the program's names with the arguments. */
function linesOf(facts: Facts): readonly string[] {
  if (facts.lines !== undefined) return facts.lines
  const { names, argv } = facts.command
  const rest = argv.slice(1).join(' ')
  const called = names.length > 0 ? names : [baseName(argv[0] ?? '')]
  facts.lines = called.map((name) => (argv.length > 1 ? `${name} ${rest}` : name))
  return facts.lines
}

function isLine(word: WordPattern): Condition {
  return (facts) => linesOf(facts).some((line) => fitsWord(word, line))
}

/** The conditions of a rule but the one on its program, which the index stands for. */
export function compileConditions(rule: Rule, shared: Shared): readonly Condition[] {
  if (rule.pattern !== undefined) return [isLine(compileWord(rule.pattern))]
  return argvConditions(rule.argv ?? {}, shared)
}
