/**
 * What check says of words that contradict each other: of what ships nothing, and of an older key what it meant.
 * @module
 */
import t from 'tap'
import { renderShipped } from '../../../build/config-documents.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { findContradictions } from '../../../src/edge/setup/contradictions.ts'

const SHIPPED = JSON.parse(renderShipped())

/** With every key written, as in the file of a package. */
function told(security: Record<string, unknown>): string[] {
  const parsed = parseConfig(
    { ...SHIPPED, security: { ...SHIPPED.security, ...security } },
    { configDirectory: '/etc/edge' },
  )
  if (!parsed.ok) throw new Error('the configuration is sound')
  return [...findContradictions(parsed.config, () => true)].map(({ check, remedy }) => `${check}: ${remedy}`)
}

t.test('the file that a package installs contradicts itself nowhere', async (t) => {
  t.strictSame(told({}), [])
})

t.test('what unknown_programs meant is said where security.opaque says otherwise', async (t) => {
  t.match(told({ unknown_programs: 'audit' }), [/^security\.unknown_programs: .*"opaque": "allow"/])
  t.match(told({ opaque: 'allow' }), [/^security\.unknown_programs: .*"opaque": "ask"/])
  t.strictSame(told({ unknown_programs: 'audit', opaque: 'allow' }), [])
})
