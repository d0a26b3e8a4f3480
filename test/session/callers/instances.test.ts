/**
 * Names of instances: the calendar, the form, and that none comes twice.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { compactTime, newInstance } from '../../../src/session/callers/instances.ts'
import { enter, stageRandom, stageRooms } from '../stage.ts'

/** The same by the host's calendar. */
const byDate = (ms: number) =>
  new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:]/g, '')

t.test('the time is the UTC time of the calendar, leap days included', (t) => {
  for (const [text, expected] of [
    ['1970-01-01T00:00:00Z', '19700101T000000Z'],
    ['1999-12-31T23:59:59.999Z', '19991231T235959Z'],
    ['2000-02-29T12:00:00Z', '20000229T120000Z'],
    ['2024-02-29T23:59:59Z', '20240229T235959Z'],
    ['2024-03-01T00:00:00Z', '20240301T000000Z'],
    ['2026-11-20T10:57:42Z', '20261120T105742Z'],
    ['2100-02-28T23:59:59Z', '21000228T235959Z'],
    ['2100-03-01T00:00:00Z', '21000301T000000Z'],
  ] as const)
    t.equal(compactTime(Date.parse(text)), expected)
  const days = []
  for (let day = 0; day < 150 * 366; day++) {
    const ms = day * 86_400_000 + ((day * 7_919_333) % 86_400_000)
    if (compactTime(ms) !== byDate(ms)) days.push(byDate(ms))
  }
  t.strictSame(days, [], 'every day of 150 years')
  t.end()
})

t.test('any time from 1970 to 9999 is told as the host tells it', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: Date.parse('9999-12-31T23:59:59.999Z') }),
      (ms) => compactTime(ms) === byDate(ms),
    ),
    { numRuns: 300 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('a name is NAME-TIMESTAMP-NONCE, and two of the same second differ (JF-050, JF-F05)', (t) => {
  const random = stageRandom()
  const names = Array.from({ length: 500 }, () => newInstance('ci', 1_800_000_000_000, random))
  for (const name of names.slice(0, 5)) t.match(name, /^ci-20270115T080000Z-[0-9a-f]{8}$/)
  t.equal(new Set(names).size, 500)
  t.equal(newInstance('ci', 0, { bytes: (count) => new Uint8Array(count) }), 'ci-19700101T000000Z-00000000')
  t.end()
})

t.test('a session has one for as long as it lives, and every record of its caller names it (JF-R01)', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.open('RenewSession', new Map())
  client.events.closed()
  enter(stage, { resume: client.sessionId }).open('RenewSession', new Map())
  enter(stage).open('RenewSession', new Map())
  const named = stage.audit.events.map(({ instance }) => String(instance))
  t.equal(named.length, 6)
  for (const name of named) t.match(name, /^bot-\d{8}T\d{6}Z-[0-9a-f]{8}$/)
  t.equal(new Set(named.slice(0, 4)).size, 1, 'taken back, it is the same instance')
  t.equal(new Set(named).size, 2, 'another session is another one')
  t.end()
})

t.test(
  'the instance of a session that has ended is told as ended and never comes back (JF-055, JF-F06)',
  (t) => {
    const stage = stageRooms()
    const client = enter(stage)
    const [first] = stage.rooms.sessions.all()
    if (first === undefined) throw new Error('no session')
    client.events.ended()
    t.match(stage.changes.at(-1), { session: { instance: first.instance }, to: 'DESTROYED' })
    t.equal(first.state, 'DESTROYED')
    const seen = new Set([first.instance])
    for (let count = 0; count < 20; count++) {
      const again = enter(stage, { resume: client.sessionId })
      t.notSame(again.sessionId, client.sessionId, 'its id is nobody’s any more')
      const [session] = stage.rooms.sessions.all()
      t.notOk(seen.has(session?.instance ?? first.instance))
      seen.add(session?.instance ?? '')
      again.events.ended()
    }
    stage.rooms.sessions.renew(first, stage.clock.monotonicMs())
    stage.rooms.sessions.apply(first, 'authenticated', stage.clock.monotonicMs())
    t.equal(first.state, 'DESTROYED', 'and nothing leads out of it')
    t.end()
  },
)

t.test('a name that was given is not given again, and randomness that repeats is refused (JF-R01)', (t) => {
  const nonces = [1, 1, 2]
  const random = { bytes: (count: number) => new Uint8Array(count).fill(nonces.shift() ?? 2) }
  const given = new Set<string>()
  const next = (): string => {
    const name = newInstance('bot', 0, random, (instance) => given.has(instance))
    given.add(name)
    return name
  }
  t.equal(next(), 'bot-19700101T000000Z-01010101')
  t.equal(next(), 'bot-19700101T000000Z-02020202', 'the second draw was the same, and the third was taken')
  t.throws(next, { code: 'INTERNAL' })
  t.end()
})
