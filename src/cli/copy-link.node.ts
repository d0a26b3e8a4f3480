/**
 * A connection that comes back by itself: what was asked on it is asked again on the next one, after a pause that grows
 * and that chance spreads, so that a thousand clients do not come back at once. Only for what may be asked twice.
 * @module
 */
import type { Client } from '../client/client.node.ts'
import { asSassError } from '../errors.ts'
import { COPY_PAUSE_MAX_MS, COPY_PAUSE_MS, COPY_RETRY_MS, MAX_WINDOW_BYTES } from '../limits.ts'
import type { CommandContext } from './command.ts'
import { connectDevice } from './device.node.ts'

export type CopyLink = {
  /** Does it with a connection, and again with the next one where that breaks. */
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export async function openLink(context: CommandContext, target: string | undefined): Promise<CopyLink> {
  // Bulk alone goes through it: nobody waits for a key to be echoed.
  const window = MAX_WINDOW_BYTES
  let client = await connectDevice(context, target, { window })
  let hasClosed = watch(client)
  let isTold = false
  /** One comes back for all that is under way. */
  let returning: Promise<void> | undefined

  function watch(one: Client): () => boolean {
    let closed = false
    one.closed.then(() => {
      closed = true
    })
    return () => closed
  }

  async function comeBack(cause: unknown): Promise<void> {
    if (!isTold)
      context.output.warn('The connection broke; it is made again, and the copy goes on where it was.')
    isTold = true
    const until = performance.now() + COPY_RETRY_MS
    for (let pause = COPY_PAUSE_MS; ; pause = Math.min(2 * pause, COPY_PAUSE_MAX_MS)) {
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)))
      try {
        client = await connectDevice(context, target, { window, resumeSessionId: client.sessionId })
        hasClosed = watch(client)
        return
      } catch (error) {
        if (asSassError(error)?.code !== 'CONNECT_FAILED') throw error
        if (performance.now() > until) throw cause
      }
    }
  }

  return {
    async use(work) {
      for (;;) {
        const mine = client
        const isGone = hasClosed
        try {
          return await work(mine)
        } catch (error) {
          const code = asSassError(error)?.code
          // The word that it is closed may come a moment later than the error.
          if (code === 'CONNECTION_LOST' || code === 'CONNECT_FAILED')
            await new Promise((resolve) => setImmediate(resolve))
          const isBroken = (code === 'CONNECTION_LOST' || code === 'CONNECT_FAILED') && isGone()
          if (!isBroken) throw error
          if (client !== mine) continue
          returning ??= comeBack(error).finally(() => {
            returning = undefined
          })
          await returning
        }
      }
    },
    close: () => client.close(),
  }
}
