/**
 * The gate on the machine: for each session its sockets and its machine (`session-gate.ts`), for all of them one thread
 * that passes bytes and one resolver. Connections are accepted and decided on here, and handed over when they are let
 * through; nothing of what they carry is read here. Datagrams, which are few, pass here (`datagram-flows.node.ts`).
 * @module
 */

import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { formatIpAddress, parseIpAddress } from '../base/ip-address.ts'
import { resetSocket } from '../base/reset-socket.node.ts'
import type { Clock } from '../ports.ts'
import type { GateInput, GateOutput } from './gate-events.ts'
import type { EgressEvents, EgressGate, EgressSession } from './gate-port.ts'
import {
  CONNECTIONS_TOTAL_MAX,
  DATAGRAMS_TOTAL_BURST,
  DATAGRAMS_TOTAL_PER_SECOND,
  HOLD_MIN_MS,
} from './limits.ts'
import { answerHasAddress } from './names/dns-message.ts'
import type { EgressResolver } from './names/resolver.node.ts'
import { createPace } from './pace.ts'
import { createDatagramFlows } from './relay/datagram-flows.node.ts'
import type { DatagramSockets } from './relay/datagram-reader.node.ts'
import { createDoorway } from './relay/doorway.node.ts'
import { createRelay } from './relay/relay.node.ts'
import { createSessionGate } from './session-gate.ts'

export interface GateParts {
  readonly clock: Clock
  readonly sockets: DatagramSockets
  readonly resolver: EgressResolver
  /** CommonJS text of the bundled thread; undefined starts it from its file. */
  readonly relaySource: (() => string) | undefined
}

interface OpenSession {
  readonly session: EgressSession
  input(input: GateInput): void
  /** Another one may have closed what it waits for. */
  look(): void
}

function descriptorOf(socket: Socket): number {
  const handle = (socket as unknown as { readonly _handle?: { readonly fd?: number } | null })._handle
  return handle?.fd ?? -1
}

export function createEgressGate(
  { clock, sockets, resolver, relaySource }: GateParts,
  events: EgressEvents,
): EgressGate {
  const { duplicate } = sockets
  const sessions = new Set<OpenSession>()
  /** Whose each connection is. */
  const owners = new Map<number, OpenSession>()
  const datagrams = createPace(DATAGRAMS_TOTAL_PER_SECOND, DATAGRAMS_TOTAL_BURST)
  let nextId = 1
  const relay = createRelay(relaySource, clock, (report) => owners.get(report.id)?.input(report))

  function ownerless(id: number): void {
    const wasFull = owners.size >= CONNECTIONS_TOTAL_MAX
    owners.delete(id)
    if (wasFull) for (const one of sessions) one.look()
  }

  const open: EgressGate['open'] = (name, list, rules, descriptors, budgets) => {
    const gate = createSessionGate(list, rules, budgets)
    /** Connections that are not let through yet. */
    const held = new Map<number, Socket>()
    const withdrawals = new Map<string, () => void>()
    let isEnded = false
    let finished = (): void => {}
    const ending = new Promise<void>((resolve) => {
      finished = resolve
    })
    let cancelLook = (): void => {}

    const doorway = createDoorway(descriptors, duplicate, {
      connection(socket, port) {
        const address = parseIpAddress(socket.localAddress ?? '')
        // It is gone already.
        if (address === undefined) return void socket.destroy()
        const id = nextId++
        held.set(id, socket)
        owners.set(id, own)
        own.input({ kind: 'accepted', id, address, port, protocol: 'tcp' })
      },
      question: (bytes, to) => own.input({ kind: 'question', bytes, to }),
    })

    const flows = createDatagramFlows(sockets, clock, datagrams, {
      enter() {
        const nowMs = clock.monotonicMs()
        if (owners.size >= CONNECTIONS_TOTAL_MAX || gate.acceptsInMs(nowMs) !== 0) return undefined
        const id = nextId++
        owners.set(id, own)
        return id
      },
      wanted: (id, { address, port }) => own.input({ kind: 'accepted', id, address, port, protocol: 'udp' }),
      lease: (id) => own.input({ kind: 'lease', id }),
      closed: (input) => own.input(input),
    })

    function handOver(output: Extract<GateOutput, { kind: 'connect' }>): void {
      const { id, addresses, port, guard, leaseBytes } = output
      const [first] = addresses
      if (flows.has(id) && first !== undefined) return flows.connect(id, first, leaseBytes)
      const socket = held.get(id)
      if (socket === undefined) return
      const fd = duplicate(descriptorOf(socket))
      held.delete(id)
      socket.destroy()
      if (fd >= 0)
        relay.connect({ id, fd, addresses: addresses.map(formatIpAddress), port, guard, leaseBytes })
      else {
        const nothing = { address: undefined, sentBytes: 0, receivedBytes: 0 }
        own.input({ kind: 'closed', id, ...nothing, reason: 'lost' })
      }
    }

    function act(output: GateOutput): void {
      switch (output.kind) {
        case 'answer':
          // A connection follows an address.
          if (answerHasAddress(output.bytes)) relay.prepare()
          return doorway.answer(output.bytes, output.to)
        case 'ask': {
          const { key, target, port } = output
          const host = typeof target === 'string' ? target : formatIpAddress(target)
          withdrawals.set(key, () => {})
          const withdraw = events.ask({ session: name, host, port }, (answer) => {
            if (withdrawals.delete(key)) own.input({ kind: 'answered', key, target, port, answer })
          })
          // It may have been answered at once.
          if (withdrawals.has(key)) withdrawals.set(key, withdraw)
          return
        }
        case 'withdraw':
          withdrawals.get(output.key)?.()
          withdrawals.delete(output.key)
          return
        case 'resolve':
          void resolver.resolve(output.name).then((addresses) => {
            own.input({ kind: 'resolved', id: output.id, addresses })
          })
          return
        case 'connect':
          return handOver(output)
        case 'grant':
          return (flows.has(output.id) ? flows : relay).grant(output.id, output.bytes)
        case 'reset': {
          if (flows.has(output.id)) {
            if (!flows.reset(output.id, output.reason)) ownerless(output.id)
            return
          }
          const socket = held.get(output.id)
          if (socket === undefined) return relay.reset(output.id, output.reason)
          held.delete(output.id)
          ownerless(output.id)
          resetSocket(socket)
          return
        }
        case 'record':
          return events.record(name, output.line)
        case 'tell':
          return events.tell(name, output.line)
      }
    }

    const own: OpenSession = {
      input(input) {
        for (const output of gate.input(input, clock.monotonicMs())) act(output)
        if (input.kind === 'closed') ownerless(input.id)
        if (isEnded) finish()
        else own.look()
      },
      look() {
        if (isEnded) return
        cancelLook()
        const nowMs = clock.monotonicMs()
        const acceptsInMs = owners.size >= CONNECTIONS_TOTAL_MAX ? undefined : gate.acceptsInMs(nowMs)
        const readsInMs = gate.readsInMs(nowMs)
        doorway.takeConnections(acceptsInMs === 0)
        doorway.takeQuestions(readsInMs === 0)
        const waits = [acceptsInMs ?? 0, readsInMs].filter((wait) => wait > 0)
        if (waits.length > 0)
          cancelLook = clock.after(Math.max(HOLD_MIN_MS, Math.min(...waits)), () => own.look())
      },
      session: {
        relist(newList, more = { listeners: [], datagrams: [] }) {
          if (isEnded) {
            for (const { fd } of [...more.listeners, ...more.datagrams]) closeSync(fd)
            return
          }
          doorway.add(more.listeners)
          own.input({ kind: 'listed', list: newList })
          flows.follow(newList, more.datagrams)
        },
        end() {
          if (isEnded) return ending
          isEnded = true
          cancelLook()
          doorway.close()
          flows.close()
          own.input({ kind: 'ended' })
          return ending
        },
        get counts() {
          return gate.counts
        },
        nameOf: gate.nameOf,
      },
    }

    function finish(): void {
      if (gate.counts.connections > 0 || !sessions.delete(own)) return
      for (const output of gate.input({ kind: 'ended' }, clock.monotonicMs())) act(output)
      finished()
    }

    sessions.add(own)
    flows.follow(list, descriptors.datagrams)
    own.look()
    return own.session
  }

  return {
    open,
    async close() {
      await Promise.all([...sessions].map(({ session }) => session.end()))
      await relay.close()
    },
  }
}
