/**
 * What the daemon does once a second whoever is connected: what is due is looked at, what is idle gives memory back, and
 * what was counted is recorded.
 * @module
 */
import type { Journal } from '../../audit/journal.node.ts'
import type { Config } from '../../config/config.ts'
import { TICK_MS } from '../../limits.ts'
import type { Clock } from '../../ports.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import type { Peers } from '../../session/connection/peers.ts'
import { tickCallers } from '../../session/requests/identity-requests.ts'
import { createTrimmer } from '../host/allocator.node.ts'
import type { createLog } from '../host/log.node.ts'
import type { PolicyInUse } from '../policy/policy-in-use.node.ts'
import type { Sandbox } from './sandbox.node.ts'
import { record } from './work.node.ts'

/** What ticks, each as it likes. */
export type TickerGround = {
  readonly config: Config
  readonly clock: Clock
  readonly log: ReturnType<typeof createLog>
  readonly audit: Journal
  readonly rooms: Rooms
  readonly peers: Peers
  readonly sandbox: Sandbox
  readonly policyInUse: PolicyInUse
  /** In this order, after the others. */
  readonly others: readonly { tick(): void }[]
}

/** Begins; the returned function ends it. Never keeps the process alive. */
export function startTicker(ground: TickerGround): () => void {
  const { config, clock, log, audit, rooms, peers, sandbox, policyInUse, others } = ground
  const trimmer = createTrimmer()
  const ticker = setInterval(() => {
    const now = clock.monotonicMs()
    log.tick()
    const areAtWork = rooms.executions.running > 0 || (rooms.plans?.running ?? 0) > 0
    const isIdle = !areAtWork && !peers.openStreams
    const isAlone = isIdle && peers.count === 0
    const isWaiting = rooms.queue.size > 0 || rooms.confirmations.list().length > 0
    const areRulesGone = policyInUse.tick(isAlone && !isWaiting, now)
    if (areRulesGone) rooms.firewall.forget()
    if (sandbox.tick(isAlone, now) || areRulesGone) trimmer.renew(now)
    trimmer.tick(isIdle, peers.count === 0, now)
    peers.tick()
    tickCallers(rooms, now)
    const refused = rooms.refusals.tick(now)
    if (refused !== undefined) record(audit, log, refused)
    rooms.executions.tick()
    rooms.executions.endSilent(config.sandbox.limits.silence_seconds)
    for (const other of others) other.tick()
  }, TICK_MS)
  ticker.unref()
  return () => clearInterval(ticker)
}
