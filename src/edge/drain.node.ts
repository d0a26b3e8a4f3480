/**
 * The end of a daemon that was told to stop: nothing new is taken, what runs may finish for a while, then it is asked
 * to, then it is made to.
 * Rules: docs/operations.md (stop).
 * @module
 */
import { DRAIN_POLL_MS, TERM_TO_KILL_MS } from '../limits.ts'
import type { TransportAdapter } from '../ports.ts'
import type { Peers } from '../session/peers.ts'
import type { Rooms } from '../session/rooms.ts'

/** @param drainMs how long running commands may go on */
export async function drain(
  adapters: readonly TransportAdapter[],
  peers: Peers,
  rooms: Rooms,
  drainMs: number,
): Promise<void> {
  for (const adapter of adapters) await adapter.close()
  peers.drain()
  const isQuiet = () => rooms.executions.running === 0 && !peers.openStreams
  const until = async (ms: number) => {
    for (let left = ms; left > 0 && !isQuiet(); left -= DRAIN_POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, DRAIN_POLL_MS)))
    }
  }
  await until(drainMs)
  if (!isQuiet()) {
    rooms.executions.endAll('term')
    await until(TERM_TO_KILL_MS)
    rooms.executions.endAll('kill')
    await until(TERM_TO_KILL_MS)
  }
  peers.endAll()
}
