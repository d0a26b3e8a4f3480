/**
 * A connection's hold on its session: one holder, given up once, and what is owed before anything else.
 * @module
 */
import t from 'tap'
import { createSessionHold } from '../../../src/session/connection/session-hold.ts'
import { stageRooms } from '../stage.ts'

function stage() {
  const { rooms, clock } = stageRooms()
  const caller = rooms.identities.find('bot')
  if (caller === undefined) throw new Error('not listed')
  const session = rooms.sessions.create(
    { idBytes: new Uint8Array(16), id: '00'.repeat(16), instance: 'bot-x', isProven: true },
    caller,
    '192.0.2.1',
    clock.monotonicMs(),
  )
  if (session === undefined) throw new Error('no session')
  const dismissed: string[] = []
  const hold = (name: string) => createSessionHold(rooms, () => dismissed.push(name))
  return { rooms, clock, session, dismissed, hold }
}

t.test('before there is a session nothing is told and nothing is done', (t) => {
  const { hold } = stage()
  const none = hold('none')
  none.proven()
  none.letGo(true)
  none.end()
  t.strictSame([none.session, none.facts()], [undefined, undefined])
  t.end()
})

t.test('a live session that owes a proof is told as unproven until it has met it', (t) => {
  const { hold, session, clock } = stage()
  const one = hold('one')
  one.take(session, false)
  t.strictSame(one.facts(), { id: session.id, state: 'unproven' })
  session.state = 'EXPIRED'
  t.strictSame(one.facts()?.state, 'expired')
  clock.pass(5)
  one.proven()
  t.strictSame([one.facts()?.state, session.expiresAtMs], ['live', clock.monotonicMs() + 3_600_000])
  t.end()
})

t.test('only the one that holds it can give it away, once', (t) => {
  const { hold, session, clock, dismissed } = stage()
  const [one, two] = [hold('one'), hold('two')]
  one.take(session, true)
  session.dismissHolder?.()
  two.take(session, true)
  t.strictSame(dismissed, ['one'])
  one.letGo(true)
  t.strictSame([session.isHeld, session.state], [true, 'ACTIVE'], 'it is another’s by now')
  clock.pass(7)
  two.letGo(false)
  t.strictSame(
    [session.isHeld, session.dismissHolder, session.lastSeenMs],
    [false, undefined, clock.monotonicMs()],
  )
  session.isHeld = true
  two.letGo(true)
  t.strictSame([session.isHeld, session.state], [true, 'ACTIVE'])
  t.end()
})

t.test('an orderly end destroys a session without work, and leaves one that works', (t) => {
  for (const works of [false, true]) {
    const { hold, session, rooms } = stage()
    const one = hold('one')
    one.take(session, true)
    if (works) rooms.sessions.apply(session, 'started', 1)
    one.letGo(true)
    t.equal(session.state, works ? 'EXECUTING' : 'DESTROYED')
  }
  t.end()
})

t.test('an orderly end leaves a session that owes its caller the end of a command', (t) => {
  const { hold, session, rooms } = stage()
  const { executions } = rooms
  let owed = true
  Object.assign(executions, { owesEnd: (id: string) => owed && id === session.id })
  for (const state of ['ACTIVE', 'DESTROYED']) {
    const one = hold('one')
    session.isHeld = true
    one.take(session, true)
    one.letGo(true)
    t.strictSame([session.state, session.isHeld], [state, false])
    owed = false
  }
  t.end()
})

t.test('ending it destroys it with its work', (t) => {
  const { hold, session, rooms } = stage()
  const one = hold('one')
  one.take(session, true)
  rooms.sessions.apply(session, 'started', 1)
  one.end()
  one.end()
  t.strictSame([session.state, rooms.sessions.size, one.facts()?.state], ['DESTROYED', 0, 'unknown'])
  t.end()
})
