/**
 * What a client writes to a command's stdin, on its way to the device: kept in order, sent as the stream's credit
 * allows, in chunks. Its writer is told to wait from CLIENT_STDIN_BYTES on; what is written after the end, or when
 * nobody can read it any more, is dropped.
 * Rules: docs/protocol.md, section 2 (flow control).
 * @module
 */
import { CHUNK_BYTES, CLIENT_STDIN_BYTES } from '../limits.ts'
import type { Connection } from '../wire/connection.ts'
import { stdinChunk } from '../wire/messages.ts'

export type StdinWriter = {
  /** False: wait for `drained` before more. Takes the bytes over. */
  write(bytes: Uint8Array): boolean
  /** Resolves when all that was written has been sent, or never will be. */
  drained(): Promise<void>
  /** End of file, once all is sent. */
  end(): void
  resize(rows: number, columns: number): void
  /** Sends what the credit allows now. */
  flush(): void
  /** The stream is over: drops what waits, and lets go of who waits. */
  stop(): void
}

/** `id` is an open stream of `connection` that takes StdinChunk messages. */
export function createStdinWriter(
  connection: Pick<Connection, 'credit' | 'message' | 'end'>,
  id: number,
): StdinWriter {
  let queue: Uint8Array[] = []
  let queuedBytes = 0
  let isClosed = false
  let hasEnded = false
  let waiting: (() => void)[] = []

  function letGo(): void {
    const ready = waiting
    waiting = []
    for (const resolve of ready) resolve()
  }

  function flush(): void {
    while (queue.length > 0) {
      const first = queue[0]
      const credit = connection.credit(id)
      if (first === undefined || credit <= 0) return
      const bytes = Math.min(first.length, credit, CHUNK_BYTES)
      connection.message(id, stdinChunk.encode({ data: first.subarray(0, bytes) }), bytes)
      queuedBytes -= bytes
      if (bytes === first.length) queue.shift()
      else queue[0] = first.subarray(bytes)
    }
    if (hasEnded) connection.end(id)
    letGo()
  }

  return {
    write(bytes) {
      if (isClosed || hasEnded) return true
      queue.push(bytes)
      queuedBytes += bytes.length
      flush()
      return queuedBytes < CLIENT_STDIN_BYTES
    },
    drained: () =>
      queuedBytes === 0 || isClosed ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    end() {
      if (hasEnded || isClosed) return
      hasEnded = true
      flush()
    },
    resize(rows, columns) {
      if (!isClosed && !hasEnded)
        connection.message(id, stdinChunk.encode({ resize: { rows, cols: columns } }))
    },
    flush,
    stop() {
      isClosed = true
      queue = []
      letGo()
    },
  }
}
