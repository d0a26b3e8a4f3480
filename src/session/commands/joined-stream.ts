/**
 * A stream joined to an execution: stdin and resizes one way, credit and the end the other. While a level of alarm
 * stands, what is typed is kept within its credit, and goes on when the level is lowered.
 * Rules: docs/protocol.md, section 2; docs/responses.md, section on levels.
 * @module
 */

import { INITIAL_WINDOW_BYTES } from '../../limits.ts'
import { createStdinQueue } from '../../sandbox/launcher/stdin-queue.ts'
import type { StdinChunk } from '../../wire/messages.ts'
import type { Peer, StreamUser } from '../common/peer.ts'
import type { Execution } from '../executions/execution.ts'
import type { Attachment } from './attachment.ts'

export function joinedStream(
  peer: Peer,
  streamId: number,
  attachment: Attachment,
  execution: () => Execution | undefined,
  hasStdin: boolean,
): StreamUser {
  // Bytes that the child has been given and the client has not been allowed again.
  let consumed = 0

  function grant(): void {
    if (consumed < INITIAL_WINDOW_BYTES / 2 && consumed !== 0 && !isStarved()) return
    peer.connection.grant(streamId, consumed)
    consumed = 0
  }

  /** The client's window may be smaller than half of the usual one: never let it run dry. */
  function isStarved(): boolean {
    const stream = peer.connection.stream(streamId)
    return stream !== undefined && stream.receiveLimitBytes - stream.receivedBytes <= consumed
  }

  /** Typed under a level of alarm. */
  const held = createStdinQueue()
  let hasEnded = false

  function isBarred(): boolean {
    return peer.level !== 'NORMAL'
  }

  /** `data` is taken over. */
  function write(data: Uint8Array): void {
    consumed += data.length
    const running = execution()
    if (running !== undefined) running.stdinBytes += data.length
    const child = running?.child
    // Written to a process that is gone: swallowed, as a pipe without a reader would refuse it.
    const isTaken = child === undefined || !hasStdin || child.writeStdin(data)
    if (isTaken) grant()
  }

  function release(): void {
    if (isBarred()) return
    for (let data = held.peek(); data !== undefined; data = held.peek()) {
      const bytes = data.length
      write(data.slice())
      held.consume(bytes)
    }
    if (!hasEnded) return
    hasEnded = false
    if (hasStdin) execution()?.child?.endStdin()
  }

  return {
    message(value) {
      const { data, resize } = value as StdinChunk
      const child = execution()?.child
      if (resize !== undefined && resize.rows > 0 && resize.cols > 0) child?.resize(resize.rows, resize.cols)
      if (data === undefined || data.length === 0) return
      if (!isBarred() && held.bytes === 0) return write(data.slice())
      held.push(data.slice())
      release()
    },
    ended() {
      hasEnded = true
      release()
    },
    tick: release,
    credit: () => attachment.pump(),
    stdinDrained: grant,
    leave: () => attachment.leave(),
  }
}
