import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EXAMPLE_HOME } from '../../../src/defense/13policy/rules/examples.ts'
import { createMatcher, type Matcher } from '../../../src/defense/13policy/rules/matcher.ts'
import { readPolicy, readRulesFile } from '../../../src/edge/policy/policy-file.node.ts'
import { type PolicyFiles, shippedRulesPath } from '../../../src/edge/policy/rules-path.node.ts'

const loadRules = (files: PolicyFiles, home: string): Matcher => createMatcher(readPolicy(files), home)

import { effective } from '../../defense/13policy/staged-effective.ts'

const RULE = {
  id: 'own.no-ls',
  argv: { program: ['ls'] },
  action: 'deny',
  severity: 'high',
  description: 'Listing.',
  why: 'It is a test.',
  examples: { match: ['ls'], pass: ['pwd'] },
}
const OWN = { defaultRules: false }
const file = (...rules: object[]): string => JSON.stringify({ rules })

t.test('at least 50 rules ship, each of them usable (SS-39)', async (t) => {
  const { rules } = readRulesFile(shippedRulesPath())
  t.ok(rules.length >= 50, `${rules.length} rules`)
  t.equal(new Set(rules.map(({ id }) => id)).size, rules.length)
  t.equal(loadRules({ ...OWN, defaultRules: true, rulesFile: null }, EXAMPLE_HOME).count, rules.length)
})

t.test("the rules that ship can be used, and the operator's own join them", async (t) => {
  const shipped = readRulesFile(shippedRulesPath())
  t.strictSame(readPolicy({ defaultRules: true, rulesFile: null }), shipped)
  const own = join(t.testdir({ 'own.json': file(RULE) }), 'own.json')
  const both = readPolicy({ defaultRules: true, rulesFile: own })
  t.equal(both.rules.length, shipped.rules.length + 1)
  t.strictSame(both.origins, [shippedRulesPath(), own])
  const matcher = loadRules({ ...OWN, rulesFile: own }, EXAMPLE_HOME)
  t.equal(matcher.count, 1)
  t.equal(matcher.strictest(effective({ argv: ['ls'] }))?.rule.id, 'own.no-ls')
  t.equal(loadRules({ ...OWN, rulesFile: null }, EXAMPLE_HOME).count, 0)
})

t.test('a file that cannot be read says which, why and what to do', async (t) => {
  const directory = t.testdir({ bad: Buffer.from([0x22, 0xff, 0x22]) })
  mkdirSync(join(directory, 'sub'))
  const load = (name: string) => () => loadRules({ ...OWN, rulesFile: join(directory, name) }, EXAMPLE_HOME)
  t.throws(load('none'), {
    code: 'CONFIG_LOAD_FAILED',
    message: /none cannot be read, since it does not exist: correct that/,
    details: { errno: 'ENOENT' },
  })
  t.throws(load('sub'), { code: 'CONFIG_LOAD_FAILED', message: /not a regular file/ })
  t.throws(load('bad'), { code: 'CONFIG_LOAD_FAILED', message: /not valid UTF-8/ })
})

t.test('a file that cannot be used names every problem, and nothing of it is used', async (t) => {
  const directory = t.testdir({
    'two.json': file({ ...RULE, action: 'denny', severity: 'hihg' }),
    'same.json': file(RULE, RULE),
  })
  t.throws(() => readRulesFile(join(directory, 'two.json')), {
    code: 'CONFIG_INVALID',
    message:
      /two\.json cannot be used, since there are 2 problems: rules\[0\]\.action .*; rules\[0\]\.severity .*: correct them/,
    details: { problems: [{ path: 'rules[0].action' }, { path: 'rules[0].severity' }] },
  })
  t.throws(() => readRulesFile(join(directory, 'same.json')), {
    code: 'CONFIG_INVALID',
    details: { problems: [{ path: 'rules[1].id' }] },
  })
})
