import t from 'tap'
import { createClockWatch } from '../../../src/session/standing/clock-watch.ts'

function staged() {
  const clock = { wall: 0, passed: 0, wallMs: () => clock.wall, monotonicMs: () => clock.passed }
  const watch = createClockWatch(clock)
  const pass = (ms: number, setByMs = 0) => {
    clock.passed += ms
    clock.wall += ms + setByMs
    return watch.look()
  }
  return { pass }
}

t.test('time that passes is no step, neither is slewing, however long it goes on', (t) => {
  const { pass } = staged()
  for (let second = 0; second < 10_000; second++) if (pass(1_000, 0.5) !== undefined) t.fail('told')
  t.equal(pass(3_600_000), undefined, 'a daemon that was held up')
  t.end()
})

t.test('a step is told once, with what the clock would have said', (t) => {
  const { pass } = staged()
  t.equal(pass(1_000), undefined)
  t.same(pass(1_000, 1_800_000_000_000), {
    byMs: 1_800_000_000_000,
    expectedMs: 2_000,
    nowMs: 1_800_000_002_000,
  })
  t.equal(pass(1_000), undefined)
  t.same(pass(60_000, -5_000), { byMs: -5_000, expectedMs: 1_800_000_063_000, nowMs: 1_800_000_058_000 })
  t.end()
})

t.test('one that is set all the time is told of once a minute, by how much in all', (t) => {
  const { pass } = staged()
  const told: number[] = []
  for (let second = 0; second < 600; second++) {
    const step = pass(1_000, 3_000)
    if (step !== undefined) told.push(step.byMs)
  }
  t.equal(told.length, 10)
  t.same(told.slice(0, 2), [3_000, 180_000])
  const back = staged()
  t.match(back.pass(1_000, 9_000), { byMs: 9_000 })
  t.equal(back.pass(1_000, 9_000), undefined)
  t.equal(back.pass(60_000, -9_000), undefined, 'and what was taken back is none')
  t.end()
})
