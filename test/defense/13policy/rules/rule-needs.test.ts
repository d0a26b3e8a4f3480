/**
 * What a rule asks for at all: no rule is left out that would have matched.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { EXAMPLE_CWD, EXAMPLE_HOME, exampleArgv } from '../../../../src/defense/13policy/rules/examples.ts'
import { createMatcher } from '../../../../src/defense/13policy/rules/matcher.ts'
import { needsOf } from '../../../../src/defense/13policy/rules/rule-needs.ts'
import { readRules } from '../../../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'
import { rule } from '../staged-effective.ts'

const POLICY = new URL('../../../../policy/default-rules.json', import.meta.url)

t.test('the strictest match is the first of all that the packaged rules have', async (t) => {
  const read = readRules(readFileSync(POLICY, 'utf8'), 'default-rules.json')
  if (!read.ok) throw new Error('the packaged rules cannot be read')
  const matcher = createMatcher(read.rules, EXAMPLE_HOME)
  const surroundings = {
    cwd: EXAMPLE_CWD,
    home: EXAMPLE_HOME,
    resolved: undefined,
    terminal: true,
    stdin: false,
  }
  const wrong = read.rules.rules
    .flatMap(({ examples }) => [...examples.match, ...examples.pass])
    .filter((line) => {
      const effective = effectiveCommands(exampleArgv(line), surroundings)
      return matcher.strictest(effective)?.rule.id !== matcher.everyMatch(effective)[0]?.rule.id
    })
  t.same(wrong, [])
})

t.test('what must not be there, and a list of nothing, are not asked for', async (t) => {
  const argv = { not_operands: ['a'], not_options: ['-a'], not_via: ['sudo'], not_paths: ['/tmp/**'] }
  t.equal(needsOf(rule({ id: 'a.b', argv })), 0)
  t.equal(needsOf(rule({ id: 'a.b', argv: { options: [], has_operands: false, opaque_path: false } })), 0)
  t.equal(needsOf(rule({ id: 'a.b', pattern: 'rm *' })), 0)
  t.not(needsOf(rule({ id: 'a.b', argv: { operands: ['a'] } })), 0)
})
