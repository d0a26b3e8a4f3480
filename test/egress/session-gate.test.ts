import fc from 'fast-check'
import t from 'tap'
import { isInternalAddress } from '../../src/base/internal-range.ts'
import { formatIpAddress, type IpAddress } from '../../src/base/ip-address.ts'
import type { GateInput, GateOutput, GateRules } from '../../src/egress/gate-events.ts'
import { createSessionGate } from '../../src/egress/session-gate.ts'
import { address, listOf } from './staged-lists.ts'

const SENDER = { address: '127.0.0.1', port: 40_000 }
const A = 1
const AAAA = 28
const TXT = 16

function question(name: string, type = A): Extract<GateInput, { kind: 'question' }> {
  const labels = name
    .split('.')
    .flatMap((label) => [label.length, ...Array.from(label, (c) => c.charCodeAt(0))])
  const bytes = Uint8Array.from([0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1])
  return { kind: 'question', to: SENDER, bytes }
}

/** `NXDOMAIN`, `empty`, an address; what else comes as it is. */
function told(outputs: readonly GateOutput[]): unknown[] {
  return outputs.flatMap((output): unknown[] => (output.kind === 'tell' ? [] : [toldOne(output)]))
}

function toldOne(output: GateOutput): unknown {
  if (output.kind === 'record') {
    const { name, address, port, verdict, reason, times } = output.line
    return `${verdict} ${name ?? address}:${port ?? ''} ${reason ?? ''} ${times}`.trim()
  }
  if (output.kind === 'connect')
    return `connect ${output.id} ${output.addresses.map(formatIpAddress)} ${output.port} ${output.guard.kind} ${output.leaseBytes ?? ''}`.trim()
  if (output.kind === 'reset') return `reset ${output.id} ${output.reason}`
  if (output.kind === 'ask')
    return `ask ${typeof output.target === 'string' ? output.target : formatIpAddress(output.target)} ${output.port ?? ''}`.trim()
  if (output.kind === 'resolve') return `resolve ${output.id} ${output.name}`
  if (output.kind !== 'answer') return output
  const [, , , flags = 0] = output.bytes
  if ((flags & 15) !== 0) return ['ok', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'][flags & 15]
  return output.bytes[7] === 0 ? 'empty' : output.bytes.slice(-4).join('.')
}

type Options = { entries?: readonly unknown[]; unlisted?: GateRules['unlisted']; refusesInternal?: boolean }

function gateOf({
  entries = ['a.example', '*.b.example'],
  unlisted = 'deny',
  refusesInternal = true,
}: Options = {}) {
  const gate = createSessionGate(listOf(entries), {
    unlisted,
    refusesInternal,
    reachable: [],
    ownPorts: [19284],
    ownAddresses: () => [address('192.0.2.10')],
  })
  let nowMs = 1_000
  return {
    gate,
    wait(ms: number) {
      nowMs += ms
    },
    in: (input: GateInput) => told(gate.input(input, nowMs)),
    ask: (name: string, type?: number) => told(gate.input(question(name, type), nowMs)),
    accept: (id: number, at: string, port: number) =>
      told(gate.input({ kind: 'accepted', id, address: address(at), port, protocol: 'tcp' }, nowMs)),
    found: (id: number, ...texts: readonly string[]) =>
      told(gate.input({ kind: 'resolved', id, addresses: texts.map(address) }, nowMs)),
    closed: (id: number, bytes = 0, reason?: 'unreachable' | 'budget' | 'ended' | 'http_other_host') =>
      told(
        gate.input(
          { kind: 'closed', id, address: '10.0.0.1', sentBytes: bytes, receivedBytes: 0, reason },
          nowMs,
        ),
      ),
    answer: (key: string, target: string | IpAddress, port: number, answer: 'yes' | 'no' | 'none') =>
      told(gate.input({ kind: 'answered', key, target, port, answer }, nowMs)),
    waits: () => [gate.acceptsInMs(nowMs), gate.readsInMs(nowMs)],
  }
}

t.test('a listed name has an address, which leads to the name and nowhere else (JF-016)', (t) => {
  const gate = gateOf()
  t.strictSame(gate.ask('A.Example'), ['127.64.0.1'])
  t.strictSame(gate.ask('a.example', AAAA), ['empty'])
  t.strictSame(gate.ask('a.example', TXT), ['empty'])
  t.strictSame(gate.ask('a.example', 65), ['empty'], 'HTTPS')
  t.strictSame(gate.ask('x.b.example'), ['127.64.0.2'])
  t.strictSame(gate.accept(1, '127.64.0.1', 443), ['resolve 1 a.example'])
  t.strictSame(gate.found(1, '192.0.2.1', '10.0.0.1', '2001:db8::1'), [
    'connect 1 192.0.2.1,2001:db8::1 443 tls',
  ])
  t.strictSame(gate.closed(1, 700), ['passed a.example:443  1'])
  t.strictSame(gate.accept(2, '127.64.0.2', 80), ['resolve 2 x.b.example'])
  t.strictSame(gate.found(2, '192.0.2.2'), ['connect 2 192.0.2.2 80 http'])
  t.equal(gate.gate.nameOf(address('127.64.0.1')), 'a.example')
  t.equal(gate.gate.nameOf(address('127.64.0.9')), undefined)
  t.end()
})

t.test('other names do not exist, and neither do names of addresses', (t) => {
  const gate = gateOf()
  t.strictSame(gate.ask('b.example'), ['NXDOMAIN', 'refused b.example: unlisted 1'])
  t.strictSame(gate.ask('b.example'), ['NXDOMAIN'])
  t.strictSame(gate.ask('1.0.0.127.in-addr.arpa', 12), ['NXDOMAIN'])
  t.strictSame(gate.ask('_http._tcp.a.example', 33), ['NXDOMAIN'], 'a service of a listed host')
  t.strictSame(gate.ask('_http._tcp.e.example', TXT), [
    'NXDOMAIN',
    'refused _http._tcp.e.example: unlisted 1',
  ])
  t.strictSame(gate.ask('evil.com\0.a.example'), ['NXDOMAIN'])
  t.strictSame(gate.ask('localhost'), ['127.0.0.1'])
  t.strictSame(gate.ask('localhost', AAAA), ['0.0.0.1'])
  t.strictSame(gate.ask('x.localhost', TXT), ['empty'])
  t.strictSame(gate.in({ kind: 'question', to: SENDER, bytes: new Uint8Array(20) }), ['FORMERR'])
  t.strictSame(gate.in({ kind: 'question', to: SENDER, bytes: new Uint8Array(3) }), [])
  t.end()
})

t.test('a name that resolves to an address inside, or to the daemon, leads nowhere (JF-065)', (t) => {
  const gate = gateOf({ entries: ['a.example', 'a.example:19284', '127.0.0.0/8:19284'] })
  gate.ask('a.example')
  let id = 0
  for (const inside of [
    '127.0.0.1',
    '169.254.169.254',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '0.0.0.0',
    'fe80::1',
  ]) {
    gate.accept(++id, '127.64.0.1', 443)
    t.equal(gate.found(id, inside)[0], `reset ${id} internal_address`, inside)
  }
  gate.accept(++id, '127.64.0.1', 19284)
  t.equal(gate.found(id, '127.0.0.1')[0], `reset ${id} own_port`)
  gate.accept(++id, '127.64.0.1', 19284)
  t.equal(gate.found(id, '192.0.2.10')[0], `reset ${id} own_port`)
  gate.accept(++id, '127.64.0.1', 443)
  t.strictSame(gate.found(id), [`reset ${id} unresolved`, 'failed a.example:443 unresolved 1'])
  t.equal(gate.gate.counts.connections, 0)
  t.end()
})

t.test('a bare address needs its range and its port', (t) => {
  const gate = gateOf({ entries: ['10.1.0.0/16:1883', '*:8080', '[2001:db8::]/32:443'] })
  t.strictSame(gate.accept(1, '10.1.2.3', 1883), ['connect 1 10.1.2.3 1883 none'])
  t.strictSame(gate.accept(2, '::ffff:10.1.2.3', 1883), ['connect 2 10.1.2.3 1883 none'])
  t.strictSame(gate.accept(3, '2001:db8::5', 443), ['connect 3 2001:db8::5 443 none'])
  t.strictSame(gate.accept(4, '10.1.2.3', 80), ['reset 4 unlisted', 'refused 10.1.2.3:80 unlisted 1'])
  t.strictSame(gate.accept(5, '192.0.2.1', 8080), ['connect 5 192.0.2.1 8080 none'])
  t.strictSame(gate.accept(6, '127.0.0.1', 8080), ['reset 6 unlisted', 'refused 127.0.0.1:8080 unlisted 1'])
  t.strictSame(gate.accept(7, '127.64.0.9', 8080), ['reset 7 unlisted', 'refused 127.64.0.9:8080 unlisted 1'])
  t.strictSame(gate.accept(8, '0.0.0.0', 8080), ['reset 8 unlisted', 'refused 0.0.0.0:8080 unlisted 1'])
  t.end()
})

t.test('a name that nothing lists has an address, and a human is asked about who connects to it', (t) => {
  const gate = gateOf({ unlisted: 'ask' })
  t.strictSame(gate.ask('c.example'), ['127.64.0.1'])
  t.strictSame(gate.ask('c.example', AAAA), ['empty'])
  t.strictSame(gate.ask('c.example', TXT), ['empty'])
  t.strictSame(gate.accept(1, '127.64.0.1', 443), ['ask c.example 443'])
  t.strictSame(gate.accept(2, '127.64.0.1', 443), [], 'once for all')
  t.strictSame(gate.answer('c.example 443', 'c.example', 443, 'yes'), [
    'resolve 1 c.example',
    'resolve 2 c.example',
  ])
  t.strictSame(gate.found(1, '192.0.2.1'), ['connect 1 192.0.2.1 443 tls'])
  t.strictSame(gate.accept(3, '127.64.0.1', 80), ['ask c.example 80'], 'another port is another question')
  t.strictSame(gate.answer('c.example 80', 'c.example', 80, 'no'), [
    'reset 3 denied',
    'refused c.example:80 denied 1',
  ])
  t.strictSame(gate.accept(4, '127.64.0.1', 80), ['reset 4 denied'])
  gate.wait(300_000)
  t.strictSame(gate.accept(5, '127.64.0.1', 80), ['ask c.example 80'], 'later again')
  t.end()
})

t.test('a connection waits for a human, and no answer is no', (t) => {
  const gate = gateOf({ unlisted: 'ask' })
  t.strictSame(gate.accept(1, '127.0.0.1', 8080), ['ask 127.0.0.1 8080'])
  t.strictSame(gate.accept(2, '127.0.0.1', 8080), [])
  const local = address('127.0.0.1')
  t.strictSame(gate.answer('127.0.0.1 8080', local, 8080, 'yes'), [
    'connect 1 127.0.0.1 8080 none',
    'connect 2 127.0.0.1 8080 none',
  ])
  t.strictSame(gate.accept(3, '127.0.0.1', 8080), ['connect 3 127.0.0.1 8080 none'])
  t.strictSame(gate.accept(4, '127.0.0.1', 8081), ['ask 127.0.0.1 8081'])
  t.strictSame(gate.answer('127.0.0.1 8081', local, 8081, 'none'), [
    'reset 4 unanswered',
    'refused 127.0.0.1:8081 unanswered 1',
  ])
  t.strictSame(gate.accept(5, '127.0.0.1', 8081), ['reset 5 unanswered'])
  t.equal(gate.accept(6, '127.0.0.1', 19284)[0], 'reset 6 own_port', 'nobody is asked about that')
  gate.ask('a.example')
  t.strictSame(gate.accept(7, '127.64.0.1', 8443), ['ask a.example 8443'], 'another port of a listed name')
  t.end()
})

t.test('three questions wait, and a flood of others is refused', (t) => {
  const gate = gateOf({ unlisted: 'ask' })
  for (const [index, name] of ['c', 'd', 'e'].entries()) {
    gate.ask(`${name}.example`)
    t.strictSame(gate.accept(index, `127.64.0.${index + 1}`, 443), [`ask ${name}.example 443`])
  }
  t.strictSame(gate.accept(4, '192.0.2.1', 443), [
    'reset 4 too_many_asked',
    'refused 192.0.2.1:443 too_many_asked 1',
  ])
  const ended = gate.in({ kind: 'ended' })
  t.strictSame(
    ended.filter((one) => typeof one !== 'string'),
    ['c', 'd', 'e'].map((name) => ({ kind: 'withdraw', key: `${name}.example 443` })),
  )
  t.end()
})

t.test('audit lets through and says so, but not to what is inside', (t) => {
  const gate = gateOf({ unlisted: 'audit' })
  t.strictSame(gate.ask('c.example'), ['127.64.0.1'])
  gate.accept(1, '127.64.0.1', 443)
  t.strictSame(gate.found(1, '192.0.2.1'), ['connect 1 192.0.2.1 443 tls'])
  t.strictSame(gate.closed(1, 5), ['audited c.example:443  1'])
  t.strictSame(gate.accept(2, '192.0.2.9', 80), ['connect 2 192.0.2.9 80 none'])
  t.equal(gate.accept(3, '10.0.0.1', 80)[0], 'reset 3 internal_address')
  t.equal(gate.accept(4, '127.64.0.77', 80)[0], 'reset 4 unlisted')
  t.end()
})

t.test('bytes an hour are let a part at a time', (t) => {
  const gate = gateOf({ entries: [{ host: '10.0.0.0/8', ports: [80], bytes_per_hour: 2_000_000 }] })
  t.strictSame(gate.accept(1, '10.0.0.1', 80), ['connect 1 10.0.0.1 80 none 1048576'])
  t.strictSame(gate.accept(2, '10.0.0.2', 80), ['connect 2 10.0.0.2 80 none 951424'])
  t.equal(gate.accept(3, '10.0.0.2', 80)[0], 'reset 3 budget')
  t.strictSame(gate.in({ kind: 'lease', id: 1 }), ['reset 1 budget'])
  t.strictSame(gate.closed(1, 1_048_576, 'budget'), ['refused 10.0.0.1:80 budget 1'])
  t.strictSame(gate.closed(2, 1_424), ['passed 10.0.0.1:80  1'])
  t.strictSame(gate.accept(4, '10.0.0.1', 80), ['connect 4 10.0.0.1 80 none 950000'])
  gate.wait(3_600_000)
  t.strictSame(gate.in({ kind: 'lease', id: 4 }), [{ kind: 'grant', id: 4, bytes: 1_048_576 }])
  t.end()
})

t.test('what the new list does not let through so ends, and the rest goes on', (t) => {
  const gate = gateOf({
    entries: ['a.example', '*.b.example', '10.0.0.0/8:1883', 'c.example', '10.9.0.0/16:443'],
  })
  const at = ['a.example', 'x.b.example', 'c.example'].map((name) => String(gate.ask(name)[0]))
  for (const [index, place] of at.entries()) {
    gate.accept(index, place, 443)
    gate.found(index, index === 2 ? '10.9.0.1' : '192.0.2.1')
  }
  gate.accept(3, '10.0.0.1', 1883)
  gate.accept(4, at[0] ?? '', 80)
  gate.accept(5, at[1] ?? '', 80)
  const list = listOf([{ host: 'a.example', methods: ['GET'] }, 'a.example:443', 'c.example'])
  t.strictSame(gate.in({ kind: 'listed', list }), [
    'reset 1 delisted',
    'reset 2 delisted',
    'reset 3 delisted',
    'reset 4 delisted',
    'refused a.example:80 delisted 1',
    'reset 5 delisted',
    'refused x.b.example:80 delisted 1',
  ])
  t.equal(gate.ask('x.b.example')[0], 'NXDOMAIN')
  t.equal(gate.gate.counts.connections, 4, 'those that carry bytes are there until their thread says so')
  t.end()
})

t.test('what passed since it is not refused ends once it is', (t) => {
  const rules = {
    unlisted: 'audit' as GateRules['unlisted'],
    refusesInternal: true,
    reachable: [],
    ownPorts: [],
  }
  const gate = createSessionGate([], {
    ...rules,
    ownAddresses: () => [],
    get unlisted() {
      return rules.unlisted
    },
  })
  const accept = {
    kind: 'accepted',
    id: 1,
    address: address('192.0.2.9'),
    port: 80,
    protocol: 'tcp',
  } as const
  t.strictSame(told(gate.input(accept, 1)), ['connect 1 192.0.2.9 80 none'])
  t.strictSame(told(gate.input({ kind: 'listed', list: [] }, 2)), [], 'it is audited still')
  rules.unlisted = 'deny'
  t.strictSame(told(gate.input({ kind: 'listed', list: [] }, 3)), ['reset 1 delisted'])
  t.end()
})

t.test('the end of a session ends what it has', (t) => {
  const gate = gateOf({ entries: ['10.0.0.0/8:80', 'a.example'] })
  gate.ask('a.example')
  gate.accept(1, '10.0.0.1', 80)
  gate.accept(2, '127.64.0.1', 80)
  t.strictSame(gate.in({ kind: 'ended' }), ['reset 1 ended', 'reset 2 ended', 'failed a.example:80 ended 1'])
  t.strictSame(gate.closed(1, 9, 'ended'), ['passed 10.0.0.1:80 ended 1'])
  t.strictSame(gate.closed(1), [], 'once')
  t.strictSame(gate.found(2, '192.0.2.1'), [], 'too late')
  t.end()
})

t.test('refusals in a loop are a line a minute', (t) => {
  const gate = gateOf({ entries: ['10.0.0.0/8:80'] })
  for (let id = 0; id < 100; id++) gate.accept(id, '192.0.2.1', 80)
  gate.wait(60_000)
  t.strictSame(gate.accept(100, '192.0.2.1', 80), ['reset 100 unlisted', 'refused 192.0.2.1:80 unlisted 100'])
  for (let id = 0; id < 3; id++) {
    gate.accept(id, '10.0.0.1', 80)
    t.strictSame(gate.closed(id, 0, 'unreachable'), id === 0 ? ['failed 10.0.0.1:80 unreachable 1'] : [])
  }
  t.strictSame(gate.in({ kind: 'ended' }), ['failed 10.0.0.1:80 unreachable 2'])
  t.end()
})

t.test('256 connections, and only so many questions and connections a second', (t) => {
  const gate = gateOf({ entries: ['10.0.0.0/8:80'] })
  for (let id = 0; id < 256; id++) {
    t.strictSame(gate.waits()[0], 0)
    gate.accept(id, '10.0.0.1', 80)
  }
  t.strictSame(gate.waits()[0], undefined)
  gate.closed(0)
  t.strictSame(gate.waits()[0], 0)
  for (let id = 1; id < 256; id++) gate.closed(id)
  for (let id = 0; id < 256; id++) {
    gate.accept(id, '10.0.0.1', 80)
    gate.closed(id)
  }
  t.strictSame(gate.waits()[0], 8)
  for (let index = 0; index < 128; index++) gate.ask('a.example')
  t.strictSame(gate.waits()[1], 32)
  gate.wait(32)
  t.strictSame(gate.waits(), [0, 0])
  t.end()
})

t.test('whatever happens in whatever order, nothing leads inside and nothing is left', (t) => {
  const names = ['a.example', 'x.b.example', 'c.example', 'd.example', 'localhost', '1.0.0.127.in-addr.arpa']
  const places = [
    '127.64.0.1',
    '127.64.0.2',
    '127.64.9.9',
    '192.0.2.1',
    '10.0.0.1',
    '127.0.0.1',
    '0.0.0.0',
    '2001:db8::1',
    '::1',
  ]
  const lists = [
    ['a.example', '*.b.example'],
    ['*'],
    [],
    ['10.0.0.0/8:80', { host: 'a.example', ports: [80], bytes_per_hour: 9 }],
    [{ host: '10.0.0.1', ports: [80, 19284], protocol: 'udp', bytes_per_hour: 9 }],
  ]
  const one = fc.oneof(
    fc.record({
      kind: fc.constant('question' as const),
      name: fc.constantFrom(...names),
      type: fc.constantFrom(A, AAAA, TXT),
    }),
    fc.record({
      kind: fc.constant('accepted' as const),
      at: fc.constantFrom(...places),
      port: fc.constantFrom(80, 443, 19284),
      protocol: fc.constantFrom('tcp' as const, 'udp' as const),
    }),
    fc.record({
      kind: fc.constant('resolved' as const),
      id: fc.nat(20),
      at: fc.array(fc.constantFrom(...places.slice(3)), { maxLength: 6 }),
    }),
    fc.record({
      kind: fc.constant('answered' as const),
      pick: fc.nat(3),
      answer: fc.constantFrom('yes', 'no', 'none'),
    }),
    fc.record({ kind: fc.constant('closed' as const), id: fc.nat(20), bytes: fc.nat(2_000_000) }),
    fc.record({ kind: fc.constant('lease' as const), id: fc.nat(20) }),
    fc.record({ kind: fc.constant('listed' as const), list: fc.constantFrom(...lists) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(400_000) }),
  )
  type Step = typeof one extends fc.Arbitrary<infer Value> ? Value : never
  const play = (steps: readonly Step[], unlisted: GateRules['unlisted']): void => {
    let list = listOf(lists[0] ?? [])
    const rules = {
      unlisted,
      refusesInternal: true,
      reachable: [],
      ownPorts: [19284],
      ownAddresses: () => [],
    }
    const gate = createSessionGate(list, rules)
    const asked = new Map<string, { target: string | IpAddress; port: number }>()
    const connected = new Set<number>()
    const open = new Set<number>()
    const flows = new Set<number>()
    let [nowMs, nextId, hasGranted] = [0, 0, false]
    const tell = (input: GateInput): void => {
      for (const output of gate.input(input, nowMs)) {
        if (output.kind === 'ask') asked.set(output.key, output)
        if (output.kind === 'withdraw' && !asked.delete(output.key)) throw new Error('nobody was asked')
        if (output.kind === 'reset' && !connected.has(output.id) && !open.delete(output.id))
          throw new Error('reset twice')
        if (output.kind !== 'connect') continue
        if (!open.has(output.id) || connected.has(output.id)) throw new Error('connected twice')
        connected.add(output.id)
        if (flows.has(output.id) && !list.some(({ protocol }) => protocol === 'udp'))
          throw new Error('datagrams that no list has')
        const isListed = list.some(({ host }) => host.kind === 'range') || hasGranted
        for (const address of output.addresses) {
          const isOwn =
            output.port === 19284 && ['127.0.0.1', '0.0.0.0', '::1'].includes(formatIpAddress(address))
          if (isOwn || (!isListed && isInternalAddress(address, [])))
            throw new Error(`leads to ${formatIpAddress(address)}`)
        }
      }
      if (asked.size > 3 || gate.counts.connections !== open.size) throw new Error('counts')
    }
    for (const step of steps) {
      switch (step.kind) {
        case 'question':
          tell(question(step.name, step.type))
          break
        case 'accepted': {
          const id = nextId++
          open.add(id)
          if (step.protocol === 'udp') flows.add(id)
          tell({ kind: 'accepted', id, address: address(step.at), port: step.port, protocol: step.protocol })
          break
        }
        case 'resolved':
          if (open.has(step.id) && !connected.has(step.id))
            tell({ kind: 'resolved', id: step.id, addresses: step.at.map(address) })
          break
        case 'answered': {
          const [key, what] = [...asked][step.pick] ?? []
          if (key === undefined || what === undefined) break
          asked.delete(key)
          hasGranted ||= step.answer === 'yes'
          tell({ kind: 'answered', key, target: what.target, port: what.port, answer: step.answer as 'yes' })
          break
        }
        case 'closed':
          if (!connected.delete(step.id)) break
          open.delete(step.id)
          tell({
            kind: 'closed',
            id: step.id,
            address: '192.0.2.1',
            sentBytes: step.bytes,
            receivedBytes: 0,
            reason: undefined,
          })
          break
        case 'lease':
          if (connected.has(step.id)) tell({ kind: 'lease', id: step.id })
          break
        case 'listed':
          list = listOf(step.list)
          tell({ kind: 'listed', list })
          break
        case 'wait':
          nowMs += step.ms
      }
    }
    tell({ kind: 'ended' })
    for (const id of [...connected]) {
      connected.delete(id)
      open.delete(id)
      tell({ kind: 'closed', id, address: undefined, sentBytes: 0, receivedBytes: 0, reason: 'ended' })
    }
    if (gate.counts.connections !== 0 || gate.counts.asked !== 0 || asked.size > 0)
      throw new Error('something is left')
  }
  fc.assert(
    fc.property(
      fc.array(one, { maxLength: 60 }),
      fc.constantFrom('ask', 'deny', 'audit'),
      (steps, unlisted) => play(steps, unlisted as 'ask'),
    ),
    { numRuns: 500 },
  )
  t.end()
})
