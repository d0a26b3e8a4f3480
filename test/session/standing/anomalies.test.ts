import t from 'tap'
import type { AuditEvent } from '../../../src/ports.ts'
import type { Session } from '../../../src/session/callers/sessions.ts'
import { type AnomalySettings, createAnomalies } from '../../../src/session/standing/anomalies.ts'

const SETTINGS: AnomalySettings = {
  ...{ isEnabled: true, sigma: 3, consecutive: 1, driftPermille: 300, windowTokens: 1_000 },
}

function stage(change: Partial<AnomalySettings> = {}, role: 'agent' | 'operator' = 'agent') {
  const records: AuditEvent[] = []
  const incidents: unknown[] = []
  const saved: string[] = []
  const due: (() => void)[] = []
  const anomalies = createAnomalies({
    settings: { ...SETTINGS, ...change },
    kept: [],
    clock: {
      after(_ms, callback) {
        due.push(callback)
        return () => {}
      },
      monotonicMs: () => 7,
    },
    log: { write() {} },
    record: (event) => records.push(event),
    rooms: () => ({
      levels: { incident: (...given) => incidents.push(given) },
      identities: { find: () => ({ role }) },
      branches: { preserve: (session) => saved.push(session) },
    }),
  })
  const ended = (number: number, bytes: number) =>
    anomalies.seen(
      {
        ...{ type: 'execution_ended', agent: 'a', instance: 'a-1', session: 's', seq: number },
        ...{ exit_code: 0, stdout_bytes: bytes, stderr_bytes: 0 },
      },
      number * 10_000,
    )
  const sessionWith = (deliveredBytes: number): Session =>
    ({ id: 's', instance: 'a-1', caller: { name: 'a', role }, deliveredBytes }) as Session
  return { anomalies, records, incidents, saved, due, ended, sessionWith }
}

t.test('a record is looked at later, whatever wrote it being over', async (t) => {
  const { anomalies, records, incidents, due, ended } = stage()
  for (let number = 1; number <= 40; number++) ended(number, 100)
  ended(41, 50_000_000)
  t.same(records, [])
  t.equal(due.length, 1, 'once for all of them')
  due[0]?.()
  t.match(records, [{ measure: 'volume', turn: 41 }, { measure: 'fill' }, { what: 'in_a_row' }])
  t.match(incidents, [['critical', { agent: 'a', sessionId: 's', what: 'anomaly' }, /1 anomalous turns/, 7]])
  t.match(anomalies.counts, { volume: 1, fill: 1, in_a_row: 1, row: 0 })
})

t.test('an operator is told of and not contained', async (t) => {
  const { anomalies, records, incidents, ended } = stage({}, 'operator')
  for (let number = 1; number <= 40; number++) ended(number, 100)
  ended(41, 50_000_000)
  anomalies.settle()
  t.equal(records.length, 3)
  t.same(incidents, [])
})

t.test('where it is switched off nobody is watched', async (t) => {
  const { anomalies, ended, sessionWith } = stage({ isEnabled: false })
  ended(1, 100)
  anomalies.settle()
  t.same(anomalies.list(), [])
  t.equal(anomalies.delivered(sessionWith(4_000)), undefined)
})

t.test('the fill is told an agent once a step, and its branch is saved from the second on', async (t) => {
  const { anomalies, records, saved, sessionWith } = stage()
  t.match(anomalies.delivered(sessionWith(2_800)), /70 %/)
  t.equal(anomalies.delivered(sessionWith(2_900)), undefined)
  t.same(saved, [])
  t.match(anomalies.delivered(sessionWith(3_600)), /90 %/)
  t.same(saved, ['s'])
  t.match(records, [
    { what: 'window', value: 700 },
    { what: 'window', value: 900 },
  ])
  anomalies.seen({ type: 'session', session: 's', to: 'DESTROYED' }, 0)
  t.match(anomalies.delivered(sessionWith(2_800)), /70 %/, 'another session')
})

t.test('a window of 0 and an operator are told nothing', async (t) => {
  const none = stage({ windowTokens: 0 })
  t.equal(none.anomalies.delivered(none.sessionWith(1_000_000)), undefined)
  const operator = stage({}, 'operator')
  t.equal(operator.anomalies.delivered(operator.sessionWith(3_900)), undefined)
})
