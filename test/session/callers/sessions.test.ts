/**
 * Sessions: the table of their life, cell by cell, and who may have one.
 * @module
 */
import t from 'tap'
import { SESSION_KEPT_EXPIRED_MS } from '../../../src/limits.ts'
import type { Caller } from '../../../src/session/callers/identities.ts'
import {
  createSessions,
  type NewSession,
  SESSION_TABLE,
  type Session,
  type SessionChange,
  type SessionEvent,
  type SessionState,
} from '../../../src/session/callers/sessions.ts'

const caller = (name: string): Caller => ({
  name,
  role: 'agent',
  capability: 'c',
  tier: 'T3',
  tools: ['*'],
  delegatedBy: undefined,
  publicKey: new Uint8Array(32),
})
const BOT = caller('bot')
const STATES: SessionState[] = ['CREATED', 'ACTIVE', 'EXECUTING', 'EXPIRED', 'DESTROYED']
const EVENTS: SessionEvent[] = ['authenticated', 'started', 'all_ended', 'time_out', 'renewed', 'destroyed']
/** What leads where; everything else leads nowhere. */
const LEADS: Record<string, SessionState> = {
  'CREATED authenticated': 'ACTIVE',
  'CREATED destroyed': 'DESTROYED',
  'ACTIVE started': 'EXECUTING',
  'ACTIVE time_out': 'EXPIRED',
  'ACTIVE renewed': 'ACTIVE',
  'ACTIVE destroyed': 'DESTROYED',
  'EXECUTING started': 'EXECUTING',
  'EXECUTING all_ended': 'ACTIVE',
  'EXECUTING time_out': 'EXPIRED',
  'EXECUTING renewed': 'EXECUTING',
  'EXECUTING destroyed': 'DESTROYED',
  'EXPIRED renewed': 'ACTIVE',
  'EXPIRED all_ended': 'EXPIRED',
  'EXPIRED destroyed': 'DESTROYED',
}

const made = (id: string, isProven = true): NewSession => ({
  id,
  idBytes: new Uint8Array(16),
  instance: `bot-${id}`,
  isProven,
})

function room(change: { maxSessions?: number; bindAddress?: boolean } = {}) {
  const changes: SessionChange[] = []
  const sessions = createSessions(
    { maxSessions: 2, maxDurationMs: 1_000, bindAddress: true, ...change },
    (one) => changes.push(one),
  )
  const make = (id: string, nowMs = 0, who = BOT, address = 'a') =>
    sessions.create(made(id), who, address, nowMs) as Session
  return { sessions, make, moves: () => changes.splice(0).map(({ from, to }) => `${from} ${to}`) }
}

t.test('every event in every state leads where the table says, and nowhere else (SS-15)', (t) => {
  for (const state of STATES) {
    for (const event of EVENTS) {
      const { sessions, make, moves } = room()
      const session = make('x')
      session.state = state
      moves()
      const to = LEADS[`${state} ${event}`]
      sessions.apply(session, event, 5)
      t.equal(session.state, to ?? state, `${event} in ${state}`)
      t.strictSame(moves(), to === undefined || to === state ? [] : [`${state} ${to}`])
      t.equal(session.running, to !== undefined && event === 'started' ? 1 : 0)
      t.equal(session.lastSeenMs, to === undefined ? 0 : 5)
      t.equal(SESSION_TABLE[state][event], to)
    }
  }
  t.ok(Object.isFrozen(SESSION_TABLE))
  t.end()
})

t.test('a session is executing until the last of its executions has ended', (t) => {
  const { sessions, make, moves } = room()
  const session = make('x')
  sessions.apply(session, 'started', 1)
  sessions.apply(session, 'started', 2)
  t.equal(sessions.executionEnded('x', 3), 'EXECUTING')
  t.equal(sessions.executionEnded('x', 4), 'ACTIVE')
  t.strictSame(moves(), ['CREATED ACTIVE', 'ACTIVE EXECUTING', 'EXECUTING ACTIVE'])
  t.equal(sessions.executionEnded('gone', 5), undefined)
  t.end()
})

t.test(
  'a session ends after its time, is kept a while for its caller, and is then destroyed (SS-16)',
  (t) => {
    const { sessions, make, moves } = room()
    const session = make('x')
    session.isHeld = false
    sessions.tick(999)
    t.equal(session.state, 'ACTIVE')
    sessions.tick(1_000)
    t.equal(session.state, 'EXPIRED')
    t.equal(sessions.find('x', BOT, 'a'), session, 'its caller may still take it back')
    sessions.tick(1_000 + SESSION_KEPT_EXPIRED_MS - 1)
    t.equal(sessions.size, 1)
    sessions.tick(1_000 + SESSION_KEPT_EXPIRED_MS)
    t.equal(sessions.size, 0)
    t.equal(sessions.find('x', BOT, 'a'), undefined)
    t.strictSame(moves(), ['CREATED ACTIVE', 'ACTIVE EXPIRED', 'EXPIRED DESTROYED'])
    t.end()
  },
)

t.test('an expired session that is held or at work is not destroyed (SS-16)', (t) => {
  const { sessions, make } = room()
  const held = make('held')
  const working = make('working')
  working.isHeld = false
  sessions.apply(working, 'started', 0)
  sessions.tick(1_000)
  sessions.tick(9_000_000)
  t.equal(sessions.size, 2)
  held.isHeld = false
  t.equal(sessions.executionEnded('working', 9_000_000), 'EXPIRED')
  sessions.tick(9_000_001)
  t.equal(sessions.size, 0)
  t.end()
})

t.test(
  'renewing moves the end forward from now, also of an expired session, and into work where there is some',
  (t) => {
    const { sessions, make, moves } = room()
    const session = make('x')
    sessions.renew(session, 600)
    t.equal(session.expiresAtMs, 1_600)
    sessions.apply(session, 'started', 700)
    sessions.tick(1_600)
    t.equal(session.state, 'EXPIRED')
    sessions.renew(session, 2_000)
    t.equal(session.state, 'EXECUTING')
    t.equal(session.expiresAtMs, 3_000)
    t.strictSame(moves().slice(1), [
      'ACTIVE EXECUTING',
      'EXECUTING EXPIRED',
      'EXPIRED ACTIVE',
      'ACTIVE EXECUTING',
    ])
    sessions.apply(session, 'destroyed', 2_100)
    sessions.renew(session, 2_200)
    t.equal(session.state, 'DESTROYED')
    t.equal(session.expiresAtMs, 3_000, 'what is destroyed has no time to renew')
    t.end()
  },
)

t.test('when all places are taken, the idle session that was away longest makes room', (t) => {
  const { sessions, make, moves } = room({ maxSessions: 3 })
  const first = make('first', 1)
  const second = make('second', 2)
  const third = make('third', 3)
  t.notOk(sessions.hasRoom())
  t.equal(sessions.create(made('no'), BOT, 'a', 4), undefined, 'all are held')
  first.isHeld = false
  first.lastSeenMs = 50
  second.isHeld = false
  second.lastSeenMs = 40
  third.isHeld = false
  sessions.apply(third, 'started', 5)
  moves()
  t.ok(sessions.hasRoom())
  t.ok(make('fourth', 60))
  t.equal(sessions.find('second', BOT, 'a'), undefined)
  t.ok(sessions.find('first', BOT, 'a'))
  t.ok(sessions.find('third', BOT, 'a'), 'what works stays')
  t.strictSame(moves(), ['ACTIVE DESTROYED', 'CREATED ACTIVE'])
  t.equal(sessions.size, 3)
  t.end()
})

t.test(
  'a session belongs to the caller and the address that opened it, unless addresses are not bound (SS-17)',
  (t) => {
    const bound = room()
    const session = bound.make('x')
    t.equal(bound.sessions.find('x', BOT, 'a'), session)
    t.equal(bound.sessions.find('x', caller('other'), 'a'), undefined)
    const rekeyed = { ...BOT, publicKey: new Uint8Array(32).fill(1) }
    t.equal(bound.sessions.find('x', rekeyed, 'a'), undefined, 'nor to its name with another key')
    t.equal(
      bound.sessions.find('x', { ...rekeyed, listedKey: BOT.publicKey }, 'a'),
      session,
      'but for the key that follows it',
    )
    t.equal(bound.sessions.find('x', BOT, 'b'), undefined)
    t.equal(bound.sessions.find('y', BOT, 'a'), undefined)
    const loose = room({ bindAddress: false })
    const free = loose.make('x')
    t.equal(loose.sessions.find('x', BOT, 'b'), free)
    t.equal(loose.sessions.find('x', caller('other'), 'a'), undefined, 'another key never')
    t.end()
  },
)

t.test('destroying forgets the session at once, and twice does nothing', (t) => {
  const { sessions, make, moves } = room()
  const session = make('x')
  sessions.apply(session, 'destroyed', 1)
  sessions.apply(session, 'destroyed', 2)
  t.equal(sessions.size, 0)
  t.strictSame([...sessions.all()], [])
  t.strictSame(moves(), ['CREATED ACTIVE', 'ACTIVE DESTROYED'])
  t.end()
})

t.test(
  'a session that a challenge goes with is created and not active, and is destroyed once nobody holds it',
  (t) => {
    const { sessions, moves } = room()
    const session = sessions.create(made('x', false), BOT, 'a', 0) as Session
    t.equal(session.state, 'CREATED')
    t.strictSame(moves(), [])
    sessions.tick(999_999)
    t.equal(session.state, 'CREATED', 'its connection still holds it: the challenge has a time of its own')
    session.isHeld = false
    sessions.tick(1_000_000)
    t.equal(sessions.size, 0)
    t.end()
  },
)

t.test('of one caller those sessions count that are held or at work', (t) => {
  const { sessions, make } = room({ maxSessions: 9 })
  const [held, away, working] = [make('held'), make('away'), make('working')]
  make('theirs', 0, caller('other'))
  away.isHeld = false
  working.isHeld = false
  sessions.apply(working, 'started', 0)
  t.strictSame([sessions.countOf('bot'), sessions.countOf('other'), sessions.countOf('nobody')], [2, 1, 0])
  held.isHeld = false
  sessions.executionEnded('working', 1)
  t.equal(sessions.countOf('bot'), 0)
  t.end()
})

t.test('a session has the name of its instance and begins with nothing done', (t) => {
  const { make } = room()
  t.match(make('x'), { instance: 'bot-x', deliveredBytes: 0, ticks: new Map(), toxic: new Set() })
  t.end()
})
