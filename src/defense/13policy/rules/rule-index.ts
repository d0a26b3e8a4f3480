/**
 * Which rules can match a command at all: by its program's names, and for rules without a program by the one thing
 * that they ask for and few commands have. Lists of rules are in the order of strictness.
 * @module
 */
import type { Opaque } from '../effective.ts'
import { nextBit } from './bit-set.ts'
import type { Facts } from './facts.ts'
import type { Alternative } from './rule.ts'
import { listNumber, type Shared } from './rule-conditions.ts'
import { createListPool, findValue } from './small-map.ts'
import {
  addWords,
  append,
  emptyWords,
  type GrowingWords,
  lookUp,
  lookUpPatterns,
  sealWords,
  type WordIndex,
} from './word-index.ts'

const WORD_KEYS = Object.freeze(['program', 'assigns', 'piped_from', 'piped_to', 'via'] as const)
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

/** The names of programs that a `pattern` can mean; undefined where any can be. */
function programOfPattern(pattern: string): string | undefined {
  const [first = ''] = pattern.split(' ', 1)
  const star = first.indexOf('*')
  if (star === 0) return undefined
  // The star could also stand for the space and what follows.
  return star === -1 ? first : `${first.slice(0, star)}*`
}

function indexRule(index: GrowingIndex, rule: Alternative, at: number, shared: Shared): void {
  const { pattern, argv } = rule
  if (pattern !== undefined) {
    const program = programOfPattern(pattern)
    if (program === undefined) index.always.push(at)
    else addWords(index.words.program, [program], at)
    return
  }
  for (const key of WORD_KEYS) {
    const patterns = argv?.[key]
    // Any program, also one that is not known: no condition.
    if (patterns === undefined || (key === 'program' && patterns.includes('*'))) continue
    addWords(index.words[key], patterns, at)
    return
  }
  const paths = argv?.writes ?? argv?.paths ?? argv?.reads
  if (paths !== undefined) append(index.paths, listNumber(shared.positive, paths), at)
  else if (argv?.opaque !== undefined) for (const reason of argv.opaque) append(index.opaque, reason, at)
  else index.always.push(at)
}

/** @param rules in the order of strictness */
export function indexRules(rules: readonly Alternative[], shared: Shared): RuleIndex {
  const index: GrowingIndex = {
    words: {
      program: emptyWords(),
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
  const seal = (growing: GrowingWords) => sealWords(growing, pool)
  return {
    words: {
      program: seal(words.program),
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

/** Whether a rule allows a program of that name, or is about this very program at least. */
export function namesProgram(
  { words }: RuleIndex,
  name: string,
  isAllowed: (rule: number) => boolean,
): 'allowed' | 'named' | undefined {
  const named = findValue(words.program.literals, name)
  if (named?.some(isAllowed) === true) return 'allowed'
  // What denies a whole family of names has thought about none of them; what allows one has.
  let isAnyAllowed = false
  lookUpPatterns(words.program, name, (rules) => {
    isAnyAllowed ||= rules.some(isAllowed)
  })
  if (isAnyAllowed) return 'allowed'
  return named === undefined ? undefined : 'named'
}

type Take = (rules: readonly number[]) => void

function lookUpAll(index: WordIndex, names: readonly string[], take: Take): void {
  for (let at = 0; at < names.length; at++) lookUp(index, names[at] ?? '', take)
}

/** Hands the lists of rules that could match to `take`, each in the order of strictness; a rule can be in several. */
export function candidates(index: RuleIndex, facts: Facts, take: Take): void {
  const { command } = facts
  const { words } = index
  if (index.always.length > 0) take(index.always)
  lookUpAll(words.program, command.names, take)
  for (let at = 0; at < command.assignments.length; at++)
    lookUp(words.assigns, command.assignments[at]?.name ?? '', take)
  lookUpAll(words.piped_from, command.pipedFrom, take)
  lookUpAll(words.piped_to, command.pipedTo, take)
  lookUpAll(words.via, command.via, take)
  for (let list = nextBit(facts.used, 0); list !== -1; list = nextBit(facts.used, list + 1)) {
    const rules = index.paths[list]
    if (rules !== undefined) take(rules)
  }
  if (index.opaque.size > 0 && command.opaque.length > 0)
    for (const reason of [...command.opaque, '*' as const]) {
      const rules = index.opaque.get(reason)
      if (rules !== undefined) take(rules)
    }
}
