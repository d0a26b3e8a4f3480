import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const script = join(import.meta.dirname, '../../build/conformance.node.ts')
const list = JSON.stringify({
  sources: { SS: 'A document' },
  rows: [{ id: 'SS-04', class: 'D', says: 'It does.', where: ['src/edge'], pure: 'part' }],
})
const tap = (name: string) =>
  `# Subtest: test/a.test.ts\n    # Subtest: ${name}\n        ok 1 - x\n    ok 1 - ${name}\nok 1 - test/a.test.ts\n`

function runIn(root: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('writes the report of the last test run', async (t) => {
  const root = t.testdir({
    docs: { 'conformance.json': list },
    '.tap': { 'results.tap': tap('does it (SS-04)') },
  })
  t.match(runIn(root), { status: 0, stdout: '1 proven, 0 open\n', stderr: '' })
  const report = readFileSync(join(root, 'docs/conformance.md'), 'utf8')
  t.match(report, '| SS-04 `D` | It does. | `src/edge` | `test/a.test.ts`: does it | proven, `part` |\n')
})

t.test('refuses without test results and says to run npm test first', async (t) => {
  const root = t.testdir({ docs: { 'conformance.json': list } })
  const { status, stderr } = runIn(root)
  t.equal(status, 1)
  t.match(stderr, /^conformance: There are no test results at .*results\.tap; run npm test first\.\n$/)
  t.notOk(existsSync(join(root, 'docs/conformance.md')))
})

t.test(
  'refuses a run that bailed out, a list that is not JSON or not well formed, and no list',
  async (t) => {
    const results = { 'results.tap': `${tap('does it (SS-04)')}Bail out! no disk\n` }
    t.match(runIn(t.testdir({ docs: { 'conformance.json': list }, '.tap': results })), {
      status: 1,
      stderr: /no disk/,
    })
    t.match(runIn(t.testdir({ docs: { 'conformance.json': '{' } })), { status: 1, stderr: /is not a list/ })
    const twice = JSON.stringify({ sources: {}, rows: [{}] })
    t.match(runIn(t.testdir({ docs: { 'conformance.json': twice } })), {
      status: 1,
      stderr: /rows\[0\]\.says/,
    })
    t.match(runIn(t.testdir({})), { status: 1, stderr: /cannot be read/ })
  },
)

t.test('writes the report and fails where the list and the tests say different things', async (t) => {
  const root = t.testdir({
    docs: { 'conformance.json': list },
    '.tap': { 'results.tap': tap('else (SS-05)') },
  })
  t.match(runIn(root), { status: 1, stdout: '0 proven, 1 open\n', stderr: /SS-04 has no test/ })
  t.ok(existsSync(join(root, 'docs/conformance.md')))
})

t.test('writes the report and fails where a test names a row that is not in the list', async (t) => {
  const root = t.testdir({
    docs: { 'conformance.json': list },
    '.tap': { 'results.tap': tap('does it (SS-04, SS-05)') },
  })
  t.match(runIn(root), { status: 1, stdout: '1 proven, 0 open\n', stderr: /Tests name SS-05, which/ })
})
