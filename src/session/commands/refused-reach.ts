/**
 * What a command that has failed is told of its network: what the gate refused to it, where it turned to and nobody took
 * it, and what never leaves a session. Whoever succeeded is told nothing, whatever it had tried on the way.
 * Rules: docs/sandbox.md (the network); the reasons are those of docs/egress.md.
 * @module
 */

import { hostPort } from '../../base/ip-address.ts'
import { listText } from '../../base/text/list-text.ts'
import type { GateReason } from '../../egress/gate-events.ts'
import type { RefusedPlace } from '../../egress/lately.ts'
import { REFUSED_SHOWN } from '../../limits.ts'

/** Where a connection or a datagram was to go that nobody took. */
export type RefusedReach = {
  readonly protocol: 'tcp' | 'udp'
  readonly address: string
  readonly port: number
}

export type Refused = {
  /** Heard from the kernel. */
  readonly reaches: readonly RefusedReach[]
  /** Told by the gate. */
  readonly places: readonly RefusedPlace[]
  /** The name that an address stands for; undefined: it is one of itself. */
  readonly nameOf: (address: string) => string | undefined
  /** The program that has failed, by its base name. */
  readonly command: string
}

/** What has no right to its sockets: nothing of it comes as far as a network. */
const WITHOUT_SOCKETS: ReadonlySet<string> = new Set([
  'arping',
  'fping',
  'hping3',
  'mtr',
  'nmap',
  'ping',
  'ping6',
  'traceroute',
  'traceroute6',
])

const HELLO = 'what its client says in TLS does not name it'
const REQUEST = 'its request is for another host, or cannot be read in one way only'
const WHY: Readonly<Record<GateReason, string>> = Object.freeze({
  unlisted: 'sandbox.egress does not list it',
  denied: 'sandbox.egress does not list it, and a human said no',
  unanswered: 'sandbox.egress does not list it, and nobody answered who was asked',
  too_many_asked: 'sandbox.egress does not list it, and other questions wait for an answer',
  internal_address: 'it lies inside and no range of sandbox.egress has it',
  own_port: 'it is of the device itself',
  not_tls: HELLO,
  hello_malformed: HELLO,
  hello_without_name: HELLO,
  hello_other_name: HELLO,
  hello_encrypted: 'its client hides in TLS which host it wants',
  http_malformed: REQUEST,
  http_other_host: REQUEST,
  http_method: 'sandbox.egress does not list its method',
  silent: 'its client said nothing',
  budget: 'it had its bytes of this hour',
  delisted: 'sandbox.egress does not list it any more',
  ended: 'its session has ended',
  unresolved: 'the device finds no address of it',
  unreachable: 'it does not answer the device',
  lost: 'the device lost it',
})
const NOBODY =
  'nothing listens there in the network of the session, and beyond it only what sandbox.egress lists is reached'
const NO_DATAGRAMS = 'sandbox.egress has no entry with protocol udp for it'
const ONLY_LISTED =
  'of a session nothing leaves but connections of TCP and datagrams of UDP to what sandbox.egress lists'

function placeText(host: string, port: number | undefined, protocol: 'tcp' | 'udp'): string {
  const place = port === undefined ? host : hostPort(host, port)
  return protocol === 'udp' ? `${place} (UDP)` : place
}

/** A sentence; undefined where nothing was refused. */
export function refusedSentence({ reaches, places, nameOf, command }: Refused): string | undefined {
  const byWhy = new Map<string, Set<string>>()
  const note = (why: string, place: string): void => {
    byWhy.set(why, (byWhy.get(why) ?? new Set()).add(place))
  }
  for (const { host, port, protocol, reason } of places) note(WHY[reason], placeText(host, port, protocol))
  for (const { protocol, address, port } of reaches)
    note(protocol === 'udp' ? NO_DATAGRAMS : NOBODY, placeText(nameOf(address) ?? address, port, protocol))
  const parts = [...byWhy].map(([why, wanted]) => `${listText([...wanted], REFUSED_SHOWN)} refused: ${why}`)
  if (WITHOUT_SOCKETS.has(command) && !byWhy.has(NO_DATAGRAMS))
    parts.push(`${command} was refused: ${ONLY_LISTED}`)
  return parts.length === 0 ? undefined : `${parts.join('; ')}.`
}
