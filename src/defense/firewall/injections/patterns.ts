/**
 * The data base of patterns, read strictly and compiled once, and its match. A pattern is a row of steps: a word of a set
 * follows a word of the set before it with no more than so many tokens between them. Of each step only the last place is
 * kept, which is enough since a later place reaches further; so one pass over the tokens finds whatever is there, and
 * a token costs no more than the steps that its word can be.
 *
 * `steps` holds sets and numbers: `["$forget", 4, "$earlier|my", 2, "$orders"]`. A set is words with `|` between them;
 * `$name` is one of `sets`; a number says how many tokens may lie between, none where it is missing. Refused: unknown
 * fields and sets, words that are none (vocabulary.ts), what is longer or more than the bounds of limits.ts.
 * @module
 */
import {
  INJECTION_GAP_TOKENS,
  INJECTION_PATTERNS,
  INJECTION_SETS,
  INJECTION_STEPS,
  INJECTION_WORDS,
} from '../../../limits.ts'
import { foldWord } from './fold.ts'
import {
  addBeginnings,
  addWord,
  findWord,
  flagsAround,
  HASH_PRIME,
  HASH_SEED,
  hashText,
  IDEOGRAPHS_FROM,
  leetLetter,
  newVocabulary,
  parseWord,
  SKELETON_LETTERS_MIN,
  skeletonOf,
  TOKEN_CODES,
  type Vocabulary,
  type WrittenWord,
} from './vocabulary.ts'

/** Per mille, ruling C18. */
const CONFIDENCE: Readonly<Record<string, number>> = { CRITICAL: 950, HIGH: 800, MEDIUM: 600 }
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
const GATE_ADDRESS = 8
/** Begins a pattern that is CRITICAL: behind it, a long word that is not known may be one with a slip of the pen. */
const GATE_SLIP = 16

export interface PatternTables {
  readonly version: number
  readonly ids: readonly string[]
  readonly confidences: Uint16Array
  readonly vocabulary: Vocabulary
  readonly skeletons: Vocabulary
  /** Of each word the range in `entries`. */
  readonly starts: Uint16Array
  /** Flags asked for, and the step; in falling order of the steps, so that a token is not two of one pattern. */
  readonly entryFlags: Uint8Array
  readonly entrySteps: Uint16Array
  /** Of each step: what may lie between, the step before it (its own number where it is the first), and the pattern that it ends. */
  readonly gaps: Uint8Array
  readonly first: Uint8Array
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

export function newMatched(tables: PatternTables): Matched {
  return {
    places: new Int32Array(tables.gaps.length).fill(NEVER),
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
  const { entryFlags, entrySteps, gaps, first, ends } = tables
  const { places } = into
  const gates = tables.gates[word] ?? 0
  if (gates !== 0) {
    into.gates |= gates
    if ((gates & GATE_ADDRESS) !== 0) into.address += 1
  }
  let around = -1
  const end = tables.starts[word + 1] ?? 0
  for (let entry = tables.starts[word] ?? 0; entry < end; entry += 1) {
    const wanted = entryFlags[entry] ?? 0
    const step = entrySteps[entry] ?? 0
    if (first[step] === 0) {
      const place = places[step - 1] ?? NEVER
      if (token - 1 - place > (gaps[step] ?? 0) || place === token) continue
    }
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

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

interface Reading {
  readonly problems: string[]
  readonly fold: Uint16Array
  readonly sets: ReadonlyMap<string, readonly string[]>
}

function strangers(fields: Fields, known: readonly string[], path: string): string[] {
  return Object.keys(fields)
    .filter((key) => !known.includes(key))
    .map((key) => `${path}.${key} is no field; take it out.`)
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 64
}

function readSets(value: unknown, problems: string[]): ReadonlyMap<string, readonly string[]> {
  const sets = new Map<string, readonly string[]>()
  const fields = fieldsOf(value)
  if (fields === undefined || Object.keys(fields).length > INJECTION_SETS) {
    problems.push(`sets must be an object of at most ${INJECTION_SETS} texts.`)
    return sets
  }
  for (const [name, words] of Object.entries(fields)) {
    if (!/^[a-z][a-z0-9-]{0,31}$/.test(name) || typeof words !== 'string' || words.length > 4_096)
      problems.push(`sets.${name} must be words with spaces between them, by a name of small letters.`)
    else sets.set(name, words.split(' '))
  }
  return sets
}

/** The words of one step, `$set` replaced by its own. */
function wordsOf(reading: Reading, step: string, path: string): readonly string[] {
  return step.split('|').flatMap((each) => {
    if (!each.startsWith('$')) return [each]
    const words = reading.sets.get(each.slice(1))
    if (words === undefined) reading.problems.push(`${path}: the set ${each} is not there.`)
    return words ?? []
  })
}

interface Step {
  readonly words: readonly string[]
  readonly gap: number
  readonly first: boolean
  readonly critical: boolean
  readonly ends: number
}

function readSteps(
  reading: Reading,
  value: unknown,
  path: string,
  pattern: number,
  critical: boolean,
): readonly Step[] {
  const steps: Step[] = []
  if (!Array.isArray(value) || value.length === 0 || value.length > 2 * INJECTION_STEPS) {
    reading.problems.push(`${path} must be a list of 1 to ${INJECTION_STEPS} sets.`)
    return steps
  }
  let gap = 0
  value.forEach((each: unknown, index) => {
    const last = index === value.length - 1
    if (typeof each === 'number') {
      if (!Number.isInteger(each) || each < 1 || each > INJECTION_GAP_TOKENS || last || steps.length === 0)
        reading.problems.push(`${path}[${index}] must be 1 to ${INJECTION_GAP_TOKENS}, between two sets.`)
      gap = each
    } else if (typeof each !== 'string' || each.length > 1_024) {
      reading.problems.push(`${path}[${index}] must be a text of words or a number.`)
    } else {
      steps.push({
        words: wordsOf(reading, each, `${path}[${index}]`),
        gap,
        first: steps.length === 0,
        critical,
        ends: last ? pattern : -1,
      })
      gap = 0
    }
  })
  return steps
}

const ROOT_FIELDS = ['version', 'about', 'sets', 'disguised', 'address', 'patterns']
const PATTERN_FIELDS = ['id', 'severity', 'technique', 'language', 'steps']

function isWordList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= 32 && value.every(isShort)
}

function rotated(word: string): string {
  return word.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97))
}

/** @returns the compiled data base, or every problem of it as a sentence */
export function readPatterns(value: unknown, fold: Uint16Array): PatternTables | readonly string[] {
  const root = fieldsOf(value)
  if (root === undefined) return ['The data base of patterns must be an object.']
  const problems = strangers(root, ROOT_FIELDS, 'patterns')
  const { version, patterns, disguised, address } = root
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1 || version > 1_000_000)
    problems.push('version must be a whole number from 1.')
  if (!Array.isArray(patterns) || patterns.length === 0 || patterns.length > INJECTION_PATTERNS)
    return [...problems, `patterns must be a list of 1 to ${INJECTION_PATTERNS}.`]
  const reading: Reading = { problems, fold, sets: readSets(root['sets'], problems) }
  const ids: string[] = []
  const confidences: number[] = []
  const steps: Step[] = []
  patterns.forEach((each: unknown, index) => {
    const path = `patterns[${index}]`
    const fields = fieldsOf(each) ?? {}
    problems.push(...strangers(fields, PATTERN_FIELDS, path))
    const { id, severity, technique, language } = fields
    if (!isShort(id) || !/^[a-z][a-z0-9.-]*$/.test(id) || ids.includes(id))
      problems.push(`${path}.id must be a name of its own.`)
    const confidence =
      typeof severity === 'string' && Object.hasOwn(CONFIDENCE, severity) ? CONFIDENCE[severity] : undefined
    if (confidence === undefined) problems.push(`${path}.severity must be CRITICAL, HIGH or MEDIUM.`)
    if (!isShort(technique)) problems.push(`${path}.technique must be a text.`)
    if (language !== undefined && !isShort(language)) problems.push(`${path}.language must be a text.`)
    ids.push(String(id))
    confidences.push(confidence ?? 0)
    steps.push(...readSteps(reading, fields['steps'], `${path}.steps`, index, severity === 'CRITICAL'))
  })
  if (!isWordList(disguised)) problems.push('disguised must be a list of at most 32 words.')
  if (!isWordList(address)) problems.push('address must be a list of at most 32 words.')
  if (problems.length > 0 || !isWordList(disguised) || !isWordList(address)) return problems
  const gateOf = new Map<string, number>()
  for (const word of address) gateOf.set(foldWord(fold, word), GATE_ADDRESS)
  for (const word of disguised) {
    gateOf.set(rotated(word), GATE_ROT13)
    gateOf.set([...word].reverse().join(''), GATE_REVERSED)
  }
  return compile(reading, Number(version), ids, confidences, steps, gateOf)
}

function compile(
  reading: Reading,
  version: number,
  ids: readonly string[],
  confidences: readonly number[],
  steps: readonly Step[],
  gateOf: ReadonlyMap<string, number>,
): PatternTables | readonly string[] {
  const { problems, fold } = reading
  const entries = new Map<string, { readonly flags: number; readonly step: number }[]>()
  const parsed = new Map<string, WrittenWord>()
  steps.forEach(({ words }, step) => {
    for (const written of words) {
      const word = parsed.get(written) ?? parseWord(fold, written)
      if (word === undefined) {
        problems.push(
          `"${written}" is no word; write one token, or two characters of a script without spaces.`,
        )
        continue
      }
      parsed.set(written, word)
      const own = entries.get(word.text) ?? []
      if (!own.some((entry) => entry.step === step && entry.flags === word.flags))
        own.push({ flags: word.flags, step })
      entries.set(word.text, own)
    }
  })
  for (const word of gateOf.keys()) if (!entries.has(word)) entries.set(word, [])
  const count = [...entries.values()].reduce((sum, own) => sum + own.length, 0)
  if (entries.size > INJECTION_WORDS || count > 16 * INJECTION_WORDS)
    problems.push(
      `There may be ${INJECTION_WORDS} words in ${16 * INJECTION_WORDS} steps; there are ${entries.size} in ${count}.`,
    )
  if (problems.length > 0) return problems

  const vocabulary = newVocabulary()
  const skeletons = newVocabulary()
  const starts = new Uint16Array(entries.size + 2)
  const entryFlags = new Uint8Array(count)
  const entrySteps = new Uint16Array(count)
  const gates = new Uint8Array(entries.size + 1)
  let word = 0
  let filled = 0
  for (const [text, own] of entries) {
    word += 1
    addWord(vocabulary, hashText(text), word)
    addBeginnings(vocabulary, text)
    const isSlip = own.some(({ step }) => steps[step]?.first === true && steps[step]?.critical === true)
    gates[word] = (gateOf.get(text) ?? 0) | (isSlip ? GATE_SLIP : 0)
    if (text.length >= SKELETON_LETTERS_MIN && own.length > 0) {
      const skeleton = skeletonOf(
        Uint16Array.from(text, (unit) => unit.charCodeAt(0)),
        0,
        text.length,
      )
      if (skeleton !== 0) addWord(skeletons, skeleton, word)
    }
    starts[word] = filled
    for (const { flags, step } of own.toSorted((one, other) => other.step - one.step)) {
      entryFlags[filled] = flags
      entrySteps[filled] = step
      filled += 1
    }
  }
  starts[word + 1] = filled
  return {
    version,
    ids,
    confidences: Uint16Array.from(confidences),
    vocabulary,
    skeletons,
    starts,
    entryFlags,
    entrySteps,
    gaps: Uint8Array.from(steps, ({ gap }) => gap),
    first: Uint8Array.from(steps, ({ first }) => (first ? 1 : 0)),
    ends: Int16Array.from(steps, ({ ends }) => ends),
    gates,
  }
}
