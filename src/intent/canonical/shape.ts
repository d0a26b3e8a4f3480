/**
 * Closed shapes of JSON objects: every key is known and has its check, or the object is refused with the field and a
 * clause that says what is wrong. A table of checks for each kind of document, and typed access to what has passed.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import { isJsonObject, type JsonObject } from './python-json.ts'

/** `problem` is a clause that follows the name of the field: `has no such key`. `field` is empty for the whole. */
export type FieldProblem = { readonly field: string; readonly problem: string }
export type FieldCheck = (value: Json) => FieldProblem | undefined
export type Shape = Readonly<Record<string, FieldCheck>>

const HEX = /^[0-9a-f]*$/
/** SAOE RT-2.3: what may become part of a file name. */
const SAFE_NAME = /^[A-Za-z0-9_-]{1,128}$/
/** No underscore: in `ID_vVERSION` the last `_v` then divides the two. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9.-]{0,31}$/

/** Whether a text may become part of a file name: 1 to 128 of A-Z a-z 0-9 _ -. */
export function isSafeName(text: string): boolean {
  return SAFE_NAME.test(text)
}

/** Whether a text is a version of a template or a capability set: 1 to 32 of A-Z a-z 0-9 . -, a letter or digit first. */
export function isVersion(text: string): boolean {
  return VERSION.test(text)
}

/** A check that is one question; the clause is said where the answer is no. */
export function fieldWhere(isGood: (value: Json) => boolean, problem: string): FieldCheck {
  return (value) => (isGood(value) ? undefined : { field: '', problem })
}

/** A text of at most so many UTF-16 units. */
export function textField(maxChars: number): FieldCheck {
  return fieldWhere(
    (value) => typeof value === 'string' && value.length <= maxChars,
    `must be a text of at most ${maxChars} characters`,
  )
}

/** Lower-case hex of exactly so many bytes. */
export function hexField(bytes: number): FieldCheck {
  return fieldWhere(
    (value) => typeof value === 'string' && value.length === bytes * 2 && HEX.test(value),
    `must be ${bytes} bytes as lower-case hex`,
  )
}

export const nameField: FieldCheck = fieldWhere(
  (value) => typeof value === 'string' && isSafeName(value),
  'must be a name of 1 to 128 of the characters A-Z a-z 0-9 _ -',
)
export const versionField: FieldCheck = fieldWhere(
  (value) => typeof value === 'string' && isVersion(value),
  'must be a version of 1 to 32 of the characters A-Z a-z 0-9 . -, a letter or digit first',
)
export const objectField: FieldCheck = fieldWhere(isJsonObject, 'must be an object')

/** Integers from `min` to `max`, both included. */
export function integerField(min: number, max: number): FieldCheck {
  return fieldWhere(
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
    `must be an integer from ${min} to ${max}`,
  )
}

/** An array of at most `max` items that all pass. */
export function listField(item: FieldCheck, max: number): FieldCheck {
  return (value) => {
    if (!Array.isArray(value) || value.length > max)
      return { field: '', problem: `must be a list of at most ${max} items` }
    for (const [at, one] of (value as readonly Json[]).entries()) {
      const problem = item(one)
      if (problem !== undefined) return under(String(at), problem)
    }
    return undefined
  }
}

/** An object that has all of `required`, of `optional` what it likes, and nothing else. */
export function shapeField(required: Shape, optional: Shape = {}): FieldCheck {
  return (value) => {
    if (!isJsonObject(value)) return { field: '', problem: 'must be an object' }
    for (const key of Object.keys(required))
      if (!Object.hasOwn(value, key)) return { field: key, problem: 'is missing' }
    for (const [key, member] of Object.entries(value)) {
      const check = ownCheck(required, key) ?? ownCheck(optional, key)
      if (check === undefined)
        return { field: key.slice(0, 64), problem: 'is not a field that may stand here' }
      const problem = check(member)
      if (problem !== undefined) return under(key, problem)
    }
    return undefined
  }
}

function ownCheck(shape: Shape, key: string): FieldCheck | undefined {
  return Object.hasOwn(shape, key) ? shape[key] : undefined
}

function under(key: string, { field, problem }: FieldProblem): FieldProblem {
  return { field: field === '' ? key : `${key}.${field}`, problem }
}

/** What a shape has checked already, by key; a text that is not there is empty. */
export function textOf(object: JsonObject, key: string): string {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

export function objectOf(object: JsonObject, key: string): JsonObject {
  const value = object[key]
  return isJsonObject(value) ? value : {}
}

/** The items of a list; none where there is no list. */
export function itemsOf(object: JsonObject, key: string): readonly Json[] {
  const value = object[key]
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** The texts of a list; none where there is no list. */
export function textsOf(object: JsonObject, key: string): readonly string[] {
  return itemsOf(object, key).filter((item) => typeof item === 'string')
}
