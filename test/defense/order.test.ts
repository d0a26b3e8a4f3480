/**
 * What the decision holds to whatever it is given: the order of its checks, and the closed set of actions.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { adjudicate, adjudicateBy } from '../../src/defense/adjudicator.ts'
import type { Action, Facts, Ledger } from '../../src/defense/facts.ts'
import { LAYERS } from '../../src/defense/layers.ts'
import type { LayerName, Verdict } from '../../src/defense/verdict.ts'
import { Warrant } from '../../src/defense/warrant.ts'
import {
  ADMIN,
  AGENT,
  anyAction,
  anyFacts,
  anyLedger,
  executing,
  FACTS,
  LEDGER,
  OPERATOR,
  POLICY,
  policyWith,
  TRANSPORT,
} from './staged-facts.ts'

const RUNS = { numRuns: 400 }

t.test(
  'address list, transport, authentication, capability, 13Policy, quota: the first that fails decides, and only what passes all is done (SS-33)',
  (t) => {
    // It fails in every one of them, and each step puts the first right.
    let facts: Facts = {
      ...FACTS,
      source: { ...FACTS.source, isAllowed: false },
      transport: { ...TRANSPORT, version: 'TLSv1.2' },
      identity: { kind: 'failed', code: 'AUTH_SIGNATURE_INVALID', why: 'no' },
      action: executing(['deny-high']),
    }
    let policy = policyWith({ denied_paths: ['/srv/work'] })
    let ledger: Ledger = { ...LEDGER, executionsFree: 0 }
    const steps: [string, string, () => void][] = [
      ['acl', 'DROP', () => (facts = { ...facts, source: FACTS.source })],
      ['transport', 'DROP', () => (facts = { ...facts, transport: TRANSPORT })],
      ['identity', 'TARPIT', () => (facts = { ...facts, identity: AGENT })],
      ['capability', 'VI_SWAP', () => (policy = policyWith({}))],
      ['13policy', 'VI_SWAP', () => (facts = { ...facts, action: executing() })],
      ['quota', 'THROTTLE', () => (ledger = LEDGER)],
    ]
    for (const [layer, response, mend] of steps) {
      const verdict = adjudicate(facts, policy, ledger)
      t.match(verdict, { layer, response })
      t.notOk('warrant' in verdict, 'nothing may be done')
      mend()
    }
    t.match(adjudicate(facts, policy, ledger), { layer: 'all', response: 'EXECUTE', warrant: Warrant })
    t.end()
  },
)

t.test(
  'what yields waits for the layers behind it, and the strictest of them decides (SS-33, JF-077)',
  (t) => {
    const unlisted = policyWith({ allowed_commands: ['ls'] })
    const of = (program: string, ledger = LEDGER) =>
      adjudicate({ ...FACTS, action: executing([program]) }, unlisted, ledger)
    t.match(of('touch'), { kind: 'status', layer: 'capability' }, 'a refusal that says nothing of the caller')
    t.match(
      of('deny-high'),
      { response: 'VI_SWAP', layer: '13policy' },
      'what is hostile is answered as that',
    )
    t.match(of('deny-critical'), { response: 'TARPIT', layer: '13policy' })
    const full = { ...LEDGER, executionsFree: 0 }
    t.match(of('touch', full), { kind: 'status', layer: 'capability' }, 'what is milder undoes nothing')
    t.match(of('ask-high', full), { kind: 'status', layer: 'capability' })
    t.end()
  },
)

t.test(
  'an action that is not of the closed set is refused, whoever asks and whatever else is so (RX-15)',
  (t) => {
    const known = new Set<Action['kind']>([
      ...fc.sample(anyAction, 2_000).map(({ kind }) => kind),
      ...(['merge', 'undo_merge', 'drop_branch', 'checkpoint'] as const),
    ])
    const strange = fc
      .oneof(fc.string(), fc.constantFrom('', 'EXECUTE', 'toString', '__proto__', 'constructor', 'install'))
      .filter((kind) => !(known as Set<string>).has(kind))
    fc.assert(
      fc.property(anyFacts, anyLedger, strange, (facts, ledger, kind) => {
        for (const given of [
          facts,
          { ...FACTS, identity: AGENT },
          { ...FACTS, identity: OPERATOR, source: ADMIN },
        ]) {
          const action = { ...given.action, kind } as unknown as Action
          const verdict = adjudicate({ ...given, action }, POLICY, given === facts ? ledger : LEDGER)
          if (verdict.kind !== 'response' || verdict.response === 'EXECUTE') return verdict.kind === 'status'
        }
        return true
      }),
      RUNS,
    )
    const teleport = { kind: 'teleport' } as unknown as Action
    t.match(adjudicate({ ...FACTS, action: teleport }, POLICY, LEDGER), {
      kind: 'status',
      layer: 'completeness',
      rule: 'deny_on_error',
    })
    for (const kind of known) {
      const { layer } = adjudicate(
        { ...FACTS, identity: OPERATOR, action: { kind } as Action },
        POLICY,
        LEDGER,
      )
      t.not(layer, 'completeness', kind)
    }
    t.equal(known.size, 32, [...known].join(' '))
    t.end()
  },
)

/** The decision, and which layers were asked for it and did not simply pass, in the order in which they were. */
function traced(facts: Facts, ledger: Ledger) {
  const asked: LayerName[] = []
  const stops: { readonly name: LayerName; readonly yields: boolean }[] = []
  const layers = LAYERS.map(({ name, check }) => ({
    name,
    check: (...given: Parameters<typeof check>) => {
      asked.push(name)
      const finding = check(...given)
      if (finding !== undefined && finding.outcome !== 'note')
        stops.push({ name, yields: finding.yields === true })
      return finding
    },
  }))
  return { verdict: adjudicateBy(layers, facts, policyWith({}), ledger), asked, stops }
}

/** How a decision may end: allowed, denied or waiting, and a mistake of the message itself. */
function endOf(verdict: Verdict): string {
  if (verdict.kind === 'status') return 'status'
  if (verdict.response === 'EXECUTE') return 'allowed'
  if (verdict.response !== 'THROTTLE') return verdict.response === 'CHALLENGE' ? 'challenged' : 'denied'
  return verdict.awaits === 'operator' ? 'asked' : 'waits'
}

t.test(
  'a request goes identity, tool access, delegation, specifics, and ends allowed, denied or with a human; there is no other path (JF-075)',
  (t) => {
    const order = LAYERS.map(({ name }) => name)
    const gate: readonly LayerName[] = ['identity', 'tool_access', 'delegation', 'specifics']
    t.strictSame(
      order.filter((name) => gate.includes(name)),
      gate,
    )
    const ends = new Map<string, number>()
    fc.assert(
      fc.property(anyFacts, anyLedger, fc.boolean(), (strange, anyOf, isUsual) => {
        const facts = isUsual ? { ...FACTS, action: strange.action } : strange
        const ledger = isUsual ? LEDGER : anyOf
        const { verdict, asked, stops } = traced(facts, ledger)
        const end = endOf(verdict)
        ends.set(end, (ends.get(end) ?? 0) + 1)
        // No layer is left out on the way, none is asked twice and none out of its turn.
        t.strictSame(asked, order.slice(0, asked.length))
        if (end === 'allowed') t.strictSame([asked.length, stops], [order.length, []])
        // What stops a request is the end of its path; only what says nothing about the caller first hears whether another layer is stricter.
        else t.ok(stops.slice(0, -1).every(({ yields }) => yields) || verdict.rule === 'deny_on_error')
        t.equal('warrant' in verdict, end === 'allowed')
      }),
      { numRuns: 1_000 },
    )
    for (const end of ['allowed', 'denied', 'asked']) t.ok(ends.has(end), `some are ${end}`)
    const plain = traced({ ...FACTS, identity: { ...AGENT, delegation: undefined } }, LEDGER)
    t.notOk(
      plain.stops.some(({ name }) => name === 'delegation'),
      'delegation stops only who acts for another',
    )
    t.end()
  },
)
