/**
 * Which rules can match a command at all: by its program's names, and for rules without a program by the one thing
 * that they ask for and few commands have. Lists of rules are in the order of strictness.
 * @module
 */
import type { Opaque } from '../effective.ts'
import type { Rule } from '../rule.ts'
import { nextBit } from './bit-set.ts'
import type { Facts } from './facts.ts'
import { listNumber, type Shared } from './rule-conditions.ts'
import { createListPool, findValue, type SmallMap, sealMap } from './small-map.ts'
import { nextFitting, type Pieces, sortPatterns } from './word-pattern.ts'

type WordIndex = {
  readonly literals: SmallMap<readonly number[]>
  /** In order, and the rules of each. */
  readonly starts: string
  readonly patterns: readonly Pieces[]
  readonly rules: readonly (readonly number[])[]
}
/** An index while rules are put in. */
type GrowingWords = {
  readonly literals: Map<string, number[]>
  readonly patterns: { readonly text: string; readonly rules: number[] }[]
}

const WORD_KEYS = Object.freeze(['program', 'calls', 'assigns', 'piped_from', 'piped_to', 'via'] as const)
type WordKey = (typeof WORD_KEYS)[number]

export type RuleIndex = {
  readonly words: Readonly<Record<WordKey, WordIndex>>
  /** By the number of a list of path patterns. */
  readonly paths: readonly (readonly number[] | undefined)[]
  readonly opaque: ReadonlyMap<Opaque | '*', readonly number[]>
  /** Rules that every command is compared with. */
  readonly always: readonly number[]
}
type GrowingIndex = {
  readonly words: Readonly<Record<WordKey, GrowingWords>>
  readonly paths: Map<number, number[]>
  readonly opaque: Map<Opaque | '*', number[]>
  readonly always: number[]
}

function emptyWords(): GrowingWords {
  return { literals: new Map(), patterns: [] }
}

function append<Key>(map: Map<Key, number[]>, key: Key, rule: number): void {
  const rules = map.get(key)
  if (rules === undefined) map.set(key, [rule])
  else if (rules.at(-1) !== rule) rules.push(rule)
}

function indexWords(index: GrowingWords, patterns: readonly string[], rule: number): void {
  for (const text of patterns) {
    if (!text.includes('*')) {
      append(index.literals, text, rule)
      continue
    }
    const known = index.patterns.find((candidate) => candidate.text === text)
    if (known === undefined) index.patterns.push({ text, rules: [rule] })
    else if (known.rules.at(-1) !== rule) known.rules.push(rule)
  }
}

/** The names of programs that a `pattern` can mean; undefined where any can be. */
function programOfPattern(pattern: string): string | undefined {
  const [first = ''] = pattern.split(' ', 1)
  const star = first.indexOf('*')
  if (star === 0) return undefined
  // The star could also stand for the space and what follows.
  return star === -1 ? first : `${first.slice(0, star)}*`
}

function indexRule(index: GrowingIndex, rule: Rule, at: number, shared: Shared): void {
  const { pattern, argv } = rule
  if (pattern !== undefined) {
    const program = programOfPattern(pattern)
    if (program === undefined) index.always.push(at)
    else indexWords(index.words.program, [program], at)
    return
  }
  for (const key of WORD_KEYS) {
    const patterns = argv?.[key]
    // Any program, also one that is not known: no condition.
    if (patterns === undefined || (key === 'program' && patterns.includes('*'))) continue
    indexWords(index.words[key], patterns, at)
    return
  }
  const paths = argv?.writes ?? argv?.paths ?? argv?.reads ?? argv?.takes
  if (paths !== undefined) append(index.paths, listNumber(shared.positive, paths), at)
  else if (argv?.opaque !== undefined) for (const reason of argv.opaque) append(index.opaque, reason, at)
  else index.always.push(at)
}

/** @param rules in the order of strictness */
export function indexRules(rules: readonly Rule[], shared: Shared): RuleIndex {
  const index: GrowingIndex = {
    words: {
      program: emptyWords(),
      calls: emptyWords(),
      assigns: emptyWords(),
      piped_from: emptyWords(),
      piped_to: emptyWords(),
      via: emptyWords(),
    },
    paths: new Map(),
    opaque: new Map(),
    always: [],
  }
  rules.forEach((rule, at) => {
    indexRule(index, rule, at, shared)
  })
  return sealIndex(index)
}

function sealIndex({ words, paths, opaque, always }: GrowingIndex): RuleIndex {
  const pool = createListPool()
  const lists = <Key>(map: ReadonlyMap<Key, readonly number[]>) =>
    new Map([...map].map(([key, list]) => [key, pool(list)] as const))
  const seal = ({ literals, patterns }: GrowingWords): WordIndex => {
    const sorted = sortPatterns(patterns.map(({ text, rules }) => [text, pool(rules)] as const))
    return {
      literals: sealMap(lists(literals)),
      starts: sorted.starts,
      patterns: sorted.patterns,
      rules: sorted.items,
    }
  }
  return {
    words: {
      program: seal(words.program),
      calls: seal(words.calls),
      assigns: seal(words.assigns),
      piped_from: seal(words.piped_from),
      piped_to: seal(words.piped_to),
      via: seal(words.via),
    },
    paths: Array.from({ length: Math.max(-1, ...paths.keys()) + 1 }, (_, list) =>
      paths.has(list) ? pool(paths.get(list) ?? []) : undefined,
    ),
    opaque: lists(opaque),
    always: pool(always),
  }
}

function lookUp(index: WordIndex, word: string, into: (readonly number[])[]): void {
  const rules = findValue(index.literals, word)
  if (rules !== undefined) into.push(rules)
  const { starts, patterns } = index
  for (
    let at = nextFitting(starts, patterns, word, 0);
    at !== -1;
    at = nextFitting(starts, patterns, word, at + 1)
  )
    into.push(index.rules[at] ?? [])
}

/** Whether a rule allows a program of that name, or is about this very program at least. */
export function namesProgram(
  { words }: RuleIndex,
  name: string,
  isAllowed: (rule: number) => boolean,
): 'allowed' | 'named' | undefined {
  const named = findValue(words.program.literals, name)
  if (named?.some(isAllowed) === true) return 'allowed'
  // What denies a whole family of names has thought about none of them; what allows one has.
  const { starts, patterns, rules } = words.program
  for (
    let at = nextFitting(starts, patterns, name, 0);
    at !== -1;
    at = nextFitting(starts, patterns, name, at + 1)
  )
    if (rules[at]?.some(isAllowed) === true) return 'allowed'
  return named === undefined ? undefined : 'named'
}

/** Lists of rules that could match, each in the order of strictness; a rule can be in several. */
export function candidates(index: RuleIndex, facts: Facts): readonly (readonly number[])[] {
  const { command } = facts
  const { words } = index
  const found: (readonly number[])[] = []
  if (index.always.length > 0) found.push(index.always)
  for (const name of command.names) lookUp(words.program, name, found)
  for (const name of command.calls) lookUp(words.calls, name, found)
  for (const { name } of command.assignments) lookUp(words.assigns, name, found)
  for (const name of command.pipedFrom) lookUp(words.piped_from, name, found)
  for (const name of command.pipedTo) lookUp(words.piped_to, name, found)
  for (const name of command.via) lookUp(words.via, name, found)
  for (let list = nextBit(facts.used, 0); list !== -1; list = nextBit(facts.used, list + 1)) {
    const rules = index.paths[list]
    if (rules !== undefined) found.push(rules)
  }
  if (index.opaque.size > 0 && command.opaque.length > 0)
    for (const reason of [...command.opaque, '*' as const]) {
      const rules = index.opaque.get(reason)
      if (rules !== undefined) found.push(rules)
    }
  return found
}
