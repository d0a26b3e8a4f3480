/**
 * The one canonical JSON of envelopes, manifests, templates, capability sets and plans: what Python writes for
 * `json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=True)`. Keys are sorted by code point, there
 * is no white space, and all that is not printable ASCII is escaped, DEL too, so that the text is ASCII.
 * Never mixed with RFC 8785 (base/encoding/canonical-json.ts), which writes other texts for the same values.
 * Numbers must be integers: Python and ECMAScript write others differently.
 * Rules: SAOE context 2.1; CPython Lib/json/encoder.py (ESCAPE_ASCII).
 * @module
 */
import { type Json, type JsonResult, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { encodeUtf8, isWellFormed } from '../../base/encoding/utf8.ts'
import { SassError } from '../../errors.ts'
import { ENVELOPE_DEPTH, ENVELOPE_VALUES } from '../limits.ts'

export type JsonObject = { readonly [key: string]: Json }

const ESCAPED = /["\\]|[^ -~]/g
const SHORT: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function refuse(what: string): never {
  throw new SassError(
    'INTERNAL',
    `A value cannot be written as canonical JSON because ${what}: this is a bug of the caller.`,
  )
}

/** One UTF-16 unit; those above U+FFFF are two, as Python writes them. */
function escapeUnit(unit: string): string {
  return SHORT.get(unit) ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function writeString(text: string): string {
  if (!isWellFormed(text)) refuse('a text in it has half a surrogate pair')
  return `"${text.replace(ESCAPED, escapeUnit)}"`
}

/**
 * By code point, as Python sorts; by UTF-16 units, as ECMAScript does, U+1F600 would come before U+FB33. Where two
 * texts differ first in a unit, that unit or the pair that it begins decides.
 */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    if (a.charCodeAt(at) === b.charCodeAt(at)) continue
    return (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0)
  }
  return a.length - b.length
}

type Separators = { readonly item: string; readonly key: string; readonly sorted: boolean }
const CANONICAL: Separators = { item: ',', key: ':', sorted: true }
/** What `json.dumps` writes without being told. */
const PYTHON_DEFAULT: Separators = { item: ', ', key: ': ', sorted: false }

function write(value: Json, style: Separators, depth: number): string {
  if (depth > ENVELOPE_DEPTH) refuse('it is nested too deep')
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'number':
      if (!Number.isSafeInteger(value)) refuse('a number in it is not an integer')
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    default:
      break
  }
  if (value === null) return 'null'
  if (isArray(value)) return `[${value.map((item) => write(item, style, depth + 1)).join(style.item)}]`
  const keys = Object.keys(value)
  if (style.sorted) keys.sort(byCodePoint)
  const members = keys.map(
    (key) => `${writeString(key)}${style.key}${write(value[key] ?? null, style, depth + 1)}`,
  )
  return `{${members.join(style.item)}}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** Whether a value of JSON is an object. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The canonical text of `value`, ASCII alone.
 * @throws SassError INTERNAL for numbers that are no integers, lone surrogates and more than ENVELOPE_DEPTH levels:
 * what `readIntentJson` has read has none of these
 */
export function pythonJson(value: Json): string {
  return write(value, CANONICAL, 0)
}

/** The bytes of the canonical text: what is signed and hashed. */
export function pythonJsonBytes(value: Json): Uint8Array {
  return encodeUtf8(pythonJson(value))
}

/** How long `json.dumps(value)` is with the separators that Python has by default: how SAOE measures a payload. */
export function pythonDefaultLength(value: Json): number {
  return write(value, PYTHON_DEFAULT, 0).length
}

/** JSON as all of signed work must be: no key twice, integers alone, at most ENVELOPE_DEPTH levels, ENVELOPE_VALUES values and `size` bytes. */
export function readIntentJson(input: Uint8Array | string, size: number): JsonResult {
  return parseStrictJson(input, { size, depth: ENVELOPE_DEPTH, items: ENVELOPE_VALUES, integersOnly: true })
}
