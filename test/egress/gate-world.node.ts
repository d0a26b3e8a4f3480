/**
 * A gate on the loopback of the machine, for tests: every address of 127.0.0.0/8 is local there, so that a client that
 * connects to a stand-in comes to the listener. Real ports are whatever was free; what they mean is said beside.
 */

import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { IpAddress } from '../../src/base/ip-address.ts'
import { createClock } from '../../src/edge/host/clock.node.ts'
import { createDatagramSockets } from '../../src/edge/work/datagram-sockets.node.ts'
import type { HumanAnswer } from '../../src/egress/asking.ts'
import type { EgressRecord, GateRules } from '../../src/egress/gate-events.ts'
import type { EgressQuestion, GateDatagrams, GateListener } from '../../src/egress/gate-port.ts'
import { createEgressGate } from '../../src/egress/gate-server.node.ts'
import {
  datagramPlaces,
  datagramPlaceText,
  type EgressList,
  listenedPorts,
  parseEgressList,
} from '../../src/egress/lists/egress-list.ts'
import { createResolver } from '../../src/egress/names/resolver.node.ts'
import type { Clock } from '../../src/ports.ts'
import { loadSyscalls, O_CLOEXEC, O_NONBLOCK } from '../../src/sandbox/kernel/syscalls.node.ts'

const syscalls = loadSyscalls()

export const sockets = createDatagramSockets(syscalls)
export const { duplicate } = sockets

type Handled = { readonly _handle?: { readonly fd?: number } | null }

/** A listening socket that nobody listens to, with the port that it really has. */
export async function listener(host = '0.0.0.0'): Promise<{ fd: number; realPort: number }> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const place = server.address()
  const fd = duplicate((server as unknown as Handled)._handle?.fd ?? -1)
  server.close()
  return { fd, realPort: typeof place === 'object' ? (place?.port ?? 0) : 0 }
}

const AF_INET = 2
const SOCK_DGRAM = 2

export function datagrams(): { fd: number; realPort: number } {
  const fd = syscalls.checked(syscalls.libc.socket(AF_INET, SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0))
  for (let realPort = 20_000 + (process.pid % 10_000); ; realPort++) {
    const address = new Uint8Array(new ArrayBuffer(16))
    address.set([AF_INET, 0, realPort >> 8, realPort & 0xff, 127, 0, 0, 1])
    if (syscalls.libc.bind(fd, address, 16) === 0) return { fd, realPort }
  }
}

export function listOf(entries: readonly unknown[]): EgressList {
  const parsed = parseEgressList(entries)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.list
}

export interface WorldOptions {
  readonly directory: string
  readonly entries: readonly unknown[]
  readonly hosts?: string
  readonly unlisted?: GateRules['unlisted']
  readonly ownPorts?: readonly number[]
  /** How many times faster its time goes. */
  readonly haste?: number
  readonly answer?: (question: EgressQuestion) => HumanAnswer | Promise<HumanAnswer>
}

export async function openWorld(options: WorldOptions) {
  const { directory, entries, hosts = '', unlisted = 'deny', ownPorts = [], answer = () => 'no' } = options
  const { haste = 1 } = options
  const hostsFile = join(directory, 'hosts')
  writeFileSync(hostsFile, hosts)
  const ownClock = createClock()
  const clock: Clock = {
    ...ownClock,
    monotonicMs: () => ownClock.monotonicMs() * haste,
    after: (ms, callback) => ownClock.after(ms / haste, callback),
  }
  const lines: EgressRecord[] = []
  const told: EgressRecord[] = []
  const questions: EgressQuestion[] = []
  const withdrawn: EgressQuestion[] = []
  const gate = createEgressGate(
    {
      clock,
      sockets,
      resolver: createResolver(clock, { hostsFile, servers: ['127.0.0.1:1'] }),
      relaySource: undefined,
    },
    {
      ask(question, done) {
        questions.push(question)
        void Promise.resolve(answer(question)).then(done)
        return () => withdrawn.push(question)
      },
      record: (_session, line) => lines.push(line),
      tell: (_session, line) => told.push(line),
    },
  )
  const list = listOf(entries)
  const listeners: GateListener[] = []
  const realPorts = new Map<number, number>()
  for (const port of listenedPorts(list)) {
    const { fd, realPort } = await listener()
    listeners.push({ fd, port })
    realPorts.set(port, realPort)
  }
  const dns = datagrams()
  const places: GateDatagrams[] = []
  /** Where a session's datagrams to a place go in fact, by its text. */
  const realPlaces = new Map<string, number>()
  for (const place of datagramPlaces(list)) {
    const { fd, realPort } = datagrams()
    places.push({ fd, ...place })
    realPlaces.set(datagramPlaceText(place), realPort)
  }
  const rules = {
    ...{ unlisted, refusesInternal: true, reachable: [], ownPorts },
    ownAddresses: (): readonly IpAddress[] => [],
  }
  const session = gate.open('s1', list, rules, { listeners, dns: dns.fd, datagrams: places })

  const asking = new Set<DatagramSocket>()

  return {
    gate,
    session,
    async close(): Promise<void> {
      for (const socket of asking) socket.close()
      await gate.close()
    },
    lines,
    told,
    questions,
    withdrawn,
    dnsPort: dns.realPort,
    realPlaces,
    /** The bytes of the answer. */
    async lookUp(name: string, type = 1): Promise<Uint8Array> {
      const socket = createSocket('udp4')
      asking.add(socket)
      const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
      const bytes = Uint8Array.from([0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1])
      socket.send(bytes, dns.realPort, '127.0.0.1')
      const [message] = (await once(socket, 'message')) as [Uint8Array]
      socket.close()
      asking.delete(socket)
      return message
    },
    /** The address that stands for it. */
    async addressOf(name: string): Promise<string> {
      return (await this.lookUp(name)).slice(-4).join('.')
    },
    /** To the listener that means `port`. */
    connect(address: string, port: number): Socket {
      const socket = connect({ host: address, port: realPorts.get(port) ?? 0, allowHalfOpen: true })
      socket.on('error', () => {})
      return socket
    },
    async until(condition: () => boolean): Promise<void> {
      while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}

/** A server on a free port of 127.0.0.1, or on `port`; undefined where it may not be there. */
export async function serve(
  onConnection: (socket: Socket) => void,
  { host = '127.0.0.1', port = 0 } = {},
): Promise<{ server: Server; port: number; connections: () => number } | undefined> {
  let connections = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections++
    socket.on('error', () => {})
    onConnection(socket)
  })
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch {
    return undefined
  }
  const place = server.address()
  return { server, port: typeof place === 'object' ? (place?.port ?? 0) : 0, connections: () => connections }
}

/** Everything that comes until it ends, as it then does itself, or is reset. */
export function received(socket: Socket): Promise<{ text: string; isReset: boolean }> {
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  return new Promise((resolve) => {
    socket.on('error', () => resolve({ text, isReset: true }))
    socket.on('end', () => {
      socket.end()
      resolve({ text, isReset: false })
    })
  })
}
