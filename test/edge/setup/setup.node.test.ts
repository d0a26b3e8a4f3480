import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../../src/base/encoding/base64.ts'
import { makePolicy } from '../../../src/edge/policy/policy.node.ts'
import { loadConfig } from '../../../src/edge/setup/config-file.node.ts'
import { makeInstallation } from '../../../src/edge/setup/setup.node.ts'
import { readPrivateKey, readPublicKey } from '../../../src/edge/state/key-file.node.ts'

/** The path of a test's directory may be too long for a socket. */
const environment = { XDG_RUNTIME_DIR: '/run/user/1' }

t.test('makes a complete installation that loads, on loopback, with its keys in place', async (t) => {
  const parent = t.testdir({})
  const made = makeInstallation(join(parent, 'edge'), { environment })
  const { config } = loadConfig(made.configPath)
  t.equal(statSync(made.directory).mode & 0o777, 0o700)
  t.equal(config.listen.address, '127.0.0.1')
  t.same(config.acl.allow, ['127.0.0.0/8', '::1'])
  t.match(config.agents, [
    { name: 'agent', role: 'agent', capability: 'default', public_key: made.agent.publicKey },
    { name: 'operator', role: 'operator', capability: 'default', public_key: made.operator.publicKey },
  ])
  for (const one of [made.agent, made.operator]) {
    t.equal(encodeBase64Url(publicKeyOf(readPrivateKey(one.keyPath))), one.publicKey)
    t.equal(encodeBase64Url(readPublicKey(one.keyPath.replace(/key$/, 'pub'))), one.publicKey)
  }
  t.equal(config.state_directory, join(parent, 'edge/state'))
  t.equal(config.security.workspace_root, join(parent, 'edge/workspace'))
  t.same(config.capabilities['default']?.allowed_commands, ['*'])
  t.same(config.capabilities['default']?.allowed_paths, [join(parent, 'edge/workspace')])
  t.ok(statSync(config.security.workspace_root).isDirectory())
  t.same(readdirSync(parent), ['edge'], 'nothing temporary is left')
  t.equal(
    JSON.parse(readFileSync(join(parent, 'edge/sass.edge.schema.json'), 'utf8')).title,
    'sass.edge.json',
  )
})

t.test(
  'takes names, an address, a port and a workspace; its own directory is the daemon’s own, not the agent’s',
  async (t) => {
    const parent = t.testdir({ work: {} })
    const workspaceRoot = join(parent, 'work')
    const made = makeInstallation(join(workspaceRoot, '.sass-edge'), {
      agentName: 'ci',
      environment,
      address: '::1',
      port: 0,
      workspaceRoot,
    })
    const { config } = loadConfig(made.configPath)
    t.match(config.listen, { address: '::1', port: 0 })
    t.equal(config.agents[0]?.name, 'ci')
    t.equal(config.security.workspace_root, workspaceRoot)
    t.same(config.capabilities['default']?.allowed_paths, [workspaceRoot])
    t.same(config.capabilities['default']?.denied_paths, [], 'the workspace around it stays usable')
    const { ownPaths } = await makePolicy(config, made.configPath)
    t.ok(ownPaths.paths.includes(join(workspaceRoot, '.sass-edge')), 'keys, state and configuration')
    t.notOk(ownPaths.paths.some((path) => workspaceRoot.startsWith(path)))
    t.same(ownPaths.except, [])
    t.notOk(existsSync(join(workspaceRoot, '.sass-edge/workspace')))
  },
)

t.test('never overwrites: a second call says what is there and changes nothing', async (t) => {
  const directory = join(t.testdir({}), 'edge')
  const made = makeInstallation(directory, { environment })
  const before = readFileSync(made.configPath, 'utf8')
  t.throws(() => makeInstallation(directory), {
    code: 'USAGE',
    message: /already holds an installation .*sass\.edge\.json.*sass-edge run --config/,
  })
  t.equal(readFileSync(made.configPath, 'utf8'), before)
})

t.test(
  'an existing directory gets the installation beside what it holds, unless a part is there',
  async (t) => {
    const parent = t.testdir({ full: { 'README.md': 'mine' }, taken: { keys: { 'x.key': 'mine' } } })
    const made = makeInstallation(join(parent, 'full'), { environment })
    loadConfig(made.configPath)
    t.same(readdirSync(join(parent, 'full')).sort(), [
      'README.md',
      'keys',
      'sass.edge.json',
      'sass.edge.schema.json',
      'state',
      'workspace',
    ])
    t.throws(() => makeInstallation(join(parent, 'taken')), {
      code: 'USAGE',
      message: /already holds keys but no sass\.edge\.json/,
    })
    t.same(readdirSync(join(parent, 'taken')), ['keys'])
  },
)

t.test('a place that cannot hold it is one sentence with the path, and nothing is left', async (t) => {
  const parent = t.testdir({ file: '' })
  symlinkSync('nowhere', join(parent, 'dangling'))
  t.throws(() => makeInstallation(join(parent, 'file')), {
    code: 'STATE_UNWRITABLE',
    message: /is not a directory/,
  })
  t.throws(() => makeInstallation(join(parent, 'file/deep')), {
    code: 'STATE_UNWRITABLE',
    message: /since .*: correct that or choose another place/,
  })
  t.throws(() => makeInstallation(join(parent, 'dangling')), { code: 'STATE_UNWRITABLE' })
  t.same(readdirSync(parent).sort(), ['dangling', 'file'])
})

t.test('refuses names that are no names, or one name for both', async (t) => {
  const directory = join(t.testdir({}), 'edge')
  t.throws(() => makeInstallation(directory, { agentName: '../x' }), { code: 'USAGE' })
  t.throws(() => makeInstallation(directory, { agentName: 'operator' }), {
    code: 'USAGE',
    message: /cannot both be called operator/,
  })
  t.notOk(existsSync(directory))
})

t.test('a directory too deep for a socket gets one elsewhere, or is refused with the reason', async (t) => {
  const directory = join(t.testdir({}), 'x'.repeat(100))
  if (process.geteuid?.() === 0) {
    const { config } = loadConfig(makeInstallation(directory).configPath)
    t.match(config.listen.admin_socket, /^\/run\/sass-edge-[0-9a-f]{12}\.sock$/)
    return
  }
  const made = makeInstallation(directory, { environment })
  t.match(loadConfig(made.configPath).config.listen.admin_socket, /^\/run\/user\/1\/sass-edge-/)
  const atHome = makeInstallation(`${directory}h`, { environment: { HOME: '/home/x' } })
  t.match(loadConfig(atHome.configPath).config.listen.admin_socket, /^\/home\/x\/\.sass-edge-/)
  t.throws(() => makeInstallation(`${directory}y`), {
    code: 'STATE_UNWRITABLE',
    message: /too long for a Unix socket/,
  })
})
