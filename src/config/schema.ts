/**
 * The JSON Schema (draft 2020-12) of sass.edge.json, made from the field table, so that editors complete and check
 * the file as it is typed. It is never stricter than config.ts; combinations of keys are beyond it.
 * @module
 */

import { PATH_BYTES } from '../limits.ts'
import type { Field, ObjectField } from './field-kinds.ts'
import { CONFIG_FIELDS } from './fields.ts'
import { TEXT_FORMATS, type TextFormat } from './formats.ts'

type Schema = { readonly [key: string]: unknown }

/** The meaning of a field in one text: what it is, then for a list what its absence, emptiness and fullness say. */
function describe(field: Field): string {
  if (field.kind !== 'list') return field.doc
  return `${field.doc} Absent: ${field.absent}. Empty: ${field.empty}. Full: ${field.full}.`
}

function schemaOfObject(field: ObjectField): Schema {
  const required = Object.entries(field.fields)
    .filter(([, inner]) => (inner.kind === 'text' || inner.kind === 'path') && inner.default === undefined)
    .map(([key]) => key)
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
    properties: Object.fromEntries(
      Object.entries(field.fields).map(([key, inner]) => [key, schemaOf(inner)]),
    ),
  }
}

/** What may stand for an object of one key: as that key is, without its own description. */
function schemaOfShort(field: Field | undefined): Schema {
  if (field?.kind !== 'list') return { type: 'string', minLength: 1 }
  return { type: 'array', maxItems: field.maxItems, items: schemaOf(field.item) }
}

function schemaOf(field: Field): Schema {
  const description = describe(field)
  switch (field.kind) {
    case 'object':
      return field.short === undefined
        ? { description, ...schemaOfObject(field) }
        : { description, anyOf: [schemaOfShort(field.fields[field.short]), schemaOfObject(field)] }
    case 'map':
      return {
        description,
        type: 'object',
        maxProperties: field.maxEntries,
        propertyNames: { pattern: TEXT_FORMATS.name.pattern },
        additionalProperties: schemaOf(field.value),
        default: field.default,
      }
    case 'list':
      return {
        description,
        type: field.nullable === true ? ['array', 'null'] : 'array',
        maxItems: field.maxItems,
        items: schemaOf(field.item),
        default: field.default,
      }
    case 'path': {
      const type = field.nullable === true ? ['string', 'null'] : 'string'
      const byItself = typeof field.default === 'string' || field.default === null
      return {
        description,
        type,
        minLength: 1,
        maxLength: PATH_BYTES,
        ...(byItself ? { default: field.default } : {}),
      }
    }
    case 'text': {
      const format: TextFormat = TEXT_FORMATS[field.format]
      return {
        description,
        type: field.nullable === true ? ['string', 'null'] : 'string',
        maxLength: field.maxBytes,
        ...(format.pattern === undefined ? {} : { pattern: format.pattern }),
        ...(field.default === undefined ? {} : { default: field.default }),
      }
    }
    case 'integer':
      return {
        description,
        type: field.nullable === true ? ['integer', 'null'] : 'integer',
        minimum: field.min,
        maximum: field.max,
        default: field.default,
      }
    case 'boolean':
      return { description, type: 'boolean', default: field.default }
    case 'choice':
      return { description, enum: field.choices, default: field.default }
  }
}

/** The whole schema as a JSON value. */
export function configSchema(): Schema {
  const root = schemaOfObject(CONFIG_FIELDS)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'sass.edge.json',
    description: CONFIG_FIELDS.doc,
    ...root,
    properties: {
      $schema: { description: 'Where this schema is found, for editors.', type: 'string' },
      ...(root['properties'] as Schema),
    },
  }
}
