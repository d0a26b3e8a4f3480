/**
 * A small linear model beside the patterns: does a stretch of words read like orders to a model? Its features are words,
 * pairs of neighbours, the signs between them, and four letters in a row within a word, each hashed to one of MODEL_WEIGHTS places; its score is
 * the largest sum of their weights over MODEL_TOKENS words in a row. Whole numbers only, so it is the same everywhere.
 * It was trained by build/train-injections.node.ts, and it never says more than the last of its levels: alone it may
 * support a pattern, not replace one. Refuses weights of another size, and levels that do not rise.
 * @module
 */
import { decodeBase64 } from '../../../base/encoding/base64.ts'
import { INJECTION_WINDOW_BYTES } from './limits.ts'
import { HASH_PRIME, HASH_SEED, TOKEN_CODES } from './vocabulary.ts'

/** One byte each. */
export const MODEL_WEIGHTS = 32_768
/** Two or three sentences. */
export const MODEL_TOKENS = 48
const LEVELS_MAX = 8
const SEEN = 512
const PERMILLE_MAX = 900
const BOUNDARY = 0x20

export interface Model {
  readonly weights: Int8Array
  /** Scores from which on so much is said, both rising. */
  readonly levels: readonly (readonly [score: number, permille: number])[]
  /** Words that speak to a reader that a text has at least where it is worth the look. */
  readonly addressMin: number
  readonly features: Features
}

/** The features of a text, one token's behind the other's. */
export interface Features {
  readonly indexes: Uint16Array
  /** Of each token where its features end. */
  readonly ends: Uint16Array
  tokens: number
  /** Where a word was seen last. */
  readonly seen: Uint16Array
}

/** Room for the features of one window. */
export function newFeatures(): Features {
  const ends = new Uint16Array(INJECTION_WINDOW_BYTES)
  return {
    indexes: new Uint16Array(2 * INJECTION_WINDOW_BYTES + 4),
    ends,
    tokens: 0,
    seen: new Uint16Array(SEEN),
  }
}

function placeOf(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (mixed >>> 17) & (MODEL_WEIGHTS - 1)
}

/** Reads the features of folded codes; one code behind the last is a space. */
export function readFeatures(into: Features, codes: Uint16Array, length: number): void {
  const { indexes, ends } = into
  let filled = 0
  let tokens = 0
  let before = 0
  let hash = HASH_SEED
  let size = 0
  let begin = 0
  let grams = BOUNDARY
  let signs = HASH_SEED
  into.seen.fill(0)
  for (let at = 0; at <= length; at += 1) {
    const code = codes[at] ?? 0
    const letter = code < 128 ? (TOKEN_CODES[code] ?? 0) : code & 0xff
    if (letter !== 0) {
      if (size === 0) begin = filled
      hash = Math.imul(hash ^ letter, HASH_PRIME)
      grams = (grams << 8) | letter
      size += 1
      if (size >= 3) {
        indexes[filled] = placeOf(Math.imul(grams, 0x9e3779b1))
        filled += 1
      }
    } else {
      if (size > 0) {
        const place = placeOf(hash)
        const slot = place & (SEEN - 1)
        const seen = into.seen[slot] ?? 0
        into.seen[slot] = tokens + 1
        // What is said again and again says no more than once.
        if (seen > 0 && tokens + 1 - seen < MODEL_TOKENS) filled = begin
        else {
          indexes[filled] = place
          indexes[filled + 1] = placeOf(hash ^ Math.imul(before, 0x85ebca6b))
          indexes[filled + 2] = placeOf(signs)
          filled += 3
        }
        ends[tokens] = filled
        tokens += 1
        before = hash
        hash = HASH_SEED
        size = 0
        grams = BOUNDARY
        signs = HASH_SEED ^ 0x3c3c
      }
      signs = Math.imul(signs ^ code, HASH_PRIME)
    }
  }
  into.tokens = tokens
}

/** The largest sum over MODEL_TOKENS tokens in a row. */
export function scoreOf(features: Features, weights: Int8Array): number {
  const { indexes, ends } = features
  let best = 0
  let sum = 0
  let last = 0
  let first = 0
  for (let token = 0; token < features.tokens; token += 1) {
    const end = ends[token] ?? 0
    for (; last < end; last += 1) sum += weights[indexes[last] ?? 0] ?? 0
    if (token >= MODEL_TOKENS) {
      const gone = ends[token - MODEL_TOKENS] ?? 0
      for (; first < gone; first += 1) sum -= weights[indexes[first] ?? 0] ?? 0
    }
    if (sum > best) best = sum
  }
  return best
}

/** What the model says of a text, per mille. */
export function modelPermille(model: Model, codes: Uint16Array, length: number): number {
  readFeatures(model.features, codes, length)
  const score = scoreOf(model.features, model.weights)
  let permille = 0
  for (const [from, says] of model.levels) if (score >= from) permille = says
  return permille
}

const FIELDS = ['version', 'about', 'seed', 'inputs', 'levels', 'addressMin', 'weights']

function isCount(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
}

/** @returns the model, or every problem as a sentence */
export function readModel(value: unknown): Model | readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return ['The weights of the injection model must be an object; run "npm run train".']
  const fields = value as Readonly<Record<string, unknown>>
  const problems = Object.keys(fields)
    .filter((key) => !FIELDS.includes(key))
    .map((key) => `weights.${key} is no field; take it out.`)
  const { version, seed, inputs, levels, addressMin, weights } = fields
  if (version !== 1) problems.push('weights.version must be 1.')
  if (!isCount(seed, 0xffffffff)) problems.push('weights.seed must be a whole number of 32 bits.')
  if (typeof inputs !== 'string' || !/^[0-9a-f]{64}$/.test(inputs))
    problems.push('weights.inputs must be a SHA-256 in hexadecimal digits.')
  if (!isCount(addressMin, INJECTION_WINDOW_BYTES))
    problems.push('weights.addressMin must be a number of words.')
  const read: [number, number][] = []
  if (!Array.isArray(levels) || levels.length > LEVELS_MAX)
    problems.push('weights.levels must be a short list.')
  else
    for (const level of levels as readonly unknown[]) {
      const [score, permille] = Array.isArray(level) ? (level as readonly unknown[]) : []
      const [lastScore, lastPermille] = read.at(-1) ?? [0, 0]
      if (
        !isCount(score, 1_000_000) ||
        !isCount(permille, PERMILLE_MAX) ||
        score <= lastScore ||
        permille <= lastPermille
      )
        problems.push(
          `weights.levels must be pairs of a score and at most ${PERMILLE_MAX} per mille, both rising.`,
        )
      else read.push([score, permille])
    }
  const bytes = typeof weights === 'string' ? decodeBase64(weights, MODEL_WEIGHTS) : undefined
  if (bytes?.length !== MODEL_WEIGHTS)
    problems.push(`weights.weights must be ${MODEL_WEIGHTS} bytes in base64.`)
  if (problems.length > 0 || bytes === undefined) return problems
  return {
    weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length),
    levels: read,
    addressMin: Number(addressMin),
    features: newFeatures(),
  }
}
