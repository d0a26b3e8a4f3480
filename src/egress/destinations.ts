/**
 * What the work in a branch has talked to, summed by name or address, port and protocol; beyond 256 of them all others as one.
 * @module
 */

import type { EgressRecord } from './gate-events.ts'
import { DESTINATIONS_MAX } from './limits.ts'
import type { Protocol } from './lists/egress-list.ts'

export interface Destination {
  /** A name, or the text of an address; undefined: all others. */
  readonly host: string | undefined
  readonly port: number | undefined
  readonly protocol: Protocol
  /** Or flows of datagrams. */
  readonly connections: number
  /** From the session to the server. */
  readonly sentBytes: number
  readonly receivedBytes: number
}

export interface Destinations {
  add(line: EgressRecord): void
  /** The one that was talked to last comes last. */
  list(): readonly Destination[]
}

const OTHERS = ''

const keyOf = ({ host, port, protocol }: Pick<Destination, 'host' | 'port' | 'protocol'>): string =>
  host === undefined ? OTHERS : `${host} ${port} ${protocol}`

/** `before`: the sums that it goes on with. */
export function createDestinations(before: readonly Destination[] = []): Destinations {
  const known = new Map<string, Destination>()
  for (const one of before.slice(0, DESTINATIONS_MAX + 1)) known.set(keyOf(one), one)
  return {
    add({ name, address, port, protocol = 'tcp', sentBytes, receivedBytes }) {
      const host = name ?? address
      const own = keyOf({ host, port, protocol })
      const isOther = !known.has(own) && known.size >= DESTINATIONS_MAX
      const key = isOther ? OTHERS : own
      const before = known.get(key)
      known.delete(key)
      known.set(key, {
        host: isOther ? undefined : host,
        port: isOther ? undefined : port,
        protocol: isOther ? 'tcp' : protocol,
        connections: (before?.connections ?? 0) + 1,
        sentBytes: (before?.sentBytes ?? 0) + sentBytes,
        receivedBytes: (before?.receivedBytes ?? 0) + receivedBytes,
      })
    },
    list: () => [...known.values()],
  }
}
