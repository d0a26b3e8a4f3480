/**
 * A TCP relay on the loopback that counts flights: all that one side sends before it has to hear from the other. It
 * holds back what comes until nothing more does, and then hands it over at once, so that the number does not depend on
 * how fast either side is. Two flights are one round trip; that of TCP itself comes first and is not counted.
 * @module
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Nothing has come for so long: the flight is whole. Both ends are on this machine. */
const QUIET_MS = 60

type Side = 'client' | 'server'
export type Flight = { readonly from: Side; readonly bytes: number }

export type FlightCounter = {
  /** The port of 127.0.0.1 to connect to. */
  readonly port: number
  /** The flights of every connection so far, in the order of the connections. */
  readonly connections: readonly (readonly Flight[])[]
  stop(): Promise<void>
}

export async function startFlightCounter(target: { host: string; port: number }): Promise<FlightCounter> {
  const connections: Flight[][] = []
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    const flights: Flight[] = []
    connections.push(flights)
    for (const socket of [client, upstream]) open.add(socket.on('close', () => open.delete(socket)))
    carry({ client, server: upstream }, flights)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The relay has no port.')
  return {
    port: address.port,
    connections,
    async stop() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function carry(sides: Readonly<Record<Side, Socket>>, flights: Flight[]): void {
  const held: Record<Side, Buffer[]> = { client: [], server: [] }
  const ended: Record<Side, boolean> = { client: false, server: false }
  let timer: NodeJS.Timeout | undefined

  function handOver(from: Side): void {
    const pieces = held[from]
    const to = sides[from === 'client' ? 'server' : 'client']
    if (pieces.length > 0) {
      const bytes = Buffer.concat(pieces)
      held[from] = []
      flights.push({ from, bytes: bytes.length })
      to.write(bytes)
    }
    if (ended[from]) to.end()
  }

  function later(): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const next = flights.at(-1)?.from === 'client' ? 'server' : 'client'
      handOver(next)
      handOver(next === 'client' ? 'server' : 'client')
    }, QUIET_MS)
  }

  for (const from of ['client', 'server'] as const) {
    sides[from].on('data', (chunk: Buffer) => {
      held[from].push(chunk)
      later()
    })
    sides[from].on('end', () => {
      ended[from] = true
      later()
    })
    sides[from].on('error', () => {
      sides.client.destroy()
      sides.server.destroy()
    })
  }
}
