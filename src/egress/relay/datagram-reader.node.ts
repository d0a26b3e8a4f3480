/**
 * Datagrams of a socket that is given as a descriptor, read until it is held back: what comes meanwhile waits in the
 * kernel's queue, and is dropped when that is full. Node's own socket cannot stop, so it is closed, and another one
 * begins with a duplicate of the descriptor.
 * Sources: udp(7), dgram of Node.
 * @module
 */

import { createSocket, type Socket } from 'node:dgram'
import { closeSync } from 'node:fs'
import type { IpAddress } from '../../base/ip-address.ts'
import type { Sender } from '../gate-events.ts'
import type { Duplicate } from './doorway.node.ts'

/** System calls on sockets of datagrams, which Node has not. None of them waits. */
export interface DatagramSockets {
  readonly duplicate: Duplicate
  /** A socket of this thread's network that hears that place and nobody else; negative: there is none. */
  connect(place: Uint8Array): number
  /** Whether it has gone; a second try may go where the first one was told of an error of before. */
  send(fd: number, bytes: Uint8Array, to: Uint8Array): boolean
  /** From now on nobody else is bound where this one is: Node shares what it is given. */
  keepAlone(fd: number): void
  /** As the kernel has it. */
  addressBytes(address: IpAddress, port: number): Uint8Array
}

export interface DatagramReader {
  readonly fd: number
  hold(): void
  goOn(): void
  /** The descriptor too. */
  close(): void
}

/**
 * `fd`: taken over. `failed`: the network says that what was sent came to nobody. Neither is called from inside of
 * `goOn`.
 */
export function createDatagramReader(
  fd: number,
  family: IpAddress['family'],
  { duplicate, keepAlone }: DatagramSockets,
  { message, failed }: { message(bytes: Uint8Array, from: Sender): void; failed(): void },
): DatagramReader {
  let socket: Socket | undefined
  let isClosed = false
  const reader: DatagramReader = {
    fd,
    hold() {
      socket?.close()
      socket = undefined
    },
    goOn() {
      if (isClosed || socket !== undefined) return
      const own = duplicate(fd)
      if (own < 0) return
      socket = createSocket({ type: family === 4 ? 'udp4' : 'udp6' })
      socket.on('error', failed)
      // Port 0 is no place to send an answer to.
      socket.on('message', (bytes, { address, port }) => port > 0 && message(bytes, { address, port }))
      socket.bind({ fd: own })
      socket.unref()
      keepAlone(fd)
    },
    close() {
      if (isClosed) return
      isClosed = true
      reader.hold()
      closeSync(fd)
    },
  }
  return reader
}
