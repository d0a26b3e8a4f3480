/**
 * Finds the patterns of the data base (pattern-file.ts) in folded codes. A pattern is a row of steps: a word of a set
 * follows a word of the set before it with no more than so many tokens between them. Of each step only the last place is
 * kept, which is enough since a later place reaches further; so one pass over the tokens finds whatever is there, and
 * a token costs no more than the steps that its word can be. On the way the pass sees the signs that a text is worth
 * another reading.
 * @module
 */
import { INJECTION_GAP_TOKENS } from './limits.ts'
import {
  findWord,
  flagsAround,
  HASH_PRIME,
  HASH_SEED,
  IDEOGRAPHS_FROM,
  leetLetter,
  SKELETON_LETTERS_MIN,
  skeletonOf,
  TOKEN_CODES,
  type Vocabulary,
} from './vocabulary.ts'

/** How far behind such a word, in tokens. */
const SLIP_TOKENS = 8
const NEVER = -1_000_000
const TOKENS_MAX = 1_000_000_000
const LEET_LETTERS_MAX = 16
/** Longer than words are. */
const LONG_TOKEN = 24

/** Words that are looked for in disguise: where one is met, the text is read once more that way. */
export const GATE_ROT13 = 1
export const GATE_REVERSED = 2
export const GATE_LEET = 4
/** Speaks to a reader, or of one that answers: where many do, the model is asked. */
export const GATE_ADDRESS = 8
/** Begins a pattern that is CRITICAL: behind it, a long word that is not known may be one with a slip of the pen. */
export const GATE_SLIP = 16

/** An entry of a word, packed: places of its parts. */
const STEP_MASK = 0xffff
const GAP_SHIFT = 16
const GAP_MASK = 0x3f
const FLAGS_SHIFT = 22
const FLAGS_MASK = 0x7f
const FIRST = 1 << 29

/** A step of fewer than 65,536, a gap of at most 63 tokens, and flags of vocabulary.ts. */
export function packEntry(step: number, gap: number, flags: number, first: boolean): number {
  return step | (gap << GAP_SHIFT) | (flags << FLAGS_SHIFT) | (first ? FIRST : 0)
}

export interface PatternTables {
  readonly version: number
  readonly ids: readonly string[]
  readonly confidences: Uint16Array
  readonly vocabulary: Vocabulary
  readonly skeletons: Vocabulary
  /** Of each word the range in `entries`. */
  readonly starts: Uint16Array
  /**
   * The step in the lower bits, then what may lie before it, the flags asked for, and whether it is the first; in falling
   * order of the steps, so that a token is not two of one pattern.
   */
  readonly entries: Int32Array
  /** Of each step the pattern that it ends, or -1. */
  readonly ends: Int16Array
  /** Of each word the gates that it opens. */
  readonly gates: Uint8Array
}

/** What a match leaves. `places` is work space. */
export interface Matched {
  readonly places: Int32Array
  /** The number of the last token. */
  token: number
  /** Of each pattern whether it was found, and by which readings of the text. */
  readonly found: Uint8Array
  gates: number
  /** Patterns that were found, and words that speak to a reader, both altogether. */
  hits: number
  address: number
  /** Tokens of one letter in a row, and of up to four with a digit in a row: letters apart, or bytes as digits. */
  singles: number
  pairs: number
  /** The longest token that may be an encoding: of letters and digits, or longer than words are. */
  longest: number
}

/** Room for the matches of one data base. */
export function newMatched(tables: PatternTables): Matched {
  return {
    places: new Int32Array(tables.ends.length).fill(NEVER),
    token: 0,
    found: new Uint8Array(tables.ids.length),
    gates: 0,
    hits: 0,
    address: 0,
    singles: 0,
    pairs: 0,
    longest: 0,
  }
}

/**
 * Finds the patterns in folded codes; one code behind the last is a space.
 * @param reading bits to set in `found`
 */
export function matchPatterns(
  tables: PatternTables,
  into: Matched,
  codes: Uint16Array,
  length: number,
  reading: number,
): void {
  const { vocabulary } = tables
  // Tokens are counted on from text to text, so that places of an earlier one are too far back and need not be wiped.
  if (into.token > TOKENS_MAX) {
    into.places.fill(NEVER)
    into.token = 0
  }
  into.gates = 0
  into.singles = 0
  into.pairs = 0
  into.longest = 0
  let token = into.token + INJECTION_GAP_TOKENS + 2
  let singles = 0
  let pairs = 0
  let recent = NEVER
  let at = 0
  while (at < length) {
    let code = codes[at] ?? 0
    let letter = code < 128 ? (TOKEN_CODES[code] ?? 0) : code
    if (letter === 0) {
      at += 1
      continue
    }
    const start = at
    if (letter >= IDEOGRAPHS_FROM) {
      at += 1
      const next = codes[at] ?? 0
      if (next < IDEOGRAPHS_FROM) continue
      token += 1
      const word = findWord(
        vocabulary,
        Math.imul(Math.imul(HASH_SEED ^ letter, HASH_PRIME) ^ next, HASH_PRIME),
      )
      if (word !== 0) found(tables, into, word, token, codes, start, at + 1, length, reading)
      continue
    }
    let hash = HASH_SEED
    // Digits lack a bit that letters have: what all codes of a token have in common, and what any has.
    let common = 0xff
    let any = 0
    do {
      hash = Math.imul(hash ^ letter, HASH_PRIME)
      common &= letter
      any |= letter
      at += 1
      code = codes[at] ?? 0
      letter = code < 128 ? (TOKEN_CODES[code] ?? 0) : code
    } while (letter !== 0 && letter < IDEOGRAPHS_FROM)
    const size = at - start
    token += 1
    let word = findWord(vocabulary, hash)
    if (size === 1) {
      singles += 1
      if (singles > into.singles) into.singles = singles
    } else {
      singles = 0
      const isMixed = any & ~common & 0x40
      if ((common & 0x40) === 0) {
        if (isMixed !== 0 && (into.gates & GATE_LEET) === 0 && isLeet(vocabulary, codes, start, length))
          into.gates |= GATE_LEET
        pairs = size <= 4 ? pairs + 1 : 0
        if (pairs > into.pairs) into.pairs = pairs
        if (isMixed !== 0 && size > into.longest) into.longest = size
      } else {
        pairs = 0
        if (size >= LONG_TOKEN && size > into.longest) into.longest = size
      }
      if (word === 0 && size >= SKELETON_LETTERS_MIN && token - recent <= SLIP_TOKENS && size <= LONG_TOKEN) {
        const skeleton = skeletonOf(codes, start, at)
        if (skeleton !== 0) word = findWord(tables.skeletons, skeleton)
      }
    }
    if (word !== 0) {
      if (((tables.gates[word] ?? 0) & GATE_SLIP) !== 0) recent = token
      found(tables, into, word, token, codes, start, at, length, reading)
    }
  }
  into.token = token
}

/** Whether a known word of four letters or more stands at `from` when digits and signs are read as letters. */
function isLeet(vocabulary: Vocabulary, codes: Uint16Array, from: number, length: number): boolean {
  let hash = HASH_SEED
  let at = from
  for (; at < length && at < from + LEET_LETTERS_MAX; at += 1) {
    const letter = leetLetter(codes[at] ?? 0)
    if (letter === 0) break
    hash = Math.imul(hash ^ letter, HASH_PRIME)
  }
  return at - from >= 4 && findWord(vocabulary, hash) !== 0
}

/** Takes a known word in. */
function found(
  tables: PatternTables,
  into: Matched,
  word: number,
  token: number,
  codes: Uint16Array,
  from: number,
  to: number,
  length: number,
  reading: number,
): void {
  const { entries, ends } = tables
  const { places } = into
  const gates = tables.gates[word] ?? 0
  if (gates !== 0) {
    into.gates |= gates
    if ((gates & GATE_ADDRESS) !== 0) into.address += 1
  }
  let around = -1
  const end = tables.starts[word + 1] ?? 0
  for (let index = tables.starts[word] ?? 0; index < end; index += 1) {
    const entry = entries[index] ?? 0
    const step = entry & STEP_MASK
    if (entry < FIRST) {
      const between = token - 1 - (places[step - 1] ?? NEVER)
      if (between > ((entry >> GAP_SHIFT) & GAP_MASK) || between < 0) continue
    }
    const wanted = (entry >> FLAGS_SHIFT) & FLAGS_MASK
    if (wanted !== 0) {
      if (around < 0) around = flagsAround(codes, from, to, length)
      if ((around & wanted) !== wanted) continue
    }
    places[step] = token
    const pattern = ends[step] ?? -1
    if (pattern >= 0) {
      if (into.found[pattern] === 0) into.hits += 1
      into.found[pattern] = (into.found[pattern] ?? 0) | reading
    }
  }
}
