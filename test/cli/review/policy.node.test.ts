import t from 'tap'
import { runMain } from '../run-main.node.ts'

const RULE = {
  id: 'own.remove-data',
  argv: { program: ['rm'], options: ['-r|-R|--recursive'], writes: ['/srv/data/**'] },
  action: 'deny',
  severity: 'high',
  description: 'Removes the collected data.',
  why: 'There is no copy on the device; move it away instead.',
  examples: { match: ['rm -fr /srv/data/2026'], pass: ['rm -r /srv/work', 'ls -r /srv/data'] },
}
const WEAK = {
  ...RULE,
  id: 'own.weak',
  argv: { operands: ['*data*'] },
  examples: { match: ['ls /data'], pass: ['ls'] },
}
const file = (...rules: object[]): string => JSON.stringify({ rules })

t.test('policy test holds rules against their own examples', async (t) => {
  const wrong = { ...RULE, examples: { match: ['rm -r /srv/other'], pass: ['rm -r /srv/data'] } }
  const directory = t.testdir({
    'good.json': file(RULE),
    'bad.json': file(wrong, { ...RULE, id: 'own.other' }),
  })
  const good = await runMain(directory, ['policy', 'test', 'good.json'])
  t.match(good, { code: 0, stdout: '1 rule, 3 examples, all hold\n', stderr: '' })
  const bad = await runMain(directory, ['policy', 'test', 'bad.json'])
  t.equal(bad.code, 1)
  t.equal(
    bad.stdout,
    'own.remove-data: rm -r /srv/other must match and does not; nothing does\n' +
      'own.remove-data: rm -r /srv/data must pass and matches; own.other does too\n' +
      '2 rules, 5 examples, 2 do not hold\n',
  )
  const json = await runMain(directory, ['policy', 'test', 'bad.json', '--json'])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), {
    ok: false,
    rules: 2,
    examples: 5,
    failures: [
      { rule: 'own.remove-data', kind: 'match', example: 'rm -r /srv/other', matched: [] },
      { rule: 'own.remove-data', kind: 'pass', matched: ['own.other', 'own.remove-data'] },
    ],
  })
})

t.test('policy lint tells weak rules', async (t) => {
  const directory = t.testdir({ 'good.json': file(RULE), 'weak.json': file(RULE, WEAK) })
  t.match(await runMain(directory, ['policy', 'lint', 'good.json']), {
    code: 0,
    stdout: '1 rule, 0 warnings\n',
  })
  const weak = await runMain(directory, ['policy', 'lint', 'weak.json'])
  t.equal(weak.code, 1)
  t.match(weak.stdout, /^warning own\.weak names no program .*\n2 rules, 1 warning\n$/)
  const json = await runMain(directory, ['policy', 'lint', 'weak.json', '--json'])
  t.match(JSON.parse(json.stdout), { ok: false, findings: [{ rule: 'own.weak', level: 'warning' }] })
})

t.test('without a file it is the rules that ship, and their examples hold', async (t) => {
  const run = await runMain(t.testdir({}), ['policy', 'test', '--json'])
  t.match(JSON.parse(run.stdout), { ok: true, file: /default-rules\.json$/, failures: [] })
  t.equal(run.code, 0)
})

t.test('a file with problems and a wrong word are 125', async (t) => {
  const directory = t.testdir({ 'bad.json': file({ ...RULE, action: 'denny', why: undefined }) })
  const bad = await runMain(directory, ['policy', 'lint', 'bad.json'])
  t.equal(bad.code, 125)
  t.match(
    bad.stdout,
    /^rules\[0\]\.action is "denny".*\(did you mean deny\?\)\nrules\[0\]\.why is missing .*\n$/,
  )
  t.match(bad.stderr, /^sass-edge: bad\.json has 2 problems, so none of its rules can be used/)
  const json = await runMain(directory, ['policy', 'test', 'bad.json', '--json'])
  t.match(JSON.parse(json.stdout), {
    ok: false,
    problems: [{ path: 'rules[0].action' }, { path: 'rules[0].why' }],
  })
  t.match(await runMain(directory, ['policy', 'test', 'none.json']), {
    code: 125,
    stderr: /it does not exist/,
  })
  t.match(await runMain(directory, ['policy']), {
    code: 125,
    stderr: /policy needs to be told what to do: explain or lint or test/,
  })
  t.match(await runMain(directory, ['policy', 'tset']), { code: 125, stderr: /did you mean test\?/ })
  t.match(await runMain(directory, ['policy', 'test', 'a', 'b']), { code: 125, stderr: /one word too many/ })
})
