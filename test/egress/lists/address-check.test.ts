import t from 'tap'
import { type IpAddress, parseIpAddress, parseIpRange } from '../../../src/base/ip-address.ts'
import { type AddressRules, addressProblem } from '../../../src/egress/lists/address-check.ts'
import { parseEgressList } from '../../../src/egress/lists/egress-list.ts'

function address(text: string): IpAddress {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

const RULES: AddressRules = {
  refusesInternal: true,
  reachable: [],
  ownPorts: [19284],
  ownAddresses: () => [address('192.0.2.10'), address('2001:db8::10')],
}

function problem(text: string, port: number, entries: readonly string[] = [], rules = RULES) {
  const parsed = parseEgressList(entries)
  return addressProblem(address(text), port, parsed.ok ? parsed.list : [], rules)
}

t.test('an address inside is refused in every form, unless it is listed or reachable (JF-F16)', (t) => {
  for (const text of [
    '10.0.0.1',
    '127.0.0.1',
    '::1',
    '169.254.169.254',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '0.0.0.0',
    ...[
      '::ffff:a00:1',
      '::10.0.0.1',
      '2002:a00:1::',
      '100.64.0.1',
      '172.31.255.255',
      '192.168.0.1',
      'fd00::1',
      'fe80::1',
    ],
  ])
    t.equal(problem(text, 443), 'internal_address', text)
  t.equal(problem('192.0.2.1', 443), undefined)
  t.equal(problem('10.0.0.1', 443, ['10.0.0.0/8']), undefined)
  t.equal(problem('64:ff9b::a00:1', 443, ['10.0.0.0/8']), undefined)
  t.equal(problem('10.0.0.1', 1883, ['10.0.0.0/8']), 'internal_address', 'another port')
  t.equal(problem('10.0.0.1', 443, ['*']), 'internal_address')
  const range = parseIpRange('10.0.0.0/8')
  const reachable = range.ok ? [range.range] : []
  t.equal(problem('10.0.0.1', 443, [], { ...RULES, reachable }), undefined)
  t.equal(problem('10.0.0.1', 443, [], { ...RULES, refusesInternal: false }), undefined)
  t.end()
})

t.test("the daemon's own ports are refused at every address of the device, listed or not", (t) => {
  const listed = ['127.0.0.0/8:19284', '192.0.2.0/24:19284', '[::1]:19284', '0.0.0.0:19284', '*']
  for (const text of [
    ...['127.0.0.1', '127.8.8.8', '::1', '0.0.0.0', '::', '192.0.2.10', '2001:db8::10', '::ffff:192.0.2.10'],
    ...['64:ff9b::192.0.2.10', '64:ff9b::127.0.0.1', '2002:c000:20a::'],
  ])
    t.equal(problem(text, 19284, listed), 'own_port', text)
  t.equal(problem('127.0.0.1', 19285, ['127.0.0.1:19285']), undefined)
  t.equal(problem('192.0.2.11', 19284), undefined, 'the port of another device')
  t.end()
})
