/**
 * What a client writes to a command's stdin, on its way to the device: kept in order, sent as the stream's credit
 * allows, in chunks, and let go of once the device has taken it. Where the connection breaks before that, the next
 * stream goes on from what the device says that it has: nothing is given to the command twice, and nothing is left out.
 * Its writer is told to wait from CLIENT_STDIN_BYTES on; what is written after the end, or when nobody can read it any
 * more, is dropped.
 * Rules: docs/protocol.md, sections 2 (flow control) and 6.
 * @module
 */
import { CHUNK_BYTES, CLIENT_STDIN_BYTES } from '../../limits.ts'
import type { Connection } from '../../wire/connection.ts'
import { stdinChunk } from '../../wire/messages.ts'

/** What it uses of a connection. */
export type StdinConnection = Pick<Connection, 'credit' | 'message' | 'end' | 'stream'>

export type StdinWriter = {
  /** False: wait for `drained` before more. Takes the bytes over. */
  write(bytes: Uint8Array): boolean
  /** Resolves when all that was written has been sent, or never will be. */
  drained(): Promise<void>
  /** End of file, once all is sent. */
  end(): void
  resize(rows: number, columns: number): void
  /**
   * Sends on this stream from now on: `atOnce` from the beginning, where nobody can have written before, else when
   * `resume` says from where.
   */
  join(connection: StdinConnection, id: number, atOnce: boolean): void
  /** So many bytes were taken from whoever wrote before this stream. False: it cannot go on from there. */
  resume(takenBytes: number): boolean
  /** Credit came: lets go of what was taken, and sends what may be sent now. */
  credit(): void
  /** The stream is gone; what it has not proven to have is kept for the next one. */
  leave(): void
  /** It is over: drops what waits, and lets go of who waits. */
  stop(): void
}

type Joined = {
  readonly connection: StdinConnection
  readonly id: number
  /** Where in what was written the stream began; undefined until the device has said so. */
  from: number | undefined
  /** What the stream allowed when it was opened. */
  readonly window: number
}

export function createStdinWriter(): StdinWriter {
  /** What the device may not have yet; the first byte of it is at `keptFrom` of all that was ever written. */
  let kept: Uint8Array[] = []
  let keptFrom = 0
  let written = 0
  let sent = 0
  /** The part of `kept` that `sent` lies in or before, and where it begins. */
  let cursor = { index: 0, at: 0 }
  /** Of the device's count: where ours begins, since somebody else may have written before. */
  let origin: number | undefined
  let joined: Joined | undefined
  let size: { readonly rows: number; readonly cols: number } | undefined
  let isClosed = false
  let hasEnded = false
  let waiting: (() => void)[] = []

  function letGo(): void {
    const ready = waiting
    waiting = []
    for (const resolve of ready) resolve()
  }

  function taken(upTo: number): void {
    while (kept[0] !== undefined && keptFrom + kept[0].length <= upTo) {
      keptFrom += kept[0].length
      kept.shift()
      cursor.index--
    }
    if (cursor.index < 0) cursor = { index: 0, at: keptFrom }
  }

  /** What has to be sent next, at most `most` bytes of it. */
  function next(most: number): Uint8Array | undefined {
    for (let part = kept[cursor.index]; part !== undefined; part = kept[cursor.index]) {
      if (sent < cursor.at + part.length) return part.subarray(sent - cursor.at, sent - cursor.at + most)
      cursor = { index: cursor.index + 1, at: cursor.at + part.length }
    }
    return undefined
  }

  function goTo(position: number): void {
    sent = position
    cursor = { index: 0, at: keptFrom }
  }

  function flush(): void {
    if (joined?.from === undefined) return
    const { connection, id } = joined
    while (sent < written) {
      const bytes = next(Math.min(connection.credit(id), CHUNK_BYTES))
      if (bytes === undefined || bytes.length === 0) return
      connection.message(id, stdinChunk.encode({ data: bytes }), bytes.length)
      sent += bytes.length
    }
    if (hasEnded) connection.end(id)
    letGo()
  }

  function tellSize(): void {
    if (size !== undefined && joined?.from !== undefined)
      joined.connection.message(joined.id, stdinChunk.encode({ resize: size }))
  }

  return {
    write(bytes) {
      if (isClosed || hasEnded || bytes.length === 0) return true
      kept.push(bytes)
      written += bytes.length
      flush()
      return written - sent < CLIENT_STDIN_BYTES
    },
    drained: () =>
      sent === written || isClosed ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    end() {
      if (hasEnded || isClosed) return
      hasEnded = true
      flush()
    },
    resize(rows, cols) {
      if (isClosed || hasEnded) return
      size = { rows, cols }
      tellSize()
    },
    join(connection, id, atOnce) {
      const window = connection.stream(id)?.sendLimitBytes ?? 0
      joined = { connection, id, from: atOnce ? 0 : undefined, window }
      if (atOnce) origin = 0
      flush()
    },
    resume(takenBytes) {
      if (joined === undefined || joined.from !== undefined) return true
      origin ??= takenBytes
      const from = takenBytes - origin
      if (from < keptFrom || from > written) return false
      joined.from = from
      goTo(from)
      tellSize()
      flush()
      return true
    },
    credit() {
      const stream = joined?.connection.stream(joined.id)
      if (joined?.from !== undefined && stream !== undefined)
        taken(Math.min(sent, joined.from + stream.sendLimitBytes - joined.window))
      flush()
    },
    leave() {
      joined = undefined
      // Until the device says otherwise: whoever waits for all to be sent waits for this too.
      goTo(keptFrom)
    },
    stop() {
      isClosed = true
      kept = []
      joined = undefined
      letGo()
    },
  }
}
