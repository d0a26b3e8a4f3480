import t from 'tap'
import { formatIpAddress, parseIpAddress } from '../../../src/base/ip-address.ts'
import { createStandIns, isStandIn } from '../../../src/egress/names/stand-ins.ts'

t.test('each name has an address of its own, and keeps it', (t) => {
  const standIns = createStandIns()
  const first = standIns.addressOf('a.example', 0)
  const second = standIns.addressOf('b.example', 0)
  if (first === undefined || second === undefined) throw new Error('no address')
  t.equal(formatIpAddress(first), '127.64.0.1')
  t.equal(formatIpAddress(second), '127.64.0.2')
  t.strictSame(standIns.addressOf('a.example', 1_000_000), first)
  t.equal(standIns.nameOf(first), 'a.example')
  t.equal(standIns.nameOf({ family: 4, bytes: [127, 64, 0, 3] }), undefined)
  t.equal(standIns.nameOf({ family: 6, bytes: new Array(16).fill(0) }), undefined)
  t.end()
})

t.test('a thousand names are held, and the oldest makes room when its answers are dead', (t) => {
  const standIns = createStandIns()
  for (let index = 0; index < 1_000; index++) t.ok(standIns.addressOf(`n${index}.example`, index))
  t.equal(standIns.addressOf('more.example', 1_000), undefined)
  t.ok(standIns.addressOf('n0.example', 1_000), 'who is known is answered')
  const place = standIns.addressOf('more.example', 120_001)
  t.equal(place === undefined ? '' : formatIpAddress(place), '127.64.3.233', 'an address of its own')
  t.equal(standIns.size, 1_000)
  t.equal(standIns.nameOf({ family: 4, bytes: [127, 64, 0, 2] }), undefined, 'who was asked for longest ago')
  t.equal(standIns.nameOf({ family: 4, bytes: [127, 64, 0, 1] }), 'n0.example')
  t.end()
})

t.test('the addresses that may stand for a name are known', (t) => {
  for (const text of ['127.64.0.0', '127.64.0.1', '127.127.255.255']) {
    const address = parseIpAddress(text)
    t.ok(address !== undefined && isStandIn(address), text)
  }
  for (const text of ['127.0.0.1', '127.63.255.255', '127.128.0.0', '128.64.0.1', '::1']) {
    const address = parseIpAddress(text)
    t.notOk(address === undefined || isStandIn(address), text)
  }
  t.end()
})
