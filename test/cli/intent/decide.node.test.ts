import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { candidate, notify, OBSERVED } from '../../intent/proposals/ground.node.ts'
import { runMain } from '../run-main.node.ts'

const bundle = (candidates: unknown, more: object = {}) =>
  JSON.stringify({ observations: OBSERVED, candidates, ...more })
const decide = (directory: string, ...words: string[]) => runMain(directory, ['decide', ...words])

t.test(
  'a file of proposals is decided without a daemon, and the exit code says how (RX-27, RX-42, RX-43)',
  async (t) => {
    const exit = candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' } })
    const directory = t.testdir({
      'action.json': bundle([candidate()]),
      'refuse.json': bundle([candidate({ cite: [] })]),
      'exit.json': bundle([exit]),
      'text.json': bundle(JSON.stringify([candidate()])),
    })
    const action = await decide(directory, 'action.json')
    t.match(action, { code: 0, stderr: '' })
    t.match(action.stdout, /^ACTION {2}Notify {2}warrant 0417a3169f0283b9/)
    t.match(await decide(directory, 'refuse.json'), {
      code: 1,
      stdout:
        /^REFUSE {2}NO_ADMISSIBLE_ACTION {2}at authority_citation\n.*\n {2}fail {2}authority_citation .* CITATION_UNRESOLVABLE/,
    })
    t.match(await decide(directory, 'exit.json'), { code: 2, stdout: /^EXIT {2}USER_REQUESTED/ })
    const told = JSON.parse((await decide(directory, 'text.json', '--json')).stdout)
    t.match(told, {
      decision: 'ACTION',
      cycle: 0,
      artifact: { type: 'ExecutionWarrant', single_use: true },
      bundle: { action_request: { author: 'reflection' } },
      admission: { length: 5 },
      selection: { type: 'selection_event' },
      state_hash: /^[0-9a-f]{64}$/,
    })
  },
)

t.test('logs that cannot be made are one sentence', { timeout: 20_000 }, async (t) => {
  const directory = t.testdir({ 'p.json': bundle([candidate()]) })
  t.match(await decide(directory, 'p.json', '--logs', '/proc/x'), {
    code: 125,
    stderr: /^sass-edge: The log \/proc\/x cannot be used, since nothing can be made in \/proc: name another/,
  })
})

t.test('an empty stdin is no terminal', async (t) => {
  t.match(await decide(t.testdir({}), '--stdin'), {
    code: 125,
    stderr: /stdin are not decided, since it is no JSON/,
  })
})

t.test('what holds no logs of a run is not decided once more', async (t) => {
  const directory = t.testdir({ empty: {} })
  for (const [place, what] of [
    ['nosuch', 'is no directory'],
    ['empty', 'holds no logs of a run'],
    ['/etc', 'holds no logs of a run'],
  ] as const) {
    const run = await decide(directory, '--replay', place)
    t.match(run, { code: 125, stdout: '' }, place)
    t.ok(run.stderr.startsWith(`sass-edge: ${place} ${what}, so there is nothing`), run.stderr)
  }
})

t.test('paths are looked up below the directory, through links (RX-16, RX-30)', async (t) => {
  const directory = t.testdir({ workspace: { a: 'x' }, outside: { secret: 'x' }, logs: {} })
  symlinkSync('../outside/secret', join(directory, 'workspace/link'))
  symlinkSync('../outside/none', join(directory, 'workspace/dangling'))
  symlinkSync('a', join(directory, 'workspace/inside'))
  const code = async (type: string, path: string) => {
    const content = type === 'WriteLocal' ? { content: 'x' } : {}
    writeFileSync(join(directory, 'p.json'), bundle([candidate({ type, fields: { path, ...content } })]))
    return (await decide(directory, 'p.json')).code
  }
  for (const path of ['./workspace/a', './workspace/inside']) t.equal(await code('ReadLocal', path), 0, path)
  t.equal(await code('WriteLocal', './workspace/new'), 0)
  for (const path of [
    './workspace/link',
    './workspace/dangling',
    './workspace/none/x',
    '/etc/passwd',
    './logs/x',
  ])
    t.equal(await code('ReadLocal', path), 1, path)
  t.equal(
    await code('WriteLocal', './workspace/dangling'),
    1,
    'nothing is made through a link that leads nowhere',
  )
})

t.test(
  'cycles become a run in five logs, of which every one is decided once more (RX-33, RX-36, RX-05)',
  async (t) => {
    const directory = t.testdir({
      'a.json': bundle([notify('one'), notify('two')]),
      'b.json': bundle([candidate({ claim: null })]),
      'exit.json': bundle([candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' } })]),
      'nine.json': bundle([candidate()], { cycle: 9 }),
    })
    for (const name of ['a', 'b', 'a'])
      t.ok(Number((await decide(directory, `${name}.json`, '--logs', 'run')).code) < 2)
    t.strictSame(readdirSync(join(directory, 'run')).sort(), [
      'admission_trace.jsonl',
      'artifacts.jsonl',
      'execution_trace.jsonl',
      'observations.jsonl',
      'selector_trace.jsonl',
    ])
    t.match(await decide(directory, '--replay', 'run'), { code: 0, stdout: /^3 cycles come out as logged/ })
    t.match(await decide(directory, 'nine.json', '--logs', 'run'), {
      code: 125,
      stderr: /next cycle .* is 3 and not 9/,
    })
    t.equal((await decide(directory, 'exit.json', '--logs', 'run')).code, 2)
    t.match(await decide(directory, 'a.json', '--logs', 'run'), {
      code: 125,
      stderr: /has ended with an exit/,
    })
    const path = join(directory, 'run/artifacts.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').replace('one', 'won'))
    t.match(await decide(directory, '--replay', 'run'), {
      code: 1,
      stdout: /^differs: line \d+ of cycle 0 in artifacts/,
    })
    t.match(await decide(directory, 'a.json', '--logs', 'run'), { code: 125, stderr: /is not continued/ })
  },
)

t.test(
  'without the right constitution nothing is decided, and a hash file alone proves nothing (RX-01)',
  async (t) => {
    const source = join(import.meta.dirname, '../../../policy/constitution/proposals.v0.1.1.json')
    const text = readFileSync(source, 'utf8')
    const loose = text.replace('"max_len": 2000', '"max_len": 9000')
    const hash = createHash('sha256').update(loose).digest('hex')
    const directory = t.testdir({
      'p.json': bundle([candidate()]),
      'same.json': text,
      'same.json.sha256': readFileSync(`${source}.sha256`, 'utf8'),
      'bare.json': text,
      'loose.json': loose,
      'loose.json.sha256': `${hash}  loose.json\n`,
    })
    const by = (...words: string[]) => decide(directory, 'p.json', '--constitution', ...words)
    t.equal((await by('same.json')).code, 0)
    t.match(await by('bare.json'), { code: 125, stdout: '', stderr: /the file of its hash is not there/ })
    t.match(await by('loose.json'), { code: 125, stdout: '', stderr: /not the pinned/ })
    t.match(await by('none.json'), { code: 125, stderr: /does not exist/ })
    t.equal((await by('loose.json', '--pin', hash)).code, 0, 'who pins another one means it')
  },
)

t.test('what is no file of proposals is said, and a pipe is read', async (t) => {
  const directory = t.testdir({
    'list.json': '[]',
    'more.json': '{"observations": [], "rules": []}',
    'cycle.json': '{"observations": [], "cycle": -1}',
    'paths.json': '{"observations": [], "paths": {"a": 1}}',
    'twice.json': '{"observations": [], "observations": []}',
    'p.json': bundle([candidate()]),
  })
  t.match(await decide(directory, 'none.json'), {
    ...{ code: 125, stdout: '' },
    stderr: /none\.json cannot be read, since it does not exist/,
  })
  for (const name of ['list', 'more', 'cycle', 'paths', 'twice'])
    t.match(
      await decide(directory, `${name}.json`),
      { code: 125, stdout: '', stderr: /are not decided, since/ },
      name,
    )
  t.match(await decide(directory), { code: 125, stderr: /takes one of/ })
  t.match(await decide(directory, 'p.json', '--stdin'), { code: 125, stderr: /takes one of/ })
  const main = join(import.meta.dirname, '../../../src/main.ts')
  const piped = spawnSync(process.execPath, [main, 'decide', '--stdin'], {
    cwd: directory,
    input: readFileSync(join(directory, 'p.json')),
    encoding: 'utf8',
  })
  t.match(piped, { status: 0, stdout: /^ACTION {2}Notify/ })
})
