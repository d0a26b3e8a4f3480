/**
 * What is permitted cites the clause that allows it, and without that clause it is not permitted.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { adjudicate, adjudicateBy } from '../../src/defense/adjudicator.ts'
import { authorityOf } from '../../src/defense/authority.ts'
import { matchesCommand, matchesPath } from '../../src/defense/capability.ts'
import type { Facts } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { decisionEvent } from '../../src/session/standing/decision-event.ts'
import {
  anyLedger,
  executing,
  FACTS,
  LEDGER,
  mostlyGoodFacts,
  POLICY,
  policyWith,
  REQUEST,
} from './staged-facts.ts'

function authority(facts: Facts, policy: Policy, ledger = LEDGER): string | undefined {
  const verdict = adjudicate(facts, policy, ledger)
  if (verdict.kind !== 'response' || verdict.response !== 'EXECUTE') return undefined
  if (decisionEvent(facts, verdict, undefined)['authority'] !== verdict.authority) return 'not in the record'
  return verdict.authority
}

t.test('every action that is permitted names what it rests on, and there it is (RX-22)', (t) => {
  const policy = policyWith({ allowed_commands: ['git *', '*'], allowed_paths: ['/srv', '*'] })
  const kinds = new Set<string>()
  fc.assert(
    fc.property(mostlyGoodFacts, anyLedger, (facts, ledger) => {
      const cited = authority(facts, policy, ledger)
      const { action } = facts
      if (cited === undefined || action === undefined) return true
      kinds.add(action.kind)
      const [, name = '', list = '', index = ''] = /^([\w-]+)\.(allowed_\w+)\[(\d+)\]$/.exec(cited) ?? []
      if (name === '')
        return /^(role\.operator|session|agents|tools\.Task|invitation|acl\.allow|listen\.|defense\.|approved )/.test(
          cited,
        )
      const set = policy.capabilities[name]
      if (action.kind === 'execute')
        return (
          list === 'allowed_commands' &&
          matchesCommand(set?.allowed_commands[Number(index)] ?? '', action.argv, action.executable?.path)
        )
      const path = 'path' in action ? action.path : ''
      return list === 'allowed_paths' && matchesPath(set?.allowed_paths[Number(index)] ?? '', path)
    }),
    { numRuns: 1_000 },
  )
  t.ok(kinds.has('execute') && kinds.size >= 5, [...kinds].join(' '))
  t.end()
})

t.test('a command cites the first clause that allows it, and without one it is denied (RX-22)', (t) => {
  const facts = { ...FACTS, action: executing(['git', 'status']) }
  const withClauses = (...allowed: string[]) => policyWith({ allowed_commands: allowed, denied_commands: [] })
  t.equal(authority(facts, withClauses('ls', 'git push', 'git status', '*')), 'default.allowed_commands[2]')
  t.equal(authority(facts, withClauses('ls', 'git push', '*')), 'default.allowed_commands[2]')
  t.match(adjudicate(facts, withClauses('ls', 'git push'), LEDGER), {
    kind: 'status',
    layer: 'capability',
  })
  t.equal(authorityOf(facts, withClauses('ls')), undefined)
  t.equal(authorityOf(facts, { ...POLICY, capabilities: {} }), undefined)

  // Even where no layer had found it: what rests on nothing is not done.
  t.match(adjudicateBy([], facts, withClauses('ls'), LEDGER), {
    kind: 'status',
    layer: 'capability',
    rule: 'deny_on_error',
  })
  t.match(adjudicateBy([], facts, withClauses('git status'), LEDGER), { response: 'EXECUTE' })

  const asked = policyWith({ allowed_commands: ['ls'] }, { confirmsUnlisted: true })
  t.match(adjudicate(facts, asked, LEDGER), { response: 'THROTTLE', awaits: 'operator' })
  const rule = 'default.allowed_commands'
  const answered = (outcome: 'approved' | 'denied'): Facts => ({
    ...facts,
    request: { ...REQUEST, approvals: [{ rule, outcome }] },
  })
  t.equal(authority(answered('approved'), asked), `approved ${rule}`, 'or a human has said yes')
  t.equal(authority(answered('denied'), asked), undefined)
  t.end()
})
