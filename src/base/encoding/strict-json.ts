/**
 * JSON (RFC 8259) for what is signed, configured or sent by a peer: one text has one meaning, or it is refused.
 * Beyond the grammar refused are: a key twice in one object (at any depth, compared after escapes), lone surrogates,
 * bytes that are not UTF-8, a byte order mark, anything after the value, nesting and size over the caller's limits,
 * integers that a double cannot hold exactly, numbers that are not finite as a double.
 * Objects have no prototype, so `__proto__` and `constructor` are keys like any other.
 * Rules: RFC 8259, RFC 7493 (I-JSON) section 2.
 * @module
 */
import { decodeUtf8, isWellFormed } from './utf8.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string; readonly offset: number }

export type JsonLimits = {
  /** Bytes of the input, or UTF-16 code units where it is a string. */
  readonly size: number
  /** Arrays and objects inside one another; a scalar alone is depth 0. Default 64. */
  readonly depth?: number
  /** Values altogether, keys not counted. Default: `size`. */
  readonly items?: number
  /** Refuses numbers with a fraction or an exponent, `1.0` too: other languages would write those otherwise. */
  readonly integersOnly?: boolean
}

/** The problem of a key that stands twice, for whoever tells it from the others. */
export const DUPLICATE_KEY_PROBLEM = 'the key stands twice in one object'

/** Deep enough for any document here, shallow enough for any stack: the parser recurses once a level. */
const DEFAULT_DEPTH = 64

type Cursor = {
  readonly text: string
  readonly depth: number
  readonly integersOnly: boolean
  at: number
  items: number
  problem: string
}

const REFUSED = Symbol('refused')
type Parsed = Json | typeof REFUSED

function refuse(cursor: Cursor, problem: string, at = cursor.at): typeof REFUSED {
  cursor.problem = problem
  cursor.at = at
  return REFUSED
}

function skipSpace(cursor: Cursor): void {
  for (;;) {
    const unit = cursor.text.charCodeAt(cursor.at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    cursor.at += 1
  }
}

/** Four hex digits at `at`, or -1. */
function escapedUnit(text: string, at: number): number {
  let value = 0
  for (let digit = 0; digit < 4; digit += 1) {
    const unit = text.charCodeAt(at + digit)
    if (unit >= 0x30 && unit <= 0x39) value = value * 16 + unit - 0x30
    else if (unit >= 0x61 && unit <= 0x66) value = value * 16 + unit - 0x57
    else if (unit >= 0x41 && unit <= 0x46) value = value * 16 + unit - 0x37
    else return -1
  }
  return value
}

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/** The cursor stands behind the opening quote. */
function readString(cursor: Cursor): string | typeof REFUSED {
  const { text } = cursor
  const begin = cursor.at
  let value = ''
  let copied = begin
  let hasUnicodeEscape = false
  for (let at = begin; at < text.length; ) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) {
      value += text.slice(copied, at)
      cursor.at = at + 1
      if (hasUnicodeEscape && !isWellFormed(value))
        return refuse(cursor, 'the text has half a surrogate pair', begin)
      return value
    }
    if (unit < 0x20) return refuse(cursor, 'a control character in a text must be escaped', at)
    if (unit !== 0x5c) {
      at += 1
      continue
    }
    value += text.slice(copied, at)
    const escaped = text.charAt(at + 1)
    const short = SHORT_ESCAPES.get(escaped)
    if (short !== undefined) {
      value += short
      at += 2
    } else {
      const point = escaped === 'u' ? escapedUnit(text, at + 2) : -1
      if (point < 0) return refuse(cursor, 'the escape is not one that JSON has', at)
      value += String.fromCharCode(point)
      hasUnicodeEscape = true
      at += 6
    }
    copied = at
  }
  return refuse(cursor, 'the text is not closed', text.length)
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y

function readNumber(cursor: Cursor): Parsed {
  // A fresh expression each time: `lastIndex` of a shared one would be state of the module.
  const pattern = new RegExp(NUMBER)
  pattern.lastIndex = cursor.at
  const match = pattern.exec(cursor.text)
  if (match === null) return refuse(cursor, 'this is not a JSON value')
  const value = Number(match[0])
  if (!Number.isFinite(value)) return refuse(cursor, 'the number is larger than a double can hold')
  const isInteger = match[1] === undefined && match[2] === undefined
  if (!isInteger && cursor.integersOnly) {
    return refuse(cursor, 'only integers may stand here, without a fraction or an exponent')
  }
  if (isInteger && !Number.isSafeInteger(value)) {
    return refuse(cursor, 'the integer is outside of what a double holds exactly (2^53 - 1): send it as text')
  }
  cursor.at += match[0].length
  return value
}

function readLiteral(cursor: Cursor, literal: string, value: Json): Parsed {
  if (!cursor.text.startsWith(literal, cursor.at)) return refuse(cursor, 'this is not a JSON value')
  cursor.at += literal.length
  return value
}

/** The cursor stands behind the bracket. */
function readArray(cursor: Cursor, depth: number): Parsed {
  const values: Json[] = []
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) === 0x5d) {
    cursor.at += 1
    return values
  }
  for (;;) {
    const value = readValue(cursor, depth)
    if (value === REFUSED) return REFUSED
    values.push(value)
    skipSpace(cursor)
    const unit = cursor.text.charCodeAt(cursor.at)
    if (unit !== 0x2c && unit !== 0x5d) return refuse(cursor, 'a comma or the end of the array must follow')
    cursor.at += 1
    if (unit === 0x5d) return values
  }
}

/** The cursor stands behind the brace. */
function readObject(cursor: Cursor, depth: number): Parsed {
  // Without a prototype there is no setter behind `__proto__` and no inherited name behind `in`.
  const members: Record<string, Json> = Object.create(null)
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) === 0x7d) {
    cursor.at += 1
    return members
  }
  for (;;) {
    skipSpace(cursor)
    const keyAt = cursor.at
    if (cursor.text.charCodeAt(keyAt) !== 0x22) return refuse(cursor, 'a key in quotes must stand here')
    cursor.at += 1
    const key = readString(cursor)
    if (key === REFUSED) return REFUSED
    if (key in members) return refuse(cursor, DUPLICATE_KEY_PROBLEM, keyAt)
    skipSpace(cursor)
    if (cursor.text.charCodeAt(cursor.at) !== 0x3a) return refuse(cursor, 'a colon must follow the key')
    cursor.at += 1
    const value = readValue(cursor, depth)
    if (value === REFUSED) return REFUSED
    members[key] = value
    skipSpace(cursor)
    const unit = cursor.text.charCodeAt(cursor.at)
    if (unit !== 0x2c && unit !== 0x7d) return refuse(cursor, 'a comma or the end of the object must follow')
    cursor.at += 1
    if (unit === 0x7d) return members
  }
}

function readValue(cursor: Cursor, depth: number): Parsed {
  skipSpace(cursor)
  if (cursor.at >= cursor.text.length) return refuse(cursor, 'the text ends where a value must stand')
  cursor.items -= 1
  if (cursor.items < 0) return refuse(cursor, 'there are more values than the limit allows')
  switch (cursor.text.charCodeAt(cursor.at)) {
    case 0x22:
      cursor.at += 1
      return readString(cursor)
    case 0x5b:
    case 0x7b: {
      if (depth >= cursor.depth)
        return refuse(cursor, 'arrays and objects are nested deeper than the limit allows')
      const isArray = cursor.text.charCodeAt(cursor.at) === 0x5b
      cursor.at += 1
      return isArray ? readArray(cursor, depth + 1) : readObject(cursor, depth + 1)
    }
    case 0x74:
      return readLiteral(cursor, 'true', true)
    case 0x66:
      return readLiteral(cursor, 'false', false)
    case 0x6e:
      return readLiteral(cursor, 'null', null)
    default:
      return readNumber(cursor)
  }
}

/**
 * The value of a JSON text, given as text or as its UTF-8 bytes.
 * On refusal `problem` is a clause without any of the input in it, and `offset` says where: in UTF-16 code units of
 * the text (0 where the input as a whole is refused). Never throws.
 */
export function parseStrictJson(input: string | Uint8Array, limits: JsonLimits): JsonResult {
  if (input.length > limits.size) {
    return { ok: false, problem: `the JSON text is larger than the limit of ${limits.size}`, offset: 0 }
  }
  const text = typeof input === 'string' ? input : decodeUtf8(input)
  if (text === undefined) return { ok: false, problem: 'the JSON text is not valid UTF-8', offset: 0 }
  if (typeof input === 'string' && !isWellFormed(text)) {
    return { ok: false, problem: 'the JSON text has half a surrogate pair', offset: 0 }
  }
  if (text.charCodeAt(0) === 0xfeff) {
    return { ok: false, problem: 'the JSON text begins with a byte order mark', offset: 0 }
  }
  const cursor: Cursor = {
    text,
    depth: Math.min(limits.depth ?? DEFAULT_DEPTH, 512),
    integersOnly: limits.integersOnly === true,
    at: 0,
    items: limits.items ?? limits.size,
    problem: '',
  }
  const value = readValue(cursor, 0)
  if (value === REFUSED) return { ok: false, problem: cursor.problem, offset: cursor.at }
  skipSpace(cursor)
  if (cursor.at < text.length)
    return { ok: false, problem: 'something follows the JSON value', offset: cursor.at }
  return { ok: true, value }
}
