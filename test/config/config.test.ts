import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { type Config, type ConfigProblem, parseConfig } from '../../src/config/config.ts'
import { CONFIG_PROBLEMS } from '../../src/limits.ts'

const context = { configDirectory: '/srv/edge' }
const key = () => generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? ''

function accepted(value: unknown): Config {
  const result = parseConfig(value, context)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

function problems(value: unknown): readonly ConfigProblem[] {
  const result = parseConfig(value, context)
  return result.ok ? [] : result.problems
}

function frozenInDepth(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(frozenInDepth)
}

t.test('an empty file gives every default: loopback, port 19284, nobody listed', async (t) => {
  const config = accepted({})
  t.equal(config.listen.address, '127.0.0.1')
  t.equal(config.listen.port, 19284)
  t.same(config.agents, [])
  t.same(config.acl.allow, ['127.0.0.0/8', '::1'])
  t.equal(config.security.workspace_root, '/var/lib/sass-edge/workspace')
  t.same(config.capabilities['default']?.allowed_commands, ['*'])
  t.same(config.capabilities['default']?.allowed_paths, ['/var/lib/sass-edge/workspace'])
  t.equal(config.defense.deny_response, 'vi_swap')
  t.equal(accepted({ listen: { port: 0 } }).listen.port, 0, 'port 0 is any free port')
})

t.test('the result is frozen in depth and shares nothing with its input', async (t) => {
  const input = { agents: [{ name: 'a', public_key: key() }], acl: { allow: ['10.0.0.0/8'] } }
  const config = accepted(input)
  t.ok(frozenInDepth(config))
  input.acl.allow.push('*')
  t.same(config.acl.allow, ['10.0.0.0/8'])
})

t.test('every path comes out absolute, relative ones from the directory of the file', async (t) => {
  const config = accepted({
    state_directory: './state/',
    tls: { client_ca: 'ca.pem' },
    security: { workspace_root: '../work' },
    capabilities: {
      default: { allowed_paths: ['$WORKSPACE', 'data', '/opt/../usr', '*'], denied_paths: ['.'] },
    },
  })
  t.equal(config.state_directory, '/srv/edge/state')
  t.equal(config.tls.certificate, '/srv/edge/state/tls.crt', 'defaults follow the state directory')
  t.equal(config.audit.directory, '/srv/edge/state/audit')
  t.equal(config.tls.client_ca, '/srv/edge/ca.pem')
  t.same(config.capabilities['default']?.allowed_paths, ['/srv/work', '/srv/edge/data', '/usr', '*'])
  t.same(config.capabilities['default']?.denied_paths, ['/srv/edge'])
})

t.test('a list that is missing from a capability set allows nothing', async (t) => {
  const set = accepted({ capabilities: { narrow: {} } }).capabilities['narrow']
  t.same(set?.allowed_commands, [])
  t.same(set?.allowed_paths, [])
  t.same(set?.allowed_env, [])
  t.equal(set?.max_concurrent, 8)
  t.equal(set?.timeout_seconds, null)
  t.equal(set?.max_file_size_bytes, 1_073_741_824)
})

t.test('tells every problem at once, each with its path', async (t) => {
  const found = problems({
    listen: { adress: '::1', port: 70_000, admin_socket: 7 },
    acl: { allow: ['10.0.0.1/8', 'office'] },
    agents: [{ name: 'bad name', public_key: 'x' }, { name: 'ok' }, null],
    session: [],
    defense: { deny_response: 'reson', tarpit: { delay_ms: 1.5 } },
    '__proto__\n': 1,
  })
  t.same(
    found.map((problem) => problem.path),
    [
      '["__proto__\\n"]',
      'listen.adress',
      'listen.port',
      'listen.admin_socket',
      'acl.allow[0]',
      'acl.allow[1]',
      'agents[0].name',
      'agents[0].public_key',
      'agents[1].public_key',
      'agents[2]',
      'session',
      'defense.tarpit.delay_ms',
      'defense.deny_response',
    ],
  )
  t.match(found[1], { problem: 'is not a known key', hint: 'did you mean address?' })
  t.match(found[2], { problem: 'is 70000, which is not between 0 and 65535' })
  t.match(found[3], { problem: 'must be a path, not a number' })
  t.match(found[4], { hint: 'the network is 10.0.0.0/8' })
  t.match(found[10], { problem: 'must be an object, not a list' })
  t.match(found[11], { problem: 'must be a whole number, not a fraction' })
  t.match(found[12], { problem: 'must be "vi_swap" or "reason"', hint: 'did you mean "reason"?' })
})

t.test('refuses what is not an object, and a key named __proto__', async (t) => {
  for (const value of [null, [], 'x', 1, undefined]) t.equal(problems(value).length, 1)
  t.match(problems(JSON.parse('{"__proto__": {}}')), [{ path: '__proto__', problem: 'is not a known key' }])
  t.match(problems(JSON.parse('{"capabilities": {"__proto__": {}}}')), [{ path: 'capabilities.__proto__' }])
})

t.test('stops listing at a bound', async (t) => {
  const wrong = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`zz${index}`, 1]))
  t.equal(problems(wrong).length, CONFIG_PROBLEMS)
})

t.test('refuses two agents of one name or one key, and a capability set that does not exist', async (t) => {
  const same = key()
  t.match(
    problems({
      agents: [
        { name: 'a', public_key: key() },
        { name: 'a', public_key: key() },
      ],
    }),
    [{ path: 'agents[1].name', problem: 'is also the name of agents[0]' }],
  )
  t.match(
    problems({
      agents: [
        { name: 'a', public_key: same },
        { name: 'b', public_key: same },
      ],
    }),
    [{ path: 'agents[1].public_key', problem: 'is also the key of agents[0]' }],
  )
  t.match(problems({ agents: [{ name: 'a', public_key: key(), capability: 'defalt' }] }), [
    { path: 'agents[0].capability', hint: 'did you mean "default"?' },
  ])
  t.match(problems({ capabilities: {}, agents: [{ name: 'a', public_key: key() }] }), [
    { path: 'agents[0].capability' },
  ])
  t.match(problems({ agents: [{ name: 'a', public_key: key(), capability: 'constructor' }] }), [
    { path: 'agents[0].capability' },
  ])
})

t.test('whoever acts for another may do no more than it, and acts for one who acts for itself', async (t) => {
  const found = (...agents: object[]) =>
    problems({ agents: agents.map((agent) => ({ public_key: key(), ...agent })) })
  t.same(
    found({ name: 'a' }, { name: 'b', delegated_by: 'a' }, { name: 'c', delegated_by: 'a', tier: 'T1' }),
    [],
  )
  t.same(found({ name: 'a' }, { name: 'b', delegated_by: null }), [])
  t.match(found({ name: 'agent' }, { name: 'b', delegated_by: 'agnet' }), [
    { path: 'agents[1].delegated_by', hint: 'did you mean "agent"?' },
  ])
  t.match(found({ name: 'a', delegated_by: 'a' }), [
    { path: 'agents[0].delegated_by', problem: 'names the agent itself' },
  ])
  t.match(found({ name: 'a', delegated_by: 'b' }, { name: 'b', delegated_by: 'a' }), [
    { path: 'agents[0].delegated_by', problem: /a circle$/ },
    { path: 'agents[1].delegated_by', problem: /a circle$/ },
  ])
  const circle = found(
    { name: 'a', delegated_by: 'b' },
    { name: 'b', delegated_by: 'c' },
    { name: 'c', delegated_by: 'a' },
  )
  t.equal(circle.length, 3, 'a longer circle too')
  t.match(found({ name: 'a' }, { name: 'b', delegated_by: 'a' }, { name: 'c', delegated_by: 'b' }), [
    { path: 'agents[2].delegated_by', problem: /work may be handed on only once/, hint: 'write "a"' },
  ])
  t.match(found({ name: 'a', tier: 'T1' }, { name: 'b', delegated_by: 'a' }), [
    {
      path: 'agents[1].tools',
      problem: /Write, Edit, Bash.*no subset/,
      hint: 'write ["Read","Glob","Grep"]',
    },
  ])
  t.match(found({ name: 'a', tier: 'T4' }, { name: 'b', tier: 'T3', delegated_by: 'a' }), [
    { path: 'agents[1].tools', problem: /give WebFetch, which "a" does not have/ },
  ])
  t.same(
    found({ name: 'a', tier: 'T4' }, { name: 'b', tier: 'T3', tools: ['Read'], delegated_by: 'a' }),
    [],
    'a higher tier that is narrowed to less is no more',
  )
  t.match(found({ name: 'a', tier: 'T5' }, { name: 'b', tier: 'T5', delegated_by: 'a' }), [
    { path: 'agents[1].tier', problem: /handed on only once/ },
  ])
  t.match(found({ name: 'a', tools: [] }, { name: 'b', tier: 'T1', delegated_by: 'a' }), [
    { path: 'agents[1].tools', hint: 'nothing can be handed on' },
  ])
  t.match(found({ name: 'a' }, { name: 'b', role: 'operator', delegated_by: 'a' }), [
    { path: 'agents[1].role', problem: /is operator while it acts for "a"/ },
  ])
  t.same(found({ name: 'o', role: 'operator', tier: 'T5' }), [], 'an operator may have a tier')
})

t.test('tools and tiers are those that there are', async (t) => {
  const found = (more: object) => problems({ agents: [{ name: 'a', public_key: key(), ...more }] })
  t.match(found({ tools: ['Reed'] }), [{ path: 'agents[0].tools[0]', hint: 'did you mean "Read"?' }])
  t.match(found({ tools: ['constructor'] }), [
    { path: 'agents[0].tools[0]', hint: /^use \* or some of Read/ },
  ])
  t.match(found({ tier: 'T6' }), [{ path: 'agents[0].tier' }])
  t.same(found({ tier: 'T1', tools: ['*'] }), [])
  const wide = { allowed_commands: ['git status'], allowed_paths: ['*'] }
  t.same(
    problems({ capabilities: { default: wide }, agents: [{ name: 'a', public_key: key(), tier: 'T1' }] }),
    [],
    'a tier bounds commands, it does not contradict them',
  )
})

t.test('a pinned program needs a path and a digest, and is pinned once', async (t) => {
  const sha256 = 'ab'.repeat(32)
  const found = (...executables: unknown[]) => problems({ security: { executables } })
  t.same(found({ path: '/usr/bin/id', sha256 }, { path: '/usr/bin/env', sha256 }), [])
  t.match(found({ sha256 }), [{ path: 'security.executables[0].path', problem: 'is required' }])
  t.match(found({ path: '/usr/bin/id' }), [
    { path: 'security.executables[0].sha256', problem: 'is required' },
  ])
  t.match(found({}), [{ path: 'security.executables[0].path' }, { path: 'security.executables[0].sha256' }])
  t.match(found({ path: null, sha256 }), [{ problem: 'must be a path, not null' }])
  t.match(found(null, 'x'), [{ path: 'security.executables[0]' }, { path: 'security.executables[1]' }])
  for (const bad of [sha256.toUpperCase(), sha256.slice(1), `sha256:${sha256}`, ''])
    t.match(found({ path: '/a', sha256: bad }), [{ path: 'security.executables[0].sha256' }], bad)
  t.match(found({ path: '/usr/bin/id', sha256 }, { path: '/usr/bin/../bin/id', sha256 }), [
    { path: 'security.executables[1].path', problem: 'is pinned by security.executables[0] already' },
  ])
})

t.test(
  'refuses keys that are of low order, not canonical, of the wrong length or wrongly encoded',
  async (t) => {
    const low = new Uint8Array(32)
    const notCanonical = new Uint8Array(32).fill(0xff)
    for (const text of [
      encodeBase64Url(low),
      encodeBase64Url(notCanonical),
      encodeBase64Url(low.subarray(1)),
      `${key()}=`,
      '',
    ]) {
      t.match(
        problems({ agents: [{ name: 'a', public_key: text }] }),
        [{ path: 'agents[0].public_key' }],
        text,
      )
    }
  },
)

t.test('an address beyond loopback needs an explicit allow-list', async (t) => {
  for (const address of ['0.0.0.0', '::', '192.0.2.7', '2001:db8::1']) {
    t.match(
      problems({ listen: { address } }),
      [{ path: 'acl.allow', hint: /\["\*"\] for everybody/ }],
      address,
    )
    t.same(problems({ listen: { address }, acl: { allow: [] } }), [], `${address} with an empty list`)
  }
  for (const address of ['127.0.0.2', '::1', '::ffff:127.0.0.1'])
    t.same(problems({ listen: { address } }), [], address)
})

t.test('refuses sizes and files that contradict each other', async (t) => {
  t.match(problems({ listen: { admin_socket: `/${'x'.repeat(107)}` } }), [
    { path: 'listen.admin_socket', problem: /108 bytes/ },
  ])
  t.same(problems({ listen: { admin_socket: `/${'x'.repeat(106)}` } }), [])
  t.match(problems({ tls: { certificate: 'one', key: './one' } }), [{ path: 'tls.key' }])
  t.match(problems({ defense: { tarpit: { total_bytes: 10 } } }), [{ path: 'defense.tarpit.total_bytes' }])
  t.match(problems({ acl: { penalties: { min_seconds: 100, max_seconds: 99 } } }), [
    { path: 'acl.penalties.max_seconds', problem: 'is less than min_seconds (100)' },
  ])
  t.same(problems({ acl: { penalties: { min_seconds: 100, max_seconds: 100 } } }), [])
  t.same(problems({ acl: { penalties: { early_drop_start: 128, early_drop_percent: 100 } } }), [])
  t.match(problems({ acl: { penalties: { early_drop_start: 129 } } }), [
    { path: 'acl.penalties.early_drop_start' },
  ])
  t.match(problems({ execution: { max_concurrent: 256 }, session: { ring_bytes: 67_108_864 } }), [
    { path: 'session.ring_bytes' },
  ])
})

t.test('refuses paths that look expanded and entries with control characters', async (t) => {
  t.match(problems({ state_directory: '~/state' }), [
    { path: 'state_directory', hint: 'write the whole path' },
  ])
  t.match(problems({ state_directory: '$HOME/state' }), [{ path: 'state_directory' }])
  t.match(problems({ state_directory: '$WORKSPACE' }), [{ path: 'state_directory' }])
  t.match(problems({ state_directory: 'a\0b' }), [{ path: 'state_directory' }])
  t.match(problems({ state_directory: '' }), [{ path: 'state_directory' }])
  t.match(problems({ state_directory: 'x'.repeat(5_000) }), [{ path: 'state_directory', problem: /longer/ }])
  t.equal(problems({ capabilities: { a: { allowed_commands: ['ls\n', ' ls', ''] } } }).length, 3)
  t.match(problems({ capabilities: { a: { allowed_env: ['LC_*', '*', 'A=B'] } } }), [
    { path: 'capabilities.a.allowed_env[2]' },
  ])
})

t.test('null stands only where the table says so', async (t) => {
  t.equal(
    accepted({ capabilities: { a: { timeout_seconds: null, output_bytes: null } } }).capabilities['a']
      ?.output_bytes,
    null,
  )
  t.equal(accepted({ tls: { client_ca: null } }).tls.client_ca, null)
  t.match(problems({ listen: { port: null } }), [
    { path: 'listen.port', problem: 'must be a whole number, not null' },
  ])
  t.match(problems({ acl: { allow: null } }), [{ path: 'acl.allow', problem: 'must be a list, not null' }])
})

t.test('refuses patterns that could never match, since a denial that never fires is no denial', async (t) => {
  t.match(
    problems({ capabilities: { a: { denied_commands: ['git status', '/bin/rm', '*/rm', 'bin/rm'] } } }),
    [{ path: 'capabilities.a.denied_commands[3]', hint: 'write its base name or its absolute path' }],
  )
  t.match(problems({ capabilities: { a: { denied_paths: ['*', '/home', '/home/*/.ssh'] } } }), [
    { path: 'capabilities.a.denied_paths[2]', hint: 'name a directory, which covers all beneath it' },
  ])
})
