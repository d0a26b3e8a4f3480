import t from 'tap'
import { createTapSummary } from '../../build/tap-summary.ts'

/** What is shown for a document, and its counts. */
function read(document: string): {
  shown: string[]
  counts: ReturnType<ReturnType<typeof createTapSummary>['counts']>
} {
  const summary = createTapSummary()
  const shown = document.split('\n').flatMap((line) => summary.line(line))
  return { shown, counts: summary.counts() }
}

t.test('counts the points at the top level of each file, and shows a line a file', (t) => {
  const { shown, counts } = read(`TAP version 14
1..2
# Subtest: test/a.test.ts
    # Subtest: one
        ok 1 - x
        ok 2 - y
        1..2
    ok 1 - one # time=9.637ms
    ok 2 - bare
    1..2
    # time=118.68ms
ok 1 - test/a.test.ts # time=118.68ms

# Subtest: test/b.test.ts
    ok 1 - three
    1..1
ok 2 - test/b.test.ts # time=1500ms
`)
  t.strictSame(shown, ['ok   test/a.test.ts (2 passed, 0.1 s)', 'ok   test/b.test.ts (1 passed, 1.5 s)'])
  t.strictSame(counts, { passed: 3, failed: 0, skipped: 0, skips: [] })
  t.end()
})

t.test('shows a failure once, where it happened, with its diagnostics', (t) => {
  const { shown, counts } = read(`# Subtest: test/a.test.ts
    # Subtest: outer
        # Subtest: inner
            not ok 1 - should be equal
              ---
              diff: |
                -3
                +4
              ...
            
            1..1
        not ok 1 - inner # time=1ms
          ---
          at: nowhere
          ...
        1..1
    not ok 1 - outer # time=2ms
      ---
      at: nowhere
      ...
    ok 2 - other
    1..2
not ok 1 - test/a.test.ts # time=3ms
  ---
  exitCode: 1
  ...
`)
  t.equal(shown[0], 'not ok: test/a.test.ts > outer > inner > should be equal')
  t.strictSame(
    shown.slice(1, -1).map((line) => line.trim()),
    ['diff: |', '-3', '+4'],
  )
  t.equal(shown.at(-1), 'FAIL test/a.test.ts (1 passed, 1 failed, 0.0 s)')
  t.equal(counts.passed, 1)
  t.equal(counts.failed, 1)
  t.end()
})

t.test('two failures of one file are two', (t) => {
  const { shown, counts } = read(`# Subtest: test/a.test.ts
    not ok 1 - first
      ---
      a: 1
      ...
    not ok 2 - second
    1..2
not ok 1 - test/a.test.ts
`)
  t.strictSame(shown.filter((line) => line.startsWith('not ok')).length, 2)
  t.equal(counts.failed, 2)
  t.end()
})

t.test('a file that crashes, or hangs, is one failed test, and its reason is shown', (t) => {
  const { shown, counts } = read(`# Subtest: test/c.test.ts
    1..0 # no tests found
not ok 1 - test/c.test.ts # time=177.012ms
  ---
  exitCode: 1
  ...

# Subtest: test/d.test.ts
    # Subtest: never ends
        not ok 1 - timeout!
          ---
          expired: TAP
          ...
        1..1
    not ok 1 - never ends # time=3008.78ms
    1..1
not ok 2 - test/d.test.ts # time=3016.385ms

not ok 3 - timeout!
  ---
  expired: test/d.test.ts
  ...
`)
  t.equal(shown[0], 'not ok: test/c.test.ts')
  t.match(shown[1], /^FAIL test\/c.test.ts/)
  t.match(shown[2], /exitCode: 1/)
  t.ok(shown.includes('not ok: test/d.test.ts > never ends > timeout!'))
  t.equal(counts.failed, 3)
  t.equal(counts.passed, 0)
  t.end()
})

t.test('what was skipped is neither passed nor failed, and its reason is kept once', (t) => {
  const { counts } = read(`# Subtest: test/a.test.ts
    # Subtest: vectors
        # skipped: ../shared/vectors/zstd is not here
        # skipped: ../shared/vectors/zstd is not here
        # another comment
        ok 1 - (unnamed test)
        1..1
    ok 1 - vectors
    ok 2 - of another kernel # SKIP no overlay
    ok 3 - bare # SKIP
    1..3
ok 1 - test/a.test.ts
# Subtest: test/b.test.ts
ok 2 - test/b.test.ts # SKIP no tests found
`)
  t.strictSame(counts, {
    passed: 1,
    failed: 0,
    skipped: 3,
    skips: [
      'test/a.test.ts > skipped: ../shared/vectors/zstd is not here',
      'test/a.test.ts > of another kernel: no overlay',
      'test/a.test.ts > bare: no reason given',
      'test/b.test.ts: no tests found',
    ],
  })
  t.end()
})

t.test('a bail out is a failure', (t) => {
  const { shown, counts } = read('Bail out! no disk')
  t.strictSame(shown, ['Bail out! no disk'])
  t.equal(counts.failed, 1)
  t.end()
})

t.test('names keep their hashes, and are not taken for directives', (t) => {
  const { counts, shown } = read(`# Subtest: test/a.test.ts
    not ok 1 - number \\#7 skips nothing
not ok 1 - test/a.test.ts
`)
  t.equal(shown[0], 'not ok: test/a.test.ts > number #7 skips nothing')
  t.equal(counts.failed, 1)
  t.end()
})
