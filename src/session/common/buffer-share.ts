/**
 * The buffers of bulk output that one connection holds: a few at a time, each until the socket has taken what is in
 * it, so that a peer who does not read keeps nobody else's output back. What a person waits for has one more, and its
 * turn before bulk.
 * Rules: docs/security.md (bounds of one connection).
 * @module
 */
import type { BufferPool } from '../../base/buffer-pool.ts'
import { OUTPUT_BUFFERS_PER_CONNECTION } from '../../limits.ts'
import type { Transport } from '../../ports.ts'

export type BufferShare = {
  /** A buffer for one frame, or undefined: `again` is called when there may be one; before others if `isUrgent`. */
  take(again: () => void, isUrgent?: boolean): Uint8Array | undefined
  /** Sends what is in it, and gives it back when it is taken. */
  send(buffer: Uint8Array, length: number): void
  /** Gives no more, and calls nobody. */
  end(): void
}

export function createBufferShare(pool: BufferPool, transport: Pick<Transport, 'write'>): BufferShare {
  let held = 0
  let wanting: Set<() => void> = new Set()
  let urgent: Set<() => void> = new Set()
  let isOver = false

  function giveBack(buffer: Uint8Array): void {
    held--
    pool.give(buffer)
    const again = [...urgent, ...wanting]
    urgent = new Set()
    wanting = new Set()
    for (const callback of again) callback()
  }

  return {
    take(again, isUrgent = false) {
      if (isOver) return undefined
      if (held >= OUTPUT_BUFFERS_PER_CONNECTION + (isUrgent ? 1 : 0)) {
        ;(isUrgent ? urgent : wanting).add(again)
        return undefined
      }
      const buffer = pool.take()
      if (buffer === undefined) pool.wait(again)
      else held++
      return buffer
    },
    send(buffer, length) {
      transport.write(buffer.subarray(0, length), () => giveBack(buffer))
    },
    end() {
      isOver = true
      wanting.clear()
      urgent.clear()
    },
  }
}
