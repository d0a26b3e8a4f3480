import t from 'tap'
import { createAllowList } from '../../src/base/allow-list.ts'
import { parseIpAddress } from '../../src/base/ip-address.ts'

function asked(entries: readonly string[], text: string): string | undefined {
  const address = parseIpAddress(text)
  if (address === undefined) throw new RangeError(text)
  return createAllowList(entries)(address)
}

t.test('the first entry that holds the address is named, as it was written', (t) => {
  const entries = ['192.0.2.0/24', '192.0.2.7', '2001:db8::/32', '::ffff:198.51.100.0/120']
  t.equal(asked(entries, '192.0.2.7'), '192.0.2.0/24')
  t.equal(asked(entries, '2001:db8::1'), '2001:db8::/32')
  t.equal(asked(entries, '198.51.100.9'), '::ffff:198.51.100.0/120')
  t.equal(asked(entries, '::ffff:192.0.2.1'), '192.0.2.0/24', 'mapped counts as IPv4')
  t.equal(asked(entries, '203.0.113.1'), undefined)
  t.end()
})

t.test('an empty list lets nobody in, and * everybody', (t) => {
  t.equal(asked([], '127.0.0.1'), undefined)
  t.equal(asked(['*'], '203.0.113.1'), '*')
  t.equal(asked(['127.0.0.0/8', '*'], '2001:db8::1'), '*')
  t.end()
})

t.test('what is no range lets nobody in', (t) => {
  for (const text of ['', 'localhost', '0.0.0.0/33', '192.0.2.1/24', '**'])
    t.equal(asked([text], '192.0.2.1'), undefined, text)
  t.end()
})
