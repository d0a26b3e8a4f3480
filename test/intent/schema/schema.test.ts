import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Json } from '../../../src/base/encoding/strict-json.ts'
import { isJsonObject, type JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { compileSchema } from '../../../src/intent/schema/schema.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/json-schema/tests')
const KEYWORDS = [
  'type',
  'required',
  'properties',
  'additionalProperties',
  'items',
  'enum',
  'const',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
]

function problemOf(schema: JsonObject, value: Json): string | undefined {
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(`${compiled.field} ${compiled.problem}`)
  const problem = compiled.check(value)
  return problem === undefined ? undefined : `${problem.field} ${problem.problem}`
}

t.test('a payload is held to its schema, extra and missing keys included (SA-04)', (t) => {
  const schema: JsonObject = {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string', maxLength: 2 }, b: { type: 'array', items: { type: 'integer' } } },
    additionalProperties: false,
  }
  t.equal(problemOf(schema, { a: '\u{1f600}\u{1f600}' }), undefined)
  t.match(problemOf(schema, {}), /required/)
  t.match(problemOf(schema, { a: 'x', c: 1 }), /^c may not be there/)
  t.match(problemOf(schema, { a: 'xyz' }), /^a .*maxLength/)
  t.match(problemOf(schema, { a: 'x', b: [1, '2'] }), /^b\.1 .*type/)
  t.match(problemOf(schema, JSON.parse('{"a":"x","__proto__":1}')), /__proto__/)
  t.end()
})

t.test('any other keyword refuses the schema, wherever it stands (SA-18)', (t) => {
  for (const keyword of [
    'pattern',
    'format',
    '$ref',
    '$id',
    'allOf',
    'not',
    'title',
    'uniqueItems',
    'multipleOf',
  ]) {
    t.match(compileSchema({ [keyword]: 'x' }), { ok: false, field: keyword })
    t.match(compileSchema({ properties: { a: { items: { [keyword]: true } } } }), {
      ok: false,
      field: `properties.a.items.${keyword}`,
    })
  }
  // A property may be called as it likes.
  t.match(compileSchema({ properties: { pattern: { type: 'string' }, ['__proto__']: {} } }), { ok: true })
  t.end()
})

t.test('keywords have the values that they must have', (t) => {
  for (const schema of [
    { type: 'text' },
    { type: ['string', 7] },
    { required: 'a' },
    { properties: [] },
    { properties: { a: 1 } },
    { additionalProperties: 'no' },
    { items: [{}, {}] },
    { enum: 1 },
    { minimum: '1' },
    { maxLength: -1 },
    { maxLength: 1.5 },
  ] as JsonObject[])
    t.equal(compileSchema(schema).ok, false, JSON.stringify(schema))
  let deep: JsonObject = {}
  for (let level = 0; level < 20; level += 1) deep = { items: deep }
  t.equal(compileSchema(deep).ok, false)
  t.equal(compileSchema({ enum: Array.from({ length: 5_000 }, (_, at) => at) }).ok, false)
  t.end()
})

t.test('a payload of very many keys that may not be there is refused and no more', (t) => {
  const payload = Object.fromEntries(Array.from({ length: 32_000 }, (_, at) => [`k${at}`, at]))
  t.ok(problemOf({ properties: { a: { additionalProperties: false } } }, { a: payload }))
  t.end()
})

/** The keywords in a schema; those of properties and of constants are names and values. */
function keywordsOf(schema: Json): string[] {
  if (!isJsonObject(schema)) return []
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === 'properties' && isJsonObject(value)) return [key, ...Object.values(value).flatMap(keywordsOf)]
    if (key === 'items' || key === 'additionalProperties') return [key, ...keywordsOf(value)]
    return [key]
  })
}

for (const draft of ['draft2020-12', 'draft7'])
  t.test(
    `the standard's tests of ${draft}: all of our keywords hold, all others are refused (SA-18)`,
    (t) => {
      const directory = join(VECTORS, draft)
      if (!existsSync(directory)) {
        t.comment('skipped: ../shared/vectors/json-schema is not here')
        t.end()
        return
      }
      let held = 0
      let refused = 0
      for (const name of readdirSync(directory).filter((file) => file.endsWith('.json'))) {
        const groups = JSON.parse(readFileSync(join(directory, name), 'utf8')) as {
          description: string
          schema: Json
          tests: { description: string; data: Json; valid: boolean }[]
        }[]
        for (const { description, schema, tests } of groups) {
          if (!isJsonObject(schema)) continue
          const { $schema: _, ...bare } = schema
          const compiled = compileSchema(bare)
          const isOurs = keywordsOf(bare).every((keyword) => KEYWORDS.includes(keyword))
          if (!isOurs || Array.isArray(bare['items'])) {
            if (compiled.ok) t.fail(`${name}: ${description} must be refused`)
            refused += 1
            continue
          }
          if (!compiled.ok) {
            t.fail(`${name}: ${description}: ${compiled.field} ${compiled.problem}`)
            continue
          }
          for (const test of tests) {
            if ((compiled.check(test.data) === undefined) !== test.valid)
              t.fail(`${name}: ${description}: ${test.description}`)
            held += 1
          }
        }
      }
      t.comment(`${held} tests hold, ${refused} schemas are refused`)
      t.ok(held > 100 && refused > 50)
      t.end()
    },
  )
