import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../../src/base/encoding/base64.ts'
import { runMain } from '../run-main.node.ts'

t.test(
  'shows the file, or with --effective every key with its default and every path absolute',
  async (t) => {
    const directory = t.testdir({ 'c.json': '{"state_directory": "state"}' })
    t.match(await runMain(directory, ['config', 'show', '--config', 'c.json']), {
      code: 0,
      stdout: '{\n  "state_directory": "state"\n}\n',
      stderr: `# ${join(directory, 'c.json')}\n`,
    })
    const run = await runMain(directory, ['config', 'show', '--effective', '--config', 'c.json', '--json'])
    t.match(JSON.parse(run.stdout), {
      state_directory: join(directory, 'state'),
      listen: { port: 19284 },
      log: { level: 'info' },
    })
  },
)

t.test('shows what applies to one caller from one address', async (t) => {
  const directory = t.testdir({})
  await runMain(directory, ['init'])
  const run = await runMain(directory, [
    'config',
    'show',
    '--as',
    'agent',
    '--from',
    '::ffff:127.0.0.9',
    '--json',
  ])
  t.match(JSON.parse(run.stdout), {
    agent: 'agent',
    role: 'agent',
    bounds: { allowed_commands: ['*'], allowed_paths: [join(directory, '.sass-edge/workspace')] },
    admitted: true,
    admitted_by: '127.0.0.0/8',
  })
  const outside = await runMain(directory, ['config', 'show', '--from', '192.0.2.1', '--json'])
  t.same(JSON.parse(outside.stdout), { from: '192.0.2.1', admitted: false, admitted_by: null })
  t.match(await runMain(directory, ['config', 'show', '--as', 'agnet']), {
    code: 125,
    stderr: /the nearest is agent/,
  })
  t.match(await runMain(directory, ['config', 'show', '--from', 'office']), {
    code: 125,
    stderr: /--from is not an IP address/,
  })
})

t.test('shows the tools of a caller, and for whom it acts', async (t) => {
  const directory = t.testdir({})
  await runMain(directory, ['init'])
  const path = join(directory, '.sass-edge/sass.edge.json')
  const config = JSON.parse(readFileSync(path, 'utf8'))
  const key = publicKeyOf(new Uint8Array(32).fill(9))
  config.agents.push({
    name: 'helper',
    public_key: encodeBase64Url(key),
    tier: 'T2',
    tools: ['Read', 'Grep'],
    delegated_by: 'agent',
  })
  writeFileSync(path, JSON.stringify(config))
  const show = async (name: string) =>
    JSON.parse((await runMain(directory, ['config', 'show', '--as', name, '--json'])).stdout)
  t.match(await show('helper'), {
    tier: 'T2',
    tools: ['Read', 'Grep'],
    acts_for: { agent: 'agent', capability: 'default', bounds: { allowed_commands: ['*'] } },
  })
  const agent = await show('agent')
  t.equal(agent.acts_for, null)
  t.ok(agent.tools.includes('Bash') && agent.tools.includes('WebFetch'), 'T3')
})
