import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { runMain } from '../run-main.node.ts'

const socket = '/tmp/sass-edge-check-test.sock'

t.test('a fresh installation passes', async (t) => {
  const directory = t.testdir({})
  await runMain(directory, ['init', '--port', '0'])
  const run = await runMain(directory, ['check'])
  t.equal(run.code, 0, run.stdout)
  t.notMatch(run.stdout, 'FAILED')
})

t.test('lists every problem of the file at once, exit 125', async (t) => {
  const directory = t.testdir({
    'c.json': '{"listne": {}, "log": {"level": "inof"}, "session": {"max_sessions": 0}}',
  })
  const run = await runMain(directory, ['check', '--config', 'c.json'])
  t.equal(run.code, 125)
  t.equal(
    run.stdout,
    'c.json:1:2: listne is not a known key (did you mean listen?)\n' +
      'c.json:1:54: session.max_sessions is 0, which is not between 1 and 1024 (write 10, the default, or another one from 1 to 1024)\n' +
      'c.json:1:24: log.level must be "debug" or "info" or "warn" or "error" (did you mean "info"?)\n',
  )
  t.match(run.stderr, /^sass-edge: .*c\.json has 3 problems, so the daemon would not start: .*\n$/)
  const json = JSON.parse((await runMain(directory, ['check', '--config', 'c.json', '--json'])).stdout)
  t.match(json, {
    ok: false,
    problems: [{ path: 'listne' }, { path: 'session.max_sessions' }, { path: 'log.level' }],
  })
})

t.test(
  'an occupied port, a workspace that cannot be made and a state directory that is a file are told together',
  async (t) => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
    t.teardown(() => server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const config = {
      listen: { port, admin_socket: socket },
      state_directory: 'file',
      security: { workspace_root: 'file/work' },
      audit: { directory: 'audit' },
    }
    const directory = t.testdir({ file: '', 'c.json': JSON.stringify(config) })
    const run = await runMain(directory, ['check', '--config', 'c.json'])
    t.equal(run.code, 125)
    t.match(run.stdout, /^FAILED {2}state_directory: .*is not a directory; make it a directory/m)
    t.match(
      run.stdout,
      `FAILED  security.workspace_root: ${join(directory, 'file/work')} cannot be written, since a part of its path`,
    )
    t.match(
      run.stdout,
      new RegExp(
        `^FAILED {2}listen\\.port: 127\\.0\\.0\\.1 port ${port} is taken; .*choose another port \\(c\\.json:1:12\\)$`,
        'm',
      ),
    )
    t.match(run.stderr, /^sass-edge: 3 checks failed, so the daemon would not start/)
  },
)

t.test('a file that is not there is 125 with the remedy', async (t) => {
  const run = await runMain(t.testdir({}), ['check', '--config', 'none.json'])
  t.match(run, {
    code: 125,
    stderr: /none\.json cannot be read, since it does not exist: make one with sass-edge init/,
  })
})

t.test('the policy is looked at as well: rules, patterns, pinned programs', async (t) => {
  const config = {
    listen: { port: 0, admin_socket: socket },
    state_directory: 'state',
    capabilities: { default: { allowed_commands: ['git'] } },
    policy: { rules_file: 'rules.json', disabled_rules: ['disk.overwritten'] },
    security: { executables: [{ path: '/bin/none', sha256: '0'.repeat(64) }] },
  }
  const rules = '{"rules": [{"id": "own.x", "action": "denny"}]}'
  const directory = t.testdir({ 'rules.json': rules, 'c.json': JSON.stringify(config) })
  const run = await runMain(directory, ['check', '--config', 'c.json'])
  t.equal(run.code, 125)
  t.match(run.stdout, /^FAILED {2}policy\.rules_file: .*rules\.json: rules\[0\]\.action is "denny"/m)
  t.match(run.stdout, /^warning policy\.broad_patterns: .*allows "git"/m)
  t.match(run.stdout, /^FAILED {2}security\.executables\[0\]: \/bin\/none is not there; /m)
  t.match(run.stderr, /checks failed, so the daemon would not start with .* or not do what it says/)
})
