/**
 * Every record has its stream, its category and its severity.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SECURITY_KINDS } from '../../src/audit/security-kinds.ts'
import { classified } from '../../src/audit/taxonomy.ts'
import type { AuditEvent } from '../../src/ports.ts'

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

t.test(
  'a denial is critical, what waits a warning, and a sentence as grave as its rule (JF-056)',
  async (t) => {
    const severity = (response: string, own: string) =>
      classified({ type: 'decision', response, severity: own })['severity']
    for (const own of ['info', 'warning', 'critical']) {
      for (const denied of ['R4', 'R5', 'R6']) t.equal(severity(denied, own), 'critical')
      for (const waits of ['R2', 'R3']) t.equal(severity(waits, own), own === 'critical' ? own : 'warning')
      for (const said of ['R1', 'STATUS', 'toString']) t.equal(severity(said, own), own)
    }
  },
)

t.test(
  'each of the eight kinds of security event has records, each of the four risks too (JF-R30)',
  async (t) => {
    const refusal = (layer: string, response: string, incident: string | null = null) =>
      classified({ type: 'decision', layer, response, severity: 'critical', enhanced: { incident } })
    const rows: readonly (readonly [AuditEvent, string, string])[] = [
      [refusal('identity', 'R5'), 'identity', 'medium'],
      [refusal('delegation', 'R4', 'violation'), 'rights', 'high'],
      [refusal('13policy', 'R4', 'high'), 'command', 'high'],
      [refusal('capability', 'R4', 'critical'), 'command', 'critical'],
      [refusal('quota', 'R3'), 'quota', 'low'],
      [refusal('specifics', 'STATUS', 'critical'), 'command', 'low'],
      [classified({ type: 'redacted', canaries: 1 }), 'secret', 'critical'],
      [classified({ type: 'redacted' }), 'secret', 'medium'],
      [classified({ type: 'injection', what: 'withheld' }), 'injection', 'critical'],
      [classified({ type: 'anomaly', what: 'beyond' }), 'behaviour', 'medium'],
      [classified({ type: 'level', to: 'RESTRICT' }), 'behaviour', 'high'],
      [classified({ type: 'exit' }), 'integrity', 'critical'],
    ]
    for (const [event, security, risk] of rows) t.match(event, { security, risk }, JSON.stringify(event))
    t.strictSame([...new Set(rows.map(([, security]) => security))].sort(), [...SECURITY_KINDS].sort())
    for (const event of [
      { type: 'decision', layer: 'all', response: 'R1' },
      { type: 'decision', layer: 'completeness', response: 'STATUS' },
      { type: 'decision', layer: 'toString', response: 'R4' },
      { type: 'level', to: 'NORMAL' },
      { type: 'firewall', what: 'loaded' },
      { type: 'session' },
    ])
      t.notOk('security' in classified(event), JSON.stringify(event))
  },
)
