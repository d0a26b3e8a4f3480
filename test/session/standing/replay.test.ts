/**
 * A decision made again from its record: also one from before records said the tier of their caller.
 * @module
 */
import t from 'tap'
import { classified } from '../../../src/audit/taxonomy.ts'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import { loadLaw } from '../../../src/edge/intent/constitution.node.ts'
import type { AuditEvent } from '../../../src/ports.ts'
import { decisionEvent } from '../../../src/session/standing/decision-event.ts'
import { replayDecision } from '../../../src/session/standing/replay.ts'
import { AGENT, FACTS, LEDGER, POLICY } from '../../defense/staged-facts.ts'

const FACTS_OF_READER = { ...FACTS, identity: { ...AGENT, tier: 'T1' as const, tools: [] } }

function recorded(): AuditEvent {
  const verdict = adjudicate(FACTS_OF_READER, POLICY, LEDGER)
  return { ...classified(decisionEvent(FACTS_OF_READER, verdict, POLICY.digestOf)), facts: 'x', seq: 7 }
}

const again = (event: AuditEvent) =>
  replayDecision(
    event,
    { kind: 'content', value: { facts: FACTS_OF_READER, ledger: LEDGER } },
    POLICY,
    loadLaw(),
  )

t.test('it comes out the same, and what was changed of it does not', async (t) => {
  t.equal(again(recorded()).kind, 'same')
  for (const [name, value] of [
    ['rule', 'other'],
    ['tier', 'T5'],
    ['severity', 'info'],
    ['risk', 'low'],
    ['tool_tier', 'T5'],
  ] as const)
    t.match(again({ ...recorded(), [name]: value }), { kind: 'different', fields: [name] })
})

t.test('a record from before it named tiers is compared in what it says', async (t) => {
  const { tier, tool, tool_tier, security, risk, ...older } = recorded()
  t.strictSame([tier, tool, tool_tier, security, risk], ['T1', 'Glob', 'T1', 'rights', 'high'])
  t.equal(again({ ...older, severity: 'warning' }).kind, 'same')
  t.match(again({ ...older, rule: 'other' }), { kind: 'different', fields: ['rule'] })
})
