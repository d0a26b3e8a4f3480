/**
 * A fixed number of equal buffers, made once: what bulk output is framed into on its way to a socket. Whoever finds
 * none waits in line and is called when one comes back. Nothing grows but the line, one entry a waiter.
 * @module
 */

export type BufferPool = {
  /** Undefined: none free. */
  take(): Uint8Array | undefined
  give(buffer: Uint8Array): void
  /** Calls back once when a buffer is free; the same callback waits once only. */
  wait(callback: () => void): void
  readonly free: number
}

/** `memory` is cut into buffers of `bufferBytes`; first the last given, so that few pages are ever touched. */
export function createBufferPool(memory: Uint8Array, bufferBytes: number): BufferPool {
  const buffers: Uint8Array[] = []
  for (let at = 0; at + bufferBytes <= memory.length; at += bufferBytes)
    buffers.unshift(memory.subarray(at, at + bufferBytes))
  const waiting = new Set<() => void>()
  return {
    take: () => buffers.pop(),
    give(buffer) {
      buffers.push(buffer)
      // Whoever is called may not want it any more; then it is the turn of the next.
      for (const callback of waiting) {
        if (buffers.length === 0) return
        waiting.delete(callback)
        callback()
      }
    },
    wait(callback) {
      waiting.add(callback)
    },
    get free() {
      return buffers.length
    },
  }
}
