/**
 * Rules that are legal and weak.
 * @module
 */
import t from 'tap'
import { lintRules } from '../../../../src/defense/13policy/rules/lint.ts'
import type { Rule } from '../../../../src/defense/13policy/rules/rule.ts'
import { type LooseRule, rule, ruleSet } from '../staged-effective.ts'

const findings = (...rules: readonly Rule[]): readonly string[] =>
  lintRules(ruleSet(...rules)).map(({ rule: id, level, finding }) => `${level} ${id} ${finding}`)
const ofMatch = (argv: LooseRule['argv'], change: LooseRule = {}): readonly string[] =>
  findings(rule({ id: 'a.b', ...(argv === undefined ? {} : { argv }), ...change }))

t.test('a rule that names a program and what it does is fine', async (t) => {
  t.strictSame(ofMatch({ program: ['rm'], options: ['-r'], writes: ['/etc/**'] }), [])
  t.strictSame(ofMatch({ writes: ['/etc/**'] }), [])
  t.strictSame(ofMatch({ program: ['mkfs*'] }), [])
})

t.test('a rule for every command, and one that fires on mere arguments', async (t) => {
  t.match(ofMatch({ program: ['*'] }), [/^warning a\.b matches every command$/])
  t.match(ofMatch({ operands: ['x'] }), [/names no program and no path/])
  t.match(ofMatch({ program: ['*'], options: ['-x'] }), [/names no program and no path/])
  t.match(ofMatch(undefined, { pattern: '*rm*' }), [
    /^warning a\.b begins with \*/,
    /^info a\.b compares the spelling/,
  ])
  t.match(ofMatch(undefined, { pattern: '* *' }), [/^warning a\.b matches every command/, /^info/])
})

t.test('conditions that hold too easily', async (t) => {
  t.match(ofMatch({ program: ['rm'], operands: ['*'] }), [/use has_operands/])
  t.match(ofMatch({ program: ['rm'], options: ['-r|-*'] }), [/an option that any option fits/])
  t.match(ofMatch({ program: ['*fs'], paths: ['/dev/**'] }), [/by their end/])
  t.match(ofMatch({ program: ['rm'], not_paths: ['/**'] }), [/exempts every path/])
  t.match(ofMatch({ program: ['rm'], not_options: ['-n'] }), [
    /^info a\.b is lifted by one operand or option/,
  ])
})

t.test('an allow rule that is wider than a denial', async (t) => {
  const deny = rule({
    id: 'a.deny',
    argv: { program: ['rm'], options: ['-r'] },
    examples: { match: ['rm -r x'], pass: ['rm x'] },
  })
  const allow = rule({
    id: 'b.allow',
    action: 'allow',
    argv: { program: ['rm', 'ls'] },
    examples: { match: ['ls x'], pass: ['pwd'] },
  })
  t.match(findings(deny, allow), [/^info b\.allow allows a program that a\.deny also looks at/])
  t.strictSame(findings(deny, { ...allow, argv: [{ program: ['ls'] }] }), [])
})

t.test('a rule that decides none of its own examples is told as information', async (t) => {
  const wide = rule({ id: 'a.wide', severity: 'critical' })
  const narrow = rule({
    id: 'b.narrow',
    severity: 'low',
    argv: { program: ['rm'], options: ['-r'] },
    examples: { match: ['rm -r x'], pass: ['rm x'] },
  })
  t.match(findings(wide, narrow), [
    'info b.narrow decides none of its own examples, since a.wide is stricter there',
  ])
  const both = {
    ...narrow,
    argv: [{ program: ['rm', 'rmdir'] }],
    examples: { match: ['rm x', 'rmdir x'], pass: ['ls'] },
  }
  t.strictSame(findings(wide, both), [])
})
