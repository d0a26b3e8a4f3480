/**
 * The way of received bytes into a connection, only as fast as the peer takes the answers: one that asks and does not
 * read must not make them pile up. What had been read when the pause began is kept, and nothing more.
 * Rules: docs/security.md (bounds of one connection).
 * @module
 */
import { RECEIVE_SLICE_BYTES, SOCKET_HIGH_WATER_BYTES } from '../limits.ts'
import type { Transport } from '../ports.ts'

export type Intake = {
  push(bytes: Uint8Array): void
  /** The answers have been taken. */
  drained(): void
  /** Forgets what was kept. */
  stop(): void
}

/** `receive` is fed in small slices, so that a few bytes of questions cannot ask for megabytes of answers at once. */
export function createIntake(
  transport: Pick<Transport, 'waitingBytes' | 'pauseReading' | 'resumeReading'>,
  receive: (bytes: Uint8Array) => void,
): Intake {
  let kept: Uint8Array | undefined
  let isPaused = false
  let isOver = false

  function take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !isOver; at += RECEIVE_SLICE_BYTES) {
      if (transport.waitingBytes > SOCKET_HIGH_WATER_BYTES) {
        isPaused = true
        kept = bytes.slice(at)
        return transport.pauseReading()
      }
      receive(bytes.subarray(at, at + RECEIVE_SLICE_BYTES))
    }
  }

  return {
    push(bytes) {
      if (isOver) return
      if (!isPaused) return take(bytes)
      // Read before the pause held: no more than one buffer of the socket.
      const before = kept ?? new Uint8Array(0)
      kept = new Uint8Array(before.length + bytes.length)
      kept.set(before)
      kept.set(bytes, before.length)
    },
    drained() {
      if (!isPaused || isOver) return
      isPaused = false
      const rest = kept
      kept = undefined
      if (rest !== undefined) take(rest)
      if (!isPaused && !isOver) transport.resumeReading()
    },
    stop() {
      isOver = true
      kept = undefined
    },
  }
}
