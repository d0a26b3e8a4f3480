import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { renderReference, renderSchema, renderShipped } from '../../build/config-documents.ts'
import { parseConfig } from '../../src/config/config.ts'
import { writtenEgress } from '../../src/config/egress-fields.ts'
import type { Field } from '../../src/config/field-kinds.ts'
import { CONFIG_FIELDS, SYSTEM_CONFIG_DIRECTORY } from '../../src/config/fields.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Every key of the table, as `listen.port`; those of named sets as `capabilities.NAME.x`, of list entries as `agents[].x`. */
function keysOf(field: Field, path = ''): string[] {
  if (field.kind === 'object') {
    return Object.entries(field.fields).flatMap(([key, inner]) =>
      keysOf(inner, path === '' ? key : `${path}.${key}`),
    )
  }
  if (field.kind === 'map') return [path, ...keysOf(field.value, `${path}.NAME`)]
  if (field.kind === 'list' && field.item.kind === 'object') return [path, ...keysOf(field.item, `${path}[]`)]
  return [path]
}

/** Every leaf of a value by its path. */
function leavesOf(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(inner, path === '' ? key : `${path}.${key}`),
  )
}

t.test(
  'the three files are what the table makes of them (else run node build/config-schema.node.ts)',
  async (t) => {
    t.equal(read('sass.edge.schema.json'), renderSchema())
    t.equal(read('sass.edge.json'), renderShipped())
    t.equal(read('docs/configuration.md'), renderReference())
  },
)

const FOLLOWS_WORKSPACE = ['capabilities.default.allowed_paths', 'sandbox.branch_roots']

t.test('the file that ships says every default, key by key', async (t) => {
  const context = { configDirectory: SYSTEM_CONFIG_DIRECTORY }
  const { $schema: _, ...shipped } = JSON.parse(read('sass.edge.json'))
  const fromFile = parseConfig(shipped, context)
  const fromNothing = parseConfig({}, context)
  if (!fromFile.ok || !fromNothing.ok) throw new Error('both must be valid')
  const defaults = new Map(leavesOf(fromNothing.config))
  t.same(new Map(leavesOf(fromFile.config)), defaults)
  const written = new Map<string, unknown>(leavesOf(shipped))
  for (const [path, value] of defaults) {
    const said = FOLLOWS_WORKSPACE.includes(path) ? ['/var/lib/sass-edge/workspace'] : written.get(path)
    // A text stands for an entry of that host alone.
    const read = path === 'sandbox.egress' ? fromFile.config.sandbox.egress?.map(writtenEgress) : value
    t.same(said, read, path)
  }
  t.same(shipped.capabilities.default.allowed_paths, ['$WORKSPACE'])
  t.same(shipped.sandbox.branch_roots, ['$WORKSPACE'])
  t.same([...written.keys()], [...defaults.keys()], 'no key more, none less, in the order of the table')
})

t.test('the reference has every key, and for every list what absent, empty and full mean', async (t) => {
  const text = read('docs/configuration.md')
  const keys = keysOf(CONFIG_FIELDS)
  t.ok(keys.length > 40)
  for (const key of keys) t.match(text, `| \`${key}\` |`)
  for (const key of [
    'acl.allow',
    'agents',
    'capabilities.NAME.allowed_commands',
    'capabilities.NAME.denied_paths',
  ]) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${key}\` |`))
    t.equal(row?.split(' | ').length, 5, key)
  }
})
