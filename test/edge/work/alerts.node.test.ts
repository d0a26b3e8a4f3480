/** Who is told of what is critical: programs that really run, read, fail, hang, or are not there. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createClock } from '../../../src/edge/host/clock.node.ts'
import { createAlerts } from '../../../src/edge/work/alerts.node.ts'
import type { AuditEvent } from '../../../src/ports.ts'
import { isAlive, temporary, until } from '../../integration/daemon.node.ts'

const critical = (seq: number): AuditEvent => ({ type: 'level', to: 'CONTAIN', risk: 'critical', seq })

function stage(t: Test, script: string | undefined, limitMs = 30_000) {
  const directory = temporary(t)
  const program = join(directory, 'told')
  if (script !== undefined) writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  const recorded: AuditEvent[] = []
  const lines: string[] = []
  const alerts = createAlerts({
    ...{ program, limitMs, clock: createClock() },
    log: { write: (_level, event) => void lines.push(event) },
    record: (event) => void recorded.push(event),
  })
  return {
    directory,
    alerts,
    recorded,
    lines,
    whenRecorded: (count: number) => until('a record', () => recorded.length === count),
  }
}

t.test(
  'what is critical is on its stdin, what comes together goes together, and nothing else does',
  async (t) => {
    const { directory, alerts, recorded, whenRecorded } = stage(
      t,
      'cat > "$0.out"; env > "$0.env"; echo $# > "$0.args"',
    )
    for (const risk of ['high', 'medium', undefined])
      alerts.seen({ type: 'level', seq: 1, ...(risk && { risk }) })
    for (let seq = 2; seq < 102; seq++) alerts.seen(critical(seq))
    await whenRecorded(1)
    t.match(recorded, [
      { type: 'alert', what: 'told', records: 100, first: 2, exit_code: 0, duration_ms: Number },
    ])
    const got = readFileSync(join(directory, 'told.out'), 'utf8').trimEnd().split('\n')
    t.equal(got.length, 64)
    t.same(JSON.parse(got[0] ?? ''), critical(2))
    const environment = readFileSync(join(directory, 'told.env'), 'utf8')
    t.match(environment, /^SASS_EDGE_RECORDS=100$/m)
    t.notMatch(environment, /^(?:HOME|USER)=/m, 'nothing of whoever runs the daemon')
    t.equal(readFileSync(join(directory, 'told.args'), 'utf8'), '0\n')
  },
)

t.test('one runs at a time, and what comes meanwhile goes to the next', async (t) => {
  const { directory, alerts, recorded, whenRecorded } = stage(
    t,
    'mkdir "$0.lock" || echo two > "$0.two"; cat > "$0.$SASS_EDGE_RECORDS"; sleep 0.3; rmdir "$0.lock"',
  )
  alerts.seen(critical(1))
  await until('the first', () => existsSync(join(directory, 'told.lock')))
  alerts.seen(critical(2))
  alerts.seen(critical(3))
  await whenRecorded(2)
  t.match(recorded, [
    { records: 1, first: 1 },
    { records: 2, first: 2 },
  ])
  t.notOk(existsSync(join(directory, 'told.two')))
})

t.test('one that fails, hangs, does not read or is not there is told of, and keeps nobody', async (t) => {
  const failing = stage(t, 'exit 3')
  failing.alerts.seen(critical(1))
  await failing.whenRecorded(1)
  t.match(failing.recorded, [{ what: 'failed', exit_code: 3 }])
  t.same(failing.lines, ['alert_failed'])

  const absent = stage(t, undefined)
  absent.alerts.seen(critical(1))
  await absent.whenRecorded(1)
  t.match(absent.recorded, [{ what: 'failed', exit_code: null }])
  absent.alerts.seen(critical(2))
  await absent.whenRecorded(2)

  const hanging = stage(t, 'sleep 300 & echo $! > "$0.pid"; wait', 500)
  hanging.alerts.seen(critical(1))
  await hanging.whenRecorded(1)
  t.match(hanging.recorded, [{ what: 'failed', exit_code: null }])
  const child = Number(readFileSync(join(hanging.directory, 'told.pid'), 'utf8'))
  await until('its end', () => !isAlive(child))
})
