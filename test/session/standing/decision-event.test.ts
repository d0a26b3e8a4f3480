/**
 * What the record of a decision says of who acts, and for whom.
 * @module
 */
import t from 'tap'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import type { Facts } from '../../../src/defense/facts.ts'
import { decisionEvent } from '../../../src/session/standing/decision-event.ts'
import { AGENT, FACTS, LEDGER, POLICY } from '../../defense/staged-facts.ts'

const eventOf = (change: Partial<Facts>) => {
  const facts = { ...FACTS, ...change }
  return decisionEvent(facts, adjudicate(facts, POLICY, LEDGER), POLICY.digestOf)
}

t.test(
  'a decision about a delegate names everybody above it, the nearest first (JF-054, JF-R08)',
  async (t) => {
    const above = (name: string) => ({ name, capability: 'default', tools: ['*'] as const })
    const delegation = { chain: [above('lead'), above('boss')], hops: 1 }
    t.match(eventOf({ identity: { ...AGENT, delegation } }), { agent: AGENT.name, acts_for: 'lead boss' })
    t.notOk('acts_for' in eventOf({}), 'who acts for itself takes up no room')
  },
)

t.test('it is the same for the same facts, and says nothing of what they hold', async (t) => {
  t.same(eventOf({}), eventOf({}))
  const text = JSON.stringify(eventOf({}))
  for (const word of ['/usr/bin/ls', '/srv/work']) t.notOk(text.includes(word), word)
})
