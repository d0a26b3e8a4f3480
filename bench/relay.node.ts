/**
 * A TCP relay on the loopback that counts what passes, for bytes on the wire: the payload of TCP in each direction,
 * without the headers of TCP and IP. It keeps the ends independent (a half-closed connection stays half open) and
 * holds back a fast side when the other is slow, so that what it carries behaves as without it.
 * @module
 */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Payload bytes since the start or the last reset. */
export interface RelayCounts {
  readonly toServer: number
  readonly toClient: number
  readonly connections: number
}

export interface Relay {
  /** The port of 127.0.0.1 to connect to. */
  readonly port: number
  counts(): RelayCounts
  reset(): void
  /** Ends all connections and listens no more. */
  stop(): Promise<void>
}

/** Relays to `host`:`port`. */
export async function startRelay(target: { readonly host: string; readonly port: number }): Promise<Relay> {
  const counts = { toServer: 0, toClient: 0, connections: 0 }
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    counts.connections += 1
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    open.add(client).add(upstream)
    carry(client, upstream, (bytes) => {
      counts.toServer += bytes
    })
    carry(upstream, client, (bytes) => {
      counts.toClient += bytes
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy())
      socket.on('close', (hadError) => {
        open.delete(socket)
        if (hadError) other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error('The relay has no port: it did not listen on TCP.')
  return {
    port: address.port,
    counts: () => ({ ...counts }),
    reset() {
      counts.toServer = 0
      counts.toClient = 0
      counts.connections = 0
    },
    async stop() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function carry(from: Socket, to: Socket, count: (bytes: number) => void): void {
  from.on('data', (chunk) => {
    count(chunk.length)
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
}
