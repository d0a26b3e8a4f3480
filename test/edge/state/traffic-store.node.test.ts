/**
 * What the link has carried, over a restart: written seldom, and never in the way.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createTrafficStore, loadTraffic } from '../../../src/edge/state/traffic-store.node.ts'
import { TRAFFIC_SAVE_MS } from '../../../src/limits.ts'
import { createTraffic } from '../../../src/session/standing/traffic.ts'

function staged(directory: string) {
  const clock = { nowMs: 1_000_000, wallMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const traffic = createTraffic(clock, loadTraffic(directory))
  const carried = { received: 0, sent: 0 }
  traffic.open(() => ({ ...carried }))
  const store = createTrafficStore(directory, traffic, clock)
  return { clock, traffic, carried, store, path: join(directory, 'traffic.json') }
}

t.test('it is written at the end and once an hour, where something has passed', (t) => {
  const directory = t.testdir({})
  const { clock, carried, store, path } = staged(directory)
  store.save()
  t.equal(existsSync(path), false, 'nothing has passed')
  carried.sent = 10
  clock.nowMs += TRAFFIC_SAVE_MS - 1
  store.tick()
  t.equal(existsSync(path), false, 'not yet')
  clock.nowMs += 1
  store.tick()
  t.match(loadTraffic(directory), { today: { sent: 10, received: 0 } })
  t.equal(statSync(path).mode & 0o777, 0o600)
  carried.received = 7
  store.tick()
  t.match(loadTraffic(directory), { today: { received: 0 } }, 'an hour has not passed since')
  store.save()
  t.match(staged(directory).traffic.days, { today: { sent: 10, received: 7 } }, 'the next daemon goes on')
  rmSync(path)
  clock.nowMs += TRAFFIC_SAVE_MS
  store.tick()
  t.equal(existsSync(path), false, 'and nothing again, since nothing has passed')
  t.end()
})

t.test('what cannot be read is counted anew', (t) => {
  const bad = [
    '',
    '{',
    '[]',
    '{"today": 5}',
    '{"today": {"sinceMs": 1, "received": -1, "sent": 0}}',
    'x'.repeat(5_000),
  ]
  for (const text of bad)
    t.equal(loadTraffic(t.testdir({ 'traffic.json': text })), undefined, text.slice(0, 60))
  t.equal(loadTraffic(t.testdir({})), undefined)
  t.equal(loadTraffic(t.testdir({ 'traffic.json': {} })), undefined)
  const half = '{"today": {"sinceMs": 1, "received": 2, "sent": 3}, "yesterday": {"received": 1}}'
  t.strictSame(loadTraffic(t.testdir({ 'traffic.json': half })), {
    today: { sinceMs: 1, received: 2, sent: 3 },
    yesterday: undefined,
  })
  t.end()
})

t.test('a directory that is gone is no reason to stop, and what was not written is tried again', (t) => {
  const directory = t.testdir({ state: {} })
  const state = join(directory, 'state')
  const { carried, store } = staged(state)
  rmSync(state, { recursive: true })
  writeFileSync(state, 'no directory')
  carried.sent = 1
  store.save()
  t.equal(readFileSync(state, 'utf8'), 'no directory')
  rmSync(state)
  mkdirSync(state)
  store.save()
  t.match(loadTraffic(state), { today: { sent: 1 } })
  t.end()
})
