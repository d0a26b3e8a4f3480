import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/edge/setup/config-file.node.ts'
import { createKeyFiles } from '../../../src/edge/state/key-file.node.ts'
import { runMain } from '../run-main.node.ts'

const HAND_MADE = `{
    "capabilities": {"build": {"allowed_commands": ["make"]}, "default": {}},
    "agents"      : [],
    "log": {"level": "warn"}   
}
`

/** The agents as the file has them. */
const listed = (path: string): unknown[] => JSON.parse(readFileSync(path, 'utf8')).agents

t.test('adds a key that was made elsewhere and keeps the layout of the rest', async (t) => {
  const directory = t.testdir({ 'c.json': HAND_MADE })
  const path = join(directory, 'c.json')
  chmodSync(path, 0o640)
  const pair = createKeyFiles(join(directory, 'laptop'))
  const words = [
    'agent',
    'add',
    'laptop',
    '--key',
    'laptop.pub',
    '--role',
    'operator',
    '--capability',
    'build',
    '--config',
    'c.json',
  ]
  t.equal((await runMain(directory, words)).code, 0)
  const expected = {
    name: 'laptop',
    public_key: Buffer.from(pair.publicKey).toString('base64url'),
    role: 'operator',
    capability: 'build',
  }
  t.same(listed(path), [expected], 'what was not given is not written')
  t.match(loadConfig(path).config.agents, [expected])
  const text = readFileSync(path, 'utf8')
  t.ok(text.startsWith(HAND_MADE.slice(0, HAND_MADE.indexOf('[],'))))
  t.ok(text.endsWith(HAND_MADE.slice(HAND_MADE.indexOf('[],') + 2)))
  t.equal(statSync(path).mode & 0o777, 0o640, 'the mode is kept')
  t.equal((await runMain(directory, ['agent', 'remove', 'laptop', '--config', 'c.json'])).code, 0)
  t.equal(readFileSync(path, 'utf8'), HAND_MADE, 'removing it gives the file back')
})

t.test(
  'without --key it makes a pair beside the file; without --capability the set is default',
  async (t) => {
    const directory = t.testdir({ 'c.json': '{}' })
    const run = await runMain(directory, ['agent', 'add', 'ci', '--config', 'c.json', '--json'])
    t.match(JSON.parse(run.stdout), {
      added: { name: 'ci', role: 'agent', capability: 'default' },
      key_file: join(directory, 'keys/ci.key'),
    })
    t.equal(statSync(join(directory, 'keys')).mode & 0o777, 0o700)
    t.equal(statSync(join(directory, 'keys/ci.key')).mode & 0o777, 0o600)
    const list = await runMain(directory, ['agent', 'list', '--config', 'c.json', '--json'])
    t.match(JSON.parse(list.stdout), { agents: [{ name: 'ci', capability: 'default' }] })
  },
)

t.test('refuses what would not be a valid configuration and changes nothing', async (t) => {
  const directory = t.testdir({ 'c.json': HAND_MADE })
  const path = join(directory, 'c.json')
  createKeyFiles(join(directory, 'k'))
  const add = (...words: string[]) => runMain(directory, ['agent', 'add', ...words, '--config', 'c.json'])
  t.equal((await add('one', '--key', 'k.pub')).code, 0)
  const before = readFileSync(path, 'utf8')
  t.match(await add('one', '--key', 'k.pub'), { code: 125, stderr: /one is listed already/ })
  t.match(await add('two', '--key', 'k.pub'), {
    code: 125,
    stderr: /agents\[1\]\.public_key is also the key of agents\[0\].*nothing was changed/,
  })
  t.match(await add('a b'), { code: 125, stderr: /not a valid name/ })
  t.match(await add('two', '--role', 'root'), { code: 125, stderr: /--role is agent or operator/ })
  t.match(await add('two', '--capability', 'biuld'), { code: 125, stderr: /the nearest is build/ })
  t.match(await add('two', '--key', 'k.key'), { code: 125, stderr: /is a private key by its name/ })
  t.match(await add('two', '--key', 'none.pub'), {
    code: 125,
    stderr: /none\.pub cannot be read, since it does not exist/,
  })
  t.match(await runMain(directory, ['agent', 'remove', 'onee', '--config', 'c.json']), {
    code: 125,
    stderr: /the nearest is one/,
  })
  t.equal(readFileSync(path, 'utf8'), before)
  t.notOk(existsSync(join(directory, 'keys')), 'no key was made for a refused name')
})

t.test('writes the tier, the tools and whom it acts for where they are given, and lists them', async (t) => {
  const directory = t.testdir({ 'c.json': HAND_MADE })
  const path = join(directory, 'c.json')
  for (const name of ['ci', 'helper']) createKeyFiles(join(directory, name))
  const agent = (...words: string[]) => runMain(directory, ['agent', ...words, '--config', 'c.json'])
  t.equal((await agent('add', 'ci', '--key', 'ci.pub')).code, 0)
  const rights = ['--tier', 'T2', '--tools', 'Read,Bash', '--delegated-by', 'ci']
  const added = await agent('add', 'helper', '--key', 'helper.pub', ...rights, '--json')
  t.match(JSON.parse(added.stdout), { added: { tier: 'T2', tools: ['Read', 'Bash'], delegated_by: 'ci' } })
  t.match(listed(path)[1], { name: 'helper', tier: 'T2', tools: ['Read', 'Bash'], delegated_by: 'ci' })
  const { stdout } = await agent('list')
  t.match(stdout, /^NAME +ROLE +KEY +CAPABILITY +TIER +TOOLS +ACTS FOR +LISTED$/m)
  t.match(stdout, /^ci +agent +\S{43} +default +T3 +\* +- +configuration$/m)
  t.match(stdout, /^helper +agent +\S{43} +default +T2 +Read,Bash +ci +configuration$/m)
  const before = readFileSync(path, 'utf8')
  const refused = (...words: string[]) => agent('add', 'other', '--key', 'helper.pub', ...words)
  t.match(await refused('--tier', 'T6'), { code: 125, stderr: /--tier is one of T1, T2, T3, T4, T5/ })
  t.match(await refused('--tools', 'Bush'), { code: 125, stderr: /"Bush" is no tool: the nearest is Bash/ })
  t.equal(readFileSync(path, 'utf8'), before)
})

t.test('edits the file behind a link and keeps its owner', async (t) => {
  const directory = t.testdir({ real: { 'c.json': '{}' } })
  symlinkSync('real/c.json', join(directory, 'c.json'))
  const root = process.geteuid?.() === 0
  if (root) chownSync(join(directory, 'real/c.json'), 65_534, 65_534)
  t.equal((await runMain(directory, ['agent', 'add', 'ci', '--config', 'c.json'])).code, 0)
  t.ok(lstatSync(join(directory, 'c.json')).isSymbolicLink())
  t.match(readFileSync(join(directory, 'real/c.json'), 'utf8'), '"ci"')
  if (root) t.equal(statSync(join(directory, 'real/c.json')).uid, 65_534)
  else t.comment('skipped: only root can give files away')
})

t.test('a directory for keys that is a file is one sentence, and the file stays', async (t) => {
  const directory = t.testdir({ 'c.json': '{}', keys: '' })
  writeFileSync(join(directory, 'c.json'), '{}')
  const run = await runMain(directory, ['agent', 'add', 'ci', '--config', 'c.json'])
  t.match(run, { code: 125, stderr: /keys cannot be made, since .*bring a key with --key/ })
  t.equal(readFileSync(join(directory, 'c.json'), 'utf8'), '{}')
})
