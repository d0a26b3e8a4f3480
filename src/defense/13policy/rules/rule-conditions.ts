/**
 * The fields of a rule as conditions on one effective command, the cheapest first. Equal lists of patterns are compiled
 * once; all paths of all rules are in one tree.
 * Rules: docs/policy.md, "Fields".
 * @module
 */

import { isPlainSetting } from '../arguments/plain-setting.ts'
import type { EffectiveCommand, Opaque } from '../effective.ts'
import { asksOnly } from '../programs/inquiry.ts'
import { type BitSet, hasBit } from './bit-set.ts'
import {
  beginningsOf,
  exemptLists,
  type Facts,
  type Indexes,
  isLong,
  type LocatedPath,
  linesOf,
  longOptions,
  readLists,
  writtenLists,
} from './facts.ts'
import { createPathIndex } from './path-pattern.ts'
import type { Alternative, CommandMatch } from './rule.ts'
import { findValue, type SmallMap, sealMap } from './small-map.ts'
import {
  compileWord,
  compileWords,
  fitsAnyOf,
  fitsOneOf,
  fitsWord,
  type WordList,
  type WordPattern,
} from './word-pattern.ts'

export type Condition = (facts: Facts) => boolean

/** Numbers for the distinct lists of patterns. */
export type Lists = { readonly lists: (readonly string[])[]; readonly numbers: Map<string, number> }
/** What is shared by rules while they are compiled. */
export type Shared = {
  readonly words: Map<string, WordList>
  readonly positive: Lists
  readonly exempt: Lists
}

export function createShared(): Shared {
  return {
    words: new Map(),
    positive: { lists: [], numbers: new Map() },
    exempt: { lists: [], numbers: new Map() },
  }
}

export function indexLists({ positive, exempt }: Shared, home: string): Indexes {
  return {
    positive: createPathIndex(positive.lists, home),
    exempt: createPathIndex(exempt.lists, home),
  }
}

export function listNumber(registry: Lists, patterns: readonly string[]): number {
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

const NO_WORDS: readonly string[] = Object.freeze([])

/** A list that was filtered, without room to grow. */
function noMore(words: readonly string[]): readonly string[] {
  return words.length === 0 ? NO_WORDS : words.slice()
}

/** One of the alternatives of an entry of `options`. */
function givesOne(shared: Shared, entry: string): Condition {
  const alternatives = entry.split('|')
  const long = alternatives.filter(
    (alternative) => alternative.startsWith('--') && !alternative.includes('*'),
  )
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

/** Words that operands begin with, one of them with a star. */
type Beginning = readonly WordPattern[]

/** In the place of a first word: it has a star itself. */
const ANY_FIRST = ''

/** One of the entries is what the operands begin with, word by word. */
function beginsWith(entries: readonly string[]): Condition {
  const spelled = entries.map((entry) => entry.split(' ').filter((word) => word !== ''))
  const plain = spelled.filter((words) => !words.some((word) => word.includes('*')))
  const wild = spelled.filter((words) => words.some((word) => word.includes('*')))
  const byFirst = Map.groupBy(
    wild.map((words): Beginning => words.map(compileWord)),
    ([first]) => (typeof first === 'string' ? first : ANY_FIRST),
  )
  return beginsWithOne(
    // Words never hold a NUL; an entry without a star is looked up as a whole.
    compileWords(plain.map((words) => words.join('\0'))),
    Math.max(0, ...plain.map((words) => words.length)),
    sealMap(byFirst),
  )
}

function beginsWithOne(
  literals: WordList,
  longest: number,
  byFirst: SmallMap<readonly Beginning[]>,
): Condition {
  return (facts) => {
    const { operands } = facts.command
    const beginnings = beginningsOf(facts, longest)
    for (let count = 0; count < longest && count < beginnings.length; count++)
      if (fitsOneOf(literals, beginnings[count] ?? '')) return true
    return (
      areOneFirst(findValue(byFirst, operands[0] ?? ANY_FIRST), operands) ||
      areOneFirst(findValue(byFirst, ANY_FIRST), operands)
    )
  }
}

function areOneFirst(patterns: readonly Beginning[] | undefined, operands: readonly string[]): boolean {
  if (patterns === undefined) return false
  for (const words of patterns) if (areFirst(words, operands)) return true
  return false
}

function areFirst(words: Beginning, operands: readonly string[]): boolean {
  if (words.length > operands.length) return false
  for (let at = 0; at < words.length; at++) if (!fitsWord(words[at] ?? '', operands[at] ?? '')) return false
  return true
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

function listsFor(facts: Facts, field: PathField): BitSet {
  if (field === 'writes') return writtenLists(facts)
  return field === 'reads' ? readLists(facts) : facts.used
}

type PathField = 'paths' | 'writes' | 'reads'
const PATH_FIELDS: readonly PathField[] = Object.freeze(['paths', 'writes', 'reads'])

function hasUse({ used: { use } }: LocatedPath, field: PathField): boolean {
  if (field === 'paths') return true
  return use === (field === 'writes' ? 'write' : 'read')
}

function liesIn(list: number, field: PathField): Condition {
  return (facts) => hasBit(listsFor(facts, field), list)
}

function liesInWithout(list: number, field: PathField, exempt: number): Condition {
  return (facts) =>
    hasBit(listsFor(facts, field), list) &&
    facts.paths.some(
      (path) => hasUse(path, field) && hasBit(path.fits, list) && !hasBit(exemptLists(facts, path), exempt),
    )
}

function hasPathWithout(exempt: number): Condition {
  return (facts) =>
    facts.command.paths.length === 0 || facts.paths.some((path) => !hasBit(exemptLists(facts, path), exempt))
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
  if (not_operands !== undefined)
    conditions.push(not(ofWords(wordsOf(shared, not_operands), WORD_FIELDS.operands)))
  return conditions
}

function isLine(word: WordPattern): Condition {
  return (facts) => linesOf(facts).some((line) => fitsWord(word, line))
}

/** The conditions of a rule but the one on its program, which the index stands for. */
export function compileConditions(rule: Alternative, shared: Shared): readonly Condition[] {
  if (rule.pattern !== undefined) return [isLine(compileWord(rule.pattern))]
  return argvConditions(rule.argv ?? {}, shared)
}

/** Of a rule that says no more than which program, with which words: those words, one beginning each; else undefined. */
export function inquirable(match: CommandMatch): readonly string[] | undefined {
  const {
    program,
    subcommand = [],
    not_subcommand,
    operands,
    not_operands,
    not_options,
    other_options,
    has_operands,
    ...rest
  } = match
  if (program === undefined || program.includes('*')) return undefined
  return Object.keys(rest).length === 0 ? subcommand : undefined
}
