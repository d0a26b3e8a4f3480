/**
 * The files of a device in a repository: `sass-edge check --files` by the hook and the line of a pipeline that
 * docs/operations.md has. Git is the real one, and so is each commit that it refuses.
 * @module
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import {
  configPath,
  environment,
  install,
  type Json,
  PROGRAM,
  type Result,
  ROOT,
  runProgram,
  temporary,
} from './daemon.node.ts'
import { sha256Of } from './planned.node.ts'

t.setTimeout(120_000)

const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const section = page.slice(page.indexOf('## At each commit'), page.indexOf('## Moving files'))
/** The blocks of the page, without their indent. */
const blocks = section
  .split(/\n(?! {4})/)
  .map((block) => block.split('\n').slice(1).join('\n').replace(/^ {4}/gm, ''))
const HOOK = blocks.find((block) => block.startsWith('#!/bin/sh')) ?? ''
const PIPELINE = blocks.find((block) => block.includes('--json')) ?? ''

const RULE = {
  ...{ id: 'own.brew', argv: { program: ['brew'] }, action: 'deny', severity: 'high' },
  ...{ description: 'Coffee is made.', why: 'This device makes none.' },
  examples: { match: ['brew now'], pass: ['tea now'] },
}
const MANIFEST = {
  ...{ name: 'meter', version: '1', executable: '/usr/local/bin/meter', argv: [], tier: 'T1' },
  args_schema: { type: 'object', properties: {}, additionalProperties: false },
  permissions: ['fs:read'],
}

type Repository = {
  readonly directory: string
  readonly path: (name: string) => string
  /** The value in a file is changed. */
  readonly change: (name: string, change: Json) => void
  readonly run: (command: string) => Promise<Result>
}

/** A repository with one commit, and the hook of the page. */
async function repository(t: Test): Promise<Repository> {
  const directory = temporary(t)
  const bin = join(directory, 'bin')
  const path = (name: string) => join(directory, 'repository', name)
  const write = (name: string, text: string) => {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), text)
  }
  const run = (command: string) =>
    runProgram('/bin/sh', ['-c', command], {
      cwd: path('.'),
      env: {
        ...environment(directory),
        ...{ PATH: `${dirname(PROGRAM)}:${process.env['PATH']}`, GIT_CONFIG_NOSYSTEM: '1' },
        ...{
          GIT_AUTHOR_NAME: 'a',
          GIT_AUTHOR_EMAIL: 'a@x',
          GIT_COMMITTER_NAME: 'a',
          GIT_COMMITTER_EMAIL: 'a@x',
        },
      },
    })
  mkdirSync(bin)
  write('rules.json', JSON.stringify({ rules: [RULE] }))
  for (const name of ['meter', 'valve']) {
    write(`root/usr/local/bin/${name}`, `#!/bin/sh\necho ${name}\n`)
    chmodSync(path(`root/usr/local/bin/${name}`), 0o755)
  }
  const sha256 = (name: string) => sha256Of(path(name))
  write('tools/meter.tool.json', JSON.stringify({ ...MANIFEST, sha256: sha256('root/usr/local/bin/meter') }))
  const { agents } = JSON.parse(readFileSync(configPath(await install(t)), 'utf8'))
  const valve = { path: '/usr/local/bin/valve', sha256: sha256('root/usr/local/bin/valve') }
  write(
    'sass.edge.json',
    JSON.stringify({
      agents,
      policy: { rules_file: 'rules.json', rules_sha256: sha256('rules.json') },
      security: { executables: [valve] },
      intent: { tools: 'tools', grants: { meter: ['fs:read'] } },
    }),
  )
  const change = (name: string, change: Json) =>
    writeFileSync(path(name), JSON.stringify({ ...JSON.parse(readFileSync(path(name), 'utf8')), ...change }))
  await run('git init -q .')
  writeFileSync(path('.git/hooks/pre-commit'), HOOK, { mode: 0o755 })
  return { directory, path, change, run }
}

/** What is wrong with each, what is said of it, and of which check. */
const WRONGS: readonly (readonly [string, (files: Repository) => void, string, RegExp])[] = [
  [
    'agents: a key that is none',
    ({ change }) => change('sass.edge.json', { agents: [{ name: 'a', tear: 'T1' }] }),
    'agents[0].tear',
    /is not a known key/,
  ],
  [
    'tools: a manifest that is wrong',
    ({ change }) => change('tools/meter.tool.json', { tier: 'T9' }),
    'intent.tools',
    /tier must be one of/,
  ],
  [
    'tools: what is not granted',
    ({ change }) => change('tools/meter.tool.json', { permissions: ['fs:read', 'network:http'] }),
    'intent.tools',
    /intent\.grants\.meter does not give that/,
  ],
  [
    'a script of a tool that is another one',
    ({ path }) => writeFileSync(path('root/usr/local/bin/meter'), '#!/bin/sh\necho other\n'),
    'intent.tools',
    /is not the file of that sha256/,
  ],
  [
    'a pinned program that is another one',
    ({ path }) => writeFileSync(path('root/usr/local/bin/valve'), '#!/bin/sh\necho other\n'),
    'security.executables[0]',
    /so it would not run/,
  ],
  [
    'rules that changed without their mark',
    ({ change }) => change('rules.json', { rules: [{ ...RULE, severity: 'low' }] }),
    'policy.rules_sha256',
    /pins other rules/,
  ],
  [
    'rules without a mark',
    ({ change }) => change('sass.edge.json', { policy: { rules_file: 'rules.json' } }),
    'policy.rules_sha256',
    /have no mark/,
  ],
  [
    'a rule without its reason',
    ({ change }) => change('rules.json', { rules: [{ ...RULE, why: undefined }] }),
    'policy.rules_file',
    /why/,
  ],
  [
    'a rule that does not hold against its example',
    ({ change }) => change('rules.json', { rules: [{ ...RULE, argv: { program: ['boil'] } }] }),
    'policy.rules_file',
    /the example "brew now" of own\.brew does not match/,
  ],
]

t.test(
  'a commit and a pipeline stop on what is wrong with the files of a device, whatever it is (JF-018, JF-024, JF-049, JF-069)',
  async (t) => {
    t.ok(HOOK.includes('check --config') && PIPELINE.includes('--json'), 'the page has both')
    const files = await repository(t)
    const { run } = files
    const first = await run('git add . && git commit -qm first')
    t.equal(first.code, 0, `${first.stdout}${first.stderr}`)
    const sound = await run(PIPELINE)
    t.match([sound.code, JSON.parse(sound.stdout.toString())], [0, { ok: true }])
    for (const [name, wrong, check, says] of WRONGS) {
      wrong(files)
      const { code, stdout } = await run(PIPELINE)
      const { ok, problems = [], findings } = JSON.parse(stdout.toString())
      t.strictSame([code, ok], [125, false], `${name}: a pipeline stops`)
      const told = [...problems, ...findings.filter((one: Json) => !one['ok'])].map(
        ({ check, path, detail, problem }) => ({ check: check ?? path, says: detail ?? problem }),
      )
      t.match(
        told.find((one) => one.check === check),
        { says },
        name,
      )
      const refused = await run('git commit -qam wrong')
      t.not(refused.code, 0, `${name}: no commit`)
      t.match(`${refused.stdout}${refused.stderr}`, says)
      t.equal((await run('git log --oneline')).stdout.toString().trim().split('\n').length, 1)
      await run('git reset -q --hard')
    }
    // What is not about to be committed does not count, and a program of the device alone is a warning.
    writeFileSync(files.path('rules.json'), 'not committed')
    // Git sends what a hook writes to its standard error.
    const other = await run('git rm -q root/usr/local/bin/valve && git commit -qm second')
    t.equal(other.code, 0, `${other.stderr}`)
    t.match(other.stderr, /^warning security\.executables\[0\]: .*is not there/m)
  },
)
