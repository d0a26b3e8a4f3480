import { join } from 'node:path'
import t from 'tap'
import { runMain } from './run-main.node.ts'

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
