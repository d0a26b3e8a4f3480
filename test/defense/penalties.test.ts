/**
 * Penalties of sources: what adds up, when it begins, when it is over, and what a full table forgets.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import {
  createPenalties,
  PENALTY_SECONDS,
  PENALTY_SOURCES,
  type PenaltyReason,
  type PenaltySettings,
  penaltySource,
} from '../../src/defense/penalties.ts'
import { PENALTY_MAX_SECONDS, PENALTY_MIN_SECONDS } from '../../src/limits.ts'

const SETTINGS: PenaltySettings = {
  enabled: true,
  exempt: () => false,
  minSeconds: PENALTY_MIN_SECONDS,
  maxSeconds: PENALTY_MAX_SECONDS,
  maxSources: PENALTY_SOURCES,
  perReasonSeconds: PENALTY_SECONDS,
}
const stage = (change: Partial<PenaltySettings> = {}) => createPenalties({ ...SETTINGS, ...change })
const BAD = '192.0.2.1'

t.test('the third failed proof within a moment begins a penalty of 15 s, which ends by itself', (t) => {
  const penalties = stage()
  t.strictSame(
    [
      penalties.add(BAD, 'auth_failed', 0),
      penalties.add(BAD, 'auth_failed', 0),
      penalties.isActive(BAD, 0),
      penalties.isSuspect(BAD, 0),
      penalties.add(BAD, 'auth_failed', 0),
    ],
    ['noted', 'noted', false, true, 'began'],
  )
  t.strictSame([penalties.isActive(BAD, 0), penalties.isSuspect(BAD, 0)], [true, false])
  t.equal(penalties.isActive(BAD, 14_999), true)
  t.equal(penalties.isActive(BAD, 15_000), false)
  t.strictSame([penalties.isSuspect(BAD, 15_000), penalties.list(15_000)], [false, []], 'and nothing is left')
  t.end()
})

t.test('failures with time between them run out and begin nothing', (t) => {
  const penalties = stage()
  for (let second = 0; second < 300; second += 5) {
    t.equal(penalties.add(BAD, 'auth_failed', second * 1_000), 'noted')
  }
  t.end()
})

t.test('a penalty that has begun stays until its expiry, also with less than the minimum left', (t) => {
  const penalties = stage()
  penalties.add(BAD, 'violation', 0)
  t.equal(penalties.isActive(BAD, 19_000), true)
  t.equal(penalties.add(BAD, 'no_auth', 19_000), 'prolonged')
  t.strictSame(penalties.list(19_000), [{ source: BAD, reason: 'no_auth', isActive: true, secondsLeft: 2 }])
  t.equal(penalties.isActive(BAD, 20_999), true)
  t.equal(penalties.isActive(BAD, 21_000), false)
  t.end()
})

t.test('each reason costs its own seconds', (t) => {
  for (const [reason, seconds] of [
    ['auth_failed', 5],
    ['no_auth', 1],
    ['grace_exceeded', 10],
    ['refused', 10],
    ['violation', 20],
  ] as const) {
    const penalties = stage()
    penalties.add(BAD, reason, 0)
    t.match(penalties.list(0), [{ source: BAD, reason, secondsLeft: seconds, isActive: seconds >= 15 }])
  }
  const free = stage({ perReasonSeconds: { ...PENALTY_SECONDS, no_auth: 0 } })
  t.equal(free.add(BAD, 'no_auth', 0), 'none')
  t.strictSame(free.list(0), [])
  t.end()
})

t.test('no source is away from its expiry by more than the maximum, the first failure included', (t) => {
  const penalties = stage()
  for (let index = 0; index < 1_000; index++) penalties.add(BAD, 'violation', index)
  t.match(penalties.list(999), [{ secondsLeft: 600 }])
  t.equal(penalties.isActive(BAD, 600_998), true)
  t.equal(penalties.isActive(BAD, 600_999), false)
  const harsh = stage({ perReasonSeconds: { ...PENALTY_SECONDS, refused: 86_400 } })
  harsh.add(BAD, 'refused', 0)
  t.match(harsh.list(0), [{ secondsLeft: 600 }])
  t.end()
})

t.test('IPv4 counts by the address, IPv6 by its /64, a mapped address as the IPv4 that it is', (t) => {
  const penalties = stage()
  penalties.add('192.0.2.7', 'violation', 0)
  penalties.add('2001:db8:0:1::5', 'violation', 0)
  for (const [address, isActive] of [
    ['192.0.2.7', true],
    ['::ffff:192.0.2.7', true],
    ['::ffff:c000:207', true],
    ['192.0.2.8', false],
    ['2001:db8:0:1:ffff:ffff:ffff:ffff', true],
    ['2001:DB8:0:1::', true],
    ['2001:db8:0:2::5', false],
    ['2001:db8::5', false],
  ] as const) {
    t.equal(penalties.isActive(address, 0), isActive, address)
  }
  t.strictSame(
    penalties.list(0).map(({ source }) => source),
    ['192.0.2.7', '2001:db8:0:1::/64'],
  )
  t.equal(penaltySource('::ffff:192.0.2.7'), '192.0.2.7')
  t.end()
})

t.test('what has no address, like the admin socket, is never penalised', (t) => {
  const penalties = stage()
  for (const address of ['local', '', 'example.org', '192.0.2.1/24', 'fe80::1%eth0']) {
    t.equal(penalties.add(address, 'violation', 0), 'none')
    t.equal(penalties.isActive(address, 0), false)
  }
  t.strictSame(penalties.list(0), [])
  t.end()
})

t.test('an exempt source is neither noted nor refused, whatever is known of its network', (t) => {
  const penalties = stage({ exempt: (address) => address === '2001:db8::1' || address === '192.0.2.9' })
  t.equal(penalties.add('192.0.2.9', 'violation', 0), 'none')
  penalties.add('2001:db8::2', 'violation', 0)
  t.strictSame(
    ['192.0.2.9', '2001:db8::1', '2001:db8::3'].map((address) => penalties.isActive(address, 0)),
    [false, false, true],
  )
  t.strictSame(penalties.list(0).length, 1)
  t.end()
})

t.test('switched off it notes and refuses nothing', (t) => {
  const penalties = stage({ enabled: false })
  t.equal(penalties.add(BAD, 'violation', 0), 'none')
  t.strictSame([penalties.isActive(BAD, 0), penalties.active(0), penalties.list(0)], [false, 0, []])
  t.end()
})

t.test('a full table forgets the source that expires first, of equals the one noted first', (t) => {
  const penalties = stage({ maxSources: 3 })
  penalties.add('192.0.2.1', 'refused', 0)
  penalties.add('192.0.2.2', 'auth_failed', 0)
  penalties.add('192.0.2.3', 'auth_failed', 0)
  const sources = () =>
    penalties
      .list(0)
      .map(({ source }) => source)
      .sort()
  t.equal(penalties.add('192.0.2.4', 'refused', 0), 'noted')
  t.strictSame(sources(), ['192.0.2.1', '192.0.2.3', '192.0.2.4'])
  t.equal(penalties.add('192.0.2.5', 'no_auth', 0), 'none', 'also where that is the newest')
  t.strictSame(sources(), ['192.0.2.1', '192.0.2.3', '192.0.2.4'])
  penalties.add('2001:db8::1', 'no_auth', 0)
  t.equal(penalties.list(0).length, 4, 'the other family has a table of its own')
  t.equal(stage({ maxSources: 0 }).add(BAD, 'violation', 0), 'none')
  t.end()
})

t.test('what is over makes room before anything is forgotten early', (t) => {
  const penalties = stage({ maxSources: 2 })
  penalties.add('192.0.2.1', 'no_auth', 0)
  penalties.add('192.0.2.2', 'refused', 0)
  penalties.add('192.0.2.3', 'refused', 5_000)
  t.strictSame(
    penalties.list(5_000).map(({ source }) => source),
    ['192.0.2.3', '192.0.2.2'],
  )
  t.end()
})

t.test('whole networks that attack never fill more than the tables', (t) => {
  const penalties = stage({ maxSources: 64 })
  for (let index = 0; index < 2_000; index++) {
    penalties.add(`10.0.${index >> 8}.${index & 255}`, 'refused', index)
    penalties.add(`2001:db8:${index.toString(16)}::1`, 'refused', index)
  }
  t.equal(penalties.list(2_000).length, 128)
  t.end()
})

t.test('time that goes back changes nothing', (t) => {
  const penalties = stage()
  penalties.add(BAD, 'violation', 1_000_000)
  t.equal(penalties.isActive(BAD, 1_019_999), true)
  t.equal(penalties.isActive(BAD, 5), true)
  t.match(penalties.list(5), [{ secondsLeft: 1 }], 'nothing is gained or lost by it')
  penalties.add('192.0.2.2', 'violation', 5)
  t.equal(penalties.isActive('192.0.2.2', 1_039_998), true)
  t.equal(penalties.isActive('192.0.2.2', 1_039_999), false)
  t.equal(penalties.isActive(BAD, 1_020_000), false)
  t.end()
})

t.test('the operator can forgive one source, by any of its addresses or as it is listed, or all', (t) => {
  const penalties = stage()
  for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8:0:1::1']) {
    penalties.add(address, 'violation', 0)
  }
  t.equal(penalties.active(0), 4)
  t.equal(penalties.clear('192.0.2.1'), 1)
  t.equal(penalties.clear('192.0.2.1'), 0)
  t.equal(penalties.clear('2001:db8::99'), 1)
  t.equal(penalties.clear('2001:db8:0:1::/64'), 1)
  t.equal(penalties.clear('nobody'), 0)
  t.strictSame(
    penalties.list(0).map(({ source }) => source),
    ['192.0.2.2'],
  )
  t.equal(penalties.clear(undefined), 1)
  t.strictSame([penalties.list(0), penalties.active(0)], [[], 0])
  t.end()
})

t.test('a tick forgets what is over and nothing else', (t) => {
  const penalties = stage()
  penalties.add('192.0.2.1', 'no_auth', 0)
  penalties.add('192.0.2.2', 'violation', 0)
  penalties.tick(1_000)
  t.equal(penalties.active(1_000), 1)
  t.equal(penalties.clear('192.0.2.1'), 0, 'it is not there any more')
  t.equal(penalties.clear('192.0.2.2'), 1)
  t.end()
})

t.test('any history gives what adding up by hand gives', (t) => {
  const reasons: PenaltyReason[] = ['auth_failed', 'no_auth', 'grace_exceeded', 'refused', 'violation']
  const step = fc.record({
    address: fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'),
    reason: fc.constantFrom(...reasons),
    waitMs: fc.nat(12_000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const penalties = stage()
      const byHand = new Map<string, { expiry: number; isActive: boolean }>()
      let now = 0
      for (const { address, reason, waitMs } of steps) {
        now += waitMs
        const source = address.startsWith('2001') ? 'six' : address
        const before = byHand.get(source)
        const live = before !== undefined && before.expiry > now ? before : { expiry: now, isActive: false }
        const expiry = Math.min(live.expiry + PENALTY_SECONDS[reason] * 1_000, now + 600_000)
        const isActive = live.isActive || expiry - now >= 15_000
        byHand.set(source, { expiry, isActive })
        penalties.add(address, reason, now)
        if (penalties.isActive(address, now) !== isActive) return false
        if (penalties.isSuspect(address, now) === isActive) return false
      }
      const live = [...byHand.values()].filter(({ expiry }) => expiry > now)
      const actives = live.filter(({ isActive }) => isActive).length
      return penalties.active(now) === actives && penalties.list(now).length === live.length
    }),
  )
  t.end()
})
