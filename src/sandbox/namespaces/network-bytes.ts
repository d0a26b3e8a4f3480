/**
 * What the kernel is told of a session's network, byte by byte: addresses of sockets, that the loopback is up, and that
 * every address is the session's own, so that whoever listens there is reached by any of them and sees which one was
 * meant.
 * Sources: ip(7), ipv6(7), packet(7), netdevice(7), rtnetlink(7), netlink(7); linux/rtnetlink.h, linux/if_addr.h.
 * @module
 */

import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { IpAddress } from '../../base/ip-address.ts'

/** sys/socket.h */
export const AF_INET = 2
export const AF_INET6 = 10
export const AF_NETLINK = 16
export const AF_PACKET = 17
/** The loopback is the first device of every network. */
const LOOPBACK_INDEX = 1
/** linux/if_ether.h */
const ETH_P_ALL = 3

const SOCKADDR_IN_BYTES = 16
const SOCKADDR_IN6_BYTES = 28
const SOCKADDR_LL_BYTES = 20

const zeroed = (bytes: number): Uint8Array => new Uint8Array(new ArrayBuffer(bytes))

/** sockaddr_in or sockaddr_in6. */
export function socketAddress({ family, bytes }: IpAddress, port: number): Uint8Array {
  const address = zeroed(family === 4 ? SOCKADDR_IN_BYTES : SOCKADDR_IN6_BYTES)
  const view = new DataView(address.buffer)
  view.setUint16(0, family === 4 ? AF_INET : AF_INET6, true)
  view.setUint16(2, port)
  address.set(bytes, family === 4 ? 4 : 8)
  return address
}

/** sockaddr_ll of the loopback, for packets of every protocol. */
export function loopbackLinkAddress(): Uint8Array {
  const address = zeroed(SOCKADDR_LL_BYTES)
  const view = new DataView(address.buffer)
  view.setUint16(0, AF_PACKET, true)
  view.setUint16(2, ETH_P_ALL)
  view.setInt32(4, LOOPBACK_INDEX, true)
  return address
}
/** linux/sockios.h, net/if.h: struct ifreq with a name and flags. */
export const SIOCSIFFLAGS = 0x8914n
const INTERFACE_REQUEST_BYTES = 40
const INTERFACE_FLAGS_AT = 16
const IFF_UP = 1

export function loopbackUp(): Uint8Array {
  const request = zeroed(INTERFACE_REQUEST_BYTES)
  request.set(encodeUtf8('lo'))
  request[INTERFACE_FLAGS_AT] = IFF_UP
  return request
}

/** linux/netlink.h, linux/rtnetlink.h */
const RTM_NEWADDR = 20
const RTM_NEWROUTE = 24
const NLM_F_REQUEST = 1
const NLM_F_ACK = 4
const NLM_F_CREATE = 0x400
const NLMSG_ERROR = 2
const HEADER_BYTES = 16
/** The answer: a header, the error, and the header that it answers. */
export const NETLINK_ANSWER_BYTES = 256
const ERROR_AT = HEADER_BYTES
const RT_TABLE_LOCAL = 255
const RTPROT_STATIC = 4
const RT_SCOPE_HOST = 254
const RTN_LOCAL = 2
const RTA_OIF = 4
const IFA_LOCAL = 2
const ATTRIBUTE_HEADER_BYTES = 4

type Attribute = readonly [type: number, value: readonly number[]]

function netlinkMessage(type: number, body: readonly number[], attributes: readonly Attribute[]): Uint8Array {
  const sizes = attributes.map(([, value]) => ATTRIBUTE_HEADER_BYTES + value.length)
  const message = zeroed(HEADER_BYTES + body.length + sizes.reduce((sum, size) => sum + size, 0))
  const view = new DataView(message.buffer)
  view.setUint32(0, message.length, true)
  view.setUint16(4, type, true)
  view.setUint16(6, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, true)
  message.set(body, HEADER_BYTES)
  let at = HEADER_BYTES + body.length
  for (const [index, [kind, value]] of attributes.entries()) {
    view.setUint16(at, sizes[index] ?? 0, true)
    view.setUint16(at + 2, kind, true)
    message.set(value, at + ATTRIBUTE_HEADER_BYTES)
    at += sizes[index] ?? 0
  }
  return message
}

/** `ip route add local default dev lo`: struct rtmsg. */
export function everyAddressIsLocal(family: typeof AF_INET | typeof AF_INET6): Uint8Array {
  const scope = family === AF_INET ? RT_SCOPE_HOST : 0
  const body = [family, 0, 0, 0, RT_TABLE_LOCAL, RTPROT_STATIC, scope, RTN_LOCAL, 0, 0, 0, 0]
  return netlinkMessage(RTM_NEWROUTE, body, [[RTA_OIF, [LOOPBACK_INDEX, 0, 0, 0]]])
}

/**
 * An address beside 127.0.0.1: whoever asks for the addresses of a name only if the device has any itself
 * (AI_ADDRCONFIG) is told of none where that one is all there is.
 */
const OWN_ADDRESS: readonly number[] = [127, 0, 0, 2]
const ADDRESS_BITS = 32

/** `ip address add 127.0.0.2/32 dev lo`: struct ifaddrmsg. */
export function addressOfItsOwn(): Uint8Array {
  const body = [AF_INET, ADDRESS_BITS, 0, RT_SCOPE_HOST, LOOPBACK_INDEX, 0, 0, 0]
  return netlinkMessage(RTM_NEWADDR, body, [[IFA_LOCAL, OWN_ADDRESS]])
}

/** 0 or `-errno` from the answer to one message; undefined where it is none. */
export function netlinkResult(answer: Uint8Array): number | undefined {
  if (answer.length < ERROR_AT + 4) return undefined
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength)
  return view.getUint16(4, true) === NLMSG_ERROR ? view.getInt32(ERROR_AT, true) : undefined
}
