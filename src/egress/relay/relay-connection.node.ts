/**
 * One connection that was let through: reads what the client sends past its guard, connects to one of the addresses that
 * were checked and to no other, and passes bytes both ways. Each way has one buffer, and nothing is read into it before
 * the other side has taken what is there. The end of one way is passed on, and so is a reset.
 * @module
 */

import { connect, Socket } from 'node:net'
import { resetSocket } from '../../base/reset-socket.node.ts'
import type { GateReason } from '../gate-events.ts'
import { createGuard } from '../guards/guard.ts'
import {
  CONNECT_EACH_MS,
  CONNECT_MS,
  FIRST_BYTES_MS,
  HALF_CLOSED_MS,
  KEEPALIVE_MS,
  RELAY_BUFFER_BYTES,
} from '../limits.ts'
import type { RelayPlan, RelayReport } from './relay-messages.ts'

export interface RelayConnection {
  grant(bytes: number): void
  reset(reason: GateReason): void
}

function joined(held: Uint8Array, bytes: Uint8Array): Uint8Array {
  const both = new Uint8Array(held.length + bytes.length)
  both.set(held)
  both.set(bytes, held.length)
  return both
}

const NOTHING = new Uint8Array(0)

/** `tell` is called with `closed` once, last, and never from inside. */
export function relayConnection(plan: RelayPlan, tell: (report: RelayReport) => void): RelayConnection {
  const { id, fd, addresses, port } = plan
  let guard = createGuard(plan.guard)
  /** What the guard has not passed yet. */
  let held: Uint8Array = NOTHING
  /** What waits for the connection to the server. */
  let early: Uint8Array | undefined
  let upstream: Socket | undefined
  let isConnected = false
  let isConnecting = false
  let isClientDone = false
  let reached: string | undefined
  let [sentBytes, receivedBytes] = [0, 0]
  let leftBytes = plan.leaseBytes
  let isOver = false
  /** Each way may be stopped by the other side, both by an empty lease. */
  const writing = { toServer: false, toClient: false }
  let silence: NodeJS.Timeout | undefined
  let attempt: NodeJS.Timeout | undefined

  const client = new Socket({
    fd,
    allowHalfOpen: true,
    onread: { buffer: new Uint8Array(RELAY_BUFFER_BYTES), callback: fromClient },
  })

  function over(reason: GateReason | undefined, isReset = true): void {
    if (isOver) return
    isOver = true
    clearTimeout(silence)
    clearTimeout(attempt)
    for (const socket of [client, upstream]) {
      if (socket === undefined) continue
      socket.removeAllListeners()
      socket.on('error', () => {})
      if (isReset && socket.remoteAddress !== undefined) resetSocket(socket)
      else socket.destroy()
    }
    setImmediate(() => {
      tell({ kind: 'closed', id, address: reached, sentBytes, receivedBytes, reason })
    })
  }

  function spend(bytes: number): void {
    if (leftBytes === undefined) return
    const before = leftBytes
    leftBytes -= bytes
    if (before > 0 && leftBytes <= 0) tell({ kind: 'lease', id })
  }

  function mayRead(way: keyof typeof writing): boolean {
    return !writing[way] && (leftBytes === undefined || leftBytes > 0)
  }

  /** False: it is not taken yet, and `bytes` must stay as they are until reading goes on. */
  function pass(bytes: Uint8Array, from: Socket, to: Socket, way: keyof typeof writing): boolean {
    spend(bytes.length)
    to.write(bytes, () => {
      if (!writing[way]) return
      writing[way] = false
      if (!isOver && mayRead(way)) from.resume()
    })
    // Mostly the kernel has taken all of it at once.
    writing[way] = to.writableLength > 0
    return mayRead(way)
  }

  function fromServer(count: number, buffer: Uint8Array): boolean {
    if (isOver || upstream === undefined) return false
    receivedBytes += count
    return pass(buffer.subarray(0, count), upstream, client, 'toClient')
  }

  function toServer(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return mayRead('toServer')
    clearTimeout(silence)
    if (upstream === undefined || !isConnected) {
      early = bytes.slice()
      connectNext()
      return false
    }
    sentBytes += bytes.length
    return pass(bytes, client, upstream, 'toServer')
  }

  function fromClient(count: number, buffer: Uint8Array): boolean {
    if (isOver) return false
    const bytes = buffer.subarray(0, count)
    if (guard === undefined) return toServer(bytes)
    const shown = held.length === 0 ? bytes : joined(held, bytes)
    const step = guard.take(shown)
    if (step.kind === 'reset') {
      over(step.reason)
      return false
    }
    if (step.isDone) guard = undefined
    held = step.bytes === shown.length ? NOTHING : shown.slice(step.bytes)
    return toServer(shown.subarray(0, step.bytes))
  }

  function endServer(socket: Socket): void {
    socket.end()
    socket.setTimeout(HALF_CLOSED_MS, () => over(undefined))
  }

  function connected(socket: Socket, address: string): void {
    clearTimeout(attempt)
    isConnected = true
    reached = address
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEPALIVE_MS)
    socket.on('end', () => {
      client.end()
      // Whoever has ended may be gone, and the other may not know.
      client.setTimeout(HALF_CLOSED_MS, () => over(undefined))
    })
    const waiting = early
    early = undefined
    if (waiting === undefined || toServer(waiting)) client.resume()
    if (isClientDone) endServer(socket)
  }

  /** The first address, or the one after that which failed. */
  function connectNext(index = 0): void {
    if (index === 0 && isConnecting) return
    isConnecting = true
    const address = addresses[index]
    if (address === undefined) return over('unreachable')
    const socket = connect({
      host: address,
      port,
      allowHalfOpen: true,
      onread: { buffer: new Uint8Array(RELAY_BUFFER_BYTES), callback: fromServer },
    })
    upstream = socket
    const isLast = index === addresses.length - 1
    const next = (): void => {
      clearTimeout(attempt)
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.destroy()
      if (!isOver) connectNext(index + 1)
    }
    attempt = setTimeout(next, isLast ? CONNECT_MS - index * CONNECT_EACH_MS : CONNECT_EACH_MS)
    socket.on('error', () => (isConnected ? over(undefined) : next()))
    socket.on('connect', () => connected(socket, address))
    socket.on('close', closed)
  }

  function closed(): void {
    if (client.destroyed && upstream?.destroyed !== false) over(undefined, false)
  }

  client.setNoDelay(true)
  client.on('error', () => over(undefined))
  client.on('end', () => {
    isClientDone = true
    // It has said nothing that may pass, and says nothing more.
    if (!isConnecting) over('silent')
    else if (isConnected && upstream !== undefined) endServer(upstream)
  })
  client.on('close', closed)
  if (guard === undefined || plan.guard.kind === 'other') connectNext()
  else silence = setTimeout(() => over('silent'), FIRST_BYTES_MS)

  return {
    grant(bytes) {
      if (isOver || leftBytes === undefined) return
      leftBytes += bytes
      if (isConnected && mayRead('toServer')) client.resume()
      if (isConnected && mayRead('toClient')) upstream?.resume()
    },
    reset: over,
  }
}
