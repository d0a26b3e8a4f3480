import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import type { Finding } from '../../../src/edge/setup/finding.ts'
import { checkPolicy } from '../../../src/edge/setup/preflight-policy.node.ts'
import { openLevelStore } from '../../../src/edge/state/level-store.node.ts'

const RULE = {
  id: 'own.no-ls',
  argv: { program: ['ls'] },
  action: 'deny',
  severity: 'high',
  description: 'Listing.',
  why: 'It is a test.',
  examples: { match: ['ls'], pass: ['pwd'] },
}

async function findings(directory: string, value: object): Promise<readonly Finding[]> {
  const result = parseConfig({ state_directory: 'state', ...value }, { configDirectory: directory })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return checkPolicy(result.config)
}

const notable = async (directory: string, value: object) =>
  (await findings(directory, value)).filter(({ remedy }) => remedy !== undefined)

t.test('the policy as shipped has nothing to tell', async (t) => {
  const found = await findings(t.testdir(), {})
  t.ok(found.every(({ ok, remedy }) => ok && remedy === undefined))
  t.match(found[0], { check: 'policy.default_rules', detail: /^\d{3,} rules hold$/ })
})

t.test('every problem of own rules is told, and a file that is not there', async (t) => {
  const bad = { ...RULE, action: 'denny', why: undefined }
  const directory = t.testdir({ 'own.json': JSON.stringify({ rules: [bad] }) })
  const policy = { rules_file: 'own.json', default_rules: false }
  t.match(await notable(directory, { policy }), [
    { check: 'policy.rules_file', ok: false, detail: /own\.json: rules\[0\]\.action is "denny"/ },
    { check: 'policy.rules_file', ok: false, detail: /own\.json: rules\[0\]\.why is missing/ },
  ])
  t.match(await notable(directory, { policy: { rules_file: 'none.json' } }), [
    { check: 'policy.rules_file', ok: false, detail: /none\.json: cannot be read, since it does not exist$/ },
  ])
})

t.test('a rule that is disabled and is none is told, and a policy without any rule', async (t) => {
  const directory = t.testdir({ 'own.json': JSON.stringify({ rules: [RULE] }) })
  const own = { rules_file: 'own.json', default_rules: false }
  t.match(await notable(directory, { policy: { ...own, disabled_rules: ['own.no-lss'] } }), [
    {
      check: 'policy.disabled_rules',
      ok: false,
      detail: '"own.no-lss" is no rule here',
      remedy: /own\.no-ls/,
    },
  ])
  t.match(await notable(directory, { policy: { ...own, disabled_rules: ['own.no-ls'] } }), [
    { ok: true, detail: /no rule holds/ },
  ])
  t.match(await notable(directory, { policy: { default_rules: false } }), [
    { ok: true, detail: /no rule holds/ },
  ])
})

t.test('a broad pattern is a warning, or a problem where it is refused', async (t) => {
  const capabilities = { default: { allowed_commands: ['git'] } }
  const found = (policy: object) => notable(t.testdir(), { capabilities, policy })
  t.match(await found({}), [{ check: 'policy.broad_patterns', ok: true, detail: /allows "git": .*[^.]$/ }])
  t.match(await found({ broad_patterns: 'refuse' }), [{ check: 'policy.broad_patterns', ok: false }])
})

t.test('pinned programs are there, no links, and have the digest that is said', async (t) => {
  const directory = realpathSync(t.testdir({ program: 'one', folder: {} }))
  symlinkSync('program', join(directory, 'link'))
  const sha256 = createHash('sha256')
    .update(readFileSync(join(directory, 'program')))
    .digest('hex')
  const executables = ['program', 'none', 'link', 'folder'].map((path) => ({ path, sha256 }))
  const found = (await findings(directory, { security: { executables } })).filter(({ check }) =>
    check.startsWith('security.executables'),
  )
  t.match(found, [
    { ok: true, detail: /program is what was pinned$/ },
    { ok: false, detail: /none is not there$/ },
    { ok: false, detail: /link is a link to .*program, so the pin would never hold$/, remedy: /^write \// },
    { ok: false, detail: /folder is no regular file/ },
  ])
  writeFileSync(join(directory, 'program'), 'two')
  t.match(await notable(directory, { security: { executables: executables.slice(0, 1) } }), [
    { check: 'security.executables[0]', ok: false, detail: /program has SHA-256 3fc4ccfe745870e2c0d99f71f3/ },
  ])
})

t.test(
  'an incident that nobody has looked into is told with the command that starts the daemon',
  async (t) => {
    const directory = t.testdir({ state: {} })
    openLevelStore(join(directory, 'state')).save({ entries: [], incident: 'ab12' })
    t.match(await notable(directory, {}), [
      { check: 'levels', ok: false, detail: /incident ab12$/, remedy: /--ack-incident ab12$/ },
    ])
    writeFileSync(join(directory, 'state/levels.json'), '{')
    t.match(await notable(directory, {}), [
      { check: 'levels', ok: false, detail: /levels\.json cannot be read$/ },
    ])
    mkdirSync(join(directory, 'other'))
    t.same(await notable(directory, { state_directory: 'other' }), [])
  },
)
