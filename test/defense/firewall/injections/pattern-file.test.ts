import t from 'tap'
import { readInjectionTables } from '../../../../src/defense/firewall/injections/assess.ts'
import { foldTable } from '../../../../src/defense/firewall/injections/fold.ts'
import { INJECTION_PATTERNS, INJECTION_WORDS } from '../../../../src/defense/firewall/injections/limits.ts'
import { readPatterns } from '../../../../src/defense/firewall/injections/pattern-file.ts'
import { shippedJson } from './shipped-tables.ts'

const fold = foldTable()
const pattern = {
  id: 'one',
  severity: 'HIGH',
  technique: 'x',
  language: 'en',
  steps: ['$fruit', 2, 'is|are', 'ripe'],
}
const base = {
  version: 1,
  about: 'x',
  sets: { fruit: 'apple pear' },
  disguised: ['apple'],
  address: ['you'],
  patterns: [pattern],
}

function problemsOf(value: unknown): readonly string[] {
  const read = readPatterns(value, fold)
  return 'ids' in read ? [] : read
}

t.test('the data base that ships is read, with names and severities of its own', (t) => {
  const shipped = readPatterns(shippedJson('injections.json'), fold)
  if (!('ids' in shipped)) return t.fail(shipped.join('\n'))
  t.ok(shipped.ids.length >= 100)
  t.equal(new Set(shipped.ids).size, shipped.ids.length)
  t.ok(shipped.confidences.every((confidence) => [600, 800, 950].includes(confidence)))
  return t.end()
})

t.test('everything that is not as it should be is refused, by its path', (t) => {
  t.strictSame(problemsOf(base), [])
  for (const [change, said] of [
    [null, /must be an object/],
    [[], /must be an object/],
    [{ ...base, version: 0 }, /version must be/],
    [{ ...base, version: 1.5 }, /version must be/],
    [{ ...base, more: 1 }, /patterns\.more is no field/],
    [{ ...base, patterns: [] }, /list of 1 to/],
    [{ ...base, patterns: Array.from({ length: INJECTION_PATTERNS + 1 }, () => pattern) }, /list of 1 to/],
    [{ ...base, patterns: ['x'] }, /patterns\[0\]\.id/],
    [{ ...base, patterns: [pattern, pattern] }, /patterns\[1\]\.id must be a name of its own/],
    [{ ...base, patterns: [{ ...pattern, id: 'A b' }] }, /\.id must be/],
    [{ ...base, patterns: [{ ...pattern, severity: 'LOW' }] }, /CRITICAL, HIGH or MEDIUM/],
    [{ ...base, patterns: [{ ...pattern, severity: 'toString' }] }, /CRITICAL, HIGH or MEDIUM/],
    [{ ...base, patterns: [{ ...pattern, technique: '' }] }, /technique must be/],
    [{ ...base, patterns: [{ ...pattern, language: 1 }] }, /language must be/],
    [{ ...base, patterns: [{ ...pattern, weight: 1 }] }, /patterns\[0\]\.weight is no field/],
    [{ ...base, patterns: [{ ...pattern, steps: [] }] }, /steps must be a list/],
    [
      { ...base, patterns: [{ ...pattern, steps: Array.from({ length: 17 }, () => 'a') }] },
      /steps must be a list/,
    ],
    [{ ...base, patterns: [{ ...pattern, steps: [1, 'a'] }] }, /steps\[0\] must be 1 to/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a', 1] }] }, /steps\[1\] must be 1 to/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a', 33, 'b'] }] }, /steps\[1\] must be 1 to/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a', 0.5, 'b'] }] }, /steps\[1\] must be 1 to/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a', {}] }] }, /steps\[1\] must be a text/],
    [{ ...base, patterns: [{ ...pattern, steps: ['$none'] }] }, /the set \$none is not there/],
    [{ ...base, patterns: [{ ...pattern, steps: ['two words'] }] }, /is no word/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a||b'] }] }, /is no word/],
    [{ ...base, patterns: [{ ...pattern, steps: ['忽略之'] }] }, /is no word/],
    [{ ...base, patterns: [{ ...pattern, steps: ['a-b'] }] }, /is no word/],
    [{ ...base, sets: { 'Bad name': 'x' } }, /sets\.Bad name must be/],
    [{ ...base, sets: { fruit: 7 } }, /sets\.fruit must be/],
    [{ ...base, sets: [] }, /sets must be an object/],
    [{ ...base, disguised: 'x' }, /disguised must be/],
    [{ ...base, address: Array.from({ length: 33 }, () => 'x') }, /address must be/],
  ] as const) {
    const problems = problemsOf(change)
    t.ok(
      problems.some((problem) => said.test(problem)),
      `${said}: ${problems.join(' ')}`,
    )
  }
  const many = Array.from({ length: INJECTION_WORDS + 1 }, (_, index) => `w${index.toString(36)}`)
  const sets = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [
      `s${index}`,
      many.slice(index * 400, index * 400 + 400).join(' '),
    ]),
  )
  const steps = ['$s0|$s1|$s2|$s3', '$s4|$s5|$s6|$s7']
  t.match(problemsOf({ ...base, sets, patterns: [{ ...pattern, steps }] }).join(), /There may be/)
  t.end()
})

t.test('problems of the data base and of the weights are told together', (t) => {
  const read = readInjectionTables({}, {})
  t.notOk(read.ok)
  if (!read.ok) {
    t.ok(read.problems.some((problem) => problem.startsWith('patterns must')))
    t.ok(read.problems.some((problem) => problem.startsWith('weights.')))
  }
  t.end()
})
