/**
 * A laboratory of links: a TCP proxy on the loopback that behaves as a bad link would, without root. Rate, delay,
 * stalls, connections that fall silent, refusals, and a cut at any byte. What it does follows from what it is told,
 * from the bytes that come and from its seed; times only come into it where a rate or a delay was asked for.
 *
 * What is faithful and what is not:
 * - All connections share the link: one line each way (line.ts). Bytes are counted as TCP's payload, without heads.
 * - Making a connection takes one round trip before the client's first byte leaves. Its system calls it connected
 *   before that, as the proxy is near; so does that of a client whose daemon is gone, which is reset.
 * - What the proxy has not taken stays with the sender: it reads only what its queue has room for, and its own kernel
 *   buffers hold some 5 KB each (small-buffers.node.ts), so the sender sees a window as small as a slow link's.
 * - A receiver that does not read holds its sender back only after what is under way has arrived.
 * - Nothing is lost that TCP would not bring again: loss is seen as stalls and jitter.
 * @module
 */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { resetSocket } from '../../src/base/reset-socket.node.ts'
import { createRandom } from '../fuzz/engine.ts'
import { createLine, type Line } from './line.ts'
import { SEGMENT_BYTES, shrinkAccepted, smallSocket, unacknowledgedBytes } from './small-buffers.node.ts'

/** Up is from the client to the daemon. */
export type Direction = 'up' | 'down'
export type How = 'rst' | 'fin'
export type Address = { readonly host: string; readonly port: number }

export type Cut = {
  readonly direction: Direction
  /** So many bytes of that direction still arrive, and not one more; then both sides lose the connection. */
  readonly bytes: number
  /** Connections are counted from 0. Absent: the newest open one, or else the next. */
  readonly connection?: number
  /** Absent: rst. */
  readonly how?: How
}

export type Counts = {
  /** Bytes that have arrived. */
  readonly up: number
  readonly down: number
  /** How many were made, and how many of them are not over. */
  readonly connections: number
  readonly open: number
}

export type Link = {
  /** Undefined: as fast as the machine. `direction` absent, here and below: both. */
  setRate(bytesPerSecond: number | undefined, direction?: Direction): void
  /** One way. `jitterMs`: up to so much more, without changing the order. */
  setDelay(ms: number, jitterMs?: number, direction?: Direction): void
  /** Nothing passes and nothing is lost: both sides keep what they send, until `go`. */
  stall(direction?: Direction): void
  go(): void
  /**
   * The connections there are fall silent for good: what they send is swallowed, and nobody hears of an end, or only
   * the side that is `told` by a reset.
   */
  halfOpen(told?: 'client' | 'daemon'): void
  /** Ends the connections there are; what was under way is lost. */
  cut(how?: How): void
  cutAfter(cut: Cut): void
  /** So many of the next connections are reset at once. */
  refuse(count?: number): void
  admit(): void
}

export type Lab = {
  /** Of 127.0.0.1. */
  readonly port: number
  readonly link: Link
  counts(): Counts
  /** Bytes that have arrived of one connection. */
  countsOf(connection: number): Pick<Counts, Direction>
  /** Connections from now on go there. */
  aim(target: Address): void
  close(): Promise<void>
}

export type LabOptions = {
  readonly target: Address
  readonly seed: number
  /** What waits for the rate, each way. Absent: what rate and delay hold both ways, 2 KiB at least. */
  readonly queueBytes?: number
  /** Sees every piece as it arrives. */
  readonly onArrival?: (direction: Direction, bytes: number, connection: number) => void
}

type Way = { readonly from: Socket; readonly to: Socket }
type Connection = {
  readonly number: number
  readonly arrived: Record<Direction, number>
  readonly up: Way
  readonly down: Way
  isThrough: boolean
  isSilent: boolean
  isOver: boolean
  cut: Cut | undefined
}
/** `syn` and `syn-ack` only take the time that they take. */
type Piece = {
  readonly connection: Connection
  readonly what: Uint8Array | 'syn' | 'syn-ack' | 'fin' | 'rst'
}

const WAYS = ['up', 'down'] as const
/** How often a cut looks whether the receiver's system has all bytes; a receiver that does not read may never. */
const SETTLE_TRIES = 50

/** Starts a laboratory whose link is perfect until it is told otherwise. */
export async function startLab(options: LabOptions): Promise<Lab> {
  const random = createRandom(options.seed)
  const lines: Record<Direction, Line<Piece>> = {
    up: createLine(random, options.queueBytes),
    down: createLine(random, options.queueBytes),
  }
  const open = new Set<Connection>()
  const sockets = new Set<Socket>()
  /** By the number of a connection; what is over leaves no more than this. */
  const ofEach: Record<Direction, number>[] = []
  const arrived = { up: 0, down: 0 }
  const cuts: Cut[] = []
  let target = options.target
  let refusals = 0
  let timer: NodeJS.Timeout | undefined
  let isPumping = false

  const both = (direction: Direction | undefined) => (direction === undefined ? WAYS : [direction])

  /** Whoever may not send is not read: its own system holds what it sends. */
  function applyPressure(): void {
    for (const connection of open)
      for (const direction of WAYS) {
        const { from, to } = connection[direction]
        const mayRead = connection.isSilent || !(lines[direction].isFull || to.writableNeedDrain)
        if (connection.isThrough && mayRead) from.resume()
        else from.pause()
      }
  }

  function pump(): void {
    if (isPumping) return
    isPumping = true
    for (const direction of WAYS)
      for (let piece: Piece | undefined; ; ) {
        piece = lines[direction].take(performance.now())
        if (piece === undefined) break
        arrive(direction, piece)
      }
    isPumping = false
    applyPressure()
    clearTimeout(timer)
    const next = WAYS.map((direction) => lines[direction].nextMs()).filter((ms) => ms !== undefined)
    if (next.length > 0) timer = setTimeout(pump, Math.ceil(Math.min(...next) - performance.now()))
  }

  function push(direction: Direction, connection: Connection, what: Piece['what']): void {
    if (connection.isSilent || connection.isOver) return
    if (typeof what === 'string') lines[direction].push({ connection, what }, 0, performance.now())
    else
      for (let at = 0; at < what.length; at += SEGMENT_BYTES) {
        const piece = what.subarray(at, at + SEGMENT_BYTES)
        lines[direction].push({ connection, what: piece }, piece.length, performance.now())
      }
    pump()
  }

  function arrive(direction: Direction, { connection, what }: Piece): void {
    if (connection.isSilent || connection.isOver) return
    const way = connection[direction]
    if (what === 'syn') way.to.connect({ ...target })
    else if (what === 'syn-ack') connection.isThrough = true
    else if (what === 'fin') way.to.end()
    else if (what === 'rst') lose(connection, 'rst')
    else arriveBytes(direction, connection, way, what)
  }

  function arriveBytes(direction: Direction, connection: Connection, way: Way, bytes: Uint8Array): void {
    const { cut } = connection
    const left =
      cut?.direction === direction ? cut.bytes - connection.arrived[direction] : Number.POSITIVE_INFINITY
    const passed = bytes.subarray(0, left)
    connection.arrived[direction] += passed.length
    arrived[direction] += passed.length
    way.to.write(passed)
    options.onArrival?.(direction, passed.length, connection.number)
    if (passed.length === left) finish(connection, way.to, cut?.how)
  }

  /** A reset takes back what the receiver's system does not have yet, so that comes first. */
  function finish(connection: Connection, receiver: Socket, how: How = 'rst', tries = SETTLE_TRIES): void {
    connection.isSilent = true
    const isSettled = receiver.writableLength === 0 && unacknowledgedBytes(receiver) === 0
    if (isSettled || tries === 0) lose(connection, how)
    else setTimeout(() => finish(connection, receiver, how, tries - 1), 1)
  }

  function lose(connection: Connection, how: How): void {
    if (connection.isOver) return
    connection.isOver = true
    open.delete(connection)
    for (const { from } of [connection.up, connection.down]) {
      from.removeAllListeners('data').resume()
      if (how === 'rst') resetSocket(from)
      // What still comes meets nobody; whoever does not end its own side in turn is left to `close`.
      else from.end(() => from.once('end', () => from.destroy()))
    }
  }

  function accept(client: Socket): void {
    if (refusals > 0) {
      refusals -= 1
      resetSocket(client)
      return
    }
    const daemon = smallSocket()
    const number = ofEach.length
    const passed = { up: 0, down: 0 }
    const connection: Connection = {
      number,
      arrived: passed,
      up: { from: client, to: daemon },
      down: { from: daemon, to: client },
      isThrough: false,
      isSilent: false,
      isOver: false,
      cut: cuts.find((cut) => cut.connection === undefined || cut.connection === number),
    }
    if (connection.cut !== undefined) cuts.splice(cuts.indexOf(connection.cut), 1)
    ofEach.push(passed)
    open.add(connection)
    for (const direction of WAYS) watch(connection, direction)
    daemon.once('connect', () => {
      if (connection.cut?.bytes === 0) lose(connection, connection.cut.how ?? 'rst')
      else push('down', connection, 'syn-ack')
    })
    push('up', connection, 'syn')
  }

  function watch(connection: Connection, direction: Direction): void {
    const { from, to } = connection[direction]
    sockets.add(from.pause().setNoDelay(true))
    from.on('data', (bytes: Buffer) => push(direction, connection, bytes))
    from.on('end', () => push(direction, connection, 'fin'))
    from.on('error', () => push(direction, connection, 'rst'))
    from.on('close', () => {
      sockets.delete(from)
      if (to.destroyed) open.delete(connection)
    })
    to.on('drain', applyPressure)
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accept)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  shrinkAccepted(server)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The laboratory got no port.')

  const link: Link = {
    setRate(bytesPerSecond, direction) {
      for (const each of both(direction)) lines[each].setRate(bytesPerSecond)
      pump()
    },
    setDelay(ms, jitterMs, direction) {
      for (const each of both(direction)) lines[each].setDelay(ms, jitterMs)
    },
    stall(direction) {
      for (const each of both(direction)) lines[each].stall()
    },
    go() {
      for (const each of WAYS) lines[each].go(performance.now())
      pump()
    },
    halfOpen(told) {
      for (const connection of open) {
        connection.isSilent = true
        const { up, down } = connection
        if (told !== undefined) resetSocket((told === 'client' ? up : down).from)
      }
      applyPressure()
    },
    cut(how = 'rst') {
      for (const connection of [...open]) lose(connection, how)
    },
    cutAfter(cut) {
      const { direction, bytes, connection: number } = cut
      const which =
        number === undefined ? [...open].at(-1) : [...open].find((connection) => connection.number === number)
      const arrived = which?.arrived[direction] ?? 0
      if (arrived > bytes) throw new Error(`More than ${bytes} bytes have arrived already.`)
      if (which === undefined) cuts.push(cut)
      else if (arrived === bytes) lose(which, cut.how ?? 'rst')
      else which.cut = cut
    },
    refuse(count = Number.POSITIVE_INFINITY) {
      refusals = count
    },
    admit() {
      refusals = 0
    },
  }

  return {
    port: address.port,
    link,
    counts: () => ({ ...arrived, connections: ofEach.length, open: open.size }),
    countsOf: (number) => ({ up: 0, down: 0, ...ofEach[number] }),
    aim(address) {
      target = address
    },
    async close() {
      clearTimeout(timer)
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
