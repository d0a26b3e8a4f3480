/**
 * check against a table of broken configurations: each is found, exit 125, with its path, its place in the file and a
 * remedy; remedies that are a value or a command are followed to the letter, and then it is found no more. And against
 * unusual ones that are sound, of which none is found.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examineConfig } from '../../src/edge/setup/config-file.node.ts'
import { BROKEN, type Broken, one, two, type Value } from './broken-configurations.node.ts'
import { hasOpenssl, isRoot, look, put, QUICK, SOCKET, SOUND, toldOf } from './check-told.node.ts'
import { runMain } from './run-main.node.ts'

function configurationOf(broken: Broken, base = SOUND): Value {
  const value = structuredClone(base)
  for (const [path, given] of Object.entries(broken.set ?? {})) {
    if (path === '//') value[path] = given
    else put(value, path, given)
  }
  return value
}

/** Does what the remedy says, where it is a value or a command; false where it is neither. */
function follow(file: string, path: string, remedy: string): boolean {
  const command = /(?:^|: |; )run ((?:chmod|chown|rm) [^;:,]+?)(?: if |, or |$)/.exec(remedy)?.[1]
  if (command !== undefined) {
    execFileSync('sh', ['-c', command])
    return true
  }
  const literal =
    /(?:^|, or |; )(?:write|did you mean) ("(?:[^"\\]|\\.)*"|-?[0-9]+|true|false|null|\[\]|\{\})/.exec(
      remedy,
    )?.[1]
  if (literal === undefined) return false
  if (path === '') writeFileSync(file, literal)
  else {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Value
    put(value, path, JSON.parse(literal))
    writeFileSync(file, JSON.stringify(value))
  }
  return true
}

t.test('every broken configuration is found, with path and remedy, and the remedy works', async (t) => {
  t.ok(BROKEN.length >= 140, `${BROKEN.length} of them`)
  t.equal(new Set(BROKEN.map(({ name }) => name)).size, BROKEN.length, 'each of its own kind')
  let followed = 0
  for (const broken of BROKEN) {
    const { name, needs, path, says } = broken
    if (needs === 'root' && !isRoot) {
      t.comment(`skipped: ${name} (only root can give files away)`)
      continue
    }
    if (needs === 'openssl' && !hasOpenssl) {
      t.comment(`skipped: ${name} (openssl is not installed)`)
      continue
    }
    const directory = t.testdir({ work: {} })
    chmodSync(directory, 0o755)
    const file = join(directory, 'c.json')
    writeFileSync(file, broken.text ?? JSON.stringify(configurationOf(broken, QUICK), null, 2))
    chmodSync(file, 0o644)
    await broken.prepare?.(directory)
    const report = await look(file)
    t.notOk(report.ok, `${name}: found`)
    const told = toldOf(report)
    const found = told.find((one) => one.path === path && says.test(one.says))
    t.ok(found, `${name}: ${path} ${says} in ${JSON.stringify(told)}`)
    t.ok(
      told.every(({ remedy }) => remedy.length > 3),
      `${name}: always a remedy`,
    )
    if (broken.set !== undefined && path !== '') t.ok((found?.line ?? 0) >= 1, `${name}: with its line`)
    // A file of one mistake may be wrong in two ways, but not in many: that would be noise.
    t.ok(told.length <= 3 || path.startsWith('policy'), `${name}: ${told.length} told`)
    if (found === undefined || broken.isAdvice || !follow(file, path, found.remedy)) continue
    followed += 1
    const after = toldOf(await look(file)).filter((one) => one.path === path && one.says === found.says)
    t.same(after, [], `${name}: what was advised (${found.remedy}) helps`)
  }
  t.ok(followed >= 40, `${followed} remedies were followed to the letter`)
})

t.test('all of them at once: the file, the machine and the policy, each where it stands', async (t) => {
  const value = {
    listne: {},
    ...SOUND,
    session: { max_sessions: 'many' },
    agents: [{ name: 'ci', public_key: one, capability: 'defualt' }],
    capabilities: { default: { allowed_commands: ['*'], denied_commands: ['*'] } },
    policy: { disabled_rules: ['no.such.rule'] },
    audit: { directory: '/proc/none' },
  }
  const directory = t.testdir({ 'c.json': JSON.stringify(value, null, 2), work: {} })
  chmodSync(join(directory, 'c.json'), 0o666)
  const run = await runMain(directory, ['check', '--config', 'c.json'])
  t.equal(run.code, 125)
  const lines = readFileSync(join(directory, 'c.json'), 'utf8').split('\n')
  const at = (key: string) => lines.findIndex((line) => line.includes(`"${key}":`)) + 1
  t.match(run.stdout, `c.json:${at('listne')}:3: listne is not a known key (did you mean listen?)`)
  t.match(run.stdout, `c.json:${at('max_sessions')}:5: session.max_sessions must be a whole number`)
  t.match(run.stdout, `c.json:${at('capability')}:7: agents[0].capability names "defualt"`)
  t.match(run.stdout, /^FAILED {2}the file: .*mode 0666/m)
  t.match(
    run.stdout,
    new RegExp(
      `^FAILED {2}capabilities\\.default\\.denied_commands: .*\\(c\\.json:${at('denied_commands')}:7\\)$`,
      'm',
    ),
  )
  t.match(run.stdout, /^FAILED {2}policy\.disabled_rules: "no\.such\.rule" is no rule here/m)
  t.match(run.stdout, /^FAILED {2}audit\.directory: /m)
  t.match(run.stderr, /has 7 problems, so the daemon would not start/)
})

t.test('after a comma too many, a comment and a key twice the rest is told as well', async (t) => {
  const text = '{\n  // mine\n  "log": {"level": "inof",},\n  "log": {},\n  "listne": {}\n}\n'
  const run = await runMain(t.testdir({ 'c.json': text }), ['check', '--config', 'c.json', '--no-port'])
  t.equal(run.code, 125)
  for (const line of [
    /^c\.json:2:3: .*no comments/m,
    /^c\.json:3:26: .*comma stands before/m,
    /^c\.json:4:3: .*twice.*"log"/m,
    /^c\.json:5:3: listne is not a known key/m,
    /^c\.json:3:11: log\.level must be .*did you mean "info"/m,
  ])
    t.match(run.stdout, line)
})

const everything = { allowed_commands: ['*'], allowed_paths: ['*'], allowed_env: ['*'] }
/** Unusual, and sound. */
const UNUSUAL: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'nobody over TCP': { 'acl.allow': [] },
  'nobody at all': { agents: [], capabilities: {} },
  'everybody from everywhere': {
    'listen.address': '0.0.0.0',
    'acl.allow': ['*'],
    'acl.penalties.exempt': ['*'],
  },
  'both families': { 'listen.address': '::', 'acl.allow': ['192.0.2.0/24', '2001:db8::/32'] },
  'a board for reading': {
    agents: [{ name: 'r', public_key: one, tier: 'T1', tools: ['Read', 'Grep'] }],
    capabilities: { default: { allowed_paths: ['/etc', '/var/log'], denied_paths: ['/etc/shadow'] } },
  },
  'a delegate': {
    agents: [
      { name: 'a', public_key: one, tier: 'T5' },
      { name: 'b', public_key: two, tier: 'T2', tools: ['Read', 'Bash'], delegated_by: 'a' },
    ],
  },
  'the whole device': { 'sandbox.branch_roots': ['/', '$WORKSPACE'] },
  'on the real files': { 'sandbox.require': 'none', 'sandbox.network': 'none' },
  'no shell, few commands': {
    'security.allow_shell': false,
    'capabilities.default': {
      allowed_commands: ['git status', '/usr/bin/uptime', 'journal*'],
      denied_commands: ['git push'],
      allowed_paths: ['$WORKSPACE'],
    },
  },
  'a metered link': {
    'listen.profile': 'metered',
    'defense.tarpit.mode': 'hold',
    'defense.tarpit.daily_bytes': 0,
  },
  'no questions': {
    'confirm.max_pending': 0,
    'security.sensitive_files': 'deny',
    'security.toxic_combinations': 'deny',
    'security.opaque': 'allow',
  },
  'state within the work, apart': {
    state_directory: 'work/.sass-edge/state',
    'security.workspace_root': 'work',
  },
  'memory beneath the work': { 'sandbox.volatile': ['work/cache'], 'sandbox.memory_directory_bytes': 65_536 },
  'everything is closed': {
    capabilities: { default: {}, open: everything },
    'security.allowed_commands': [],
  },
  'nothing is dropped': { 'audit.keep_bytes': null, 'audit.reserve_bytes': 0, 'audit.fsync': 'never' },
  'names of another kind': {
    agents: [{ name: '007', public_key: one, capability: 'a.b_c-d' }],
    capabilities: { 'a.b_c-d': everything },
  },
  'a mapped address': { 'listen.address': '::ffff:127.0.0.1' },
}

t.test('nothing is found in what ships, in what init makes, and in what is only unusual', async (t) => {
  for (const [name, set] of Object.entries(UNUSUAL)) {
    const directory = t.testdir({ work: {} })
    const file = join(directory, 'c.json')
    const broken: Broken = { name, set, path: '', says: /./ }
    writeFileSync(file, JSON.stringify(configurationOf(broken)))
    const report = await look(file)
    t.same(toldOf(report), [], name)
    t.ok(report.ok, name)
  }
  const shipped = t.testdir({ work: {} })
  const value = JSON.parse(readFileSync(join(import.meta.dirname, '../../sass.edge.json'), 'utf8')) as Value
  t.match(value, { security: { workspace_root: String } })
  // Its places are those of a whole device; its values stay.
  put(value, 'listen.port', 0)
  put(value, 'listen.admin_socket', SOCKET)
  for (const path of [
    'state_directory',
    'tls.certificate',
    'tls.key',
    'audit.directory',
    'security.workspace_root',
  ])
    put(value, path, join('s', path))
  mkdirSync(join(shipped, 's'))
  writeFileSync(join(shipped, 'c.json'), JSON.stringify(value))
  t.same(toldOf(await look(join(shipped, 'c.json'))), [], 'what ships')
  copyFileSync(join(import.meta.dirname, '../../sass.edge.json'), join(shipped, 'd.json'))
  t.same(examineConfig(join(shipped, 'd.json')).problems, [], 'what ships, as it is')

  const made = t.testdir({})
  await runMain(made, ['init', '--port', '0'])
  const run = await runMain(made, ['check'])
  t.equal(run.code, 0, run.stdout)
  t.notMatch(run.stdout, 'FAILED')
})
