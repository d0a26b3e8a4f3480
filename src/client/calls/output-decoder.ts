/**
 * The messages of one stream of output on their way to whoever reads them: compressed data is made plain, and what
 * came after it waits until that is done. What waits is bounded by the stream's window, since nothing is granted for it
 * before it has been read. A stream begins with a decoder of its own, so a reconnect does too.
 * Rules: docs/protocol.md, section 3 (zstd data).
 * @module
 */
import { SassError } from '../../errors.ts'
import type { StreamResponse } from '../../wire/messages.ts'

/** One compressed frame, read piece by piece and one piece at a time. */
export type FrameReader = {
  /** The plain bytes of the next piece; rejects where it is no such piece. `coded` is borrowed until then. */
  read(coded: Uint8Array): Promise<Uint8Array>
  close(): void
}

export type OutputDecoder = {
  /** Gives the message with plain data to `take`, at once where nothing is compressed and nothing waits. */
  push(message: StreamResponse, take: (plain: StreamResponse) => void): void
  /** Calls back once everything before it was given: at once where nothing waits. Not called after a failure. */
  after(callback: () => void): void
  /** Nothing more is given to anybody. */
  close(): void
}

function unreadable(cause: unknown): SassError {
  const why = cause instanceof Error ? cause.message : 'of an unknown form'
  return new SassError(
    'FRAME_MALFORMED',
    `The device sent compressed output that cannot be read (${why}), so it was not read on.`,
    {},
    cause,
  )
}

/** `open` undefined: no compressed data was asked for. `failed` is called once, and nothing is given after it. */
export function createOutputDecoder(
  open: (() => FrameReader) | undefined,
  failed: (error: SassError) => void,
): OutputDecoder {
  let reader: FrameReader | undefined
  let isClosed = false
  let waiting = 0
  let last: Promise<void> = Promise.resolve()

  function close(): void {
    isClosed = true
    reader?.close()
    reader = undefined
  }

  async function plainOf(message: StreamResponse): Promise<StreamResponse> {
    if (message.encoding === 0 || message.data === undefined) return message
    if (open === undefined) throw new Error('none was asked for')
    reader ??= open()
    return { ...message, data: await reader.read(message.data), encoding: 0 }
  }

  async function next(message: StreamResponse, take: (plain: StreamResponse) => void): Promise<void> {
    if (isClosed) return
    const read = await plainOf(message).catch((cause: unknown) => unreadable(cause))
    waiting--
    if (isClosed) return
    if (!(read instanceof SassError)) return take(read)
    close()
    failed(read)
  }

  function later(step: () => Promise<void> | void): void {
    waiting++
    last = last.then(step)
  }

  return {
    push(message, take) {
      if (isClosed) return
      if (message.encoding === 0 && waiting === 0) return take(message)
      // The bytes of a message are lent for the time of this call.
      const kept = message.data === undefined ? message : { ...message, data: new Uint8Array(message.data) }
      later(() => next(kept, take))
    },
    after(callback) {
      if (isClosed) return
      if (waiting === 0) return callback()
      later(() => {
        waiting--
        if (!isClosed) callback()
      })
    },
    close,
  }
}
