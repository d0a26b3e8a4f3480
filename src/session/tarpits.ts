/**
 * R5: slow noise, shaped like output, out of the one static frame that the daemon made at start. Nothing is
 * allocated for a chunk; a bounded number of peers is held at once; who does not read is let go.
 * Rules: docs/protocol.md, section 8; draft 8.3.2, 8.3.3, C.3.
 * @module
 */
import type { Clock, Random, Transport } from '../ports.ts'
import { encodeFrame } from '../wire/frame.ts'

export type TarpitLimits = {
  readonly chunkBytes: number
  readonly totalBytes: number
  readonly delayMs: number
  readonly concurrent: number
  readonly sendTimeoutMs: number
}

export type Tarpits = {
  readonly held: number
  readonly free: number
  /** Holds the peer until all noise is sent, it goes, or it does not read. The caller must have found `free` > 0. */
  hold(transport: Transport): { release(): void }
}

export function createTarpits(limits: TarpitLimits, clock: Clock, random: Random): Tarpits {
  // A StreamResponse {1: 0, 2: noise} on the stream that a client opens first, whole and ready to send.
  const frame = encodeFrame(
    1,
    'MSG',
    new Map<number, number | Uint8Array>([
      [1, 0],
      [2, random.bytes(limits.chunkBytes)],
    ]),
  )
  const chunks = Math.max(1, Math.floor(limits.totalBytes / limits.chunkBytes))
  let held = 0

  function hold(transport: Transport): { release(): void } {
    held++
    let left = chunks
    let cancel = () => {}
    let isReleased = false

    function release(): void {
      if (isReleased) return
      isReleased = true
      held--
      cancel()
    }

    function letGo(): void {
      release()
      transport.reset()
    }

    function drip(): void {
      if (left-- <= 0) {
        // Its end is not read, so that it is not waited for either.
        cancel = clock.after(limits.sendTimeoutMs, letGo)
        return transport.end()
      }
      cancel = clock.after(limits.sendTimeoutMs, letGo)
      transport.write(frame, () => {
        cancel()
        if (!isReleased) cancel = clock.after(limits.delayMs, drip)
      })
    }

    transport.pauseReading()
    drip()
    return { release }
  }

  return {
    get held() {
      return held
    },
    get free() {
      return Math.max(0, limits.concurrent - held)
    },
    hold,
  }
}
