import t from 'tap'
import type { EgressRecord } from '../../src/egress/gate-events.ts'
import { createGateTally } from '../../src/egress/gate-tally.ts'
import { createLately } from '../../src/egress/lately.ts'

function line(name: string, change: Partial<EgressRecord> = {}): EgressRecord {
  return {
    ...{
      name,
      address: undefined,
      port: 443,
      protocol: 'tcp',
      verdict: 'refused',
      reason: 'unlisted',
      sentBytes: 0,
    },
    ...{ receivedBytes: 0, durationMs: 0, times: 1 },
    ...change,
  }
}

t.test('what was refused is kept once, the last one last, and the oldest goes', async (t) => {
  const lately = createLately(2)
  lately.add(line('a.example'), 1)
  lately.add(line('b.example'), 2)
  lately.add(line('a.example'), 3)
  const both = createLately(2)
  for (const protocol of ['tcp', 'udp'] as const) both.add(line('a.example', { protocol }), 1)
  t.strictSame(
    both.list().map(({ protocol, times }) => [protocol, times]),
    [
      ['tcp', 1],
      ['udp', 1],
    ],
    'of TCP and UDP apart',
  )
  t.strictSame(
    lately.list().map(({ host, times, atMs }) => [host, times, atMs]),
    [
      ['b.example', 1, 2],
      ['a.example', 2, 3],
    ],
  )
  lately.add(line('c.example', { port: undefined }), 4)
  t.strictSame(
    lately.take().map(({ host, port }) => [host, port]),
    [
      ['a.example', 443],
      ['c.example', undefined],
    ],
  )
  t.strictSame(lately.list(), [])
})

t.test('what passed, and what the session ended itself, is no refusal', async (t) => {
  const lately = createLately(4)
  lately.add(line('a.example', { verdict: 'passed', reason: undefined }), 1)
  lately.add(line('a.example', { verdict: 'failed', reason: 'ended' }), 1)
  lately.add(line('a.example', { reason: 'silent' }), 1)
  t.strictSame(lately.list(), [])
  lately.add(line('a.example', { verdict: 'failed', reason: 'unresolved' }), 1)
  t.equal(lately.list().length, 1)
})

t.test('all of it is counted', async (t) => {
  const tally = createGateTally()
  for (const index of [1, 2, 3]) tally.add(line(`${index}.example`), index)
  tally.add(line('a.example', { verdict: 'failed', reason: 'unreachable' }), 4)
  for (const verdict of ['passed', 'audited'] as const)
    tally.add(line('a.example', { verdict, reason: undefined, sentBytes: 10, receivedBytes: 20 }), 5)
  t.match(tally.readings({ sessions: 2, connections: 7, asked: 1 }), {
    ...{ sessions: 2, connections: 7, asked: 1, passed: 2, refused: 3, failed: 1 },
    ...{ sentBytes: 20, receivedBytes: 40 },
  })
  t.equal(tally.readings({ sessions: 0, connections: 0, asked: 0 }).lately.length, 4)
})
