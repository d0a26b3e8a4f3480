import t from 'tap'
import { createDestinations } from '../../src/egress/destinations.ts'
import type { EgressRecord } from '../../src/egress/gate-events.ts'

function line(name: string | undefined, port: number, protocol: 'tcp' | 'udp' = 'tcp'): EgressRecord {
  return {
    ...{ name, address: '192.0.2.1', port, protocol, verdict: 'passed', reason: undefined },
    ...{ sentBytes: 3, receivedBytes: 5, durationMs: 1, times: 1 },
  }
}

t.test('what was talked to is summed by host, port and protocol', (t) => {
  const destinations = createDestinations()
  destinations.add(line('a.example', 443))
  destinations.add(line(undefined, 443))
  destinations.add(line('a.example', 443))
  destinations.add(line(undefined, 443, 'udp'))
  t.strictSame(destinations.list(), [
    { host: '192.0.2.1', port: 443, protocol: 'tcp', connections: 1, sentBytes: 3, receivedBytes: 5 },
    { host: 'a.example', port: 443, protocol: 'tcp', connections: 2, sentBytes: 6, receivedBytes: 10 },
    { host: '192.0.2.1', port: 443, protocol: 'udp', connections: 1, sentBytes: 3, receivedBytes: 5 },
  ])
  t.end()
})

t.test('beyond 256 all others are one', (t) => {
  const destinations = createDestinations()
  for (let index = 0; index < 1_000; index++) destinations.add(line(`n${index}.example`, 443))
  const all = destinations.list()
  t.equal(all.length, 257)
  t.match(all.at(-1), { host: undefined, port: undefined, connections: 744 })
  t.end()
})
