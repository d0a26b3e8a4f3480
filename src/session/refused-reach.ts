/**
 * What a command that has failed is told of its network: where it turned to and nobody took it. Whoever succeeded is
 * told nothing, whatever it had tried on the way.
 * Rules: docs/sandbox.md (the network).
 * @module
 */

import { REFUSED_SHOWN } from '../limits.ts'

/** Where a connection or a datagram was to go. */
export type RefusedReach = {
  readonly protocol: 'tcp' | 'udp'
  readonly address: string
  readonly port: number
}

function placeText({ protocol, address, port }: RefusedReach): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `${host}:${port}${protocol === 'udp' ? ' (UDP)' : ''}`
}

/** A sentence; undefined where nothing was refused. */
export function refusedSentence(refused: readonly RefusedReach[]): string | undefined {
  if (refused.length === 0) return undefined
  const shown = refused.slice(0, REFUSED_SHOWN).map(placeText)
  const more = refused.length - shown.length
  const places = `${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
  return `${places} refused: nothing listens there in the network of the session, and beyond it only what sandbox.egress lists is reached.`
}
