/**
 * Fields held against what the constitution says of them: each is there, of its type, among its values, no longer than
 * it may be, and there is no other. Lengths are characters (code points), as people count them.
 * Rules: docs/proposals.md, section on the gates.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import { isWellFormed } from '../../base/encoding/utf8.ts'
import type { Fields } from './artifacts.ts'
import type { FieldRule } from './constitution.ts'

export type FieldProblem = 'MISSING_FIELD' | 'INVALID_FIELD'

export function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the text has at most so many characters, and no half of one. */
export function isTextOf(value: Json | undefined, maxChars: number): value is string {
  if (typeof value !== 'string' || !isWellFormed(value)) return false
  // A character takes one code unit or two: most texts are told by their length alone.
  if (value.length <= maxChars) return true
  return value.length <= 2 * maxChars && [...value].length <= maxChars
}

/** A list of at most so many texts of at most so many characters; empty ones are none. */
export function areTextsOf(
  value: Json | undefined,
  max: number,
  maxChars: number,
): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= max &&
    value.every((item: Json) => item !== '' && isTextOf(item, maxChars))
  )
}

function isValid({ type, allowed, maxChars = Number.MAX_SAFE_INTEGER }: FieldRule, value: Json): boolean {
  switch (type) {
    case 'string':
      return isTextOf(value, maxChars)
    case 'enum':
      return typeof value === 'string' && allowed.includes(value)
    case 'int':
      return Number.isSafeInteger(value) && Number(value) >= 0
    case 'array<string>':
      return Array.isArray(value) && value.every((item: Json) => isTextOf(item, maxChars))
  }
}

/** What is wrong with them first; undefined: nothing. */
export function fieldProblem(rules: readonly FieldRule[], fields: Fields): FieldProblem | undefined {
  if (rules.some(({ name }) => !Object.hasOwn(fields, name))) return 'MISSING_FIELD'
  const names = new Set(rules.map(({ name }) => name))
  if (Object.keys(fields).some((name) => !names.has(name))) return 'INVALID_FIELD'
  return rules.every((rule) => isValid(rule, fields[rule.name] ?? null)) ? undefined : 'INVALID_FIELD'
}
