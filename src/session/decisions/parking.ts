/**
 * A stream that waits before there is anything to run: for its turn, a human, a challenge, or its session's place.
 * @module
 */

import { createStdinQueue } from '../../sandbox/launcher/stdin-queue.ts'
import type { StdinChunk } from '../../wire/messages.ts'
import type { Call, StreamUser } from '../common/peer.ts'

/** A stream that waits: what the caller types is kept within its credit, and given to whoever takes the stream over. */
export type Parked = StreamUser & {
  readonly streamId: number
  replay(user: StreamUser): void
}

/** `mayKeep`: bytes that may be typed; `overflowed`: it was more. */
export function park(
  { streamId, method }: Call,
  left: () => void,
  mayKeep: () => number,
  overflowed: () => void,
): Parked {
  let keptBytes = 0
  let isFull = false
  // Each piece of a compressed file is one by itself.
  const kept = createStdinQueue(method.name === 'RawFileTransfer')
  /** Only the last size counts: they cost no credit, and a caller may send as many as it likes. */
  let resize: StdinChunk['resize']
  let hasEnded = false
  return {
    streamId,
    waits: true,
    message(value) {
      const chunk = value as StdinChunk
      resize = chunk.resize ?? resize
      // Borrowed bytes: they are gone when this returns.
      if (chunk.data === undefined || isFull) return
      keptBytes += chunk.data.length
      isFull = keptBytes > mayKeep()
      if (isFull) return overflowed()
      kept.push(chunk.data.slice())
    },
    ended() {
      hasEnded = true
    },
    credit() {},
    stdinDrained() {},
    leave: left,
    replay(user) {
      if (resize !== undefined) user.message({ resize }, 0)
      for (let data = kept.peek(); data !== undefined; data = kept.peek()) {
        user.message({ data }, data.length)
        kept.consume(data.length)
      }
      if (hasEnded) user.ended()
    },
  }
}
