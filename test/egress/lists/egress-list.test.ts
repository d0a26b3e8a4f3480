import t from 'tap'
import { type IpAddress, parseIpAddress } from '../../../src/base/ip-address.ts'
import {
  datagramPlaces,
  datagramPlaceText,
  type EgressList,
  entryForAddress,
  entryForName,
  grantedEntry,
  listenedPorts,
  listsAddress,
  parseEgressList,
} from '../../../src/egress/lists/egress-list.ts'

function list(...entries: readonly unknown[]): EgressList {
  const parsed = parseEgressList(entries)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.list
}

function address(text: string): IpAddress {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

t.test('an entry without a port is for 80 and 443', (t) => {
  t.strictSame(list('Example.COM.', '*.example.com', 'b.example:8443', '*'), [
    {
      text: 'Example.COM.',
      host: { kind: 'name', name: 'example.com' },
      protocol: 'tcp',
      ports: [80, 443],
      methods: undefined,
      bytesPerHour: undefined,
    },
    {
      text: '*.example.com',
      host: { kind: 'below', name: 'example.com' },
      protocol: 'tcp',
      ports: [80, 443],
      methods: undefined,
      bytesPerHour: undefined,
    },
    {
      text: 'b.example:8443',
      host: { kind: 'name', name: 'b.example' },
      protocol: 'tcp',
      ports: [8443],
      methods: undefined,
      bytesPerHour: undefined,
    },
    {
      text: '*',
      host: { kind: 'any' },
      protocol: 'tcp',
      ports: [80, 443],
      methods: undefined,
      bytesPerHour: undefined,
    },
  ])
  t.end()
})

t.test('addresses and ranges, of both families, with a port or without', (t) => {
  for (const [text, bits, ports] of [
    ['10.1.0.0/16:1883', 16, [1883]],
    ['192.0.2.7', 32, [80, 443]],
    ['[2001:db8::]/32:443', 32, [443]],
    ['[::1]:80', 128, [80]],
    ['[::1]', 128, [80, 443]],
    ['2001:db8::/32', 32, [80, 443]],
    ['::ffff:10.0.0.1', 32, [80, 443]],
  ] as const) {
    const [entry] = list(text)
    t.equal(entry?.host.kind === 'range' ? entry.host.range.prefixBits : undefined, bits, text)
    t.strictSame(entry?.ports, ports, text)
  }
  t.end()
})

t.test('an object has ports, methods and a budget', (t) => {
  t.strictSame(
    list({ host: 'example.com', ports: [8080, 80, 80], methods: ['GET', 'HEAD', 'GET'], bytes_per_hour: 5 }),
    [
      {
        text: 'example.com:80,8080',
        host: { kind: 'name', name: 'example.com' },
        protocol: 'tcp',
        ports: [80, 8080],
        methods: ['GET', 'HEAD'],
        bytesPerHour: 5,
      },
    ],
  )
  t.strictSame(list({ host: 'example.com', methods: ['GET'] })[0]?.ports, [80], 'methods are for 80')
  t.equal(list({ host: '2001:db8::1', ports: [22] })[0]?.text, '[2001:db8::1]:22')
  t.end()
})

t.test('every problem is told, with its field', (t) => {
  const parsed = parseEgressList(
    [
      7,
      null,
      ['a'],
      'exa mple',
      'bücher.example',
      'example.com:',
      'example.com:0',
      'example.com:65536',
      'example.com:https',
      '10.0.0.1/8',
      '300.1.1.1',
      '1.2.3',
      '*.*.com',
      'a.*',
      '',
      {},
      { host: 'a.example', port: 1 },
      { host: 'a.example:80', ports: [80] },
      { host: 'a.example', ports: [] },
      { host: 'a.example', ports: [1.5] },
      { host: 'a.example', methods: ['get'] },
      { host: 'a.example', methods: ['CONNECT'] },
      { host: 'a.example', ports: [80, 443], methods: ['GET'] },
      { host: 'a.example', bytes_per_hour: 0 },
    ],
    'sandbox.egress',
  )
  t.notOk(parsed.ok)
  if (parsed.ok) throw new Error('taken')
  t.strictSame(
    parsed.problems.map(({ field }) => field.slice('sandbox.egress'.length)),
    [
      ...[
        '[0]',
        '[1]',
        '[2]',
        '[3]',
        '[4]',
        '[5]',
        '[6]',
        '[7]',
        '[8]',
        '[9]',
        '[10]',
        '[11]',
        '[12]',
        '[13]',
        '[14]',
      ],
      ...['[15].host', '[16]', '[17].ports', '[18].ports', '[19].ports', '[20].methods', '[21].methods'],
      ...['[22].methods', '[23].bytes_per_hour'],
    ],
  )
  t.match(parsed.problems[9]?.problem, /the network is 10\.0\.0\.0\/8/)
  t.strictSame(parseEgressList('*'), {
    ok: false,
    problems: [{ field: 'egress', problem: 'must be a list; [] reaches nothing, ["*"] everything' }],
  })
  t.notOk(parseEgressList(Array.from({ length: 1_025 }, () => 'a.example')).ok)
  t.notOk(parseEgressList(Array.from({ length: 63 }, (_, index) => `a.example:${1_000 + index}`)).ok)
  t.end()
})

t.test('the nearest entry holds', (t) => {
  const entries = list(
    '*',
    '*.example.com',
    { host: 'a.example.com', ports: [80], methods: ['GET'] },
    '*.b.example.com',
    'a.example.com:22',
  )
  const text = (name: string, port: number | undefined) => entryForName(entries, name, port)?.text
  t.equal(text('a.example.com', 80), 'a.example.com:80')
  t.equal(text('a.example.com', 443), '*.example.com')
  t.equal(text('a.example.com', 22), 'a.example.com:22')
  t.equal(text('a.example.com', 23), undefined)
  t.equal(text('x.b.example.com', 443), '*.b.example.com')
  t.equal(text('example.com', 443), '*')
  t.equal(text('evilexample.com', 443), '*')
  t.equal(entryForName(list('a.example:22'), 'a.example', undefined)?.text, 'a.example:22', 'on any port')
  t.equal(entryForName(list('*.example'), 'example', undefined), undefined)
  t.end()
})

t.test('a bare address needs its range and its port, and * is for none inside', (t) => {
  const entries = list('10.0.0.0/8:1883', '10.1.0.0/16:1883', '[2001:db8::]/32:443', '*')
  const text = (host: string, port: number) => entryForAddress(entries, address(host), port)?.text
  t.equal(text('10.2.0.1', 1883), '10.0.0.0/8:1883')
  t.equal(text('10.1.0.1', 1883), '10.1.0.0/16:1883')
  t.equal(text('::ffff:10.1.0.1', 1883), '10.1.0.0/16:1883')
  t.equal(text('10.1.0.1', 443), undefined)
  t.equal(text('2001:db8::1', 443), '[2001:db8::]/32:443')
  t.equal(text('1.1.1.1', 443), '*')
  t.equal(text('64:ff9b::10.0.0.1', 443), undefined)
  t.equal(text('127.0.0.1', 80), undefined)
  t.ok(listsAddress(entries, address('10.2.0.1'), 1883))
  t.ok(listsAddress(entries, address('64:ff9b::10.2.0.1'), 1883))
  t.notOk(listsAddress(entries, address('10.2.0.1'), 80))
  t.notOk(listsAddress(entries, address('1.1.1.1'), 443))
  t.end()
})

t.test('80 and 443 are always listened on', (t) => {
  t.strictSame(listenedPorts([]), [80, 443])
  t.strictSame(listenedPorts(list('a.example:8443', '10.0.0.0/8:22', 'b.example:22')), [22, 80, 443, 8443])
  t.end()
})

t.test('what is agreed to is an entry like others', (t) => {
  t.strictSame(grantedEntry('a.example', 8080), list('a.example:8080')[0])
  t.strictSame(grantedEntry(address('127.0.0.1'), 8080), list('127.0.0.1:8080')[0])
  t.strictSame(grantedEntry(address('::1'), 8080), list('[::1]:8080')[0])
  t.end()
})

t.test('an entry of UDP is for one address and its ports, and for no connection', (t) => {
  const entries = list(
    { host: '10.0.0.5', ports: [123, 5683], protocol: 'udp', bytes_per_hour: 9 },
    { host: '[2001:db8::5]:514', protocol: 'udp' },
    { host: '10.0.0.5:123', protocol: 'udp' },
    { host: '10.0.0.0/8', ports: [80, 123], protocol: 'tcp' },
    '*:514',
  )
  t.strictSame(entries[0], {
    text: '10.0.0.5:123,5683/udp',
    host: { kind: 'range', range: { address: address('10.0.0.5'), prefixBits: 32 } },
    protocol: 'udp',
    ports: [123, 5683],
    methods: undefined,
    bytesPerHour: 9,
  })
  t.strictSame(datagramPlaces(entries).map(datagramPlaceText), [
    '10.0.0.5:123',
    '10.0.0.5:5683',
    '[2001:db8::5]:514',
  ])
  t.strictSame(listenedPorts(entries), [80, 123, 443, 514], 'of connections alone')
  const text = (host: string, port: number, protocol: 'tcp' | 'udp') =>
    entryForAddress(entries, address(host), port, protocol)?.text
  t.equal(text('10.0.0.5', 123, 'udp'), '10.0.0.5:123,5683/udp')
  t.equal(text('10.0.0.5', 123, 'tcp'), '10.0.0.0/8:80,123')
  t.equal(text('10.0.0.6', 123, 'udp'), undefined)
  t.equal(text('10.0.0.5', 5683, 'tcp'), undefined)
  t.equal(text('2001:db8::5', 514, 'tcp'), '*:514')
  t.ok(listsAddress(entries, address('10.0.0.5'), 5683, 'udp'))
  t.notOk(listsAddress(entries, address('10.0.0.5'), 5683))
  t.notOk(listsAddress(entries, address('10.0.0.5'), 80, 'udp'))
  t.equal(entryForName(list({ host: '10.0.0.5:123', protocol: 'udp' }), 'a.example', undefined), undefined)
  t.end()
})

t.test('what is no entry of UDP is told, with its field', (t) => {
  for (const [entry, field, problem] of [
    [{ host: 'a.example:123' }, '.host', /this is a name/],
    [{ host: '*:123' }, '.host', /this is a name/],
    [{ host: '10.0.0.0/31:123' }, '.host', /this is a range/],
    [{ host: '10.0.0.5' }, '.ports', /must be named/],
    [{ host: '0.0.0.0:123' }, '.host', /no address of one host/],
    [{ host: '0.1.2.3:123' }, '.host', /no address of one host/],
    [{ host: '224.0.0.1:123' }, '.host', /no address of one host/],
    [{ host: '255.255.255.255:123' }, '.host', /no address of one host/],
    [{ host: '[::]:123' }, '.host', /no address of one host/],
    [{ host: '[ff02::1]:123' }, '.host', /no address of one host/],
    [{ host: '127.64.0.1:123' }, '.host', /stands for a name/],
    [{ host: '127.0.0.1', ports: [52, 53] }, '.host', /asks for names/],
    [{ host: '10.0.0.5:80', methods: ['GET'] }, '.methods', /of HTTP/],
    [{ host: '10.0.0.5:80', protocol: 'sctp' }, '.protocol', /"tcp" or "udp"/],
  ] as const) {
    const parsed = parseEgressList([{ protocol: 'udp', ...entry }], 'x')
    if (parsed.ok) throw new Error(`taken: ${JSON.stringify(entry)}`)
    t.strictSame(
      parsed.problems.map((one) => one.field),
      [`x[0]${field}`],
      JSON.stringify(entry),
    )
    t.match(parsed.problems[0]?.problem, problem)
  }
  t.ok(parseEgressList([{ host: '127.0.0.1:5353', protocol: 'udp' }]).ok, 'of the device itself')
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ host: `10.0.0.${index}:123`, protocol: 'udp' }))
  t.ok(parseEgressList([...many(16), ...many(16)]).ok, 'a place is counted once')
  t.match(parseEgressList(many(17)), { ok: false, problems: [{ field: 'egress', problem: /more than 16/ }] })
  t.end()
})
