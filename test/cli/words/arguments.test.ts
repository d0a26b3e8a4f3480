import fc from 'fast-check'
import t from 'tap'
import type { OptionSpec } from '../../../src/cli/words/arguments.ts'
import {
  isGiven,
  optionValue,
  optionValues,
  parseArguments,
  wholeNumber,
} from '../../../src/cli/words/arguments.ts'

const SPECS: readonly OptionSpec[] = [
  { name: 'cwd', value: 'DIR', description: '' },
  { name: 'env', short: 'e', value: 'K=V', repeat: true, description: '' },
  { name: 'pty', short: 't', description: '' },
  { name: 'compress', short: 'z', description: '' },
]

function parsed(...argv: string[]) {
  const result = parseArguments(SPECS, argv)
  if (!result.ok) throw new Error(result.problem)
  return result
}

function refused(...argv: string[]) {
  const result = parseArguments(SPECS, argv)
  return result.ok ? undefined : { problem: result.problem, hint: result.hint }
}

t.test('reads long and short options, values in both forms, and words between them', async (t) => {
  const result = parsed('host', '--cwd', '/tmp', '-e', 'A=1', '-eB=2', '--env=C=3', '-tz', 'word', '-')
  t.equal(optionValue(result.options, 'cwd'), '/tmp')
  t.same(optionValues(result.options, 'env'), ['A=1', 'B=2', 'C=3'])
  t.ok(isGiven(result.options, 'pty'))
  t.ok(isGiven(result.options, 'compress'))
  t.notOk(isGiven(result.options, 'json'))
  t.same(result.positionals, ['host', 'word', '-'])
  t.equal(result.rest, undefined)
})

t.test('a cluster may end in an option with a value', async (t) => {
  t.same(optionValues(parsed('-tzeA=1').options, 'env'), ['A=1'])
  t.same(optionValues(parsed('-te', 'A=1').options, 'env'), ['A=1'])
})

t.test('everything after -- is left alone, and the first -- is the one', async (t) => {
  t.same(parsed('host', '--', 'ls', '-la', '--', '--cwd'), {
    ok: true,
    options: new Map(),
    positionals: ['host'],
    rest: ['ls', '-la', '--', '--cwd'],
  })
  t.same(parsed('--').rest, [])
  t.same(parsed('--cwd=--').rest, undefined)
})

t.test('the common options work everywhere', async (t) => {
  const { options } = parsed('--json', '--yes', '--config', 'f', '-h')
  t.same([...options.keys()], ['json', 'yes', 'config', 'help'])
})

t.test('an unknown option is told with the one that was meant', async (t) => {
  t.same(refused('--cwdd', 'x'), { problem: '--cwdd is not a known option', hint: 'did you mean --cwd?' })
  t.same(refused('--jsno'), { problem: '--jsno is not a known option', hint: 'did you mean --json?' })
  t.same(refused('--zzzzzz=1'), { problem: '--zzzzzz is not a known option', hint: 'see --help' })
  t.same(refused('host', 'ls', '-l'), {
    problem: '-l is not a known option',
    hint: 'put -- before a command that has options of its own',
  })
})

t.test('refuses missing, unwanted and repeated values', async (t) => {
  t.same(refused('--cwd'), { problem: '--cwd needs a value', hint: 'write --cwd DIR' })
  t.match(refused('--cwd', '--json'), {
    problem: '--cwd needs a value and --json follows',
    hint: /--cwd=DIR/,
  })
  t.match(refused('-e'), { problem: '-e needs a value' })
  t.same(refused('--pty=yes'), { problem: '--pty takes no value', hint: 'write --pty' })
  t.match(refused('--cwd', 'a', '--cwd=b'), { problem: '--cwd is given twice' })
  t.equal(optionValue(parsed('--cwd=-x').options, 'cwd'), '-x')
  t.equal(optionValue(parsed('--cwd=').options, 'cwd'), '')
})

t.test('what somebody typed is printed without its control characters', async (t) => {
  t.notMatch(refused('--\u001b[31m')?.problem, '\u001b')
})

t.test('whole numbers are decimal, bounded and in one spelling', async (t) => {
  t.equal(wholeNumber('0', 0, 9), 0)
  t.equal(wholeNumber('9', 0, 9), 9)
  for (const bad of ['10', '-1', '01', '1.0', '1e1', '', ' 1', '0x1', '99999999999999999'])
    t.equal(wholeNumber(bad, 0, 9), undefined, bad)
})

t.test('never throws, and loses no word that stands after --', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string()), (before, after) => {
      const result = parseArguments(SPECS, [...before.filter((word) => word !== '--'), '--', ...after])
      if (result.ok && !before.some((word) => word.startsWith('-'))) t.same(result.rest, after)
    }),
    { numRuns: 200 },
  )
})
