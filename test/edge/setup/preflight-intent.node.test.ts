import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import { checkIntent } from '../../../src/edge/setup/preflight-intent.node.ts'
import { COUNT } from '../../integration/planned.node.ts'

const AGENT = { name: 'ci', public_key: '2O7AkIqOcaIrXrJ2DehDOkMYPs-R-8Yl7RZDTZNa7qI' }

async function findings(directory: string, intent: object) {
  const value = { state_directory: 'state', agents: [AGENT], intent }
  const result = parseConfig(value, { configDirectory: directory })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return checkIntent(result.config)
}

t.test('tools that plans may call are told, and why others may not be', async (t) => {
  const directory = t.testdir({})
  const tools = join(directory, 'tools')
  mkdirSync(tools, { mode: 0o755 })
  const put = (name: string, value: object) =>
    writeFileSync(join(tools, `${name}.tool.json`), JSON.stringify(value), { mode: 0o644 })
  put('count', COUNT)
  put('other', { ...COUNT, name: 'other' })
  const found = await findings(directory, { tools, grants: { count: ['fs:read'] } })
  t.match(found, [
    { check: 'intent.tools', ok: true, detail: 'plans may call count' },
    { check: 'intent.tools', detail: /^other\.tool\.json is not loaded: .*fs:read/, remedy: /grant/ },
  ])
})

t.test('a pin of another key than the agent has stops a start, and is told before', async (t) => {
  const directory = t.testdir({ tools: {} })
  const found = await findings(directory, {
    tools: join(directory, 'tools'),
    issuer_pins: { ci: 'ab'.repeat(32) },
  })
  t.match(found, [{ check: 'intent.issuer_pins', ok: false, detail: /ci/ }])
  t.strictSame(await findings(directory, {}), [], 'nothing is named, and nothing is told')
})
