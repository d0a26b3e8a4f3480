/**
 * /etc/hosts of the device: the addresses that it has for a name, in their order. Lines that do not read are passed
 * over, as the C library does.
 * Rules: hosts(5).
 * @module
 */

import { type IpAddress, parseIpAddress } from '../../base/ip-address.ts'
import { normalHostName } from './host-name.ts'

/** @param name in normal form */
export function addressesInHosts(text: string, name: string): readonly IpAddress[] {
  const found: IpAddress[] = []
  for (const line of text.split('\n')) {
    const [first = '', ...names] = (line.split('#', 1)[0] ?? '')
      .split(/[ \t\r]+/)
      .filter((word) => word !== '')
    if (!names.some((each) => normalHostName(each) === name)) continue
    const address = parseIpAddress(first)
    if (address !== undefined) found.push(address)
  }
  return found
}
