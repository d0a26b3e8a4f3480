/**
 * What to write instead of a value of sass.edge.json that cannot be used: for every kind of field a remedy that holds
 * when it is followed to the letter. Whoever meant `"5"` for 5 is told 5, and not the rule about numbers.
 * Rules: docs/configuration.md.
 * @module
 */
import { nearest } from '../base/text/suggest.ts'
import type { Field, ListField, ObjectField } from './field-kinds.ts'

type IntegerField = Field & { readonly kind: 'integer' }

/** Keys that are shown are few enough to be read. */
const KEYS_SHOWN = 12
const SECRET_KEY = /secret|passw|private_?key|token|api_?key|credential/i
/** What people write for yes. */
const YES: readonly unknown[] = ['true', 'yes', 'on', '1', 1]
const NO: readonly unknown[] = ['false', 'no', 'off', '0', 0]

/** A number that the field takes: what was meant, if that is one, else the default. */
export function integerHint(value: unknown, field: IntegerField): string {
  const fits = (number: number) => Number.isSafeInteger(number) && number >= field.min && number <= field.max
  const meant =
    typeof value === 'number'
      ? Math.round(value)
      : typeof value === 'string' && /^-?[0-9]+(?:\.[0-9]+)?$/.test(value)
        ? Math.round(Number(value))
        : Number.NaN
  if (fits(meant)) return `write ${meant}`
  const { default: standard, min, max, nullable } = field
  if (standard !== null) return `write ${standard}, the default, or another one from ${min} to ${max}`
  return nullable === true
    ? `write null, the default, or a number from ${min} to ${max}`
    : `write one from ${min} to ${max}`
}

export function booleanHint(value: unknown, standard: boolean): string {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  if (YES.includes(word)) return 'write true, without quotes'
  if (NO.includes(word)) return 'write false, without quotes'
  return `write ${standard}, the default`
}

export function textHint(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `write "${value}"`
  if (Array.isArray(value) && value.length === 1 && typeof value[0] === 'string')
    return `write ${JSON.stringify(value[0]).slice(0, 200)}`
  return value === null ? 'take the key out to have the default' : 'write it in quotes'
}

export function listHint(value: unknown, field: ListField): string {
  const isItem = field.item.kind === 'object' ? typeof value === 'object' : typeof value === 'string'
  if (value === null || !isItem) return 'write [] or take the key out'
  return field.item.kind === 'object'
    ? 'put it into brackets, as in [{...}]'
    : `write [${JSON.stringify(value).slice(0, 200)}]`
}

export function objectHint(field: ObjectField): string {
  const keys = Object.keys(field.fields)
  const more = keys.length > KEYS_SHOWN ? ' and others' : ''
  return `write {}, or braces with some of ${keys.slice(0, KEYS_SHOWN).join(', ')}${more}`
}

/** Where else in the table a key of that name stands, the outer places first. */
function placeOf(root: ObjectField, key: string): string | undefined {
  const waiting: [field: Field, path: string][] = [[root, '']]
  for (const [field, path] of waiting) {
    if (field.kind === 'list') waiting.push([field.item, `${path}[0]`])
    else if (field.kind === 'map') waiting.push([field.value, `${path}.NAME`])
    if (field.kind !== 'object') continue
    const before = path === '' ? '' : `${path}.`
    if (Object.hasOwn(field.fields, key)) return `${before}${key}`
    for (const [name, inner] of Object.entries(field.fields)) waiting.push([inner, `${before}${name}`])
  }
  return undefined
}

/** `known`: the keys of the object that it stands in. */
export function unknownKeyHint(root: ObjectField, key: string, known: readonly string[]): string {
  const meant = nearest(key, known) ?? placeOf(root, key.toLowerCase())
  if (meant !== undefined) return `did you mean ${meant}?`
  if (SECRET_KEY.test(key)) {
    return 'take it out: this file is shown and copied, and a secret belongs into a file of its own, mode 0600'
  }
  if (/^[_/#$]|comment/i.test(key)) return 'take it out: there are no comments in this file'
  const more = known.length > KEYS_SHOWN ? ' and others' : ''
  return `take it out; known here are ${known.slice(0, KEYS_SHOWN).join(', ')}${more}`
}
