/**
 * The examples of rules as their tests.
 * @module
 */
import t from 'tap'
import { exampleArgv, testRules } from '../../../../src/defense/13policy/rules/examples.ts'
import { rule, ruleSet } from '../staged-effective.ts'

t.test('one plain command is itself, anything else is given to a shell', async (t) => {
  t.strictSame(exampleArgv('git commit -m "rm -rf / fix"'), ['git', 'commit', '-m', 'rm -rf / fix'])
  t.strictSame(exampleArgv('echo "a;b" \\; c'), ['echo', 'a;b', ';', 'c'])
  t.strictSame(exampleArgv("rm '*' a\\ b"), ['rm', '*', 'a b'])
  for (const line of [
    'rm *',
    'a | b',
    'a; b',
    'A=b c',
    'a > b',
    'a $B',
    'a $(b)',
    '(a)',
    '! a',
    'a &',
    '\\a; b',
    'if a; then b; fi',
    "a 'b",
  ])
    t.strictSame(exampleArgv(line), ['sh', '-c', line])
})

t.test('an example must match its own rule, whatever else it matches, or must not', async (t) => {
  const remove = rule({
    id: 'a.remove',
    argv: { program: ['rm'], options: ['-r'], writes: ['/etc/**', '~'] },
    severity: 'low',
    examples: {
      match: ['rm -fr /etc', 'cd /; rm -r etc', 'rm -r ~', 'rm -r /e*c'],
      pass: ['rm -r ./etc', 'echo rm -r /etc'],
    },
  })
  const other = rule({
    id: 'b.other',
    severity: 'critical',
    examples: { match: ['rm -r /etc'], pass: ['ls rm'] },
  })
  t.strictSame(testRules(ruleSet(remove, other)), [])
  const wrong = rule({ ...remove, examples: { match: ['rm /etc', 'ls -r /etc'], pass: ['rm -r /etc'] } })
  t.strictSame(testRules(ruleSet(wrong, other)), [
    { rule: 'a.remove', kind: 'match', example: 'rm /etc', matched: ['b.other'] },
    { rule: 'a.remove', kind: 'match', example: 'ls -r /etc', matched: [] },
    { rule: 'a.remove', kind: 'pass', example: 'rm -r /etc', matched: ['b.other', 'a.remove'] },
  ])
})

t.test('rules beside those that are tried only tell what matched instead', async (t) => {
  const tried = rule({
    id: 'a.tried',
    argv: { program: ['ls'] },
    examples: { match: ['rm x'], pass: ['pwd'] },
  })
  const beside = rule({ id: 'b.beside', examples: { match: ['pwd'], pass: ['rm'] } })
  t.strictSame(testRules(ruleSet(tried), ruleSet(beside)), [
    { rule: 'a.tried', kind: 'match', example: 'rm x', matched: ['b.beside'] },
  ])
})

t.test('a rule that asks for a terminal or a fed input has it in its examples', async (t) => {
  const examples = { match: ['sh'], pass: ['ls'] }
  t.strictSame(
    testRules(ruleSet(rule({ id: 'a.b', argv: { program: ['sh'], terminal: true }, examples }))),
    [],
  )
  t.strictSame(
    testRules(ruleSet(rule({ id: 'a.b', argv: { program: ['sh'], opaque: ['stdin'] }, examples }))),
    [],
  )
})
