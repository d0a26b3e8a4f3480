import fc from 'fast-check'
import t from 'tap'
import {
  formatIpAddress,
  isLoopback,
  parseIpAddress,
  parseIpRange,
  rangeContains,
} from '../../src/base/ip-address.ts'

function contains(range: string, address: string): boolean {
  const parsedRange = parseIpRange(range)
  const parsedAddress = parseIpAddress(address)
  if (!parsedRange.ok || parsedAddress === undefined) throw new Error(`not parsed: ${range} ${address}`)
  return rangeContains(parsedRange.range, parsedAddress)
}

t.test('reads the text forms of RFC 4291 and strict dotted decimal', async (t) => {
  t.same(parseIpAddress('192.0.2.1'), { family: 4, bytes: [192, 0, 2, 1] })
  t.same(parseIpAddress('::1'), { family: 6, bytes: [...new Array(15).fill(0), 1] })
  t.same(parseIpAddress('::'), { family: 6, bytes: new Array(16).fill(0) })
  t.same(parseIpAddress('2001:DB8::'), { family: 6, bytes: [0x20, 1, 0x0d, 0xb8, ...new Array(12).fill(0)] })
  t.same(parseIpAddress('64:ff9b::192.0.2.33')?.bytes.slice(12), [192, 0, 2, 33])
  t.same(parseIpAddress('1:2:3:4:5:6:7:8')?.bytes.length, 16)
})

t.test('refuses every other spelling', async (t) => {
  const bad = [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '256.1.1.1',
    '1.2.3.4 ',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '::12345',
  ]
  bad.push(
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1.2.3.4::',
    '::1%eth0',
    'fe80::g',
    'localhost',
    '0x7f.1',
    '1::2.3.4.5:6',
  )
  for (const text of bad) t.equal(parseIpAddress(text), undefined, text)
})

t.test('reads an IPv4-mapped IPv6 address as IPv4, so that no rule misses the other spelling', async (t) => {
  t.same(parseIpAddress('::ffff:127.0.0.1'), { family: 4, bytes: [127, 0, 0, 1] })
  t.same(parseIpAddress('::ffff:7f00:1'), { family: 4, bytes: [127, 0, 0, 1] })
  t.ok(contains('127.0.0.0/8', '::ffff:127.1.2.3'))
  t.ok(contains('::ffff:10.0.0.0/104', '10.1.2.3'))
})

t.test('a range contains exactly the addresses of its prefix and never the other family', async (t) => {
  t.ok(contains('192.0.2.0/25', '192.0.2.127'))
  t.notOk(contains('192.0.2.0/25', '192.0.2.128'))
  t.ok(contains('2001:db8::/33', '2001:db8:7fff::1'))
  t.notOk(contains('2001:db8::/33', '2001:db8:8000::1'))
  t.ok(contains('0.0.0.0/0', '255.255.255.255'))
  t.notOk(contains('0.0.0.0/0', '::1'))
  t.notOk(contains('::/0', '1.2.3.4'))
  t.ok(contains('10.0.0.7', '10.0.0.7'))
  t.notOk(contains('10.0.0.7', '10.0.0.8'))
})

t.test('refuses prefixes out of range and names the network where host bits are set', async (t) => {
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '::/129',
    '::ffff:10.0.0.0/8',
    '/8',
    'x/8',
  ]) {
    t.equal(parseIpRange(text).ok, false, text)
  }
  t.match(parseIpRange('10.0.0.1/8'), { ok: false, hint: 'the network is 10.0.0.0/8' })
  t.match(parseIpRange('2001:db8::1/32'), { ok: false, hint: 'the network is 2001:db8::/32' })
})

t.test('knows loopback of both families', async (t) => {
  const loopback = (text: string) => isLoopback(parseIpAddress(text) ?? { family: 4, bytes: [0, 0, 0, 0] })
  t.ok(loopback('127.0.0.1'))
  t.ok(loopback('127.255.0.9'))
  t.ok(loopback('::1'))
  t.ok(loopback('::ffff:127.0.0.1'))
  t.notOk(loopback('::2'))
  t.notOk(loopback('::'))
  t.notOk(loopback('128.0.0.1'))
})

t.test('every address reads back from its text', async (t) => {
  const bytes = fc.oneof(
    fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 }),
    fc.array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 }),
  )
  fc.assert(
    fc.property(bytes, (bytes) => {
      const family = bytes.length === 4 ? 4 : 6
      const text = formatIpAddress({ family, bytes })
      const read = parseIpAddress(text)
      const mapped = family === 6 && bytes.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255'
      t.same(read?.bytes, mapped ? bytes.slice(12) : bytes, text)
    }),
    { numRuns: 300 },
  )
})
