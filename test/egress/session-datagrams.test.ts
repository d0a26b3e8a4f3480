import t from 'tap'
import { formatIpAddress } from '../../src/base/ip-address.ts'
import type { GateInput, GateOutput, GateRules } from '../../src/egress/gate-events.ts'
import { CONNECTIONS_BURST, CONNECTIONS_MAX } from '../../src/egress/limits.ts'
import { createSessionGate } from '../../src/egress/session-gate.ts'
import { address, listOf } from './staged-lists.ts'

const NTP = { host: '192.0.2.1', ports: [123], protocol: 'udp' }

function told(output: GateOutput): string {
  if (output.kind === 'record') {
    const { address, port, protocol, verdict, reason, sentBytes, receivedBytes } = output.line
    return `${verdict} ${address}:${port}/${protocol} ${reason ?? ''} ${sentBytes} ${receivedBytes}`
  }
  if (output.kind === 'connect')
    return `connect ${output.id} ${output.addresses.map(formatIpAddress)} ${output.port} ${output.guard.kind} ${output.leaseBytes}`
  if (output.kind === 'reset') return `reset ${output.id} ${output.reason}`
  return output.kind === 'grant' ? `grant ${output.bytes}` : output.kind
}

function gateOf(entries: readonly unknown[], unlisted: GateRules['unlisted'] = 'deny') {
  const gate = createSessionGate(listOf(entries), {
    ...{ unlisted, refusesInternal: true, reachable: [], ownPorts: [19284] },
    ownAddresses: () => [address('192.0.2.10')],
  })
  const tell = (input: GateInput, nowMs = 1_000) =>
    gate
      .input(input, nowMs)
      .filter(({ kind }) => kind !== 'tell')
      .map(told)
  return {
    gate,
    tell,
    flow: (id: number, at: string, port: number) =>
      tell({ kind: 'accepted', id, address: address(at), port, protocol: 'udp' }),
    closed: (id: number, bytes: number, reason?: 'ended' | 'delisted' | 'budget') =>
      tell(
        {
          ...{ kind: 'closed', id, address: '192.0.2.1', sentBytes: bytes, receivedBytes: 2 * bytes, reason },
        },
        61_000,
      ),
  }
}

t.test('a flow goes where an entry of UDP has it, and is recorded when it is over', (t) => {
  const gate = gateOf([NTP, '192.0.2.1:514', '*:123'])
  t.strictSame(gate.flow(1, '192.0.2.1', 123), ['connect 1 192.0.2.1 123 none undefined'])
  t.strictSame(gate.flow(2, '192.0.2.1', 514), ['reset 2 unlisted', 'refused 192.0.2.1:514/udp unlisted 0 0'])
  t.strictSame(gate.flow(3, '192.0.2.2', 123), ['reset 3 unlisted', 'refused 192.0.2.2:123/udp unlisted 0 0'])
  t.equal(gate.gate.counts.connections, 1)
  t.strictSame(gate.closed(1, 48), ['passed 192.0.2.1:123/udp  48 96'])
  t.equal(gate.gate.counts.connections, 0)
  t.end()
})

t.test('nobody is asked about datagrams, and none that are not listed pass for being recorded', (t) => {
  for (const unlisted of ['ask', 'audit'] as const)
    t.strictSame(gateOf([], unlisted).flow(1, '198.51.100.1', 123), [
      'reset 1 unlisted',
      'refused 198.51.100.1:123/udp unlisted 0 0',
    ])
  t.end()
})

t.test('an entry of UDP lets no connection through', (t) => {
  const gate = gateOf([NTP])
  t.strictSame(
    gate.tell({ kind: 'accepted', id: 1, address: address('192.0.2.1'), port: 123, protocol: 'tcp' }),
    ['reset 1 unlisted', 'refused 192.0.2.1:123/tcp unlisted 0 0'],
  )
  t.end()
})

t.test("the daemon's own ports are refused, and what is inside is reached by an entry of UDP alone", (t) => {
  const own = ['127.0.0.1', '::1', '192.0.2.10'].map((host) => ({ host, ports: [19284], protocol: 'udp' }))
  const gate = gateOf([...own, { host: '10.0.0.5', ports: [123], protocol: 'udp' }, '10.0.0.0/8:514'])
  for (const [index, { host }] of own.entries())
    t.equal(gate.flow(index, host, 19284)[0], `reset ${index} own_port`)
  t.strictSame(gate.flow(8, '10.0.0.5', 123), ['connect 8 10.0.0.5 123 none undefined'])
  t.equal(gate.flow(9, '10.0.0.5', 514)[0], 'reset 9 unlisted')
  t.end()
})

t.test('bytes of an hour are let on lease, and none beyond', (t) => {
  const gate = gateOf([{ ...NTP, bytes_per_hour: 1_000_000 + 48_576 * 2 }])
  t.strictSame(gate.flow(1, '192.0.2.1', 123), ['connect 1 192.0.2.1 123 none 1048576'])
  t.strictSame(gate.tell({ kind: 'lease', id: 1 }), ['grant 48576'])
  t.strictSame(gate.tell({ kind: 'lease', id: 1 }), ['reset 1 budget'])
  t.strictSame(gate.flow(2, '192.0.2.1', 123), ['reset 2 budget', 'refused 192.0.2.1:123/udp budget 0 0'])
  t.end()
})

t.test('what the list has not any more ends, and with it the session', (t) => {
  const gate = gateOf([NTP, { ...NTP, ports: [514] }])
  gate.flow(1, '192.0.2.1', 123)
  gate.flow(2, '192.0.2.1', 514)
  t.strictSame(gate.tell({ kind: 'listed', list: listOf([NTP, '192.0.2.1:514']) }), ['reset 2 delisted'])
  t.strictSame(gate.closed(2, 3, 'delisted'), ['refused 192.0.2.1:514/udp delisted 3 6'])
  t.strictSame(gate.tell({ kind: 'ended' }), ['reset 1 ended'])
  t.strictSame(gate.closed(1, 3, 'ended'), ['passed 192.0.2.1:123/udp ended 3 6'])
  t.end()
})

t.test('flows and connections share one bound and one pace', (t) => {
  const { gate, flow, tell } = gateOf([NTP, '192.0.2.1:80'])
  for (let id = 0; id < CONNECTIONS_MAX; id++)
    if (id % 2 === 0) flow(id, '192.0.2.1', 123)
    else tell({ kind: 'accepted', id, address: address('192.0.2.1'), port: 80, protocol: 'tcp' })
  t.equal(gate.acceptsInMs(1_000), undefined)
  const other = gateOf([NTP])
  for (let id = 0; id < CONNECTIONS_BURST; id++) other.flow(id, '192.0.2.9', 123)
  t.ok(Number(other.gate.acceptsInMs(1_000)) > 0)
  t.end()
})
