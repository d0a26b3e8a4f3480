/**
 * The list of a capability set within the device's: what a set lists holds where the device's list has it too, with what
 * either asks of it, of TCP and of UDP apart. A set narrows and never widens.
 * Rules: docs/egress.md.
 * @module
 */

import { formatIpAddress, rangeContains } from '../../base/ip-address.ts'
import { isBelow } from '../names/host-name.ts'
import { type EgressEntry, type EgressHost, type EgressList, entryText, narrowness } from './egress-list.ts'

/** True where whatever `inner` stands for is among what `outer` does. */
function covers(outer: EgressHost, inner: EgressHost): boolean {
  if (outer.kind === 'any') return inner.kind !== 'range'
  if (outer.kind === 'name') return inner.kind === 'name' && inner.name === outer.name
  if (outer.kind === 'below')
    return (inner.kind === 'name' || inner.kind === 'below') && isBelow(inner.name, outer.name)
  return (
    inner.kind === 'range' &&
    inner.range.prefixBits >= outer.range.prefixBits &&
    rangeContains(outer.range, inner.range.address)
  )
}

function hostText(host: EgressHost): string {
  if (host.kind === 'range') return `${formatIpAddress(host.range.address)}/${host.range.prefixBits}`
  if (host.kind === 'any') return '*'
  return host.kind === 'below' ? `*.${host.name}` : host.name
}

function both(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): string[] | undefined {
  if (one === undefined) return other === undefined ? undefined : [...other]
  return other === undefined ? [...one] : one.filter((method) => other.includes(method))
}

function joined(
  host: EgressHost,
  ports: readonly number[],
  one: EgressEntry,
  other: EgressEntry,
): EgressEntry {
  const { protocol } = one
  const bytes = Math.min(
    one.bytesPerHour ?? Number.POSITIVE_INFINITY,
    other.bytesPerHour ?? Number.POSITIVE_INFINITY,
  )
  return {
    text: entryText(hostText(host), ports, protocol),
    host,
    protocol,
    ports,
    methods: both(one.methods, other.methods),
    bytesPerHour: Number.isFinite(bytes) ? bytes : undefined,
    boundBy: [one, other].flatMap((entry) => entry.boundBy ?? entry),
  }
}

/** What `set` leaves of `device`; `*` by itself leaves all of it. */
export function narrowedList(device: EgressList, set: EgressList): EgressList {
  if (set.some(({ text }) => text === '*')) return device
  return set.flatMap((wanted) => {
    const alike = device.filter(({ protocol }) => protocol === wanted.protocol)
    const within = wanted.ports.flatMap((port) => {
      const [nearest] = alike
        .filter((entry) => entry.ports.includes(port) && covers(entry.host, wanted.host))
        .sort((one, other) => narrowness(other.host) - narrowness(one.host))
      return nearest === undefined ? [] : [joined(wanted.host, [port], nearest, wanted)]
    })
    const beneath = alike.flatMap((entry) => {
      if (!covers(wanted.host, entry.host) || covers(entry.host, wanted.host)) return []
      const ports = entry.ports.filter((port) => wanted.ports.includes(port))
      return ports.length === 0 ? [] : [joined(entry.host, ports, entry, wanted)]
    })
    return [...within, ...beneath]
  })
}
