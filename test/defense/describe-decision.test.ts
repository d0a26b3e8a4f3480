/**
 * Decisions in words: every denial says what, why and what to do, and nothing in it steers a terminal.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { isWellFormed, utf8Length } from '../../src/base/encoding/utf8.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { adviceFor, type Described, describeDecision } from '../../src/defense/describe.ts'
import type { Facts } from '../../src/defense/facts.ts'
import { RESPONSES } from '../../src/defense/verdict.ts'
import { EXPLAINED_CHARS } from '../../src/limits.ts'
import {
  AGENT,
  anyLedger,
  anyPolicy,
  executing,
  FACTS,
  LEDGER,
  mostlyGoodFacts,
  POLICY,
  policyWith,
  REQUEST,
} from './staged-facts.ts'

/** All texts of a description. */
const textsOf = (described: Described): readonly string[] => [
  ...Object.values(described).filter((value): value is string => typeof value === 'string'),
  ...described.effective,
]

// What can be seen, and the plain space.
const STEERS = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

t.test(
  'every denial says what was asked, why it was refused, what to do, and how severe it is (JF-N10)',
  (t) => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
        const verdict = adjudicate(facts, policy, ledger)
        const described = describeDecision(facts, verdict, policy)
        if (verdict.kind === 'response' && verdict.response === 'EXECUTE')
          return verdict.layer === 'all' ? described.advice === '' : described.advice !== ''
        seen.add(verdict.layer)
        // The reason of a failed proof is given with the facts.
        const isReasoned = described.reason !== '' || facts.identity.kind === 'failed'
        return (
          described.asked !== '' &&
          ['info', 'warning', 'critical'].includes(described.severity) &&
          isReasoned &&
          described.advice !== '' &&
          described.rule !== '' &&
          described.layer !== ''
        )
      }),
      { numRuns: 1_500 },
    )
    t.ok(seen.size >= 8, [...seen].join(' '))
    t.end()
  },
)

t.test('nothing in it steers a terminal, hides or turns text, and all of it can be sent', (t) => {
  const evil = fc.constantFrom(
    '\x1b[2J',
    'a\u202eb',
    '\r\n',
    '\u200b',
    '\x9b31m',
    '\ud800',
    '\u00a0',
    '\ue000',
    '\x07',
    "'",
  )
  const text = fc
    .array(fc.oneof(evil, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 5 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 5 }),
      text,
      text,
      fc.boolean(),
      (argv, path, name, pinnedOnly) => {
        const facts: Facts = {
          ...FACTS,
          source: { ...FACTS.source, address: name },
          identity: { ...AGENT, name },
          request: { ...REQUEST, method: name, audience: pinnedOnly ? 'operator' : 'anyone' },
          action: executing(argv, path),
        }
        const policy = policyWith({}, { pinnedOnly: true })
        const described = [
          facts,
          { ...facts, action: undefined },
          { ...facts, action: { kind: 'read', method: name } as const },
        ].map((one) => describeDecision(one, adjudicate(one, policy, LEDGER), policy))
        return described.every((one) =>
          textsOf(one).every((shown) => !STEERS.test(shown) && isWellFormed(shown)),
        )
      },
    ),
    { numRuns: 1_000 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('it is bounded, however long the command', (t) => {
  const argv = ['echo', ...Array.from({ length: 4_000 }, (_, index) => `\x1b${index}`.repeat(20))]
  const facts = { ...FACTS, action: executing(argv, `/srv/${'\u200b'.repeat(4_000)}`) }
  const policy = policyWith({}, { pinnedOnly: true })
  const described = describeDecision(facts, adjudicate(facts, policy, LEDGER), policy)
  t.ok(textsOf(described).every((shown) => utf8Length(shown) <= 12 * EXPLAINED_CHARS))
  const many = { ...FACTS, action: executing(['sh', '-c', 'ls;'.repeat(200)]) }
  t.ok(describeDecision(many, adjudicate(many, POLICY, LEDGER), POLICY).effective.length <= 32)
  t.end()
})

t.test('what would really run is said beside what was asked', (t) => {
  const facts = { ...FACTS, action: executing(['sh', '-c', 'cd /tmp && rm -rf "a b"']) }
  const policy = policyWith({ denied_commands: ['rm'] })
  t.strictSame(describeDecision(facts, adjudicate(facts, policy, LEDGER), policy), {
    asked: `sh -c 'cd /tmp && rm -rf "a b"'`,
    response: 'STATUS',
    layer: 'capability',
    rule: 'default.denied_commands',
    reason: 'The command, or one that it would start, is denied by capability default.',
    advice: 'Add the command or path to the capability set of the agent if it should be allowed.',
    severity: 'warning',
    agent: 'bot',
    source: '192.0.2.1',
    effective: [`sh -c 'cd /tmp && rm -rf "a b"'`, 'cd /tmp', `rm -rf 'a b'`],
    opaque: '',
    confinement: `whole (${'ef'.repeat(16)})`,
  })
  t.end()
})

t.test('advice follows the layer first: names that somebody chose do not change it', (t) => {
  const capability = adviceFor({ layer: 'capability', rule: 'default.allowed_commands', response: 'R4' })
  for (const name of ['quota', 'level', 'toxic', 'executables', 'acl', 'protected', 'method'])
    t.equal(
      adviceFor({ layer: 'capability', rule: `${name}.allowed_commands`, response: 'R4' }),
      capability,
      name,
    )
  const rules = adviceFor({ layer: '13policy', rule: 'disk.format', response: 'R5' })
  t.equal(adviceFor({ layer: '13policy', rule: 'level.restrict', response: 'R5' }), rules)
  t.equal(adviceFor({ layer: 'nowhere', rule: 'x', response: 'R4' }), '')
  t.ok(RESPONSES.length === 6)
  t.end()
})
