/**
 * Rights only narrow: whatever is taken away, denied or raised, what was refused stays refused.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { TOXIC_PROPERTIES } from '../../src/base/toxic-property.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { Facts, Ledger } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { type Level, stricter } from '../../src/defense/level.ts'
import {
  AGENT,
  anyCommandFacts,
  anyLedger,
  anyPolicy,
  anySecurity,
  anySet,
  anyToolList,
  compileRules,
  executing,
  FACTS,
  LEDGER,
  OPEN_SET,
  policyWith,
  RULES,
  ruleText,
} from './staged-facts.ts'

function isPermitted(facts: Facts, policy: Policy, ledger: Ledger): boolean {
  const verdict = adjudicate(structuredClone(facts), policy, ledger)
  return verdict.kind === 'response' && verdict.response === 'EXECUTE'
}

/** Lets everything through that it can. */
const LENIENT = policyWith(
  {},
  {
    sensitiveFiles: 'allow',
    toxicCombinations: 'allow',
    opaque: 'allow',
  },
)

/** Whatever is done to the policy, the facts or the ledger by `narrow`, no refusal becomes a permission. */
function neverWidens<Input>(
  input: fc.Arbitrary<Input>,
  narrow: (input: Input, facts: Facts, policy: Policy, ledger: Ledger) => readonly [Facts, Policy, Ledger],
): { readonly narrowed: number; readonly permitted: number } {
  let narrowed = 0
  let permitted = 0
  fc.assert(
    fc.property(input, anyCommandFacts, anyPolicy, anyLedger, (value, facts, policy, ledger) => {
      const open = { ...policy, capabilities: { default: OPEN_SET, other: OPEN_SET } }
      return [policy, open, policyWith({}), LENIENT].every((base) => {
        const before = isPermitted(facts, base, ledger)
        const after = isPermitted(...narrow(value, facts, base, ledger))
        if (before) permitted++
        if (before && !after) narrowed++
        return before || !after
      })
    }),
    { numRuns: 300 },
  )
  return { narrowed, permitted }
}

t.test('each way to narrow a right refuses more and permits nothing more', (t) => {
  const pattern = fc.constantFrom('*', 'ls', 'git', 'rm', 'cur*', 'b*h', '/usr/bin/*')
  const withSet = (policy: Policy, change: (set: Policy['capabilities'][string]) => object): Policy => ({
    ...policy,
    capabilities: Object.fromEntries(
      Object.entries(policy.capabilities).map(([name, set]) => [name, { ...set, ...change(set) }]),
    ),
  })
  const known = (facts: Facts, change: object): Facts =>
    ({ ...facts, identity: { ...facts.identity, ...change } }) as Facts
  const parts = {
    'a denied command': neverWidens(pattern, (text, facts, policy, ledger) => [
      facts,
      withSet(policy, (set) => ({ denied_commands: [...set.denied_commands, text] })),
      ledger,
    ]),
    'a denied path': neverWidens(fc.constantFrom('/', '/etc', '/srv/work'), (text, facts, policy, ledger) => [
      facts,
      withSet(policy, (set) => ({ denied_paths: [...set.denied_paths, text] })),
      ledger,
    ]),
    'one allowed command fewer': neverWidens(fc.constant(0), (_, facts, policy, ledger) => [
      facts,
      withSet(policy, (set) => ({ allowed_commands: set.allowed_commands.slice(1) })),
      ledger,
    ]),
    'a blocked command': neverWidens(pattern, (text, facts, policy, ledger) => [
      facts,
      {
        ...policy,
        security: { ...policy.security, blockedCommands: [...policy.security.blockedCommands, text] },
      },
      ledger,
    ]),
    'security that allows less': neverWidens(anySecurity, ({ allowedCommands }, facts, policy, ledger) => [
      facts,
      {
        ...policy,
        security: {
          ...policy.security,
          allowedCommands: policy.security.allowedCommands.filter((text) => allowedCommands.includes(text)),
          allowShell: false,
          pinnedOnly: true,
        },
      },
      ledger,
    ]),
    'stricter measures': neverWidens(
      fc.constantFrom(...(['sensitiveFiles', 'toxicCombinations', 'opaque'] as const)),
      (name, facts, policy, ledger) => [
        facts,
        { ...policy, security: { ...policy.security, [name]: 'deny' } },
        ledger,
      ],
    ),
    'a rule that denies': neverWidens(
      fc.tuple(fc.constantFrom('critical', 'high', 'medium'), fc.constantFrom('ls', 'git', 'curl', 'env')),
      ([severity, program], facts, policy, ledger) => [
        facts,
        {
          ...policy,
          rules: compileRules([...RULES, { ...ruleText('deny', severity, program), id: 'own.rule' }]),
        },
        ledger,
      ],
    ),
    'fewer tools': neverWidens(anyToolList, (tools, facts, policy, ledger) => [
      known(facts, { tools }),
      policy,
      ledger,
    ]),
    'a tier within the tier': neverWidens(
      fc.constantFrom('T1', 'T2', 'T3', 'T4'),
      (tier, facts, policy, ledger) => [known(facts, { tier }), policy, ledger],
    ),
    'acting for somebody': neverWidens(
      fc.tuple(anyToolList, fc.constantFrom('other', 'default', 'absent'), fc.nat(3)),
      ([tools, name, hops], facts, policy, ledger) => [
        known(facts, { delegation: { chain: [{ name: 'above', capability: name, tools }], hops } }),
        policy,
        ledger,
      ],
    ),
    'a stricter level': neverWidens(
      fc.constantFrom('RESTRICT', 'CHECKPOINT', 'CONTAIN', 'HALT'),
      (level, facts, policy, ledger) => [
        facts,
        policy,
        { ...ledger, level: stricter(level as Level, ledger.level) },
      ],
    ),
    'less room': neverWidens(fc.constant(0), (_, facts, policy, ledger) => [
      facts,
      policy,
      { ...ledger, executionsFree: 0 },
    ]),
  }
  for (const [name, { narrowed, permitted }] of Object.entries(parts))
    t.ok(narrowed > 0 && permitted >= narrowed, `${name}: ${narrowed} of ${permitted}`)
  t.end()
})

t.test('a parent that may less never lets its delegate do more', (t) => {
  const above = { name: 'above', capability: 'other' }
  let narrowed = 0
  fc.assert(
    fc.property(
      anyCommandFacts,
      // Half of them permit what there is to permit: of the others next to nothing is.
      fc.oneof(anySet, fc.constant(OPEN_SET)),
      fc.oneof(anyToolList, fc.constant(AGENT.tools)),
      anyToolList,
      fc.constantFrom('ls', 'git', 'bash', '*'),
      (facts, set, tools, fewer, pattern) => {
        const acts = (list: readonly string[]): Facts =>
          ({
            ...facts,
            identity: { ...AGENT, delegation: { chain: [{ ...above, tools: list }], hops: 1 } },
          }) as Facts
        const policy = (other: object): Policy => ({
          ...policyWith({}),
          capabilities: { default: OPEN_SET, other: { ...set, ...other } },
        })
        const both = tools.filter((tool) => fewer.includes(tool))
        const before = isPermitted(acts(tools), policy({}), LEDGER)
        const after = [
          isPermitted(acts(both), policy({}), LEDGER),
          isPermitted(acts(tools), policy({ denied_commands: [...set.denied_commands, pattern] }), LEDGER),
          isPermitted(acts(tools), policy({ allowed_paths: [] }), LEDGER),
        ]
        if (before) narrowed++
        return before || !after.includes(true)
      },
    ),
    { numRuns: 600 },
  )
  t.ok(narrowed > 0, `${narrowed} of them were permitted before`)
  t.end()
})

t.test('what a session has done before never permits more', (t) => {
  const sets = [...Array(2 ** TOXIC_PROPERTIES.length).keys()].map((bits) =>
    TOXIC_PROPERTIES.filter((_, index) => bits & (1 << index)),
  )
  let refused = 0
  for (const argv of [['ls'], ['curl', 'https://example.com/'], ['cat', '.env'], ['chmod', '+x', 'a']]) {
    const facts = { ...FACTS, action: executing(argv) }
    const policy = policyWith({}, { sensitiveFiles: 'allow' })
    for (const less of sets)
      for (const more of sets) {
        if (!less.every((property) => more.includes(property))) continue
        const before = isPermitted(facts, policy, { ...LEDGER, toxic: less })
        const after = isPermitted(facts, policy, { ...LEDGER, toxic: more })
        if (before && !after) refused++
        if (!before && after)
          t.fail(`${argv.join(' ')} with ${more.join(' ')} and not with ${less.join(' ')}`)
      }
  }
  t.ok(refused > 10, `${refused} were refused for what was done before`)
  t.end()
})
