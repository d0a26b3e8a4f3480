/**
 * JSON Canonicalization Scheme (RFC 8785): the one text of a value, for what is signed, hashed or chained.
 * Keys are sorted by UTF-16 code units, numbers and escapes are as ECMAScript writes them, there is no white space.
 * Refused, as these have no such text: NaN and infinities, lone surrogates, undefined and every other type, objects
 * with a prototype of their own (a Date, a Map), nesting so deep that it must be a cycle.
 * @module
 */
import { SassError } from '../../errors.ts'
import type { Json } from './strict-json.ts'
import { isWellFormed } from './utf8.ts'

/** A value deeper than this was never read by our own parser, which stops earlier. */
const DEPTH_MAX = 512

/** What needs an escape or a closer look; most texts have none of it and are copied. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8785 section 3.2.2.2 names the control characters
const NOT_PLAIN = /["\\\u0000-\u001f\ud800-\udfff]/

function refuse(what: string): never {
  throw new SassError(
    'INTERNAL',
    `A value cannot be written as canonical JSON because ${what}: this is a bug of the caller.`,
  )
}

function writeString(text: string): string {
  if (!NOT_PLAIN.test(text)) return `"${text}"`
  if (!isWellFormed(text)) refuse('a text in it has half a surrogate pair')
  // For well-formed text, JSON.stringify writes exactly the escapes of RFC 8785 section 3.2.2.2.
  return JSON.stringify(text)
}

function isSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at += 1) if ((keys[at - 1] ?? '') > (keys[at] ?? '')) return false
  return true
}

function writeArray(values: readonly Json[], depth: number): string {
  let text = '['
  for (let at = 0; at < values.length; at += 1) {
    if (at > 0) text += ','
    text += write(values[at], depth)
  }
  return `${text}]`
}

function writeObject(members: Readonly<Record<string, Json>>, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(members)
  if (prototype !== null && prototype !== Object.prototype) refuse('an object in it is not a plain one')
  const keys = Object.keys(members)
  // Array.prototype.sort without a comparator orders by UTF-16 code units, as RFC 8785 section 3.2.3 asks.
  if (!isSorted(keys)) keys.sort()
  let text = '{'
  for (const key of keys) {
    if (text.length > 1) text += ','
    text += `${writeString(key)}:${write(members[key], depth)}`
  }
  return `${text}}`
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'number':
      if (!Number.isFinite(value)) refuse('a number in it is not finite')
      // RFC 8785 section 3.2.2.3 is Number.prototype.toString, minus zero included ("0").
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= DEPTH_MAX) refuse('it is nested too deep or contains itself')
      return Array.isArray(value)
        ? writeArray(value as readonly Json[], depth + 1)
        : writeObject(value as Readonly<Record<string, Json>>, depth + 1)
    default:
      return refuse(`it contains a value of type ${typeof value}`)
  }
}

/**
 * Whether JSON.stringify writes the canonical text: the members of every object are in their order already, as those
 * of our own are, and there is nothing in it to refuse. One flat text then, and no garbage of its parts.
 */
function isInOrder(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    case 'object':
      if (value === null) return true
      if (depth >= DEPTH_MAX) return false
      return Array.isArray(value) ? areInOrder(value, depth + 1) : isObjectInOrder(value, depth + 1)
    default:
      return false
  }
}

function areInOrder(values: readonly unknown[], depth: number): boolean {
  for (let at = 0; at < values.length; at += 1) if (!isInOrder(values[at], depth)) return false
  return true
}

function isObjectInOrder(members: object, depth: number): boolean {
  if (Object.getPrototypeOf(members) !== Object.prototype) return false
  let before = ''
  for (const key of Object.keys(members)) {
    if (key < before || !key.isWellFormed()) return false
    before = key
    if (!isInOrder((members as Readonly<Record<string, unknown>>)[key], depth)) return false
  }
  return true
}

/**
 * The canonical text of `value`; its UTF-8 bytes are what is signed or hashed.
 * @throws SassError INTERNAL where the value has no canonical text (see the head of this file).
 */
export function canonicalize(value: Json): string {
  return isInOrder(value, 0) ? JSON.stringify(value) : write(value, 0)
}
