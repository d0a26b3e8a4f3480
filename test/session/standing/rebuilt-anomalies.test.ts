import t from 'tap'
import type { AuditEvent } from '../../../src/ports.ts'
import { createAnomalies } from '../../../src/session/standing/anomalies.ts'
import { baselinesDigest } from '../../../src/session/standing/anomaly-events.ts'
import { createRebuiltAnomalies } from '../../../src/session/standing/rebuilt-anomalies.ts'

const SETTINGS = { sigma: 3, consecutive: 3, driftPermille: 300 }
type Line = { readonly event: AuditEvent; readonly atMs: number }

/** What a daemon records of an agent that works as usual and then carries away what there is. */
function recorded(baselines = baselinesDigest([])): Line[] {
  const lines: Line[] = []
  let atMs = 1_700_000_000_000
  const write = (event: AuditEvent) => {
    const line = { event: { ...event, seq: lines.length + 1, category: 'any' }, atMs }
    lines.push(line)
    anomalies.seen(line.event, atMs)
  }
  const anomalies = createAnomalies({
    settings: { ...SETTINGS, isEnabled: true, windowTokens: 0 },
    kept: [],
    clock: { after: () => () => {}, monotonicMs: () => 0 },
    log: { write() {} },
    record: write,
    rooms: () => ({
      levels: { incident() {} },
      identities: { find: () => ({ role: 'agent' }) },
      branches: { preserve() {} },
    }),
  })
  const watch = { sigma: 3, consecutive: 3, drift_permille: 300, baselines }
  write({ type: 'daemon', what: 'started', watch })
  for (let number = 1; number <= 46; number++) {
    atMs += 9_000
    const bytes = number > 40 ? 20_000_000 : 500
    const who = { agent: 'a', instance: 'a-1', session: 's' }
    write({ type: 'decision', ...who, response: 'R1', plan: number > 40 ? 'outside' : 'inside' })
    write({ type: 'execution_ended', ...who, exit_code: 0, stdout_bytes: bytes, stderr_bytes: 0 })
    anomalies.settle()
  }
  return lines
}

const replayed = (lines: readonly Line[]) => {
  const rebuilt = createRebuiltAnomalies()
  return lines.flatMap(({ event, atMs }) => rebuilt.take(event, atMs))
}
const isAnomaly = ({ event }: Line) => event.type === 'anomaly'

t.test('what the monitor found follows from the records that it saw', async (t) => {
  const lines = recorded()
  t.same(
    lines.filter(isAnomaly).map(({ event }) => event['measure']),
    ['volume', 'fill', 'drift', 'turns', 'turns'],
  )
  t.same(replayed(lines), [])
})

t.test('one that was changed, made up or left out does not', async (t) => {
  const lines = recorded()
  const changed = lines.map((line) =>
    line.event['measure'] === 'drift' ? { ...line, event: { ...line.event, value: 1 } } : line,
  )
  t.match(replayed(changed), [{ what: 'anomaly', recorded: /"value":1\b/, rebuilt: /"measure":"drift"/ }])
  const made = [...lines, { event: { type: 'anomaly', what: 'beyond' }, atMs: 0 }]
  t.match(replayed(made), [{ what: 'anomaly', rebuilt: 'null' }])
  const first = lines.findIndex(isAnomaly)
  const less = lines.filter((_, index) => index !== first)
  t.ok(replayed(less).length > 0)
})

t.test('nothing is compared where nobody knows what a run began with', async (t) => {
  const [begin, ...rest] = recorded('0'.repeat(64))
  t.same(replayed(begin === undefined ? [] : [begin, ...rest.filter((line) => !isAnomaly(line))]), [])
  t.same(replayed(rest), [], 'its beginning was dropped')
  const lines = recorded()
  const lost = { event: { type: 'recovered', what: 'records_lost' }, atMs: 0 }
  t.same(replayed([...lines.slice(0, 20), lost, ...lines.slice(20)]), [])
})
