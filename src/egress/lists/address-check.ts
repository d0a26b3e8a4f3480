/**
 * Whether an address may be connected to, asked after a name was resolved and for every address that is to be tried: so
 * a name that is listed leads nowhere else by what its servers answer.
 * @module
 */

import { addressForms, isInternalAddress } from '../../base/internal-range.ts'
import { formatIpAddress, type IpAddress, type IpRange, isLoopback } from '../../base/ip-address.ts'
import { type EgressList, listsAddress, type Protocol } from './egress-list.ts'

export interface AddressRules {
  /** Addresses inside are refused unless a range of the list, or of `reachable`, holds them. */
  readonly refusesInternal: boolean
  readonly reachable: readonly IpRange[]
  /** Ports that the daemon itself listens on: they are refused at every address of the device, listed or not. */
  readonly ownPorts: readonly number[]
  /** The addresses of the device's interfaces, now. */
  readonly ownAddresses: () => readonly IpAddress[]
}

export type AddressProblem = 'own_port' | 'internal_address'

/** 0.0.0.0/8 and `::` lead to the device itself. */
function isUnspecified({ family, bytes }: IpAddress): boolean {
  return family === 4 ? bytes[0] === 0 : bytes.every((byte) => byte === 0)
}

/** Undefined: it may be. */
export function addressProblem(
  address: IpAddress,
  port: number,
  list: EgressList,
  { refusesInternal, reachable, ownPorts, ownAddresses }: AddressRules,
  protocol: Protocol = 'tcp',
): AddressProblem | undefined {
  if (ownPorts.includes(port)) {
    const own = ownAddresses().map(formatIpAddress)
    const isOwn = addressForms(address).some(
      (form) => isLoopback(form) || isUnspecified(form) || own.includes(formatIpAddress(form)),
    )
    if (isOwn) return 'own_port'
  }
  if (!refusesInternal || !isInternalAddress(address, reachable)) return undefined
  return listsAddress(list, address, port, protocol) ? undefined : 'internal_address'
}
