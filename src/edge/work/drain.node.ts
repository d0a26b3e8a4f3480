/**
 * The end of a daemon that was told to stop: nothing new is taken, what runs may finish for a while, then it is asked
 * to, then it is made to. Everybody who is connected hears by when that is over, and may come back then.
 * Rules: docs/operations.md (stop).
 * @module
 */
import { DRAIN_POLL_MS, TERM_TO_KILL_MS } from '../../limits.ts'
import type { TransportAdapter } from '../../ports.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import type { Peers } from '../../session/connection/peers.ts'

/** How long a drain takes at most: what runs may go on, then it is asked to end, then made to. */
export function longestDrainSeconds(drainSeconds: number): number {
  return drainSeconds + Math.ceil((2 * TERM_TO_KILL_MS) / 1_000)
}

export async function drain(
  adapters: readonly TransportAdapter[],
  peers: Peers,
  rooms: Rooms,
  drainSeconds: number,
): Promise<void> {
  for (const adapter of adapters) await adapter.close()
  rooms.plans?.stopAll()
  peers.drain(longestDrainSeconds(drainSeconds))
  const isQuiet = () => rooms.executions.running === 0 && !peers.openStreams
  const until = async (ms: number) => {
    for (let left = ms; left > 0 && !isQuiet(); left -= DRAIN_POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, DRAIN_POLL_MS)))
    }
  }
  await until(drainSeconds * 1_000)
  if (!isQuiet()) {
    const why = `The device went down, and ended what still ran after ${drainSeconds} seconds (execution.drain_seconds).`
    rooms.executions.endAll('term', why)
    await until(TERM_TO_KILL_MS)
    rooms.executions.endAll('kill', why)
    await until(TERM_TO_KILL_MS)
  }
  peers.endAll()
}
