/**
 * The guard of the disk: what it sets with how much room, and that it lets go again.
 * @module
 */
import t from 'tap'
import type { AuditEvent } from '../../src/ports.ts'
import { createLevels } from '../../src/session/levels.ts'
import { createStorageGuard } from '../../src/session/storage-guard.ts'

function stage(reserveBytes = 1_000) {
  const steps: string[] = []
  const events: AuditEvent[] = []
  const disk: { free: number | undefined; isFull: boolean } = { free: 1e6, isFull: false }
  const levels = createLevels(
    { entries: [] },
    () => 0,
    ({ from, to }) => void steps.push(`${from} ${to}`),
  )
  const guard = createStorageGuard({
    levels,
    freeBytes: () => disk.free,
    reserveBytes,
    append(event) {
      if (disk.isFull) throw new Error('full')
      events.push(event)
    },
  })
  return { guard, levels, steps, events, disk }
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
