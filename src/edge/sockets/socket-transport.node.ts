/**
 * The Transport port over a Node stream socket, TLS or plain: writes of one turn travel in one record, and what the
 * kernel has not taken is counted.
 * @module
 */
import type { Socket } from 'node:net'
import { BULK_WRITE_BYTES } from '../../limits.ts'
import type { Transport, TransportAgreement, TransportEvents } from '../../ports.ts'

export type SocketTransportOptions = {
  readonly kind: Transport['kind']
  readonly remoteAddress: string
  readonly agreement: TransportAgreement
  readonly peerUserId: number | undefined
  readonly clientName?: string | undefined
  readonly exportKeyingMaterial: Transport['exportKeyingMaterial']
  readonly meter?: Transport['meter']
  readonly reset: () => void
}

/**
 * Node calls back a second time for what was written together when the socket is destroyed while that is under way: for
 * whoever has given a buffer away by then, once too often.
 */
function once(callback: (isLost: boolean) => void): (error?: Error | null) => void {
  let isDone = false
  return (error) => {
    if (isDone) return
    isDone = true
    callback(error instanceof Error)
  }
}

export function createSocketTransport(socket: Socket, options: SocketTransportOptions): Transport {
  let isCorked = false

  function uncork(): void {
    if (!isCorked) return
    isCorked = false
    socket.uncork()
  }

  return {
    ...options,
    write(bytes, taken) {
      // Small frames of one turn travel together; a large one would only be copied into a larger piece.
      if (bytes.length >= BULK_WRITE_BYTES) {
        if (isCorked) uncork()
      } else if (!isCorked) {
        isCorked = true
        socket.cork()
        process.nextTick(uncork)
      }
      if (taken === undefined) socket.write(bytes)
      // An error calls back too; the buffer is free then as well.
      else socket.write(bytes, once(taken))
    },
    get waitingBytes() {
      return socket.writableLength
    },
    pauseReading: () => socket.pause(),
    resumeReading: () => socket.resume(),
    end: () => socket.end(),
  }
}

/** Joins a socket's events to whoever listens. */
export function tellEvents(socket: Socket, events: TransportEvents): void {
  socket.on('data', (bytes: Buffer) => events.data(bytes))
  socket.on('end', () => events.ended())
  // A reset or a timeout is an end like any other; 'close' follows and tells.
  socket.on('error', () => {})
  socket.on('close', () => events.closed())
}
