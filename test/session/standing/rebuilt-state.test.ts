/**
 * The state of the daemon, rebuilt from records alone: it is what each decision was made with, whatever is asked in
 * whatever order; and where a record is changed, taken away or put in, the first that does not follow is named.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import type { Facts, Ledger } from '../../../src/defense/facts.ts'
import type { Policy } from '../../../src/defense/layer.ts'
import { TASKS_PER_SESSION } from '../../../src/limits.ts'
import type { AuditEvent } from '../../../src/ports.ts'
import { newMemory, recalled, remember } from '../../../src/session/callers/session-memory.ts'
import { decisionEvent } from '../../../src/session/standing/decision-event.ts'
import { createLevels, levelsTold } from '../../../src/session/standing/levels.ts'
import {
  createRebuiltState,
  type Decided,
  type Departure,
} from '../../../src/session/standing/rebuilt-state.ts'
import { AGENT, executing, FACTS, LEDGER, policyWith, REQUEST } from '../../defense/staged-facts.ts'

const POLICY: Policy = policyWith(
  {},
  {},
  { quota: { ticksPerTask: 2, tokensPerSession: null, sessionsPerCaller: 4 } },
)

type Entry = { readonly event: AuditEvent; readonly decided?: Decided }

/** A device as far as its record is concerned: real levels, real memories, and the real decision. */
function createDevice() {
  const entries: Entry[] = []
  const memories = new Map<string, ReturnType<typeof newMemory>>()
  let cycle = 0
  let levels = makeLevels([])

  function makeLevels(kept: Parameters<typeof levelsTold>[0]) {
    return createLevels(
      { entries: kept },
      () => 0,
      (step) => entries.push({ event: { type: 'level', ...step } }),
    )
  }

  return {
    entries,
    get levels() {
      return levels
    },
    starts() {
      levels = makeLevels(levels.kept().entries)
      memories.clear()
      cycle = 0
      entries.push({ event: { type: 'daemon', what: 'started', levels: levelsTold(levels.list()) } })
    },
    opens(session: string) {
      memories.set(session, newMemory())
      entries.push({ event: { type: 'session', session, from: 'CREATED', to: 'ACTIVE' } })
    },
    asks(session: string, argv: readonly string[], change: Partial<Facts['request']> = {}, agent = 'bot') {
      const memory = memories.get(session)
      const request = { ...REQUEST, ...change }
      const facts: Facts = {
        ...FACTS,
        cycle: cycle++,
        identity: { ...AGENT, name: agent },
        session: { id: session, state: 'live' },
        request,
        action: executing(argv),
      }
      const level = levels.of(agent, session, [])
      const ledger: Ledger = { ...LEDGER, level, ...recalled(memory, request) }
      const verdict = adjudicate(facts, POLICY, ledger)
      entries.push({
        event: { ...decisionEvent(facts, verdict, undefined), facts: 'x' },
        decided: { facts, ledger, verdict },
      })
      if (memory !== undefined) remember(memory, request, verdict)
      return verdict
    },
    ends(session: string) {
      entries.push({ event: { type: 'session', session, from: 'ACTIVE', to: 'DESTROYED' } })
      levels.sessionEnded(session)
      memories.delete(session)
    },
  }
}

function follow(entries: readonly Entry[]): { departures: (Departure & { at: number })[]; told: number } {
  const state = createRebuiltState()
  const departures: (Departure & { at: number })[] = []
  let told = 0
  for (const [at, { event, decided }] of entries.entries()) {
    const taken = state.take(event, decided)
    if (event.type === 'decision' && taken.isTold) told++
    departures.push(...taken.departures.map((departure) => ({ at, ...departure })))
  }
  return { departures, told }
}

const S = ['a1', 'b2', 'c3'].map((text) => text.repeat(16))
const [FIRST, SECOND] = [S[0] ?? '', S[1] ?? '']

const deed = fc.oneof(
  fc.record({
    kind: fc.constant('ask' as const),
    session: fc.constantFrom(...S),
    argv: fc.constantFrom(
      ['ls'],
      ['curl', 'http://x/'],
      ['cat', '/home/agent/.ssh/id_rsa'],
      ['chmod', '1', 'x'],
    ),
    task: fc.constantFrom(undefined, 't1', 't2'),
    approves: fc.boolean(),
    agent: fc.constantFrom('bot', 'other'),
  }),
  fc.record({
    kind: fc.constant('level' as const),
    scope: fc.constantFrom('daemon' as const, 'agent' as const, 'session' as const),
    level: fc.constantFrom('NORMAL' as const, 'RESTRICT' as const, 'CONTAIN' as const),
    session: fc.constantFrom(...S),
  }),
  fc.record({ kind: fc.constant('end' as const), session: fc.constantFrom(...S) }),
  fc.record({
    kind: fc.constant('disk' as const),
    level: fc.constantFrom('NORMAL' as const, 'HALT' as const),
  }),
  fc.constant({ kind: 'restart' as const }),
)

t.test('whatever happens, the state before each decision comes out of the records before it', (t) => {
  let told = 0
  fc.assert(
    fc.property(fc.array(deed, { minLength: 20, maxLength: 40 }), (deeds) => {
      const device = createDevice()
      device.starts()
      /** By the name that the property gives them; an id is never used again. */
      const open = new Map<string, string>()
      let [decisions, opened] = [0, 0]
      for (const next of deeds) {
        if (next.kind === 'restart') {
          device.starts()
          open.clear()
        } else if (next.kind === 'disk') device.levels.storage(next.level, 'the disk')
        else if (next.kind === 'end') {
          const id = open.get(next.session)
          if (id !== undefined) device.ends(id)
          open.delete(next.session)
        } else if (next.kind === 'level') {
          const name = { daemon: '', agent: 'bot', session: open.get(next.session) }[next.scope]
          if (name !== undefined) device.levels.set(next.scope, name, next.level, '', 'op')
        } else {
          const id = open.get(next.session) ?? `${next.session}${opened++}`
          if (!open.has(next.session)) device.opens(id)
          open.set(next.session, id)
          const approvals = next.approves
            ? [{ rule: 'quota.ticks_per_task', outcome: 'approved' as const }]
            : []
          device.asks(id, next.argv, { task: next.task, approvals }, next.agent)
          decisions++
        }
      }
      const { departures, told: here } = follow(device.entries)
      t.strictSame(departures, [])
      t.equal(here, decisions, 'of each of them all is told')
      told += here
    }),
    { numRuns: 200 },
  )
  t.ok(told > 1_000, `${told}`)
  t.end()
})

t.test('as many tasks as are remembered, and the one after', (t) => {
  const device = createDevice()
  device.starts()
  device.opens(FIRST)
  for (let task = 0; task <= TASKS_PER_SESSION; task++) device.asks(FIRST, ['ls'], { task: `t${task}` })
  for (const task of ['t0', 't1', `t${TASKS_PER_SESSION}`]) device.asks(FIRST, ['ls'], { task })
  t.strictSame(follow(device.entries).departures, [])
  t.end()
})

/** Sessions that did something toxic, used ticks, and an agent that was contained. */
function lived(): Entry[] {
  const device = createDevice()
  device.starts()
  device.opens(FIRST)
  device.asks(FIRST, ['curl', 'http://x/'], { task: 't' })
  device.asks(FIRST, ['ls'], { task: 't' })
  device.opens(SECOND)
  device.levels.set('agent', 'other', 'CONTAIN', 'why', 'op')
  device.asks(SECOND, ['ls'], {}, 'other')
  device.starts()
  device.opens(SECOND)
  device.asks(SECOND, ['ls'], {}, 'other')
  return [...device.entries]
}

const without = (entries: readonly Entry[], fits: (event: AuditEvent) => boolean) =>
  entries.filter(({ event }) => !fits(event))

t.test('what does not follow from the records before it is named, the first of it first', (t) => {
  const whole = lived()
  t.strictSame(follow(whole).departures, [])
  const at = (fits: (entry: Entry) => boolean) => whole.findIndex(fits)
  const second = at(({ decided }) => decided?.ledger.ticks === 1)
  const first = at(({ event }) => event.type === 'decision')

  const noLevel = without(whole, ({ type }) => type === 'level')
  t.match(follow(noLevel).departures[0], { what: 'level', recorded: '"CONTAIN"', rebuilt: '"NORMAL"' })

  const noFirst = whole.filter((_entry, index) => index !== first)
  t.match(follow(noFirst).departures, [
    { at: second - 1, what: 'ticks', recorded: '1', rebuilt: '0' },
    { at: second - 1, what: 'toxic', recorded: '["untrusted","outward"]', rebuilt: '[]' },
  ])

  const swapped = [...whole]
  swapped.splice(first, 2, ...[...whole.slice(first, second + 1)].reverse())
  t.match(follow(swapped).departures[0], { at: first, what: 'ticks' })
  t.ok(follow(swapped).departures.some(({ what }) => what === 'cycle'))

  const twice = whole.flatMap((entry, index) => (index === first ? [entry, entry] : [entry]))
  t.match(follow(twice).departures[0], { at: first + 1, what: 'cycle' })

  const restart = whole.findLastIndex(({ event }) => event['what'] === 'started')
  const forgot = whole.with(restart, { event: { type: 'daemon', what: 'started', levels: {} } })
  t.strictSame(follow(forgot).departures[0], {
    at: restart,
    what: 'level of agent/other',
    recorded: '"NORMAL"',
    rebuilt: '"CONTAIN"',
  })
  const stricter = { 'agent/other': 'CONTAIN', 'agent/bot': 'HALT' }
  const lostPower = whole.with(restart, { event: { type: 'daemon', what: 'started', levels: stricter } })
  t.strictSame(follow(lostPower).departures, [], 'a level whose record was lost with the power')
  t.end()
})

t.test('sessions go the ways that they can, and commands end once, by their warrant', (t) => {
  const session = (from: string, to: string): Entry => ({
    event: { type: 'session', session: FIRST, from, to },
  })
  const started: Entry = { event: { type: 'daemon', what: 'started', levels: {} } }
  const whats = (...entries: Entry[]) =>
    follow([started, ...entries]).departures.map(({ at, what, recorded }) => `${at} ${what} ${recorded}`)
  t.strictSame(
    whats(session('CREATED', 'ACTIVE'), session('EXECUTING', 'EXPIRED'), session('EXPIRED', 'ACTIVE')),
    [],
  )
  t.strictSame(whats(session('ACTIVE', 'EXPIRED')), ['1 session "ACTIVE"'], 'it was never opened')
  t.strictSame(whats(session('CREATED', 'EXPIRED')), ['1 session "EXPIRED"'], 'no way leads there')
  t.strictSame(
    whats(session('CREATED', 'DESTROYED'), session('CREATED', 'ACTIVE')),
    ['2 session "CREATED"'],
    'nothing comes back',
  )

  const device = createDevice()
  device.starts()
  device.opens(FIRST)
  const verdict = device.asks(FIRST, ['ls'])
  const warrant = 'warrant' in verdict ? verdict.warrant.id : ''
  const ended = (id: string): Entry => ({ event: { type: 'execution_ended', warrant: id } })
  const ends = (...entries: Entry[]) =>
    follow([...device.entries, ...entries]).departures.map(({ what }) => what)
  t.strictSame(ends(ended(warrant)), [])
  t.strictSame(ends(ended(warrant), ended(warrant)), ['warrant'])
  t.strictSame(ends(ended('ff')), ['warrant'])

  const expired = { ...FACTS, session: { id: FIRST, state: 'expired' as const } }
  const decided = { facts: expired, ledger: LEDGER, verdict: adjudicate(expired, POLICY, LEDGER) }
  const late: Entry = { event: decisionEvent(expired, decided.verdict, undefined), decided }
  t.strictSame(whats(session('CREATED', 'ACTIVE'), late), ['2 session "expired"'])
  t.strictSame(whats(session('CREATED', 'ACTIVE'), session('ACTIVE', 'EXPIRED'), late), [])
  t.end()
})

t.test('what was dropped, purged or lost is not made up: what follows from it is not told', (t) => {
  const whole = lived()
  const decisions = whole.filter(({ event }) => event.type === 'decision').length
  t.equal(follow(whole).told, decisions)

  const unbegun = whole.slice(
    1,
    whole.findLastIndex(({ event }) => event['what'] === 'started'),
  )
  t.match(follow(unbegun), { told: 0, departures: [] }, 'the levels of that run are not known')
  const old = whole.map((entry) =>
    entry.event['what'] === 'started' ? { event: { type: 'daemon', what: 'started' } } : entry,
  )
  t.match(follow(old), { told: 0, departures: [] }, 'an older version did not say them')

  const purged = whole.map(({ event, decided }) =>
    event['session'] === FIRST && event.type === 'decision'
      ? { event }
      : { event, ...(decided && { decided }) },
  )
  t.match(follow(purged), { told: decisions - 2, departures: [] })
  const first = whole.findIndex(({ event }) => event.type === 'decision')
  const missing = whole.map((entry, index) => (index === first ? { event: entry.event } : entry))
  t.match(follow(missing), { told: decisions - 2, departures: [] }, 'nor what comes after it in its session')

  const lost: Entry = { event: { type: 'recovered', what: 'records_lost', count: 3 } }
  t.match(follow(whole.toSpliced(1, 0, lost)), { told: 1, departures: [] }, 'until the next start')
  t.end()
})
