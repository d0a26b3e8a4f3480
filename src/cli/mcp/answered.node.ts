/**
 * Waits for an answer of the device, as long as something comes of it. A device that refuses by policy does not answer at
 * all, for an hour, and a model that waits for that learns nothing and holds everything up.
 * Rules: docs/protocol.md, section 8 (R4).
 * @module
 */

import { SassError } from '../../errors.ts'
import { MCP_SILENCE_MS } from './bounds.ts'
import type { Call } from './call.node.ts'
import { silence } from './tool-errors.ts'

export type Waiter = {
  /** Something came. */
  came(): void
  /** It waits for a human or for a place, however long that takes. */
  waits(): void
  /** Ends what was asked. */
  readonly signal: AbortSignal
}

export function answered<Result>(call: Call, work: (waiter: Waiter) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  return new Promise((resolve, reject) => {
    function giveUp(error: SassError): void {
      clearTimeout(timer)
      controller.abort()
      reject(error)
      // What takes no notice of that keeps its place on the connection until it is answered.
      setImmediate(() => {
        if (!isOver) call.abandon()
      })
    }
    function came(): void {
      clearTimeout(timer)
      timer = setTimeout(silent, MCP_SILENCE_MS)
    }
    function silent(): void {
      // A link that is away says nothing about the device.
      if (!call.client.isConnected) return came()
      giveUp(silence())
    }
    const cancelled = () => giveUp(new SassError('CONNECTION_LOST', 'Nobody waits for it any more.'))
    if (call.signal.aborted) {
      isOver = true
      return cancelled()
    }
    call.signal.addEventListener('abort', cancelled, { once: true })
    came()
    work({ came, waits: () => clearTimeout(timer), signal: controller.signal })
      .then(resolve, reject)
      .finally(() => {
        isOver = true
        clearTimeout(timer)
        call.signal.removeEventListener('abort', cancelled)
      })
  })
}
