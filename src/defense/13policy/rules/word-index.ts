/**
 * Numbers by patterns of words, all in one index: a word is looked up once, whatever the number of lists of patterns.
 * @module
 */
import { findValue, type SmallMap, sealMap } from './small-map.ts'
import { nextFitting, type Pieces, sortPatterns } from './word-pattern.ts'

export type WordIndex = {
  readonly literals: SmallMap<readonly number[]>
  /** In order, and the numbers of each. */
  readonly starts: string
  readonly patterns: readonly Pieces[]
  readonly numbers: readonly (readonly number[])[]
}
/** An index while patterns are put in. */
export type GrowingWords = {
  readonly literals: Map<string, number[]>
  readonly patterns: Map<string, number[]>
}

export function emptyWords(): GrowingWords {
  return { literals: new Map(), patterns: new Map() }
}

export function append<Key>(map: Map<Key, number[]>, key: Key, number: number): void {
  const numbers = map.get(key)
  if (numbers === undefined) map.set(key, [number])
  else if (numbers.at(-1) !== number) numbers.push(number)
}

export function addWords(index: GrowingWords, patterns: readonly string[], number: number): void {
  for (const text of patterns) append(text.includes('*') ? index.patterns : index.literals, text, number)
}

/** @param pool gives equal lists as one */
export function sealWords(
  { literals, patterns }: GrowingWords,
  pool: (list: readonly number[]) => readonly number[],
): WordIndex {
  const sorted = sortPatterns([...patterns].map(([text, numbers]) => [text, pool(numbers)] as const))
  return {
    literals: sealMap(new Map([...literals].map(([text, numbers]) => [text, pool(numbers)] as const))),
    starts: sorted.starts,
    patterns: sorted.patterns,
    numbers: sorted.items,
  }
}

/** Hands the numbers of each pattern that fits the word to `take`, those of the word itself first. */
export function lookUp(index: WordIndex, word: string, take: (numbers: readonly number[]) => void): void {
  const own = findValue(index.literals, word)
  if (own !== undefined) take(own)
  lookUpPatterns(index, word, take)
}

/** As `lookUp`, of patterns with a star alone. */
export function lookUpPatterns(
  { starts, patterns, numbers }: WordIndex,
  word: string,
  take: (numbers: readonly number[]) => void,
): void {
  for (
    let at = nextFitting(starts, patterns, word, 0);
    at !== -1;
    at = nextFitting(starts, patterns, word, at + 1)
  )
    take(numbers[at] ?? [])
}
