import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AGENTS_WATCHED, BASELINES_FILE_BYTES } from '../../../src/defense/anomaly/limits.ts'
import { createMonitor } from '../../../src/defense/anomaly/monitor.ts'
import { createBaselineStore, loadBaselines } from '../../../src/edge/state/baseline-store.node.ts'
import { TRAFFIC_SAVE_MS } from '../../../src/limits.ts'

const SETTINGS = { sigma: 3, consecutive: 3, driftPermille: 300 }

t.test('baselines come back as they were written, and are written where they have changed', async (t) => {
  const directory = t.testdir()
  const path = join(directory, 'baselines.json')
  const monitor = createMonitor(SETTINGS, loadBaselines(directory))
  let nowMs = 0
  const store = createBaselineStore(directory, monitor.kept, { monotonicMs: () => nowMs })
  store.save()
  t.notOk(existsSync(path), 'there is nothing to say')
  for (let number = 1; number <= 40; number++)
    monitor.take('a', { kind: 'turn', turn: { atMs: number * 9_000, bytes: 2 ** 40, ending: 'failed' } })
  store.tick()
  t.notOk(existsSync(path), 'not for every turn')
  nowMs = TRAFFIC_SAVE_MS
  store.tick()
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(loadBaselines(directory), JSON.parse(JSON.stringify(monitor.kept())))
})

t.test('of the most agents that are watched the file holds all', async (t) => {
  const directory = t.testdir()
  const monitor = createMonitor(SETTINGS)
  const store = createBaselineStore(directory, monitor.kept, { monotonicMs: () => 0 })
  for (let agent = 0; agent < AGENTS_WATCHED; agent++)
    for (let number = 1; number <= 30; number++)
      monitor.take(`${agent}`.padStart(64, 'a'), {
        kind: 'turn',
        turn: { atMs: number * 9_000, bytes: Number.MAX_SAFE_INTEGER, ending: 'failed' },
      })
  store.save()
  t.ok(readFileSync(join(directory, 'baselines.json')).length < BASELINES_FILE_BYTES)
  t.equal(loadBaselines(directory).length, AGENTS_WATCHED)
})

t.test('what can be no baseline is none', async (t) => {
  const sums = { count: 1, sum: 1, squares: 1, largest: 1 }
  const whole = { frequency: sums, volume: sums, failures: sums, fill: sums }
  const told = (text: string) => loadBaselines(t.testdir({ 'baselines.json': text })).length
  t.equal(told(JSON.stringify([['a', whole]])), 1)
  for (const bad of [
    '',
    '{',
    '{}',
    '[1]',
    '[["a"]]',
    '[["a",null]]',
    JSON.stringify([['', whole]]),
    JSON.stringify([[1, whole]]),
    JSON.stringify([['a', { ...whole, fill: undefined }]]),
    JSON.stringify([['a', { ...whole, fill: { ...sums, count: 1e9 } }]]),
    JSON.stringify([['a', { ...whole, fill: { ...sums, sum: 2_000 } }]]),
    JSON.stringify([['a', { ...whole, fill: { ...sums, squares: -1 } }]]),
    JSON.stringify([['a', { ...whole, fill: { ...sums, largest: 0.5 } }]]),
    'x'.repeat(BASELINES_FILE_BYTES + 1),
  ])
    t.equal(told(bad), 0, bad.slice(0, 80))
  const directory = t.testdir({ 'baselines.json': {} })
  t.same(loadBaselines(directory), [], 'a directory')
  const monitor = createMonitor(SETTINGS)
  const store = createBaselineStore(directory, monitor.kept, { monotonicMs: () => 0 })
  monitor.take('a', { kind: 'turn', turn: { atMs: 1, bytes: 1, ending: 'done' } })
  store.save()
  writeFileSync(join(directory, 'other'), '')
  t.pass('what cannot be written stops nothing')
})
