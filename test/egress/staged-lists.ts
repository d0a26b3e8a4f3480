/**
 * Addresses and lists for tests of the gate, from their texts.
 * @module
 */
import { type IpAddress, parseIpAddress } from '../../src/base/ip-address.ts'
import { type EgressList, parseEgressList } from '../../src/egress/lists/egress-list.ts'

export function address(text: string): IpAddress {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

export function listOf(entries: readonly unknown[]): EgressList {
  const parsed = parseEgressList(entries)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.list
}
