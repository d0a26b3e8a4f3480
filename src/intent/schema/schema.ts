/**
 * JSON Schema for payloads and for the arguments of tools: a closed set of keywords, looked over in the whole schema
 * before any of it is used, and `@cfworker/json-schema` for what they mean. Another keyword refuses the schema: what
 * is not understood would be a rule that is not kept. None of them is a pattern or leads elsewhere, so that each value
 * is looked at once, and nothing is turned into code.
 * Rules: JSON Schema Validation 2020-12, sections 6.1 to 6.5; SAOE context 2.2, check 10.
 * @module
 */
import { validate } from '@cfworker/json-schema'
import type { Json } from '../../base/encoding/strict-json.ts'
import { isJsonObject, type JsonObject } from '../canonical/python-json.ts'
import {
  type FieldCheck,
  type FieldProblem,
  fieldWhere,
  integerField,
  listField,
  shapeField,
  textField,
} from '../canonical/shape.ts'
import { SCHEMA_DEPTH, SCHEMA_VALUES } from '../limits.ts'

/** A schema that can be asked, or what is wrong with it. */
export type CompiledSchema =
  | {
      readonly ok: true
      /** What is wrong with a value; `field` is where, as `a.b.0`, empty for the whole. */
      readonly check: (value: Json) => FieldProblem | undefined
    }
  | ({ readonly ok: false } & FieldProblem)

const TYPES = Object.freeze(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'])

const isType = (value: Json): boolean => typeof value === 'string' && TYPES.includes(value)
const count = integerField(0, Number.MAX_SAFE_INTEGER)
const number = fieldWhere((value) => typeof value === 'number', 'must be a number')
const anything: FieldCheck = () => undefined

/** A schema of at most so many levels of schemas beneath it. */
function schemaField(levels: number): FieldCheck {
  return (value) => {
    if (typeof value === 'boolean') return undefined
    if (levels === 0)
      return { field: '', problem: `has more than ${SCHEMA_DEPTH} schemas inside one another` }
    const inner = schemaField(levels - 1)
    return shapeField(
      {},
      {
        type: (type) => (Array.isArray(type) ? TYPE_LIST(type) : TYPE_NAME(type)),
        required: listField(textField(SCHEMA_VALUES), SCHEMA_VALUES),
        properties: (members) => {
          if (!isJsonObject(members)) return { field: '', problem: 'must be an object' }
          return shapeField({}, Object.fromEntries(Object.keys(members).map((key) => [key, inner])))(members)
        },
        additionalProperties: inner,
        items: inner,
        enum: listField(anything, SCHEMA_VALUES),
        const: anything,
        minimum: number,
        maximum: number,
        minLength: count,
        maxLength: count,
        minItems: count,
        maxItems: count,
      },
    )(value)
  }
}

const TYPE_NAME = fieldWhere(isType, `must be one of ${TYPES.join(', ')}`)
const TYPE_LIST = listField(TYPE_NAME, TYPES.length)
const SCHEMA = schemaField(SCHEMA_DEPTH)

/** How many values there are in it, itself included. */
function valuesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  const members: readonly Json[] = Array.isArray(value) ? value : Object.values(value)
  return members.reduce((sum: number, member) => sum + valuesIn(member), 1)
}

/** A schema of strict JSON, looked over as a whole; nothing of one that is refused is ever used. */
export function compileSchema(schema: JsonObject): CompiledSchema {
  const problem = SCHEMA(schema)
  if (problem !== undefined) return { ok: false, ...problem }
  if (valuesIn(schema) > SCHEMA_VALUES)
    return { ok: false, field: '', problem: `has more than ${SCHEMA_VALUES} values` }
  return { ok: true, check: (value) => evaluate(schema, value) }
}

function evaluate(schema: JsonObject, value: Json): FieldProblem | undefined {
  try {
    // No schema is referred to by another, so there are none to look up.
    const { valid, errors } = validate(value, schema, '2020-12', Object.create(null), true)
    if (valid) return undefined
    // The last is the innermost: those before it say that something inside is wrong.
    const error = errors.at(-1)
    return {
      field: fieldOf(error?.instanceLocation ?? ''),
      problem:
        error?.keyword === 'false'
          ? 'may not be there'
          : `is not what the keyword ${error?.keyword ?? 'of the schema'} allows`,
    }
  } catch {
    // Whatever the library cannot do with it: what cannot be checked is not let through.
    return { field: '', problem: 'cannot be checked' }
  }
}

/** `#/a/b/0` as `a.b.0`, of a length that can be shown. */
function fieldOf(pointer: string): string {
  return pointer.replace(/^#\/?/, '').replaceAll('/', '.').slice(0, 128)
}
