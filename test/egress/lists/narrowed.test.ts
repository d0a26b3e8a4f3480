import t from 'tap'
import { parseIpAddress } from '../../../src/base/ip-address.ts'
import {
  type EgressList,
  entryForAddress,
  entryForName,
  parseEgressList,
} from '../../../src/egress/lists/egress-list.ts'
import { narrowedList } from '../../../src/egress/lists/narrowed.ts'

function list(...entries: readonly unknown[]): EgressList {
  const read = parseEgressList(entries)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.list
}

const told = (entries: EgressList) =>
  entries.map(({ text, methods, bytesPerHour }) =>
    [text, methods?.join(), bytesPerHour].filter(Boolean).join(' '),
  )

t.test('a set has of its list what the device has too', (t) => {
  const device = list('a.example', '*.b.example', '10.0.0.0/8:1883')
  t.strictSame(told(narrowedList(device, list('a.example:443', 'x.b.example:80', 'c.example'))), [
    'a.example:443',
    'x.b.example:80',
  ])
  t.strictSame(told(narrowedList(device, list('10.1.0.0/16:1883', '10.1.0.0/16:22', '0.0.0.0/0:1883'))), [
    '10.1.0.0/16:1883',
    '10.0.0.0/8:1883',
  ])
  t.equal(narrowedList(device, list('*')), device, 'all of it')
  t.strictSame(narrowedList(device, []), [])
  t.strictSame(narrowedList([], list('a.example')), [])
  t.end()
})

t.test('neither asks less for being listed by the other', (t) => {
  const device = list(
    { host: 'api.x.example', methods: ['GET', 'HEAD'], bytes_per_hour: 100 },
    '*.x.example:80',
  )
  const set = list({ host: 'api.x.example', methods: ['GET', 'POST'], bytes_per_hour: 200 })
  t.strictSame(told(narrowedList(device, set)), ['api.x.example:80 GET 100'])
  const wide = narrowedList(device, list('*.x.example:80'))
  t.strictSame(entryForName(wide, 'api.x.example', 80)?.methods, ['GET', 'HEAD'], 'the nearest holds')
  t.equal(entryForName(wide, 'www.x.example', 80)?.methods, undefined)
  t.end()
})

t.test('a set has datagrams only where the device has them, and connections no more by that', (t) => {
  const [ntp, log] = [
    { host: '192.0.2.1', ports: [123, 124], protocol: 'udp', bytes_per_hour: 100 },
    { host: '192.0.2.2:514', protocol: 'udp' },
  ]
  const device = list(ntp, log, '192.0.2.0/24:9000')
  const one = { host: '192.0.2.1:123', protocol: 'udp', bytes_per_hour: 200 }
  t.strictSame(told(narrowedList(device, list(one))), ['192.0.2.1/32:123/udp 100'])
  t.strictSame(told(narrowedList(device, list('192.0.2.0/24:123', '*:514', '192.0.2.2:514'))), [])
  t.strictSame(told(narrowedList(device, list({ host: '192.0.2.9:9000', protocol: 'udp' }))), [])
  t.strictSame(told(narrowedList(list('0.0.0.0/0:123', '*:123'), list(one))), [])
  t.equal(narrowedList(device, list('*')), device)
  t.end()
})

t.test('no set opens what is inside by a device that lists everything outside', (t) => {
  const inside = parseIpAddress('10.0.0.1')
  if (inside === undefined) throw new Error('no address')
  t.equal(entryForAddress(narrowedList(list('*'), list('10.0.0.0/8:80')), inside, 80), undefined)
  t.end()
})
