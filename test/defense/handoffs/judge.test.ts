import t from 'tap'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import type { Facts, HandoffAction, HandoffBefore, Ledger } from '../../../src/defense/facts.ts'
import { depthOf, judgeHandoffRoom, rejectedHandoff } from '../../../src/defense/handoffs/judge.ts'
import { AGENT, FACTS, LEDGER, POLICY, REQUEST } from '../staged-facts.ts'

const FROM = 'bot-20261128T120000Z-0a1b2c3d'
const BEFORE: HandoffBefore = {
  ...{
    id: 'f'.repeat(32),
    task: 'task',
    criticality: 2,
    classification: 2,
    persistent: ['b1', 'b2'],
    depth: 1,
  },
}
const ACTION: HandoffAction = {
  kind: 'handoff',
  ...{ to: 'helper', isListed: true, from: FROM, claims: null, digest: 'd', sealed: 's', declared: null },
  ...{ task: 'task', criticality: 2, classification: 2, confidence: 800, priorScore: 950 },
  ...{ persistent: ['b1', 'b2'], artifacts: [], previous: BEFORE, injection: 0, hidden: 0 },
}
const ROOM = { waiting: 0, tried: 1, ofSender: 0, kept: 0 }

function decide(change: Partial<HandoffAction>, facts: Partial<Facts> = {}, ledger: Partial<Ledger> = {}) {
  const action = { ...ACTION, ...change }
  const request = { ...REQUEST, method: 'SendHandoff' }
  const verdict = adjudicate({ ...FACTS, request, action, ...facts }, POLICY, {
    ...LEDGER,
    handoffs: ROOM,
    ...ledger,
  })
  const response = verdict.kind === 'response' ? verdict.response : 'STATUS'
  return `${response} ${verdict.rule} ${verdict.severity} ${verdict.incident ?? '-'}`
}

t.test('a handoff that breaks no rule is permitted, at the beginning of a chain and along it', async (t) => {
  t.equal(decide({}), 'EXECUTE all_passed info -')
  t.equal(decide({ previous: null }), 'EXECUTE all_passed info -')
  t.equal(decide({ claims: FROM }), 'EXECUTE all_passed info -', 'it may name its own instance')
  t.equal(decide({ claims: 'bot' }), 'EXECUTE all_passed info -', 'and its own name')
  t.equal(decide({ declared: 's' }), 'EXECUTE all_passed info -', 'and the right digest')
  t.equal(decide({ criticality: 4, classification: 3 }), 'EXECUTE all_passed info -', 'what may rise')
  t.equal(decide({ persistent: ['b0', 'b2', 'b1'] }), 'EXECUTE all_passed info -', 'and what may be added')
})

t.test('each rule by itself rejects what breaks it alone', async (t) => {
  const rows: readonly (readonly [Partial<HandoffAction>, string])[] = [
    [{ claims: 'root' }, 'handoff.from critical violation'],
    [{ claims: 'bot-20261128T120000Z-ffffffff' }, 'handoff.from critical violation'],
    [{ claims: '' }, 'handoff.from critical violation'],
    [{ declared: 'other' }, 'handoff.digest critical violation'],
    [{ isListed: false }, 'handoff.to warning -'],
    [{ previous: 'unknown' }, 'handoff.previous warning -'],
    [{ task: 'another' }, 'handoff.task critical critical'],
    [{ criticality: 1 }, 'handoff.criticality warning violation'],
    [{ classification: 1 }, 'handoff.classification warning violation'],
    [{ classification: 0 }, 'handoff.classification warning violation'],
    [{ persistent: ['b1'] }, 'handoff.blockers warning violation'],
    [{ persistent: [] }, 'handoff.blockers warning violation'],
    [{ confidence: null }, 'handoff.confidence warning -'],
    [
      { artifacts: [{ path: '/srv/work/a', real: '/srv/work/a', isThere: false }] },
      'handoff.artifacts warning -',
    ],
    [{ previous: { ...BEFORE, depth: 3 } }, 'handoff.depth warning -'],
    [{ previous: { ...BEFORE, depth: 3 }, criticality: 3 }, 'handoff.depth critical -'],
    [{ previous: { ...BEFORE, depth: 3 }, criticality: 4 }, 'handoff.depth critical -'],
  ]
  for (const [change, said] of rows) t.equal(decide(change), `STATUS ${said}`, JSON.stringify(change))
  const human = rejectedHandoff({ ...ACTION, previous: { ...BEFORE, depth: 3 }, criticality: 3 }, 'bot')
  t.match(human?.reason, /a human must decide/)
})

t.test('a task is given to the same agent 3, 5, 7 and 10 times, by its criticality (JF-R40)', async (t) => {
  for (const [at, most] of [3, 5, 7, 10].entries()) {
    const criticality = at + 1
    const given = (rounds: number) => decide({ criticality, rounds, previous: null })
    t.equal(given(most - 1), 'EXECUTE all_passed info -')
    for (const rounds of [most, most + 1]) t.equal(given(rounds), 'STATUS handoff.rounds warning -')
  }
  t.match(
    rejectedHandoff({ ...ACTION, rounds: 5 }, 'bot')?.reason,
    /given this task 5 times, and 5 rounds is the most at C2: ask a human/,
  )
})

t.test('depth is that of the one before and one more; three hops pass', async (t) => {
  t.equal(depthOf({ previous: null }), 1)
  for (const depth of [1, 2]) {
    t.equal(depthOf({ previous: { ...BEFORE, depth } }), depth + 1)
    t.equal(decide({ previous: { ...BEFORE, depth } }), 'EXECUTE all_passed info -')
  }
})

t.test('below C2 nobody need say how sure it is, and a low score is nobody’s business', async (t) => {
  const low = { previous: null, criticality: 1 }
  t.equal(decide({ ...low, confidence: null }), 'EXECUTE all_passed info -')
  t.equal(decide({ ...low, priorScore: 0 }), 'EXECUTE all_passed info -')
  t.equal(decide({ priorScore: null }), 'EXECUTE all_passed info -', 'one that is not declared is not held')
})

t.test(
  'a low score and a text that gives orders wait for a human, each for an answer of its own',
  async (t) => {
    t.equal(decide({ priorScore: 919 }), 'THROTTLE handoff.quality warning -')
    t.equal(decide({ priorScore: 920 }), 'EXECUTE all_passed info -')
    t.equal(decide({ injection: 900 }), 'THROTTLE handoff.injection warning -')
    t.equal(decide({ injection: 899 }), 'EXECUTE all_passed info -', 'it is marked, and goes')
    t.equal(
      decide({ injection: Number.NaN }),
      'THROTTLE handoff.injection warning -',
      'what is no number is too much',
    )
    const both = { priorScore: 0, injection: 990 }
    const after = (outcomes: Readonly<Record<string, 'approved' | 'denied' | 'timed_out'>>) =>
      decide(both, {
        request: {
          ...REQUEST,
          method: 'SendHandoff',
          approvals: Object.entries(outcomes).map(([rule, outcome]) => ({ rule, outcome })),
        },
      })
    t.equal(after({}), 'THROTTLE handoff.injection warning -')
    t.equal(after({ 'handoff.injection': 'approved' }), 'THROTTLE handoff.quality warning -')
    t.equal(
      after({ 'handoff.injection': 'approved', 'handoff.quality': 'approved' }),
      'EXECUTE all_passed info -',
    )
    t.equal(after({ 'handoff.injection': 'denied' }), 'STATUS handoff.injection warning -')
    t.equal(
      after({ 'handoff.injection': 'timed_out' }),
      'STATUS handoff.injection warning -',
      'silence is no',
    )
  },
)

t.test('an artifact must be what the sender may use, by its name and by where it is', async (t) => {
  const set = POLICY.capabilities['default']
  if (set === undefined) throw new Error('There is no set.')
  const policy = {
    ...POLICY,
    capabilities: {
      ...POLICY.capabilities,
      default: { ...set, allowed_paths: ['/srv'], denied_paths: ['/srv/no'] },
    },
  }
  const at = (path: string, real = path) =>
    adjudicate({ ...FACTS, action: { ...ACTION, artifacts: [{ path, real, isThere: true }] } }, policy, {
      ...LEDGER,
      handoffs: ROOM,
    }).rule
  t.equal(at('/srv/a'), 'all_passed')
  t.equal(at('/etc/passwd'), 'default.allowed_paths')
  t.equal(at('/srv/a', '/etc/passwd'), 'default.allowed_paths')
  t.equal(at('/srv/no/a'), 'default.denied_paths')
})

t.test(
  'levels of alarm hold for handoffs: nothing is handed on under RESTRICT, a human is asked at CHECKPOINT',
  async (t) => {
    t.equal(decide({}, {}, { level: 'RESTRICT' }), 'VI_SWAP level.restrict critical violation')
    t.equal(decide({}, {}, { level: 'CHECKPOINT' }), 'THROTTLE level.checkpoint warning -')
    t.match(decide({}, {}, { level: 'CONTAIN' }), /^VI_SWAP level.contain/)
    const take = { kind: 'take_handoff', id: 'f'.repeat(32) } as const
    t.equal(
      adjudicate({ ...FACTS, action: take }, POLICY, { ...LEDGER, level: 'RESTRICT' }).rule,
      'all_passed',
    )
  },
)

t.test(
  'every bound of what is kept and tried holds, and a number that is missing is one too many',
  async (t) => {
    const rule = (change: Partial<typeof ROOM>) =>
      judgeHandoffRoom({ ...LEDGER, handoffs: { ...ROOM, ...change } })?.rule
    t.equal(rule({ waiting: 31, tried: 16, ofSender: 63, kept: 511 }), undefined)
    t.equal(rule({ tried: 17 }), 'handoff.rate')
    t.equal(rule({ waiting: 32 }), 'handoff.inbox')
    t.equal(rule({ ofSender: 64 }), 'handoff.sender')
    t.equal(rule({ kept: 512 }), 'handoff.kept')
    t.equal(judgeHandoffRoom(LEDGER)?.rule, 'handoff.rate')
    t.equal(decide({}, {}, { handoffs: { ...ROOM, kept: 512 } }), 'THROTTLE handoff.kept warning -')
  },
)

t.test('an agent may call itself by its own name, and by no other', async (t) => {
  t.equal(decide({}, { identity: { ...AGENT, name: 'other' } }), 'EXECUTE all_passed info -')
  t.match(decide({ claims: 'bot' }, { identity: { ...AGENT, name: 'other' } }), /handoff.from/)
})
