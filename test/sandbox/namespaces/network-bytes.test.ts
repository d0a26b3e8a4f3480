import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { type IpAddress, parseIpAddress } from '../../../src/base/ip-address.ts'
import {
  AF_INET,
  AF_INET6,
  addressOfItsOwn,
  everyAddressIsLocal,
  loopbackLinkAddress,
  loopbackUp,
  netlinkResult,
  socketAddress,
} from '../../../src/sandbox/namespaces/network-bytes.ts'

const address = (text: string): IpAddress => {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

t.test('addresses of sockets are as the kernel reads them', async (t) => {
  t.equal(encodeHex(socketAddress(address('192.0.2.7'), 443)), `020001bbc0000207${'00'.repeat(8)}`)
  t.equal(
    encodeHex(socketAddress(address('2001:db8::7'), 8080)),
    `0a001f90${'00'.repeat(4)}20010db8${'00'.repeat(11)}07${'00'.repeat(4)}`,
  )
  t.equal(encodeHex(loopbackLinkAddress()), `1100000301000000${'00'.repeat(12)}`)
  const up = loopbackUp()
  t.equal(up.length, 40)
  t.equal(encodeHex(up.subarray(0, 18)), `6c6f${'00'.repeat(14)}0100`)
})

t.test('messages of rtnetlink are as iproute2 sends them', async (t) => {
  const head = (bytes: number, type: string) => `${bytes.toString(16)}000000${type}000504${'00'.repeat(8)}`
  t.equal(
    encodeHex(everyAddressIsLocal(AF_INET)),
    `${head(36, '18')}02000000ff04fe02000000000800040001000000`,
  )
  t.equal(
    encodeHex(everyAddressIsLocal(AF_INET6)),
    `${head(36, '18')}0a000000ff040002000000000800040001000000`,
  )
  t.equal(encodeHex(addressOfItsOwn()), `${head(32, '14')}022000fe01000000080002007f000002`)
})

t.test('an answer is read for what it says', async (t) => {
  const answer = (type: number, result: number) => {
    const bytes = new Uint8Array(36)
    const view = new DataView(bytes.buffer)
    view.setUint16(4, type, true)
    view.setInt32(16, result, true)
    return bytes
  }
  t.equal(netlinkResult(answer(2, 0)), 0)
  t.equal(netlinkResult(answer(2, -1)), -1)
  t.equal(netlinkResult(answer(24, 0)), undefined)
  t.equal(netlinkResult(new Uint8Array(8)), undefined)
})
