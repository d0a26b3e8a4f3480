/**
 * A configuration becomes a policy: what is refused, what is named, and when the heavy half is there.
 * @module
 */
import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Config, parseConfig } from '../../../src/config/config.ts'
import type { ExecuteAction } from '../../../src/defense/facts.ts'
import { broadPatterns, loadPolicy, makePolicy, unknownRules } from '../../../src/edge/policy/policy.node.ts'

const RULE = {
  id: 'own.no-ls',
  argv: { program: ['ls'] },
  action: 'deny',
  severity: 'high',
  description: 'Listing.',
  why: 'It is a test.',
  examples: { match: ['ls'], pass: ['pwd'] },
}
const file = (...rules: object[]): string => JSON.stringify({ rules })
const OWN = { rules_file: 'own.json', default_rules: false }

function configOf(directory: string, value: object = {}): Config {
  const result = parseConfig({ state_directory: 'state', ...value }, { configDirectory: directory })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

function action(...argv: string[]): ExecuteAction {
  return {
    kind: 'execute',
    executionId: '0'.repeat(32),
    argv,
    executable: { path: `/usr/bin/${argv[0]}`, device: '1', inode: '2', sha256: null },
    cwd: '/',
    environment: [],
    terminal: false,
    stdin: false,
    timeoutSeconds: null,
    outputBytes: null,
  }
}

t.test('before its rules are loaded a policy judges nothing, afterwards by all of them', async (t) => {
  const directory = t.testdir({ 'own.json': file(RULE) })
  const config = configOf(directory, { policy: OWN })
  const light = await makePolicy(config, undefined)
  t.throws(() => light.effective(action('ls')), { code: 'INTERNAL' })
  t.throws(() => light.rules.strictest(light.effective(action('ls'))), { code: 'INTERNAL' })
  const whole = await loadPolicy(light, config)
  t.equal(whole.rules.count, 1)
  t.equal(whole.rules.strictest(whole.effective(action('env', 'ls')))?.rule.id, 'own.no-ls')
  t.equal(whole.rules.strictest(whole.effective(action('pwd'))), undefined)
})

t.test('what the caller sets in the environment is judged with the command', async (t) => {
  const directory = t.testdir({ 'own.json': file(RULE) })
  const config = configOf(directory, { policy: OWN })
  const { rules, effective } = await loadPolicy(await makePolicy(config, undefined), config)
  const asked = { ...action('ls'), environment: ['GIT_PAGER=x'] }
  t.equal(rules.strictest(effective(asked))?.rule.id, 'own.no-ls')
  t.strictSame(effective(asked).commands[0]?.assignments, [{ name: 'GIT_PAGER', value: 'x' }])
  t.equal(effective(asked), effective(asked), 'remembered for the next layer')
  t.not(effective(action('pwd')), effective(asked))
})

t.test('a rule that is disabled holds no more, and must exist', async (t) => {
  const directory = t.testdir({ 'own.json': file(RULE, { ...RULE, id: 'own.other' }) })
  const config = configOf(directory, { policy: { ...OWN, disabled_rules: ['own.no-ls'] } })
  const { rules, effective } = await loadPolicy(await makePolicy(config, undefined), config)
  t.equal(rules.strictest(effective(action('ls')))?.rule.id, 'own.other')
  const wrong = configOf(directory, { policy: { ...OWN, disabled_rules: ['own.no-lss'] } })
  await t.rejects(makePolicy(wrong, undefined), {
    code: 'CONFIG_INVALID',
    message: 'policy.disabled_rules names "own.no-lss", which is no rule here: did you mean "own.no-ls"?',
  })
  const far = configOf(directory, { policy: { ...OWN, disabled_rules: ['zz.zz'] } })
  await t.rejects(makePolicy(far, undefined), { message: /no rule here: see sass-edge policy lint\.$/ })
  t.same(unknownRules(['a', 'b'], ['b']), [{ id: 'a', hint: 'did you mean "b"?' }])
})

t.test('own rules that cannot be used or read keep the daemon from starting', async (t) => {
  const directory = t.testdir({ 'own.json': file({ ...RULE, action: 'denny' }) })
  await t.rejects(makePolicy(configOf(directory, { policy: OWN }), undefined), {
    code: 'CONFIG_INVALID',
    message: /rules\[0\]\.action is "denny"/,
  })
  const none = configOf(directory, { policy: { rules_file: 'none.json' } })
  await t.rejects(makePolicy(none, undefined), { code: 'CONFIG_LOAD_FAILED', message: /none\.json/ })
})

t.test('patterns that open more than they say are named, or refused where that is configured', async (t) => {
  const capabilities = {
    default: { allowed_commands: ['ls', 'git', 'git status'] },
    all: { allowed_commands: ['*'] },
  }
  const config = configOf(t.testdir(), { capabilities })
  t.match(await broadPatterns(config), [/^capabilities\.default\.allowed_commands allows "git": /])
  t.equal((await broadPatterns(config)).length, 1)
  await makePolicy(config, undefined)
  const strict = configOf(t.testdir(), { capabilities, policy: { broad_patterns: 'refuse' } })
  await t.rejects(makePolicy(strict, undefined), {
    code: 'CONFIG_INVALID',
    message: /allows "git": .*set policy\.broad_patterns to "warn"\.$/,
  })
})

t.test('a pin on a link is refused, since it would never hold', async (t) => {
  const directory = realpathSync(t.testdir({ program: '' }))
  symlinkSync('program', join(directory, 'link'))
  const pinned = (path: string) =>
    configOf(directory, { security: { executables: [{ path, sha256: '0'.repeat(64) }] } })
  await t.rejects(makePolicy(pinned('link'), undefined), {
    code: 'CONFIG_INVALID',
    message: `security.executables pins ${directory}/link, which is a link to ${directory}/program, so the pin would never hold: write ${directory}/program.`,
  })
  const { security } = await makePolicy(pinned('program'), undefined)
  t.same({ ...security.pins }, { [`${directory}/program`]: '0'.repeat(64) })
  await makePolicy(pinned('not-there-yet'), undefined)
})

t.test('the daemon’s own files are named by every path that leads to them', async (t) => {
  const directory = realpathSync(t.testdir({ etc: {}, data: {} }))
  symlinkSync('data', join(directory, 'link'))
  const config = configOf(directory, {
    state_directory: 'link/state',
    listen: { admin_socket: '/run/edge-policy-test.sock' },
    tls: { key: 'keys/tls.key' },
    security: { workspace_root: 'work' },
  })
  mkdirSync(join(directory, 'data/state'))
  const { ownPaths } = await makePolicy(config, join(directory, 'etc/edge.json'))
  t.ok(ownPaths.paths.includes('/run/edge-policy-test.sock'))
  for (const name of ['link/state', 'data/state', 'keys/tls.key', 'etc', 'etc/edge.json'])
    t.ok(ownPaths.paths.includes(join(directory, name)), name)
  t.same(ownPaths.except, [])
})

t.test('a workspace within the state directory stays usable, one around it does not open it', async (t) => {
  const directory = realpathSync(t.testdir())
  const inside = await makePolicy(configOf(directory), undefined)
  t.same(inside.ownPaths.except, [join(directory, 'state/workspace')])
  const around = configOf(directory, { security: { workspace_root: '.' } })
  const { ownPaths } = await makePolicy(around, join(directory, 'edge.json'))
  t.notOk(ownPaths.paths.includes(directory), 'not the workspace itself')
  t.ok(ownPaths.paths.includes(join(directory, 'edge.json')), 'but the configuration in it')
  t.ok(ownPaths.paths.includes(join(directory, 'state')))
})

t.test('the digest of the rules follows their files and what is disabled, and nothing else', async (t) => {
  const directory = t.testdir({ 'own.json': file(RULE) })
  const digest = async (policy: object) =>
    (await makePolicy(configOf(directory, { policy: { ...OWN, ...policy } }), undefined)).rulesDigest
  const first = await digest({})
  t.match(first, /^[0-9a-f]{64}$/)
  t.equal(await digest({}), first)
  t.equal(await digest({ broad_patterns: 'refuse' }), first)
  t.not(await digest({ disabled_rules: ['own.no-ls'] }), first)
  writeFileSync(join(directory, 'new.json'), file({ ...RULE, severity: 'low' }))
  renameSync(join(directory, 'new.json'), join(directory, 'own.json'))
  t.not(await digest({}), first)
})

t.test('numbers and lists come out as the decision reads them', async (t) => {
  const config = configOf(t.testdir(), {
    security: { allow_shell: false, pinned_only: true, opaque: 'deny' },
    quota: { ticks_per_task: null, tokens_per_session: 100 },
    session: { max_per_agent: null },
    acl: { penalties: { early_drop_start: 7, early_drop_percent: 9 } },
    defense: { localhost: { enabled: false } },
  })
  const policy = await makePolicy(config, undefined)
  t.match(policy.security, { allowShell: false, pinnedOnly: true, opaque: 'deny', allowedCommands: ['*'] })
  t.same(policy.quota, {
    ticksPerTask: null,
    tokensPerSession: 100,
    sessionsPerCaller: Number.POSITIVE_INFINITY,
  })
  t.match(policy.earlyDrop, { start: 7, ratePercent: 9, full: 128 })
  t.equal(policy.deceives, false)
})
