/**
 * What the caller of a command that failed is told of its network: where it turned and was refused at once.
 * Rules: docs/egress.md.
 * @module
 */

import { REFUSED_TOLD } from '../limits.ts'
import type { RefusedPacket } from '../sandbox/namespaces/refused-packets.ts'

function placeText({ protocol, address, port }: RefusedPacket): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `${host}:${port}${protocol === 'udp' ? ' (UDP)' : ''}`
}

/** A sentence; undefined where nothing was refused. */
export function refusedText(refused: readonly RefusedPacket[]): string | undefined {
  if (refused.length === 0) return undefined
  const told = refused.slice(0, REFUSED_TOLD).map(placeText).join(', ')
  const more = refused.length > REFUSED_TOLD ? ` and ${refused.length - REFUSED_TOLD} more` : ''
  const hint = refused.some(({ protocol }) => protocol === 'tcp')
    ? 'an operator can list an address and its port in sandbox.egress'
    : 'only TCP passes here'
  return `The network of this session refused ${told}${more}: nothing in the session listens there, and ${hint}.`
}
