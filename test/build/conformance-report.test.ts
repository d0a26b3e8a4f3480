import fc from 'fast-check'
import t from 'tap'
import type { RequirementList } from '../../build/conformance-list.ts'
import type { TestResult } from '../../build/conformance-report.ts'
import { parseTap, renderReport } from '../../build/conformance-report.ts'

/** As tap 21 wrote it, shortened: a file with every kind of outcome, then a skipped file and a crashed one. */
const TAP = String.raw`# Subtest: test/a.test.ts
    # Subtest: passes (SS-04)
        ok 1 - should be equal
        ok 2 - named \# odd
        1..2
    ok 1 - passes (SS-04) # time=2.029ms
    
    # Subtest: fails here (SS-05)
        not ok 1 - should be equal
          ---
          compare: ===
          source: |
            ok 7 - a line of the source (SS-06)
            # Subtest: in the source
          diff: |
            --- expected
            +++ actual
          ...
        
        1..1
    not ok 2 - fails here (SS-05) # time=10.451ms
      ---
      source: >
        ok 8 - another line
      ...
    
    ok 3 - skipped one (SS-06) # SKIP no tool
    not ok 4 - still missing (SS-07) # TODO later
    # Subtest: outer (SS-08)
        # Subtest: inner with \# hash and \\ backslash (SS-09, SS-10)
            ok 1 - fine
            1..1
        ok 1 - inner with \# hash and \\ backslash (SS-09, SS-10) # time=1.498ms
        
        # Subtest: nothing in it (SS-11)
            1..0
        ok 2 - nothing in it (SS-11) # time=0.145ms
        
        # Subtest: only a skipped assertion (SS-12)
            ok 1 - nope # SKIP
            1..1
        ok 3 - only a skipped assertion (SS-12) # time=0.316ms
        
        # Subtest: without its data (SS-13)
            # skipped: ../shared/vectors/zstd is not here
            ok 1 - (unnamed test)
            1..1
        ok 4 - without its data (SS-13) # time=0.3ms
        
        1..4
    ok 5 - outer (SS-08) # time=3.182ms
    
    ok 6 - a bare assertion (SS-14)
    ok 1 - printed by the tested program
    # Subtest: prints (SS-15)
        ok 1 - x
        1..1
    ok 7 - prints (SS-15) # time=0.4ms
    
    1..7
    # time=26.904ms
not ok 1 - test/a.test.ts # time=26.904ms
  ---
  exitCode: 1
  ...

# Subtest: test/d.test.ts
    1..0 # whole file skipped (SS-16)
ok 2 - test/d.test.ts # SKIP whole file skipped (SS-16)

# Subtest: test/e.test.ts
    # Subtest: kills itself (SS-17)
        ok 1 - a
        not ok 2 - test unfinished
          ---
          test: kills itself (SS-17)
          ...
        
        1..2
    1..0 # no tests found
not ok 3 - test/e.test.ts # time=14.268ms

# { total: 16, pass: 9 }
`

t.test('the tests of a run are told with file, name and outcome', async (t) => {
  const { tests, bailedOut } = parseTap(TAP)
  t.equal(bailedOut, undefined)
  t.strictSame(
    tests.map((test) => `${test.outcome} ${test.file} ${test.name}`),
    [
      'passed test/a.test.ts passes (SS-04)',
      'failed test/a.test.ts fails here (SS-05)',
      'skipped test/a.test.ts skipped one (SS-06)',
      'todo test/a.test.ts still missing (SS-07)',
      'passed test/a.test.ts inner with # hash and \\ backslash (SS-09, SS-10)',
      'skipped test/a.test.ts nothing in it (SS-11)',
      'skipped test/a.test.ts nope',
      'skipped test/a.test.ts only a skipped assertion (SS-12)',
      'skipped test/a.test.ts without its data (SS-13)',
      'passed test/a.test.ts outer (SS-08)',
      'passed test/a.test.ts prints (SS-15)',
      'failed test/e.test.ts kills itself (SS-17)',
    ],
  )
})

t.test('a test whose run was cut off has failed', async (t) => {
  const cut = TAP.slice(0, TAP.indexOf('        ok 2 - named'))
  t.strictSame(parseTap(cut).tests, [{ file: 'test/a.test.ts', name: 'passes (SS-04)', outcome: 'failed' }])
  const inDiagnostics = TAP.slice(0, TAP.indexOf('          diff:'))
  t.strictSame(
    parseTap(inDiagnostics).tests.map((test) => test.outcome),
    ['passed', 'failed'],
  )
})

t.test('a run that bailed out says so', async (t) => {
  t.equal(parseTap(`${TAP}Bail out! no disk\n`).bailedOut, 'no disk')
  t.equal(parseTap('Bail out!').bailedOut, '')
})

t.test(
  'any text whatever is read without an error, and no test passes without a passing assertion',
  async (t) => {
    const line = fc.constantFrom(
      '# Subtest: a',
      'ok 1 - a',
      'not ok 1 - a',
      'ok 2 - a # SKIP',
      'not ok 3 - a # TODO',
      '---',
      '...',
      '# skipped: b',
      '1..1',
      'Bail out! c',
    )
    const indented = fc.tuple(fc.nat({ max: 12 }), fc.oneof(line, fc.string()))
    fc.assert(
      fc.property(fc.array(indented, { maxLength: 40 }), (lines) => {
        const text = lines.map(([indent, body]) => ' '.repeat(indent) + body).join('\n')
        const passed = parseTap(text).tests.filter((test) => test.outcome === 'passed')
        const assertions = text.split('\n').filter((one) => /^ *ok\b/.test(one))
        return passed.length < Math.max(1, assertions.length)
      }),
      { numRuns: 300 },
    )
    t.pass('300 texts')
  },
)

const list: RequirementList = {
  sources: { SS: 'First | document', JF: 'Second document' },
  rows: [
    {
      id: 'SS-04',
      class: 'D',
      says: 'A *.key stays `here` | always <b> C:\\x.',
      where: ['src/edge', 'docs'],
      needs: ['quota.queue'],
    },
    { id: 'SS-05', class: '', says: 'Five.', where: ['docs'], note: 'Informative.', open: 'not applicable' },
    {
      ...({
        id: 'JF-020',
        class: 'H→',
        says: 'Twenty.',
        where: ['src/session'],
        surrogate: 'Less.',
      } as const),
      pure: 'cases',
    },
  ],
}
const test = (
  name: string,
  outcome: TestResult['outcome'] = 'passed',
  file = 'test/a.test.ts',
): TestResult => ({
  file,
  name,
  outcome,
})
/** The line of the report for a row. */
const rowLine = (tests: readonly TestResult[], id: string) =>
  renderReport(list, tests)
    .markdown.split('\n')
    .find((line) => line.startsWith(`| ${id}`))

t.test(
  'a row is proven by a passing test that names it, and the text of the list is kept as text',
  async (t) => {
    const report = renderReport(list, [test('keeps keys (SS-04, JF-020)')])
    t.equal(report.proven, 2)
    t.equal(report.open, 1)
    t.strictSame(report.unknownIds, [])
    t.equal(
      rowLine([test('keeps keys (SS-04, JF-020)')], 'SS-04'),
      '| SS-04 `D` | A \\*.key stays \\`here\\` \\| always &lt;b> C:\\\\x.<br>Needs: `quota.queue` | `src/edge`, `docs` | `test/a.test.ts`: keeps keys | proven |',
    )
    t.equal(
      rowLine([], 'SS-05'),
      '| SS-05 | Five.<br>Note: Informative. | `docs` |  | open: not applicable |',
    )
    t.equal(rowLine([], 'JF-020'), '| JF-020 `H→` | Twenty.<br>Instead: Less. | `src/session` |  | open |')
    t.match(
      report.markdown,
      '| SS | First \\| document | 2 | 1 | 1 |\n| JF | Second document | 1 | 1 | 0 |\n| | all | 3 | 2 | 1 |',
    )
  },
)

t.test(
  'skipped tests and tests marked as missing prove nothing, and one failing test keeps a row open',
  async (t) => {
    t.equal(renderReport(list, [test('a (SS-04)', 'skipped'), test('b (SS-05)', 'todo')]).proven, 0)
    const tests = [test('works (SS-04)'), test('breaks (SS-04)', 'failed')]
    t.equal(renderReport(list, tests).proven, 0)
    t.match(rowLine(tests, 'SS-04'), 'failed: `test/a.test.ts`: breaks<br>`test/a.test.ts`: works | open |')
  },
)

t.test('a row shows three passing tests and counts the others', async (t) => {
  const tests = ['a', 'b', 'c', 'd', 'e'].map((name) => test(`${name} (SS-04)`))
  t.match(
    rowLine(tests, 'SS-04'),
    ': a<br>`test/a.test.ts`: b<br>`test/a.test.ts`: c<br>and 2 more | proven |',
  )
  t.match(rowLine(tests.slice(0, 3), 'SS-04'), ': c | proven |')
})

t.test('the report does not depend on the order in which files ran', async (t) => {
  const first = [test('one (SS-04)'), test('two (SS-04)')]
  const second = [test('three (SS-04)', 'passed', 'test/b.test.ts')]
  t.equal(
    renderReport(list, [...first, ...second]).markdown,
    renderReport(list, [...second, ...first]).markdown,
  )
})

t.test('ids that a test names and the list does not have are told', async (t) => {
  const tests = [test('a (SS-06, SS-04)'), test('b (OS-01)', 'failed')]
  t.strictSame(renderReport(list, tests).unknownIds, ['OS-01', 'SS-06'])
})

t.test('a row that says why it is open stays open, whatever passes', async (t) => {
  const rows = [{ id: 'SS-04', class: 'D', says: 'S.', where: ['docs'] }] as const
  const part = { ...rows[0], open: 'in part', missing: 'The rest.' } as const
  const report = renderReport({ sources: { SS: 'x' }, rows: [part] }, [test('a (SS-04)')])
  t.equal(report.proven, 0)
  t.match(report.markdown, 'S.<br>Missing: The rest. | `docs` | `test/a.test.ts`: a | open: in part |')
  t.match(report.markdown, 'Open rows: 0 not built, 1 in part, 0 not tested, 0 not applicable.')
})

t.test('what the list says of a row and what its tests do must be the same', async (t) => {
  const told = (change: object, ...tests: readonly TestResult[]) => {
    const row = { id: 'SS-04', class: 'D', says: 'S.', where: ['docs'], ...change } as const
    return renderReport({ sources: { SS: 'x' }, rows: [row] }, tests).contradictions
  }
  const pure = test('a (SS-04)')
  const whole = test('b (SS-04)', 'passed', 'test/integration/b.node.test.ts')
  t.strictSame(told({}), ['SS-04 has no test, and does not say why it is open.'])
  for (const open of ['not built', 'not tested', 'not applicable']) {
    t.strictSame(told({ open }), [])
    t.strictSame(told({ open }, pure), [`SS-04 is ${open}, and tests that pass name it.`])
  }
  t.strictSame(told({ open: 'in part', missing: 'It.' }, pure), [])
  t.strictSame(told({}, pure), ['SS-04 is proven without a daemon, and does not say why that is enough.'])
  t.strictSame(told({ pure: 'cases' }, pure), [])
  t.strictSame(told({}, pure, whole), [])
  t.strictSame(told({ pure: 'cases' }, pure, whole), [
    'SS-04 says why no daemon is needed, and a test has one.',
  ])
  t.strictSame(told({}, test('a (SS-04)', 'skipped')), [], 'another machine runs it')
})
