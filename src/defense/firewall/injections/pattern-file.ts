/**
 * The data base of patterns, firewall/injections.json, read strictly and compiled once.
 * `steps` holds sets and numbers: `["$forget", 4, "$earlier|my", 2, "$orders"]`. A set is words with `|` between them;
 * `$name` is one of `sets`; a number says how many tokens may lie between, none where it is missing. `disguised` words
 * are also looked for rotated and backwards; `address` words call for the model. Refused: unknown fields and sets, words
 * that are none (vocabulary.ts), what is longer or more than the bounds of limits.ts.
 * @module
 */

import { foldWord } from './fold.ts'
import {
  INJECTION_GAP_TOKENS,
  INJECTION_PATTERNS,
  INJECTION_SETS,
  INJECTION_STEPS,
  INJECTION_WORDS,
} from './limits.ts'
import {
  GATE_ADDRESS,
  GATE_REVERSED,
  GATE_ROT13,
  GATE_SLIP,
  type PatternTables,
  packEntry,
} from './patterns.ts'
import {
  addBeginnings,
  addWord,
  hashText,
  newVocabulary,
  parseWord,
  SKELETON_LETTERS_MIN,
  skeletonOf,
  type WrittenWord,
} from './vocabulary.ts'

/** Per mille, ruling C18. */
const CONFIDENCE: Readonly<Record<string, number>> = { CRITICAL: 950, HIGH: 800, MEDIUM: 600 }

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
  const packed = new Int32Array(count)
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
      packed[filled] = packEntry(step, steps[step]?.gap ?? 0, flags, steps[step]?.first ?? false)
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
    entries: packed,
    ends: Int16Array.from(steps, ({ ends }) => ends),
    gates,
  }
}
