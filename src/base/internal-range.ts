/**
 * Which addresses are inside: loopback, private (all of RFC 1918), shared (RFC 6598), link-local with its metadata
 * services, unique local, multicast, reserved, and IPv6 forms that carry one of those (NAT64, 6to4, IPv4-compatible).
 * IPv4-mapped addresses are IPv4 already (`ip-address.ts`).
 * Rules: RFC 6890, RFC 4193, RFC 6052, RFC 3964.
 * @module
 */
import { type IpAddress, type IpRange, parseIpRange, rangeContains } from './ip-address.ts'

function ranges(...texts: readonly string[]): readonly IpRange[] {
  return texts.flatMap((text) => {
    const parsed = parseIpRange(text)
    return parsed.ok ? [parsed.range] : []
  })
}

const INTERNAL = ranges(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/127',
  '64:ff9b:1::/48',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
)
/** IPv6 prefixes that carry an IPv4 address, and at which byte. */
const CARRIERS = Object.freeze([
  { ranges: ranges('64:ff9b::/96', '::/96'), at: 12 },
  { ranges: ranges('2002::/16'), at: 2 },
])

/** `address`, and the IPv4 address that it carries where it is an IPv6 one that does: packets may end at either. */
export function addressForms(address: IpAddress): readonly IpAddress[] {
  for (const { ranges: carriers, at } of CARRIERS) {
    if (carriers.some((range) => rangeContains(range, address)))
      return [address, { family: 4, bytes: address.bytes.slice(at, at + 4) }]
  }
  return [address]
}

/** True where `address`, or what it carries, is inside and neither of the two lies in `reachable`. */
export function isInternalAddress(address: IpAddress, reachable: readonly IpRange[]): boolean {
  const forms = addressForms(address)
  if (forms.some((form) => reachable.some((range) => rangeContains(range, form)))) return false
  return forms.some((form) => INTERNAL.some((range) => rangeContains(range, form)))
}
