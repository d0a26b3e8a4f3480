/**
 * The streams of one connection: which exist, which side may still send, and how many payload bytes each
 * direction may carry (absolute credit). Pure bookkeeping; the connection engine turns a refusal into the end.
 * Rules: docs/protocol.md, section 2.
 * @module
 */
import { STREAMS_PER_CONNECTION } from '../limits.ts'
import type { Method } from './methods.ts'

export type Stream = {
  readonly id: number
  readonly method: Method
  /** The other side may still send MSG or END. */
  remoteOpen: boolean
  /** We may still send. The stream is forgotten when both are false. */
  localOpen: boolean
  /** What was agreed that each side may send before the other one allows more. */
  readonly windowBytes: number
  /** What could be sent when the peer last allowed more: small where little is to be under way. */
  reachBytes: number
  /** Payload bytes that we may have sent in all, moved up by the peer's CREDIT, and those that we have. */
  sendLimitBytes: number
  sentBytes: number
  /** The same for what the peer sends. */
  receiveLimitBytes: number
  receivedBytes: number
}

export type Streams = {
  readonly size: number
  get(id: number): Stream | undefined
  /** True for an id that was open once on this connection: late frames for it are ignored, not refused. */
  isPast(id: number): boolean
  /** A problem, or undefined when the stream is open now. */
  open(id: number, method: Method, remoteOpen: boolean, windowBytes: number): string | undefined
  /** Uses up an id without a stream, for an OPEN that is refused. */
  skip(id: number): string | undefined
  /** Forgets the stream when neither side may send any more. */
  closeSide(id: number, side: 'local' | 'remote' | 'both'): void
  all(): Iterable<Stream>
  clear(): void
}

export function createStreams(): Streams {
  const streams = new Map<number, Stream>()
  let last = 0

  function skip(id: number): string | undefined {
    if (id % 2 === 0) return 'an even stream id'
    if (id <= last) return 'a stream id that does not increase'
    last = id
    return undefined
  }

  return {
    get size() {
      return streams.size
    },
    get: (id) => streams.get(id),
    isPast: (id) => id % 2 === 1 && id <= last && !streams.has(id),
    open(id, method, remoteOpen, windowBytes) {
      if (streams.size >= STREAMS_PER_CONNECTION) return 'more streams than STREAMS_PER_CONNECTION'
      const problem = skip(id)
      if (problem !== undefined) return problem
      streams.set(id, {
        id,
        method,
        remoteOpen,
        localOpen: true,
        windowBytes,
        reachBytes: windowBytes,
        sendLimitBytes: windowBytes,
        sentBytes: 0,
        receiveLimitBytes: windowBytes,
        receivedBytes: 0,
      })
      return undefined
    },
    skip,
    closeSide(id, side) {
      const stream = streams.get(id)
      if (stream === undefined) return
      if (side !== 'local') stream.remoteOpen = false
      if (side !== 'remote') stream.localOpen = false
      if (!stream.localOpen && !stream.remoteOpen) streams.delete(id)
    },
    all: () => streams.values(),
    clear: () => streams.clear(),
  }
}
