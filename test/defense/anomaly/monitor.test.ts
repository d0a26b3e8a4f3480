import t from 'tap'
import { AGENTS_WATCHED } from '../../../src/defense/anomaly/limits.ts'
import {
  createMonitor,
  type MonitorSettings,
  type Observation,
} from '../../../src/defense/anomaly/monitor.ts'

const SETTINGS: MonitorSettings = { sigma: 3, consecutive: 3, driftPermille: 300 }
const turn = (atMs: number, bytes: number): Observation => ({
  kind: 'turn',
  turn: { atMs, bytes, ending: 'done' },
})

t.test('each agent has a baseline of its own', async (t) => {
  const monitor = createMonitor(SETTINGS)
  for (let number = 1; number <= 40; number++) {
    monitor.take('small', turn(number * 10_000, 500))
    monitor.take('large', turn(number * 10_000, 20_000_000))
  }
  t.equal(monitor.take('large', turn(410_000, 24_000_000)).alerts.length, 0)
  t.match(monitor.take('small', turn(410_000, 24_000_000)).alerts, [
    { measure: 'volume' },
    { measure: 'fill' },
  ])
  t.match(monitor.list(), [
    { agent: 'large', turns: 41, isCalibrated: true, beyond: [], alerts: 0 },
    { agent: 'small', turns: 41, isCalibrated: true, beyond: ['volume', 'fill'], alerts: 2 },
  ])
})

t.test('of more agents than are watched the quietest is forgotten', async (t) => {
  const monitor = createMonitor(SETTINGS)
  for (let number = 0; number < AGENTS_WATCHED + 10; number++) {
    monitor.take(`a${number}`, turn(number * 1_000, 10))
    monitor.take('busy', turn(number * 1_000, 10))
  }
  t.equal(monitor.list().length, AGENTS_WATCHED)
  t.ok(monitor.list().some(({ agent }) => agent === 'busy'))
  t.notOk(monitor.list().some(({ agent }) => agent === 'a0'))
})

t.test('one that goes on from kept baselines finds what one that never stopped finds', async (t) => {
  const monitor = createMonitor(SETTINGS)
  for (let number = 1; number <= 40; number++) monitor.take('a', turn(number * 10_000, 500))
  const again = createMonitor(SETTINGS, JSON.parse(JSON.stringify(monitor.kept())))
  const late = turn(9_000_000, 24_000_000)
  t.same(again.take('a', late), monitor.take('a', late))
  const volumeOf = (one: typeof monitor) => one.kept().map(([, { volume }]) => volume)
  t.same(volumeOf(again), volumeOf(monitor))
})

t.test('a command outside of its plan strays, and is no turn', async (t) => {
  const monitor = createMonitor(SETTINGS)
  const outside: Observation = { kind: 'command', isOutside: true }
  t.equal(monitor.take('a', outside).strayed, undefined)
  t.equal(monitor.take('a', outside).strayed, undefined)
  t.same(monitor.take('a', outside).strayed, { permille: 1_000, commands: 3 })
  t.match(monitor.list(), [{ turns: 0, beyond: ['drift'], alerts: 1, isCalibrated: false }])
})
