import t from 'tap'
import { addressForms, isInternalAddress } from '../../src/base/internal-range.ts'
import { formatIpAddress, type IpAddress, parseIpAddress, parseIpRange } from '../../src/base/ip-address.ts'

function address(text: string): IpAddress {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

function ranges(...texts: readonly string[]) {
  return texts.flatMap((text) => {
    const parsed = parseIpRange(text)
    return parsed.ok ? [parsed.range] : []
  })
}

t.test('addresses inside are known in every form that carries them', (t) => {
  const inside =
    '0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.0.0.1 127.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 ' +
    '198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::10.0.0.1 64:ff9b::10.0.0.1 ' +
    '64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe::1 fe80::1 fec0::1 fd00::1 fc00::1 ff02::1'
  for (const text of inside.split(' ')) t.ok(isInternalAddress(address(text), []), text)
  for (const text of '1.1.1.1 100.63.255.255 172.32.0.1 2606:4700::1111 64:ff9b::101:101 2002:101:101::'.split(
    ' ',
  ))
    t.notOk(isInternalAddress(address(text), []), text)
  t.end()
})

t.test('what is reachable is so in every form', (t) => {
  const reachable = ranges('10.1.0.0/16', '64:ff9b::a02:0/112')
  t.notOk(isInternalAddress(address('10.1.2.3'), reachable))
  t.notOk(isInternalAddress(address('::ffff:10.1.2.3'), reachable))
  t.notOk(isInternalAddress(address('64:ff9b::10.1.2.3'), reachable))
  t.notOk(isInternalAddress(address('64:ff9b::10.2.0.3'), reachable))
  t.ok(isInternalAddress(address('10.3.2.3'), reachable))
  t.end()
})

t.test('an address that carries another is both', (t) => {
  t.strictSame(addressForms(address('2002:c000:201::1')).map(formatIpAddress), [
    '2002:c000:201::1',
    '192.0.2.1',
  ])
  t.strictSame(addressForms(address('192.0.2.1')).map(formatIpAddress), ['192.0.2.1'])
  t.end()
})
