import t, { type Test } from 'tap'
import { runFiles } from '../../build/run-files.node.ts'
import { createTapSummary } from '../../build/tap-summary.ts'

const LIMITS = { seconds: 60, killSeconds: 70 }

const files = (text: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(text).map(([name, code]) => [`${name}.test.ts`, `import t from 'tap'\n${code}\n`]),
  )

/** The TAP of files that run one after the other, and what a person is told of it. */
async function run(t: Test, text: Readonly<Record<string, string>>, limits = LIMITS) {
  const cwd = t.testdir(files(text))
  const lines: string[] = []
  const names = Object.keys(text).map((name) => `${name}.test.ts`)
  await runFiles([{ files: names, jobs: 1 }], { cwd, env: process.env, ...limits }, (line) =>
    lines.push(line),
  )
  const summary = createTapSummary()
  const shown = lines.flatMap((line) => summary.line(line))
  return { lines, shown, counts: summary.counts() }
}

t.test('what files say is one document, with their points as they are', async (t) => {
  const { lines, counts } = await run(t, {
    one: `t.test('a # name', async (t) => { t.ok(true, 'inner') })\nt.comment('skipped: nothing')`,
    two: `t.pass('bare')`,
  })
  t.strictSame(
    lines
      .map((line) => line.replace(/ # time=[\d.]+ms$/, ''))
      .filter((line) => !/^ *(# (time=|\{).*)?$/.test(line)),
    [
      'TAP version 14',
      '# Subtest: one.test.ts',
      '    # Subtest: a \\# name',
      '        ok 1 - inner',
      '        1..1',
      '    ok 1 - a \\# name',
      '    # skipped: nothing',
      '    1..1',
      'ok 1 - one.test.ts',
      '# Subtest: two.test.ts',
      '    ok 1 - bare',
      '    1..1',
      'ok 2 - two.test.ts',
      '1..2',
    ],
  )
  t.strictSame(counts, { passed: 2, failed: 0, skipped: 0, skips: ['one.test.ts > skipped: nothing'] })
})

t.test('what fails, crashes, is killed, or says too little is not ok', async (t) => {
  const wrong = {
    fails: `t.equal(1, 2, 'wrong')`,
    throws: `t.test('x', () => { throw new Error('no') })`,
    exits: `process.exit(1)`,
    unfinished: `t.test('begun', async () => { t.pass(); process.exit(0) })`,
    killed: `t.pass('x')\nprocess.kill(process.pid, 'SIGKILL')\nawait new Promise(() => {})`,
    leaves: `process.reallyExit(0)`,
    few: `t.plan(2)\nt.pass('x')`,
    code: `t.pass('x')\nprocess.on('exit', () => { process.exitCode = 3 })`,
  }
  for (const [name, code] of Object.entries(wrong)) {
    const { counts, shown } = await run(t, { [name]: code })
    t.ok(counts.failed > 0, `${name}: ${JSON.stringify(counts)}`)
    t.ok(
      shown.some((line) => line.startsWith(`FAIL ${name}.test.ts`)),
      shown.join('\n'),
    )
  }
})

t.test('what hangs is ended, and what cannot be ended so is killed', async (t) => {
  const asleep = await run(
    t,
    { asleep: `t.test('waits', () => new Promise(() => setInterval(() => {}, 1000)))` },
    { ...LIMITS, seconds: 1 },
  )
  t.ok(asleep.counts.failed > 0)
  t.match(asleep.lines.join('\n'), /not ok \d+ - timeout!/, 'tap says that it hung')
  t.match(asleep.lines.join('\n'), /signal: SIGALRM|exitCode: 1/, 'and it is not killed')
  const busy = await run(t, { busy: 'for (;;);' }, { seconds: 1, killSeconds: 3 })
  t.match(busy.shown.join('\n'), /FAIL busy.test.ts(.|\n)*signal: SIGKILL/)
})

t.test('a file without tests is skipped with its reason', async (t) => {
  const { counts } = await run(t, { none: `t.plan(0, 'no such machine')` })
  t.strictSame(counts, { passed: 0, failed: 0, skipped: 1, skips: ['none.test.ts: no such machine'] })
})

t.test('lanes run beside each other, each with as many as it may, in their order', async (t) => {
  // The first two wait for each other, and the second for the third, which comes when the first has ended.
  const marks = `import { existsSync, writeFileSync } from 'node:fs'
const sees = async (name: string) => { while (!existsSync(name)) await new Promise((done) => setTimeout(done, 5)) }`
  const cwd = t.testdir(
    files({
      a: `${marks}\nwriteFileSync('a', '')\nawait sees('b')\nt.pass()\nprocess.on('exit', () => writeFileSync('a-over', ''))`,
      b: `${marks}\nwriteFileSync('b', '')\nawait sees('a')\nawait sees('c')\nt.pass()`,
      c: `${marks}\nt.ok(existsSync('a-over'), 'one at once')\nwriteFileSync('c', '')`,
      d: `t.pass()`,
    }),
  )
  const lines: string[] = []
  const lanes = [
    { files: ['a.test.ts', 'c.test.ts'], jobs: 1 },
    { files: ['b.test.ts', 'd.test.ts'], jobs: 2 },
  ]
  await runFiles(lanes, { cwd, env: process.env, ...LIMITS }, (line) => lines.push(line))
  t.strictSame(
    lines
      .map((line) => /^((?:not )?ok) \d+ - (\S+)/.exec(line))
      .flatMap((match) => (match === null ? [] : [`${match[1]} ${match[2]}`]))
      .sort(),
    ['ok a.test.ts', 'ok b.test.ts', 'ok c.test.ts', 'ok d.test.ts'],
  )
})
