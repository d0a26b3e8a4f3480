/**
 * Which addresses datagrams may be let out to: those of one host. An address that stands for several, for none or for a
 * name is refused in a list, as is where a session asks for names.
 * Rules: docs/egress.md; RFC 1122 section 3.2.1.3, RFC 5771, RFC 4291 sections 2.5.2 and 2.7.
 * @module
 */

import { formatIpAddress, type IpRange } from '../../base/ip-address.ts'
import { NAMES_ADDRESS, NAMES_PORT } from '../limits.ts'
import { isStandIn } from '../names/stand-ins.ts'

/** The first of 224.0.0.0/4, and of what is reserved behind it up to 255.255.255.255. */
const MULTICAST_V4 = 224
const MULTICAST_V6 = 0xff

/** Why datagrams cannot be let out there, in words that follow its field; undefined: they can. */
export function datagramAddressProblem(
  { address, prefixBits }: IpRange,
  ports: readonly number[],
): string | undefined {
  const { family, bytes } = address
  const [first = 0] = bytes
  if (prefixBits !== bytes.length * 8) return 'must be one address with protocol "udp", and this is a range'
  const isNone = family === 4 ? first === 0 : bytes.every((byte) => byte === 0)
  const isForMany = family === 4 ? first >= MULTICAST_V4 : first === MULTICAST_V6
  if (isNone || isForMany) return 'is no address of one host, as protocol "udp" needs'
  if (isStandIn(address)) return 'stands for a name in every session, and leads nowhere by itself'
  if (formatIpAddress(address) === NAMES_ADDRESS && ports.includes(NAMES_PORT))
    return 'is where a session asks for names, with that port'
  return undefined
}
