import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import type { ExecuteAction } from '../../../src/defense/facts.ts'
import { makeJudge } from '../../../src/edge/policy/judge.node.ts'

const WORKSPACE = '/srv/plant'

function judge(policy: object = {}): ReturnType<typeof makeJudge> {
  const result = parseConfig(
    { policy, security: { workspace_root: WORKSPACE } },
    { configDirectory: t.testdirName },
  )
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return makeJudge(result.config)
}

const action = (...argv: string[]): ExecuteAction => ({
  kind: 'execute',
  executionId: '0'.repeat(32),
  argv,
  executable: null,
  cwd: '/',
  environment: [],
  terminal: false,
  stdin: false,
  timeoutSeconds: null,
  outputBytes: null,
})

/** `argv` with its file and the variables that the caller sets. */
const setting = (file: string, environment: readonly string[], ...argv: string[]): ExecuteAction => ({
  ...action(...argv),
  executable: { path: file, device: '1', inode: '2', sha256: null },
  environment,
})

t.test('the rules that ship judge what would really run, unless they are not wanted', async (t) => {
  const { rules, effective } = judge()
  const attack = action('sh', '-c', 'rm -rf /')
  const id = rules.strictest(effective(attack))?.rule.id
  t.ok(id)
  t.equal(rules.strictest(effective(action('ls')))?.rule.action, 'allow')
  const without = judge({ disabled_rules: [id] })
  t.equal(without.rules.count, rules.count - 1)
  t.not(without.rules.strictest(without.effective(attack))?.rule.id, id)
  t.equal(judge({ default_rules: false }).rules.count, 0)
})

t.test(
  'what a rule allows is known, unless the rule is disabled, and so is a file of the workspace',
  async (t) => {
    const { rules, effective } = judge()
    const isKnown = (from: typeof rules, ...argv: string[]) =>
      effective(action(...argv)).commands.every((command) => from.knows(command))
    t.ok(isKnown(rules, 'ls', '/'))
    t.notOk(isKnown(rules, 'plantctl', 'stop'))
    t.ok(rules.strictest(effective(action('fail2ban-client', 'stop'))))
    t.notOk(isKnown(rules, 'fail2ban-client', 'status'), 'that a rule stops one use tells of no other')
    t.ok(isKnown(rules, 'abidiff', 'x'))
    t.notOk(isKnown(judge({ default_rules: false }).rules, 'abidiff', 'x'))
    t.notOk(
      isKnown(judge({ disabled_rules: ['known.compilers'] }).rules, 'abidiff', 'x'),
      'a group taken out',
    )
    t.ok(isKnown(rules, `${WORKSPACE}/tools/plantctl`, 'stop'))
    t.notOk(isKnown(rules, '/opt/tools/plantctl', 'stop'))
  },
)

t.test('an action is taken apart once, however many layers ask', async (t) => {
  const { effective } = judge({ default_rules: false })
  const one = action('env', 'ls')
  t.equal(effective(one), effective(one))
  t.equal(effective(action('env', 'ls')), effective(one), 'a small one is remembered')
  for (const other of [
    action('env', 'ls', ''),
    { ...one, cwd: '/usr' },
    { ...one, terminal: !one.terminal },
    { ...one, stdin: !one.stdin },
    { ...one, environment: ['A=b'] },
    { ...one, executable: { path: '/usr/bin/rm', device: '1', inode: '2', sha256: null } },
  ])
    t.not(effective(other), effective(one), 'whatever differs is another one')
  t.not(
    effective(action('env', 'ls\0x')),
    effective(action('env', 'ls', 'x')),
    'nothing joins two arguments to one',
  )
  for (let index = 0; index < 100; index++) effective(action('ls', String(index)))
  const large = action('ls', 'x'.repeat(1_000))
  t.equal(effective(large), effective(large))
  t.not(effective({ ...large }), effective(large), 'a large one only while it is asked about')
})

t.test('a variable that the caller sets hides nothing of what a link leads to', async (t) => {
  const { rules, effective } = judge()
  const ruleOf = (asked: ExecuteAction) => rules.strictest(effective(asked))?.rule.id
  for (const [file, ...args] of [
    ['/usr/bin/rm', '-rf', '/'],
    ['/usr/bin/dd', 'if=/dev/zero', 'of=/dev/sda'],
    ['/usr/sbin/mkfs', '/dev/sda'],
    ['/usr/bin/dash', '-c', 'rm -rf /'],
  ] as const)
    for (const name of ['./xy', './ab', './ls']) {
      const plain = ruleOf(setting(file, [], name, ...args))
      if (name === './xy') t.ok(plain, file)
      for (const environment of [['FOO=1'], ['LANG=C', 'A=']])
        t.equal(ruleOf(setting(file, environment, name, ...args)), plain, `${environment} ${name} ${file}`)
    }
})

t.test('a file whose name looks like an assignment is the program, and no assignment', async (t) => {
  const { rules, effective } = judge()
  for (const environment of [[], ['FOO=1']]) {
    const asked = setting('/usr/bin/rm', environment, './a=b', '-rf', '/')
    t.ok(rules.strictest(effective(asked)), `${environment}`)
    const bare = setting('/srv/work/a=b', environment, 'a=b', 'ls')
    t.strictSame(
      effective(bare).commands.map(({ argv }) => argv),
      [['a=b', 'ls']],
      'and its first argument is no command',
    )
  }
})

t.test('what variables would run is not read: they stand with what is asked for', async (t) => {
  const { effective } = judge({ default_rules: false })
  for (const environment of [['PAGER=rm -rf x'], ['GIT_SSH_COMMAND=curl x'], ['FOO=1']]) {
    const { commands } = effective(setting('/usr/bin/git', environment, 'git', 'log'))
    t.strictSame(
      commands.map(({ argv }) => argv),
      [['git', 'log']],
    )
    t.equal(`${commands[0]?.assignments[0]?.name}=${commands[0]?.assignments[0]?.value}`, environment[0])
  }
})

t.test('a variable that runs nothing adds no command: the caller needs no leave for env(1)', async (t) => {
  const { effective } = judge({ default_rules: false })
  const commands = effective(setting('/usr/bin/ls', ['FOO=1', 'LANG=C'], 'ls', '-l')).commands
  t.strictSame(
    commands.map(({ argv }) => argv),
    [['ls', '-l']],
  )
  t.strictSame(commands[0]?.assignments, [
    { name: 'FOO', value: '1' },
    { name: 'LANG', value: 'C' },
  ])
})

t.test('rules hear of the variables that are set, whatever stands in their values', async (t) => {
  const { effective } = judge({ default_rules: false })
  for (const entry of ['A=b=c', 'A=', 'A==', 'A=$(rm x)', 'A=-x']) {
    const [command] = effective(setting('/usr/bin/ls', [entry], 'ls')).commands
    t.strictSame(command?.assignments, [{ name: 'A', value: entry.slice(2) }], entry)
  }
})
