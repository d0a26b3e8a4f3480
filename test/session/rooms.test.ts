/**
 * The one door to the decision: what is counted, recorded and logged before a verdict is known to anybody.
 * @module
 */
import t from 'tap'
import type { Facts } from '../../src/defense/facts.ts'
import { capabilityOf, decide, nextCycle } from '../../src/session/rooms.ts'
import { executing, FACTS, NOBODY } from '../defense/staged-facts.ts'
import { stageRooms } from './stage.ts'

const allowed: Facts = { ...FACTS, action: executing(['ls'], '/bin/ls') }
const denied: Facts = { ...FACTS, action: executing(['rm'], '/bin/rm') }

t.test('what is decided about a known caller is recorded with its response, layer and rule', (t) => {
  const { rooms, audit } = stageRooms()
  const verdict = decide(rooms, allowed)
  decide(rooms, denied)
  t.match(audit.events, [
    {
      type: 'decision',
      response: 'R1',
      layer: 'all',
      agent: 'bot',
      session_state: 'EXECUTING',
      method: 'Execute',
    },
    { type: 'decision', response: 'R4', layer: 'capability', rule: 'default.denied_commands', warrant: null },
  ])
  t.equal(audit.events[0]?.['warrant'], 'warrant' in verdict && verdict.warrant.id)
  t.not(audit.events[0]?.['action_digest'], audit.events[1]?.['action_digest'])
  t.end()
})

t.test('answers that only tell are counted and not recorded, their refusals are recorded', (t) => {
  const { rooms, audit } = stageRooms()
  const reading: Facts = { ...FACTS, action: { kind: 'read', method: 'Ping' } }
  decide(rooms, reading)
  t.strictSame([audit.events.length, rooms.responses.get(1)], [0, 1])
  decide(rooms, { ...reading, session: { id: 'x', state: 'expired' } })
  t.match(audit.events, [{ response: 'R2', action: 'read' }])
  t.end()
})

t.test('strangers are counted and logged, whoever fails to prove a name is recorded', (t) => {
  const { rooms, audit, logged } = stageRooms()
  decide(rooms, { ...FACTS, identity: NOBODY, session: undefined })
  t.strictSame([audit.events.length, rooms.responses.get(5), logged.length], [0, 1, 1])
  decide(rooms, {
    ...FACTS,
    identity: { kind: 'failed', code: 'AUTH_INVALID', why: 'w' },
    session: undefined,
  })
  t.match(audit.events, [{ response: 'R5', agent: null, code: 'AUTH_INVALID', severity: 'critical' }])
  t.end()
})

t.test('a verdict that cannot be recorded is nobody’s: the failure comes in its place', (t) => {
  const { rooms, audit } = stageRooms()
  audit.failure = new Error('disk full')
  t.throws(() => decide(rooms, allowed), { message: 'disk full' })
  t.throws(() => decide(rooms, denied), { message: 'disk full' })
  t.end()
})

t.test('what is permitted makes no line in the log; a mistake is less than a violation there', (t) => {
  const { rooms, logged } = stageRooms()
  decide(rooms, allowed)
  decide(rooms, denied)
  decide(rooms, {
    ...allowed,
    request: { method: 'Execute', audience: 'anyone', problems: 'x', overExpanded: false },
  })
  t.match(logged, [
    {
      level: 'warn',
      event: 'refused',
      fields: { agent: 'bot', response: 'VI_SWAP', reason: /is denied by capability/ },
    },
    { level: 'info', event: 'refused', fields: { response: 'STATUS', layer: 'completeness' } },
  ])
  t.end()
})

t.test('decisions are numbered, and a set is found only under its own name', (t) => {
  const { rooms } = stageRooms()
  t.strictSame([nextCycle(rooms), nextCycle(rooms), nextCycle(rooms)], [1, 2, 3])
  t.ok(capabilityOf(rooms, 'default'))
  for (const name of ['', 'toString', '__proto__', 'Default']) t.equal(capabilityOf(rooms, name), undefined)
  t.end()
})
