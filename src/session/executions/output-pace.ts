/**
 * How output is cut for a link, and how far a program may be ahead of it: every byte that it has written and that has
 * not arrived is time that a ^C takes. The window of the client says how slow the link is; a fast one is left alone.
 * Rules: docs/protocol.md, section 2 (flow control).
 * @module
 */
import { CHUNK_BYTES, CHUNK_MIN_BYTES, PIPE_MIN_BYTES, PIPE_READ_BYTES } from '../../limits.ts'
import type { Stream } from '../../wire/streams.ts'

/** The most data of one message: some of them fit the window, so that one arrives while the next is on its way. */
export function chunkBytes(stream: Stream): number {
  const credit = stream.sendLimitBytes - stream.sentBytes
  const wanted = Math.max(stream.windowBytes, credit) >>> 2
  return Math.min(Math.max(wanted, CHUNK_MIN_BYTES), CHUNK_BYTES)
}

/** What the pipe of a program may hold: all that it usually does, or little beside what is under way. */
export function aheadBytes({ reachBytes }: Stream): number {
  if (reachBytes >= PIPE_READ_BYTES) return PIPE_READ_BYTES
  const pages = Math.max(1, Math.floor(reachBytes / 4 / PIPE_MIN_BYTES))
  return PIPE_MIN_BYTES * 2 ** Math.floor(Math.log2(pages))
}
