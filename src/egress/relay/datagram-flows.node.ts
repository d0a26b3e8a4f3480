/**
 * Datagrams between a session and the places that its list has for them. What comes from one sender to one place is a
 * flow: it has a socket of the device's network that is connected to the place, so that answers come from there alone,
 * and they go back to that sender alone. Whether a flow may be is decided once, by whoever decides on connections; it is
 * over when nothing has come for a minute.
 * A session has a pace, and all of them together another one. What comes too fast is not read for a moment, from the
 * sockets that it came by, and the kernel drops it: the daemon is late for nobody.
 * Rules: docs/egress.md; RFC 768.
 * @module
 */

import { closeSync } from 'node:fs'
import { formatIpAddress, type IpAddress, parseIpAddress } from '../../base/ip-address.ts'
import type { Clock } from '../../ports.ts'
import type { GateInput, GateReason, Sender } from '../gate-events.ts'
import type { GateDatagrams } from '../gate-port.ts'
import { DATAGRAMS_BURST, DATAGRAMS_PER_SECOND, FLOW_IDLE_MS, HOLD_MIN_MS } from '../limits.ts'
import {
  type DatagramPlace,
  datagramPlaces,
  datagramPlaceText,
  type EgressList,
} from '../lists/egress-list.ts'
import { createPace, type Pace } from '../pace.ts'
import { createDatagramReader, type DatagramReader, type DatagramSockets } from './datagram-reader.node.ts'

export interface FlowEvents {
  /** The id of a new flow; undefined: there may be none now, and what it came with is dropped. */
  enter(): number | undefined
  /** A new flow. `connect` or `reset` is called from inside. */
  wanted(id: number, place: DatagramPlace): void
  /** A flow has not enough for what is to pass. `grant` or `reset` is called from inside. */
  lease(id: number): void
  /** Once for each flow that was connected. */
  closed(input: Extract<GateInput, { kind: 'closed' }>): void
}

export interface DatagramFlows {
  has(id: number): boolean
  connect(id: number, address: IpAddress, leaseBytes: number | undefined): void
  grant(id: number, bytes: number): void
  /** Ends a flow. True: it was connected, and `closed` has said so. */
  reset(id: number, reason: GateReason): boolean
  /** Hears what that list has, of what was heard before and of `more`, and closes the rest. */
  follow(list: EgressList, more?: readonly GateDatagrams[]): void
  /** Hears nobody any more; flows are there until they are reset. */
  close(): void
}

type Place = DatagramPlace & {
  readonly reader: DatagramReader
  /** By sender. */
  readonly flows: Map<string, Flow>
}

type Flow = {
  readonly id: number
  readonly place: Place
  readonly sender: Sender
  /** Where answers go. */
  readonly back: Uint8Array
  /** Undefined: it may not pass yet. */
  way: { readonly reader: DatagramReader; readonly there: Uint8Array; readonly address: string } | undefined
  /** Undefined: no bound. */
  leftBytes: number | undefined
  sentBytes: number
  receivedBytes: number
  lastAtMs: number
  /** The network has said that nobody takes it. */
  isRefused: boolean
  cancelIdle: () => void
}

const senderKey = ({ address, port }: Sender): string => `${address} ${port}`

/** `shared`: the pace of all sessions together. */
export function createDatagramFlows(
  sockets: DatagramSockets,
  clock: Clock,
  shared: Pace,
  events: FlowEvents,
): DatagramFlows {
  const places = new Map<string, Place>()
  const flows = new Map<number, Flow>()
  const pace = createPace(DATAGRAMS_PER_SECOND, DATAGRAMS_BURST)
  const held = new Set<DatagramReader>()
  let cancelRelease: (() => void) | undefined

  function waitMs(): number {
    const nowMs = clock.monotonicMs()
    return Math.max(pace.waitMs(nowMs), shared.waitMs(nowMs))
  }

  function releaseLater(): void {
    cancelRelease = clock.after(Math.max(HOLD_MIN_MS, waitMs()), () => {
      if (waitMs() > 0) return releaseLater()
      cancelRelease = undefined
      const all = [...held]
      held.clear()
      for (const reader of all) reader.goOn()
    })
  }

  /** What was read passes; what comes next by that reader waits, where it was too much. */
  function count(reader: DatagramReader): void {
    const nowMs = clock.monotonicMs()
    pace.take(nowMs)
    shared.take(nowMs)
    if (waitMs() === 0) return
    reader.hold()
    held.add(reader)
    if (cancelRelease === undefined) releaseLater()
  }

  function end(reader: DatagramReader): void {
    held.delete(reader)
    reader.close()
  }

  function forget({ id, place, sender, way, cancelIdle }: Flow): void {
    flows.delete(id)
    place.flows.delete(senderKey(sender))
    cancelIdle()
    if (way !== undefined) end(way.reader)
  }

  function over(flow: Flow, reason: GateReason | undefined): void {
    const { id, place, way, sentBytes, receivedBytes, isRefused } = flow
    forget(flow)
    const isUnheard = isRefused && receivedBytes === 0
    events.closed({
      ...{ kind: 'closed', id, sentBytes, receivedBytes },
      address: way?.address ?? formatIpAddress(place.address),
      reason: reason ?? (isUnheard ? 'unreachable' : undefined),
    })
  }

  function watch(flow: Flow): void {
    const idleMs = clock.monotonicMs() - flow.lastAtMs
    if (idleMs >= FLOW_IDLE_MS) return over(flow, undefined)
    flow.cancelIdle = clock.after(FLOW_IDLE_MS - idleMs, () => watch(flow))
  }

  /** False: there is nothing left for it, and the flow is over. */
  function spend(flow: Flow, bytes: number): boolean {
    while (flow.leftBytes !== undefined && flow.leftBytes < bytes) {
      const before = flow.leftBytes
      events.lease(flow.id)
      if (!flows.has(flow.id) || flow.leftBytes === before) return false
    }
    if (flow.leftBytes !== undefined) flow.leftBytes -= bytes
    flow.lastAtMs = clock.monotonicMs()
    return true
  }

  function fromSession(place: Place, bytes: Uint8Array, sender: Sender): void {
    count(place.reader)
    const flow = place.flows.get(senderKey(sender)) ?? begin(place, sender)
    if (flow?.way === undefined || !spend(flow, bytes.length)) return
    const { reader, there } = flow.way
    flow.sentBytes += bytes.length
    if (!sockets.send(reader.fd, bytes, there)) flow.isRefused ||= !sockets.send(reader.fd, bytes, there)
  }

  function toSession(flow: Flow, bytes: Uint8Array): void {
    if (flow.way === undefined) return
    count(flow.way.reader)
    if (!spend(flow, bytes.length)) return
    flow.receivedBytes += bytes.length
    sockets.send(flow.place.reader.fd, bytes, flow.back)
  }

  function begin(place: Place, sender: Sender): Flow | undefined {
    const address = parseIpAddress(sender.address)
    const id = address === undefined ? undefined : events.enter()
    if (address === undefined || id === undefined) return undefined
    const flow: Flow = {
      ...{ id, place, sender, back: sockets.addressBytes(address, sender.port), way: undefined },
      ...{ leftBytes: 0, sentBytes: 0, receivedBytes: 0, lastAtMs: clock.monotonicMs(), isRefused: false },
      cancelIdle: () => {},
    }
    flows.set(id, flow)
    place.flows.set(senderKey(sender), flow)
    events.wanted(id, place)
    return flow
  }

  function hear({ fd, address, port }: GateDatagrams): void {
    const place: Place = {
      ...{ address, port, flows: new Map() },
      reader: createDatagramReader(fd, address.family, sockets, {
        message: (bytes, from) => fromSession(place, bytes, from),
        // An answer came too late for its sender.
        failed: () => {},
      }),
    }
    places.set(datagramPlaceText(place), place)
    place.reader.goOn()
  }

  return {
    has: (id) => flows.has(id),
    connect(id, address, leaseBytes) {
      const flow = flows.get(id)
      if (flow === undefined) return
      const there = sockets.addressBytes(address, flow.place.port)
      const fd = sockets.connect(there)
      if (fd < 0) return over(flow, 'unreachable')
      const reader = createDatagramReader(fd, address.family, sockets, {
        message: (bytes) => toSession(flow, bytes),
        failed: () => {
          flow.isRefused = true
        },
      })
      flow.way = { reader, there, address: formatIpAddress(address) }
      flow.leftBytes = leaseBytes
      reader.goOn()
      watch(flow)
    },
    grant(id, bytes) {
      const flow = flows.get(id)
      if (flow?.leftBytes !== undefined) flow.leftBytes += bytes
    },
    reset(id, reason) {
      const flow = flows.get(id)
      if (flow === undefined) return false
      if (flow.way === undefined) forget(flow)
      else over(flow, reason)
      return flow.way !== undefined
    },
    follow(list, more = []) {
      const listed = new Set(datagramPlaces(list).map(datagramPlaceText))
      for (const [text, { reader }] of places) {
        if (listed.has(text)) continue
        places.delete(text)
        end(reader)
      }
      for (const one of more) {
        const text = datagramPlaceText(one)
        if (listed.has(text) && !places.has(text)) hear(one)
        else closeSync(one.fd)
      }
    },
    close() {
      for (const { reader } of places.values()) end(reader)
      places.clear()
      cancelRelease?.()
      held.clear()
    },
  }
}
