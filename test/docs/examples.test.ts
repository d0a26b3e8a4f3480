/**
 * Examples of the pages that somebody copies into a file: each is taken as it stands there.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readHandoff } from '../../src/defense/handoffs/message.ts'
import { runMain } from '../cli/run-main.node.ts'

/** The block of a page that begins so, without its indent. */
function block(name: string, begin: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
  const at = page.indexOf(`\n    ${begin}`)
  const [found = ''] = page.slice(at + 1).split(/\n(?! {4})/, 1)
  return at < 0 ? '' : found.replace(/^ {4}/gm, '')
}

t.test('the proposals of docs/proposals.md are permitted', async (t) => {
  const text = block('proposals.md', '{\n      "observations"')
  const directory = t.testdir({ 'proposals.json': text })
  t.match(await runMain(directory, ['decide', 'proposals.json']), { code: 0, stdout: /^ACTION {2}Notify/ })
})

t.test('the calls of docs/plans.md can be signed', async (t) => {
  const directory = t.testdir({ 'calls.json': block('plans.md', '{"tool_calls"') })
  await runMain(directory, ['keygen', 'over_agent'])
  const plan = ['intent', 'plan', 'calls.json', '--agent', 'over_agent', '--key', 'over_agent.key']
  t.match(await runMain(directory, [...plan, '--out', 'work.plan.json']), { code: 0 })
  t.match(JSON.parse(readFileSync(join(directory, 'work.plan.json'), 'utf8')), {
    tool_calls: [{ tool_name: 'count_lines' }],
  })
})

t.test('the message of docs/handoffs.md is a handoff', async (t) => {
  t.match(readHandoff(Buffer.from(block('handoffs.md', '{\n      "to_agent"'))), {
    ok: true,
    handoff: { to: 'helper' },
  })
})

type Schema = Readonly<Record<string, unknown>>

/** The names of all keys below that node, with dots. */
function keysOf(node: Schema, root: Schema, place = ''): string[] {
  const { $ref, properties = {}, anyOf = [], items, additionalProperties } = node as Record<string, never>
  const below = [...(anyOf as Schema[]), items, additionalProperties].filter((one) => typeof one === 'object')
  const named = typeof $ref === 'string' ? (root['$defs'] as Schema)[String($ref).slice(8)] : undefined
  return [
    ...Object.entries<Schema>(properties).flatMap(([key, value]) => [
      place + key,
      ...keysOf(value, root, `${place}${key}.`),
    ]),
    ...[...below, ...(named === undefined ? [] : [named as Schema])].flatMap((one) =>
      keysOf(one, root, place),
    ),
  ]
}

t.test('every key of the configuration that a page names is one', async (t) => {
  const root = join(import.meta.dirname, '../..')
  const schema = JSON.parse(readFileSync(join(root, 'sass.edge.schema.json'), 'utf8'))
  const keys = new Set(keysOf(schema, schema))
  const files = /^(?:tls\.(?:crt|key\.next)|audit\.(?:pub|jsonl|share))$/
  t.ok(keys.has('defense.firewall.patterns'))
  for (const page of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))) {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    const named = [...text.matchAll(/`([a-z]+)((?:\.[a-z0-9_]+)+)`/g)].filter(([, top]) =>
      keys.has(top ?? ''),
    )
    const unknown = named
      .map(([, top, rest]) => `${top}${rest}`)
      .filter((key) => !keys.has(key) && !files.test(key))
    t.same(unknown, [], page)
  }
})
