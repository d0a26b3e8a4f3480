/**
 * Every record has its stream, its category and its severity.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { classified } from '../../src/audit/taxonomy.ts'

const root = join(import.meta.dirname, '../..')
const types = (pattern: RegExp, path: string) =>
  [...readFileSync(join(root, path), 'utf8').matchAll(pattern)].map(([, type = '']) => type)

t.test('every type of record that the daemon writes is in the table, and on the page', async (t) => {
  const written = new Set(
    globSync('src/**/*.ts', { cwd: root }).flatMap((path) =>
      types(/(?:append|put|record|recordExit)\([^']{0,120}?type: '([a-z_]+)'/g, path),
    ),
  )
  for (const type of ['decision', 'epoch', 'dropped', 'refusals']) written.add(type)
  t.ok(written.size >= 12, [...written].join(' '))
  const page = readFileSync(join(root, 'docs/responses.md'), 'utf8')
  for (const type of written) {
    t.match(classified({ type }), { stream: /^[a-z]+$/, category: /^[a-z]+$/, severity: /^[a-z]+$/ }, type)
    t.ok(page.includes(`\`${type}\``), `${type} is on the page`)
  }
})

t.test('a decision is of what it permits, and a refusal of the gate', async (t) => {
  const decision = (action: string, response: string, severity = 'info') =>
    classified({ type: 'decision', action, response, severity })
  t.match(decision('execute', 'R1'), { stream: 'admission', category: 'tool', severity: 'info' })
  t.match(decision('execute', 'R4', 'critical'), { category: 'gate', severity: 'critical' })
  t.match(decision('authenticate', 'R1'), { category: 'lifecycle' })
  t.match(decision('set_level', 'R1'), { category: 'configuration' })
  t.match(decision('confirm', 'R1'), { category: 'human' })
  t.match(decision('toString', 'R1'), { category: 'gate' })
})

t.test('what matters more says so', async (t) => {
  t.match(classified({ type: 'level', to: 'HALT' }), { severity: 'critical' })
  t.match(classified({ type: 'level', to: 'RESTRICT' }), { severity: 'warning' })
  t.match(classified({ type: 'level', to: 'NORMAL' }), { severity: 'info' })
  t.match(classified({ type: 'exit' }), { severity: 'critical' })
  t.match(classified({ type: 'challenge', what: 'failed' }), { severity: 'warning' })
  t.match(classified({ type: 'challenge', what: 'passed' }), { severity: 'info' })
  t.match(classified({ type: 'daemon', what: 'reload_failed' }), { severity: 'warning' })
  t.same(classified({ type: 'of nobody', a: 1 }), { type: 'of nobody', a: 1 })
  t.same(classified({ type: 'toString' }), { type: 'toString' })
})
