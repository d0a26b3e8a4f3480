/**
 * Is this text trying to give orders to the model that reads it? One window of a command's output to a confidence in
 * per mille (ruling C18: 1 minus the product of what is left of each sign, 100 more where it was found only in disguise,
 * never more than 990), with what was found. Above 900 it is to be held back, above 700 marked: others do that.
 * Text is read as it stands and, where there is a sign for it, in every disguise of the files beside this, decoded up to
 * INJECTION_DEPTH times. The work for a window is bounded by its length: no reading is longer than the window, and
 * there are no more readings than are written here.
 * Orders without any mark that they are for a model cannot be told from text about work, and are not looked for.
 * @module
 */

import { isOneByte } from '../one-byte.ts'
import { type Decoded, decodeEscapes, decodePairs, decodeRuns, hasEscapes, newDecoded } from './decodings.ts'
import { foldTable } from './fold.ts'
import { INJECTION_DEPTH, INJECTION_WINDOW_BYTES } from './limits.ts'
import { type Model, modelPermille, readModel } from './model.ts'
import { copyPlain, type Normalised, newNormalised, readScreen, readText } from './normalise.ts'
import { readPatterns } from './pattern-file.ts'
import {
  GATE_LEET,
  GATE_REVERSED,
  GATE_ROT13,
  type Matched,
  matchPatterns,
  newMatched,
  type PatternTables,
} from './patterns.ts'
import * as technique from './techniques.ts'
import { isReadable } from './text-share.ts'
import { readLeet, readReversed, readRot13, readSpaced } from './views.ts'

export interface Assessment {
  /** 0 to 990. */
  readonly permille: number
  /** Ids of patterns, `hidden.` ones and `model` among them, in the order of the data base. */
  readonly patterns: readonly string[]
  /** Names of the disguises in which something was found, or that are one by themselves. */
  readonly techniques: readonly string[]
}

interface Level {
  readonly normalised: Normalised
  readonly decoded: Decoded
}

/** What `assessWindow` reads, and the places that it works in: one assessment at a time. */
export interface InjectionTables {
  readonly fold: Uint16Array
  readonly patterns: PatternTables
  readonly model: Model
  readonly matched: Matched
  readonly levels: readonly Level[]
  readonly view: Uint16Array
  readonly row: Uint16Array
}

/** What one window has shown so far. */
interface Findings {
  techniques: number
  invisible: number
  concealed: number
  model: number
}

/** The text itself, what is decoded from it in each other, and once more for escapes around that. */
const LEVELS = INJECTION_DEPTH + 2
const PLAIN = 1
const DISGUISED = 2
const CAP_PERMILLE = 990
const DISGUISE_PERMILLE = 100
/** Nobody writes so much that is not to be seen; per mille, and from how many characters on. */
const INVISIBLE_PERMILLE = 800
const INVISIBLE_MIN = 8
const CONCEALED_PERMILLE = 700
const CONCEALED_MIN = 12
/** Signs that a text is worth another reading. */
const SINGLES_MIN = 6
const PAIRS_MIN = 8
const LONGEST_MIN = 14
const GAPS_MIN = 2
/** What makes a text another one than it seems; colours and moves of the cursor may be there for show. */
const DISGUISES = technique.LOOKALIKE_LETTERS | technique.STYLED_LETTERS | technique.ZERO_WIDTH
const BY_ITSELF = technique.UNICODE_TAGS | technique.VARIATION_SELECTORS | technique.SNEAKY_BITS

/** Nothing was found. */
export const NOTHING: Assessment = Object.freeze({
  permille: 0,
  patterns: Object.freeze([]),
  techniques: Object.freeze([]),
})

/** Nothing was looked for: it is no text. */
export const UNREADABLE: Assessment = Object.freeze({ ...NOTHING })

/**
 * Reads and compiles the data base and the weights, once.
 * @returns the tables, some 500 KiB, or every problem as a sentence
 */
export function readInjectionTables(
  patternsJson: unknown,
  weightsJson: unknown,
):
  | { readonly ok: true; readonly tables: InjectionTables }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const fold = foldTable()
  const patterns = readPatterns(patternsJson, fold)
  const model = readModel(weightsJson)
  if (!('ids' in patterns) || !('weights' in model))
    return {
      ok: false,
      problems: [...('ids' in patterns ? [] : patterns), ...('weights' in model ? [] : model)],
    }
  const levels = Array.from({ length: LEVELS }, () => ({
    normalised: newNormalised(),
    decoded: newDecoded(INJECTION_WINDOW_BYTES),
  }))
  const room = () => new Uint16Array(INJECTION_WINDOW_BYTES + 1)
  const tables = { fold, patterns, model, matched: newMatched(patterns), levels, view: room(), row: room() }
  return { ok: true, tables }
}

/** Matches one reading; what it finds is put down to `disguise`. */
function match(
  tables: InjectionTables,
  findings: Findings,
  codes: Uint16Array,
  length: number,
  reading: number,
  disguise: number,
): void {
  const { matched } = tables
  const before = matched.hits
  matchPatterns(tables.patterns, matched, codes, length, reading)
  if (matched.hits > before) findings.techniques |= disguise
}

/** Reads one text in all ways, and what is encoded in it one level deeper. */
function readLevel(
  tables: InjectionTables,
  findings: Findings,
  depth: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  outer: number,
): void {
  const level = tables.levels[depth]
  if (level === undefined) return
  const { normalised, decoded } = level
  const { matched, view } = tables
  const isPlain = copyPlain(normalised, bytes, start, end)
  if (!isPlain) readText(normalised, tables.fold, bytes, start, end, false)
  const { codes, length, invisible } = normalised
  const seen = normalised.techniques
  const reading = outer === 0 && (seen & DISGUISES) === 0 ? PLAIN : DISGUISED
  const address = matched.address
  match(tables, findings, codes, length, reading, outer | seen)
  // Words that only a disguise gives are the patterns' business.
  if (matched.address - address >= tables.model.addressMin)
    findings.model = Math.max(findings.model, modelPermille(tables.model, codes, length))
  const { gates, singles, pairs, longest } = matched

  if ((gates & GATE_LEET) !== 0)
    match(tables, findings, view, readLeet(view, codes, length), DISGUISED, outer | seen | technique.LEET)
  if (singles >= SINGLES_MIN) {
    const filled = readSpaced(view, tables.row, codes, length, tables.patterns.vocabulary)
    match(tables, findings, view, filled, DISGUISED, outer | seen | technique.SPACED_LETTERS)
  }
  if ((gates & GATE_ROT13) !== 0)
    match(tables, findings, view, readRot13(view, codes, length), DISGUISED, outer | seen | technique.ROT13)
  if ((gates & GATE_REVERSED) !== 0 || (seen & technique.BIDI_OVERRIDE) !== 0)
    match(
      tables,
      findings,
      view,
      readReversed(view, codes, length),
      DISGUISED,
      outer | seen | technique.REVERSED,
    )
  if (normalised.moves > 0)
    match(tables, findings, view, readScreen(normalised, view), DISGUISED, outer | seen)

  decoded.length = 0
  decoded.techniques = 0
  const isDecoded = depth < LEVELS - 1
  if (!isPlain) {
    findings.concealed += normalised.concealed
    findings.invisible += invisible.hidden
    if (invisible.hidden >= INVISIBLE_MIN) findings.techniques |= seen & BY_ITSELF
    if (normalised.concealed >= CONCEALED_MIN) findings.techniques |= technique.TERMINAL_CONCEAL
    if (isDecoded && invisible.secretLength > 0) {
      decoded.bytes.set(invisible.secret.subarray(0, invisible.secretLength))
      decoded.length = invisible.secretLength
      decoded.techniques |= seen & BY_ITSELF
    }
  }
  // Where escapes were resolved the whole text is there, and what is encoded in it is decoded a level deeper. So there is
  // room for everything: none of it can be crowded out.
  if (isDecoded && (isPlain ? normalised.escapes : hasEscapes(codes, length)))
    decodeEscapes(decoded, codes, length)
  if (isDecoded && (decoded.techniques & technique.ESCAPES) === 0) {
    if (longest >= LONGEST_MIN) decodeRuns(decoded, codes, length)
    if (pairs >= PAIRS_MIN) decodePairs(decoded, codes, length)
  }
  if (invisible.gaps >= GAPS_MIN) {
    readText(normalised, tables.fold, bytes, start, end, true)
    match(tables, findings, codes, normalised.length, DISGUISED, outer | seen)
  }
  if (decoded.length > 0)
    readLevel(
      tables,
      findings,
      depth + 1,
      decoded.bytes,
      0,
      decoded.length,
      outer | seen | decoded.techniques,
    )
}

/**
 * Assesses `bytes` from `start` to `end`; of more than INJECTION_WINDOW_BYTES only the first are read. UTF-8 that may be
 * cut or broken. The same input gives the same answer.
 */
export function assessWindow(
  tables: InjectionTables,
  bytes: Uint8Array,
  start: number,
  end: number,
): Assessment {
  const from = Math.max(0, start)
  const to = Math.min(end, bytes.length, from + INJECTION_WINDOW_BYTES)
  if (isOneByte(bytes, from, to) || !isReadable(bytes, from, to)) return UNREADABLE
  const { matched, patterns } = tables
  const findings: Findings = { techniques: 0, invisible: 0, concealed: 0, model: 0 }
  matched.hits = 0
  matched.address = 0
  readLevel(tables, findings, 0, bytes, from, to, 0)
  if (matched.hits === 0 && findings.model === 0 && findings.invisible === 0 && findings.concealed === 0)
    return NOTHING

  const ids: string[] = []
  let left = 1_000
  let plain = false
  const add = (id: string, permille: number): void => {
    ids.push(id)
    left = Math.floor((left * (1_000 - permille)) / 1_000)
  }
  if (matched.hits > 0) {
    patterns.ids.forEach((id, index) => {
      const reading = matched.found[index] ?? 0
      if (reading === 0) return
      add(id, patterns.confidences[index] ?? 0)
      if ((reading & PLAIN) !== 0) plain = true
    })
    matched.found.fill(0)
  }
  if (findings.invisible >= INVISIBLE_MIN) add('hidden.invisible-text', INVISIBLE_PERMILLE)
  if (findings.concealed >= CONCEALED_MIN) add('hidden.terminal-conceal', CONCEALED_PERMILLE)
  if (findings.model > 0) add('model', findings.model)
  if (ids.length === 0) return NOTHING
  const disguised = matched.hits > 0 && !plain ? DISGUISE_PERMILLE : 0
  return {
    permille: Math.min(CAP_PERMILLE, 1_000 - left + disguised),
    patterns: ids,
    techniques: technique.techniqueNames(findings.techniques),
  }
}
