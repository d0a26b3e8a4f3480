/**
 * Addresses inside, in every spelling that a client reads, and the words in which a command may name one.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { parseIpRange } from '../../src/base/ip-address.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import {
  hostsOf,
  type InternalAddresses,
  namesInternalHost,
  parseLooseIpv4,
} from '../../src/defense/internal-address.ts'
import { executing, FACTS, LEDGER, policyWith } from './staged-facts.ts'

const inside = (word: string, reachable: InternalAddresses = []) => namesInternalHost(word, reachable)

function ranges(...texts: readonly string[]): InternalAddresses {
  return texts.flatMap((text) => {
    const parsed = parseIpRange(text)
    return parsed.ok ? [parsed.range] : []
  })
}

t.test(
  'every range inside is inside from its first address to its last, and its neighbours are not (JF-F16)',
  (t) => {
    for (const [name, addresses, outside] of [
      ['this host', ['0.0.0.0', '0.255.255.255'], ['1.0.0.0']],
      ['10/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0']],
      ['172.16/12', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
      ['192.168/16', ['192.168.0.0', '192.168.255.255'], ['192.167.255.255', '192.169.0.0']],
      ['loopback', ['127.0.0.0', '127.0.0.1', '127.255.255.255'], ['126.255.255.255', '128.0.0.0']],
      [
        'link-local',
        ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
        ['169.253.255.255', '169.255.0.0'],
      ],
      ['shared', ['100.64.0.0', '100.127.255.255'], ['100.63.255.255', '100.128.0.0']],
      ['IETF', ['192.0.0.0', '192.0.0.255'], ['192.0.1.0']],
      ['benchmarks', ['198.18.0.0', '198.19.255.255'], ['198.17.255.255', '198.20.0.0']],
      [
        'multicast and reserved',
        ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
        ['223.255.255.255'],
      ],
      ['::', ['::', '::1'], ['2606:4700::1111']],
      ['unique local', ['fc00::', 'fd12:3456::1', 'fdff:ffff::'], ['fbff::1']],
      ['link-local, v6', ['fe80::1', 'febf::1', 'fe80::1%eth0', 'fe80::1%25eth0'], ['fe7f::1']],
      ['site-local', ['fec0::1', 'feff::1'], []],
      ['multicast, v6', ['ff02::1'], []],
      ['mapped', ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.1.2.3'], ['::ffff:8.8.8.8']],
      ['compatible', ['::127.0.0.1', '::a00:1'], ['::808:808']],
      ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::1'], ['64:ff9b::8.8.8.8']],
      ['6to4', ['2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::'], ['2002:808:808::']],
    ] as const) {
      for (const address of addresses) {
        t.ok(inside(address), `${name}: ${address}`)
        t.ok(
          inside(address.includes(':') ? `http://[${address}]:80/x` : `http://${address}:80/x`),
          `${address} in a URL`,
        )
      }
      for (const address of outside) t.notOk(inside(address), `${name}: not ${address}`)
    }
    t.end()
  },
)

t.test('IPv4 is read as inet_aton(3) reads it: one to four parts, octal, decimal, hexadecimal', (t) => {
  for (const text of [
    ...[
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0x7F.0x0.0x0.0x1',
      '017700000001',
      '0177.0.0.1',
    ],
    ...[
      '0177.1',
      '127.0x1',
      '00000000000000000000177.1',
      '0x000000000000000000007f.1',
      '10.1',
      '0xa000001',
      '012.1',
    ],
    ...['3232235777', '0xc0a80101', '192.168.257', '169.254.43518', '2852039166', '0', '0x0', '0.0'],
  ])
    t.ok(inside(`http://${text}/`), text)
  for (const text of [
    '8.8.8.8',
    '134744072',
    '0x08080808',
    '010.8.8.8.8',
    '8.8',
    '1.1.1.1',
    '127.example.com',
    '127',
  ])
    t.notOk(inside(`http://${text === '127' ? 'a127' : text}/`), text)
  for (const text of [
    '',
    '.',
    '1..2',
    '256.0.0.1',
    '1.2.3.4.5',
    '4294967296',
    '08.1',
    '0x.g',
    '-1',
    '1e3',
    ' 1',
  ])
    t.equal(parseLooseIpv4(text), undefined, JSON.stringify(text))
  t.strictSame(parseLooseIpv4('1.2.3.4'), { family: 4, bytes: [1, 2, 3, 4] })
  t.strictSame(parseLooseIpv4('1.2.772'), { family: 4, bytes: [1, 2, 3, 4] })
  t.strictSame(parseLooseIpv4('0x'), { family: 4, bytes: [0, 0, 0, 0] })
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.nat(3),
      fc.constantFrom(8, 10, 16),
      (value, cut, base) => {
        const bytes = [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256)
        const numbers = [...bytes.slice(0, cut), bytes.slice(cut).reduce((sum, byte) => sum * 256 + byte, 0)]
        const text = numbers
          .map((n) => (base === 16 ? '0x' : base === 8 ? '0' : '') + n.toString(base))
          .join('.')
        return JSON.stringify(parseLooseIpv4(text)?.bytes) === JSON.stringify(bytes)
      },
    ),
    { numRuns: 500 },
  )
  t.end()
})

t.test('names inside are inside, and those of services that answer with the address in the name', (t) => {
  for (const name of [
    ...[
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'localhost.localdomain',
      'ip6-localhost',
      'metadata',
    ],
    ...[
      'metadata.google.internal',
      'x.internal',
      'printer.local',
      'router.lan',
      'nas.home.arpa',
      'host.docker.internal',
    ],
    ...['127.0.0.1.nip.io', 'x.sslip.io', 'localtest.me', 'a.localtest.me', 'lvh.me', '127.0.0.1.'],
  ]) {
    t.ok(inside(name), name)
    t.ok(inside(`https://${name}/x`), `https://${name}/x`)
  }
  for (const name of [
    'example.com',
    'localhost.example.com',
    'local',
    'internal',
    'mylocalhost',
    'internal.example.com',
    'lan.example',
  ])
    t.notOk(inside(`https://${name}/`), name)
  t.end()
})

t.test('whatever stands around the host, the host is found', (t) => {
  for (const word of [
    'http://example.com@127.0.0.1/',
    'http://example.com:80@127.0.0.1:8080/',
    'http://a@b@127.0.0.1/',
    'http://example.com\\@127.0.0.1/',
    'http://127.0.0.1\\@example.com/',
    'http:///127.0.0.1/',
    'http:/127.0.0.1/',
    'http:\\\\127.0.0.1/',
    'http:127.0.0.1/',
    'HTTP://LOCALHOST/',
    'http://127.0.0.1?x=example.com',
    'http://127.0.0.1#example.com',
    'http://%31%32%37.0.0.1/',
    'http://127%2e0%2e0%2e1/',
    'http://①②⑦.⓪.⓪.①/',
    'http://127。0。0。1/',
    'root@10.0.0.1',
    'root@10.0.0.1:/etc',
    '10.0.0.1:/etc',
    '10.0.0.1::module',
    '127.0.0.1:22',
    '[::1]:22',
    '::1',
    'ftp://[::ffff:10.0.0.1]/',
    'TCP:10.0.0.1:80',
    'TCP4:127.1:80,bind=0',
    'TCP6:[::1]:80',
    'TCP:2130706433:80',
    'example.com:80:10.0.0.1',
    '8080:192.168.1.1:80',
    'Hostname=10.0.0.1',
    `http://${'a'.repeat(10_000)}@127.0.0.1/`,
    `http://127.0.0.1/${'a'.repeat(10_000)}`,
  ])
    t.ok(inside(word), word.slice(0, 60))
  for (const word of [
    'https://example.com/',
    'https://example.com/127.0.0.1/',
    'https://example.com/?u=http://127.0.0.1/',
    'https://127.0.0.1@example.com/',
    'https://example.com:8080/',
    'user@example.com:/srv',
    'example.com:80',
    '8080:example.com:80',
    'x',
    '',
    '/srv/127.0.0.1',
    'http://',
    'http://@/',
    '://',
    '[',
    ']',
    `${'a'.repeat(300)}.local`,
  ])
    t.notOk(inside(word), word.slice(0, 60))
  t.end()
})

t.test('no text is too strange or too long to be looked at', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => typeof inside(text) === 'boolean'),
    { numRuns: 1_000 },
  )
  for (const piece of ['[', '[1%', '@', ':', '%', '%31', '://', '.', '0x', '[:', '\\'])
    t.type(inside(piece.repeat(100_000)), 'boolean', `a lot of ${piece}`)
  t.ok(hostsOf('http://a@b/').includes('b'))
  t.end()
})

t.test('what may be reached is not inside any more, and nothing beside it', (t) => {
  const some = ranges('10.1.0.0/16', 'fd00::/64')
  t.notOk(inside('http://10.1.2.3/', some))
  t.notOk(inside('::ffff:10.1.2.3', some))
  t.notOk(inside('64:ff9b::10.1.2.3', some))
  t.notOk(inside('[fd00::1]:80', some))
  t.ok(inside('http://10.2.0.1/', some))
  t.ok(inside('http://127.0.0.1/', some))
  t.ok(inside('localhost', some))
  t.notOk(inside('localhost', ranges('127.0.0.0/8')))
  t.notOk(inside('a.localhost', ranges('127.0.0.1')))
  t.ok(inside('printer.local', ranges('127.0.0.0/8', '10.0.0.0/8')), 'a name whose address is not known')
  t.end()
})

t.test('what a command is given is looked at where its program goes to the network', (t) => {
  const rule = (argv: readonly string[]) =>
    adjudicate({ ...FACTS, action: executing(argv) }, policyWith({}), LEDGER).rule
  for (const argv of [
    ['curl', '127.0.0.1'],
    ['curl', '0'],
    ['curl', '-x', '10.0.0.1:3128', 'https://example.com/'],
    ['curl', '--proxy=http://localhost:3128', 'https://example.com/'],
    ['curl', '--resolve', 'example.com:443:10.0.0.1', 'https://example.com/'],
    ['curl', '--connect-to', '::10.0.0.1:443', 'https://example.com/'],
    ['curl', '-H', 'Host: 10.0.0.1', 'https://example.com/', 'http://localhost/'],
    ['wget', '-q', 'http://169.254.169.254/latest/meta-data/'],
    ['nc', '10.0.0.1', '80'],
    ['nc', '0', '22'],
    ['nc', '2130706433', '80'],
    ['ssh', 'root@192.168.1.1', 'ls'],
    ['ssh', '-L', '8080:10.0.0.1:80', 'example.com'],
    ['ssh', '-J', '10.0.0.1', 'example.com'],
    ['scp', 'x', '10.0.0.1:/tmp'],
    ['rsync', 'x', 'rsync://localhost/x'],
    ['socat', '-', 'TCP:127.0.0.1:80'],
    ['sh', '-c', 'curl http://127.0.0.1/'],
    ['git', 'clone', 'http://localhost/x.git'],
    ['git', 'clone', 'git@10.0.0.1:x.git'],
    ['python3', 'client.py', 'http://10.0.0.1/'],
  ])
    t.equal(rule(argv), 'internal_addresses', argv.join(' '))
  for (const argv of [
    ['nc', 'example.com', '80'],
    ['nc', '-w', '3', 'example.com', '443'],
    ['curl', '-m', '30', '--retry', '0', 'https://example.com/'],
    ['curl', '--max-filesize', '1000000', 'https://example.com/'],
    ['curl', '-d', '123456', 'https://example.com/'],
    ['curl', '-d', 'host=localhost', 'https://example.com/'],
    ['curl', '-o', 'metadata', 'https://example.com/'],
    ['ssh', '-p', '22', 'example.com'],
    ['echo', '127.0.0.1'],
    ['grep', '10.0.0.1', 'log'],
    ['git', 'clone', 'https://example.com/x.git'],
  ])
    t.not(rule(argv), 'internal_addresses', argv.join(' '))
  t.end()
})
