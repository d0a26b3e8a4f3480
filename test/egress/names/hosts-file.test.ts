import t from 'tap'
import { formatIpAddress } from '../../../src/base/ip-address.ts'
import { addressesInHosts } from '../../../src/egress/names/hosts-file.ts'

const TEXT = `# a comment
127.0.0.1\tlocalhost
192.0.2.1  Broker.Plant.Example broker # the old one
2001:db8::1 broker
::ffff:192.0.2.2 broker\r
nonsense broker
fe80::1%eth0 broker
192.0.2.9
192.0.2.10 #broker
`

t.test('every address of a name comes, in its order, and nothing else', (t) => {
  const found = (name: string) => addressesInHosts(TEXT, name).map(formatIpAddress)
  t.strictSame(found('broker'), ['192.0.2.1', '2001:db8::1', '192.0.2.2'])
  t.strictSame(found('broker.plant.example'), ['192.0.2.1'])
  t.strictSame(found('localhost'), ['127.0.0.1'])
  t.strictSame(found('plant.example'), [])
  t.strictSame(addressesInHosts('', 'broker'), [])
  t.end()
})
