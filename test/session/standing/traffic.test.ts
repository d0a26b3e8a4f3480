/**
 * What a link has carried: every byte counts once, for its day and for whose it is.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { createTraffic, type Days } from '../../../src/session/standing/traffic.ts'

const DAY_MS = 86_400_000
const NOON = 20_000 * DAY_MS + DAY_MS / 2

function staged(known?: Days, startMs = NOON) {
  const clock = { nowMs: startMs, wallMs: () => clock.nowMs }
  const traffic = createTraffic(clock, known)
  const connection = () => {
    const carried = { received: 0, sent: 0 }
    return { carried, meter: traffic.open(() => ({ ...carried })) }
  }
  return { clock, traffic, connection }
}

t.test('a connection counts for the day from its first byte, and for its caller once it is known', (t) => {
  const { traffic, connection } = staged()
  const { carried, meter } = connection()
  const account = { received: 0, sent: 0 }
  Object.assign(carried, { received: 1_000, sent: 700 })
  traffic.settle()
  t.match(traffic.days.today, { received: 1_000, sent: 700, sinceMs: NOON })
  meter.charge(account)
  t.strictSame(account, { received: 1_000, sent: 700 }, 'the handshake is its caller’s')
  Object.assign(carried, { received: 1_010, sent: 750 })
  traffic.settle()
  traffic.settle()
  t.strictSame(account, { received: 1_010, sent: 750 })
  carried.sent = 800
  meter.close()
  meter.close()
  carried.sent = 900
  traffic.settle()
  t.strictSame(account, { received: 1_010, sent: 800 }, 'to its end and no further')
  t.match(traffic.days, { today: { received: 1_010, sent: 800 }, yesterday: undefined })
  t.end()
})

t.test('a session that comes back goes on counting; strangers count for nobody', (t) => {
  const { traffic, connection } = staged()
  const account = { received: 0, sent: 0 }
  for (const sent of [10, 20]) {
    const { carried, meter } = connection()
    meter.charge(account)
    carried.sent = sent
    meter.close()
  }
  const stranger = connection()
  stranger.carried.sent = 500
  stranger.meter.close()
  stranger.meter.charge(account)
  t.strictSame(account, { received: 0, sent: 30 })
  t.equal(traffic.days.today.sent, 530)
  t.end()
})

t.test('at midnight, UTC, a day begins; the one before is told until the next', (t) => {
  const { clock, traffic, connection } = staged()
  const { carried } = connection()
  carried.received = 5
  clock.nowMs += DAY_MS / 2 - 1
  traffic.settle()
  t.equal(traffic.days.today.received, 5)
  clock.nowMs += 1
  carried.received = 7
  traffic.settle()
  t.strictSame(traffic.days, {
    today: { received: 0, sent: 0, sinceMs: NOON + DAY_MS / 2 },
    yesterday: { received: 7, sent: 0, sinceMs: NOON },
  })
  carried.received = 8
  clock.nowMs += 2 * DAY_MS
  traffic.settle()
  t.equal(traffic.days.yesterday, undefined, 'of a day that nobody saw nothing is known')
  t.end()
})

t.test('what was written down goes on on the same day, is yesterday’s on the next, and gone later', (t) => {
  const today = () => ({ received: 3, sent: 4, sinceMs: NOON })
  const yesterday = { received: 1, sent: 1, sinceMs: NOON - DAY_MS }
  const same = staged({ today: today(), yesterday }).traffic
  t.strictSame(same.days, { today: today(), yesterday })
  t.strictSame(staged({ today: today(), yesterday }, NOON + DAY_MS).traffic.days, {
    today: { received: 0, sent: 0, sinceMs: NOON + DAY_MS / 2 },
    yesterday: today(),
  })
  for (const startMs of [NOON + 5 * DAY_MS, NOON - DAY_MS])
    t.equal(staged({ today: today(), yesterday }, startMs).traffic.days.yesterday, undefined)
  t.equal(staged({ today: today(), yesterday }, NOON - DAY_MS).traffic.days.today.sent, 0, 'a clock set back')
  t.end()
})

t.test('accounts and days add up to what connections carried, whatever happens in which order', (t) => {
  const step = fc.record({
    which: fc.nat(3),
    bytes: fc.nat(5_000),
    what: fc.constantFrom('carry', 'settle', 'charge', 'close'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { traffic, connection } = staged()
      const made = Array.from({ length: 4 }, connection)
      const accounts = made.map(() => ({ received: 0, sent: 0 }))
      const open = made.map(() => true)
      const charged = made.map(() => false)
      for (const { which, bytes, what } of steps) {
        const one = made[which] as (typeof made)[number]
        if (what === 'carry' && open[which]) one.carried.sent += bytes
        if (what === 'settle') traffic.settle()
        if (what === 'charge' && open[which]) {
          one.meter.charge(accounts[which] as (typeof accounts)[number])
          charged[which] = true
        }
        if (what === 'close') {
          one.meter.close()
          open[which] = false
        }
      }
      traffic.settle()
      const total = made.reduce((sum, { carried }) => sum + carried.sent, 0)
      const fits = accounts.every(
        ({ sent }, which) => sent === (charged[which] ? made[which]?.carried.sent : 0),
      )
      return fits && traffic.days.today.sent === total
    }),
    { numRuns: 300 },
  )
  t.end()
})
