/**
 * The guard of the disk: what it sets with how much room, and that it lets go again.
 * @module
 */
import t from 'tap'
import type { AuditEvent } from '../../../src/ports.ts'
import { createLevels } from '../../../src/session/standing/levels.ts'
import { createStorageGuard } from '../../../src/session/standing/storage-guard.ts'

function stage(reserveBytes = 1_000) {
  const steps: string[] = []
  const events: AuditEvent[] = []
  const disk: { free: number | undefined; isFull: boolean } = { free: 1e6, isFull: false }
  const levels = createLevels(
    { entries: [] },
    () => 0,
    ({ from, to }) => void steps.push(`${from} ${to}`),
  )
  const device = { syncMs: 0, isSyncing: false, failure: undefined as string | undefined, probes: 0 }
  const guard = createStorageGuard({
    disk: {
      get syncMs() {
        return device.syncMs
      },
      get isSyncing() {
        return device.isSyncing
      },
      get failure() {
        return device.failure
      },
      probe: () => void device.probes++,
    },
    levels,
    freeBytes: () => disk.free,
    reserveBytes,
    append(event) {
      if (disk.isFull) throw new Error('full')
      events.push(event)
    },
  })
  return { guard, levels, steps, events, disk, device }
}

t.test('little room restricts, and twice as much is enough again', (t) => {
  const { guard, levels, steps, disk } = stage()
  for (const [free, level] of [
    [1_000, 'NORMAL'],
    [999, 'RESTRICT'],
    [1_000, 'RESTRICT'],
    [1_999, 'RESTRICT'],
    [2_000, 'NORMAL'],
    [1_000, 'NORMAL'],
  ] as const) {
    disk.free = free
    guard.tick()
    t.equal(levels.daemon, level, `${free} bytes`)
  }
  t.same(steps, ['NORMAL RESTRICT', 'RESTRICT NORMAL'])
  t.end()
})

t.test(
  'a halt ends with the first record that can be written, by way of RESTRICT where room is little',
  (t) => {
    const { guard, levels, steps, events, disk } = stage()
    disk.isFull = true
    disk.free = 0
    levels.storage('HALT', 'no room at all')
    guard.tick()
    guard.tick()
    t.equal(levels.daemon, 'HALT')
    t.same(events, [])
    disk.isFull = false
    disk.free = 1_500
    guard.tick()
    t.equal(levels.daemon, 'RESTRICT')
    t.match(events, [{ type: 'recovered', what: 'storage', why: 'no room at all' }])
    disk.free = 1e6
    guard.tick()
    t.equal(levels.daemon, 'NORMAL')
    t.equal(events.length, 1)
    t.same(steps, ['NORMAL HALT', 'HALT RESTRICT', 'RESTRICT NORMAL'])
    t.end()
  },
)

t.test(
  'where nobody can say how much there is, only records that fail count; with a reserve of 0 too',
  (t) => {
    const blind = stage()
    blind.disk.free = undefined
    blind.guard.tick()
    t.equal(blind.levels.daemon, 'NORMAL')
    const careless = stage(0)
    careless.disk.free = 0
    careless.guard.tick()
    t.equal(careless.levels.daemon, 'NORMAL')
    t.end()
  },
)

t.test('what an operator has set stays as it is', (t) => {
  const { guard, levels, disk } = stage()
  levels.set('daemon', '', 'CHECKPOINT', 'a drill', 'boss')
  disk.free = 1
  guard.tick()
  t.equal(levels.daemon, 'CHECKPOINT', 'the stricter one')
  disk.free = 1e6
  guard.tick()
  t.equal(levels.daemon, 'CHECKPOINT')
  t.end()
})

t.test('a slow disk restricts, is asked again and again, and half the bound is fast enough again', (t) => {
  const { guard, levels, device } = stage()
  for (const [syncMs, isSyncing, level, probes] of [
    [4_999, true, 'NORMAL', 0],
    [5_000, true, 'RESTRICT', 0],
    [8_000, true, 'RESTRICT', 0],
    [8_000, false, 'RESTRICT', 1],
    [2_500, false, 'RESTRICT', 2],
    [2_499, false, 'NORMAL', 2],
    [2_500, false, 'NORMAL', 2],
  ] as const) {
    Object.assign(device, { syncMs, isSyncing })
    guard.tick()
    t.equal(levels.daemon, level, `${syncMs} ms`)
    t.equal(device.probes, probes)
  }
  t.end()
})

t.test('one that does not answer for 30 s halts, and goes on when it does', (t) => {
  const { guard, levels, steps, events, device } = stage()
  Object.assign(device, { syncMs: 29_999, isSyncing: true })
  guard.tick()
  t.equal(levels.daemon, 'RESTRICT')
  device.syncMs = 30_000
  guard.tick()
  t.equal(levels.daemon, 'HALT')
  t.match(levels.list(), [{ why: /has not kept what was written for 30.0 s: look at it/ }])
  Object.assign(device, { syncMs: 41_000, isSyncing: false })
  guard.tick()
  t.equal(levels.daemon, 'HALT', 'once is not enough')
  t.equal(device.probes, 1)
  t.same(events, [])
  device.syncMs = 20
  guard.tick()
  t.equal(levels.daemon, 'NORMAL')
  t.match(events, [{ type: 'recovered', what: 'storage' }])
  t.same(steps, ['NORMAL RESTRICT', 'RESTRICT HALT', 'HALT NORMAL'])
  t.end()
})

t.test('one that fails to keep what it took halts at once, until a restart', (t) => {
  const { guard, levels, events, device } = stage()
  device.failure = 'It keeps nothing.'
  guard.tick()
  guard.tick()
  t.equal(levels.daemon, 'HALT')
  t.match(levels.list(), [{ why: 'It keeps nothing.' }])
  t.same(events, [], 'and nobody tries to write')
  t.end()
})
