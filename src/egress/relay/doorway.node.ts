/**
 * The sockets of one session's gate: TCP listeners and the one for DNS, given as descriptors. While it is held back,
 * nothing is taken from them: what comes waits in the kernel's queues, and fails when those are full.
 * @module
 */

import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { closeSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Sender } from '../gate-events.ts'
import type { GateDescriptors, GateListener } from '../gate-port.ts'

/** A second descriptor of what `fd` is, closed on exec; negative: there is none. */
export type Duplicate = (fd: number) => number

export interface DoorEvents {
  /** `socket` reads nothing yet. `port`: as the listener has it. */
  connection(socket: Socket, port: number): void
  question(bytes: Uint8Array, from: Sender): void
}

export interface Doorway {
  /** Takes connections, or leaves them where they are. */
  takeConnections(isOpen: boolean): void
  takeQuestions(isOpen: boolean): void
  /** Sent when questions are taken again, where they are not now. */
  answer(bytes: Uint8Array, to: Sender): void
  add(listeners: readonly GateListener[]): void
  close(): void
}

/** Answers that wait: to questions that a human was asked about. */
const ANSWERS_WAITING = 16

export function createDoorway(
  { listeners, dns }: GateDescriptors,
  duplicate: Duplicate,
  { connection, question }: DoorEvents,
): Doorway {
  const all = [...listeners]
  let servers: Server[] | undefined
  let datagrams: DatagramSocket | undefined
  const waiting: { readonly bytes: Uint8Array; readonly to: Sender }[] = []

  /** A handle closes its descriptor, and this one is wanted again. */
  function serve({ fd, port }: GateListener): Server[] {
    const own = duplicate(fd)
    if (own < 0) return []
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {})
      connection(socket, port)
    })
    server.on('error', () => server.close())
    server.listen({ fd: own })
    server.unref()
    return [server]
  }

  function receive(): DatagramSocket | undefined {
    const own = duplicate(dns)
    if (own < 0) return undefined
    const socket = createSocket({
      type: 'udp4',
      // Without waiting: it may be closed right after the answer.
      lookup: (address, _options, found) => found(null, address, 4),
    })
    socket.on('error', () => {})
    // Port 0 is no place to send an answer to.
    socket.on('message', (bytes, { address, port }) => port > 0 && question(bytes, { address, port }))
    socket.bind({ fd: own })
    socket.unref()
    return socket
  }

  const doorway: Doorway = {
    takeConnections(isOpen) {
      if (isOpen) servers ??= all.flatMap(serve)
      else {
        for (const server of servers ?? []) server.close()
        servers = undefined
      }
    },
    takeQuestions(isOpen) {
      if (isOpen) {
        datagrams ??= receive()
        for (const { bytes, to } of waiting.splice(0)) datagrams?.send(bytes, to.port, to.address)
      } else {
        datagrams?.close()
        datagrams = undefined
      }
    },
    answer(bytes, to) {
      if (datagrams !== undefined) datagrams.send(bytes, to.port, to.address)
      else if (waiting.length < ANSWERS_WAITING) waiting.push({ bytes, to })
    },
    add(more) {
      all.push(...more)
      servers?.push(...more.flatMap(serve))
    },
    close() {
      doorway.takeConnections(false)
      doorway.takeQuestions(false)
      for (const fd of [...all.map(({ fd }) => fd), dns]) closeSync(fd)
    },
  }
  return doorway
}
