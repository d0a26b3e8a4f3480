/**
 * What the gate has done for all sessions since the daemon started, in numbers, and what it refused last.
 * @module
 */

import type { EgressRecord } from './gate-events.ts'
import { createLately, type RefusedPlace } from './lately.ts'
import { REFUSED_KEPT } from './limits.ts'

/** As `status` tells it. */
export type GateReadings = {
  /** That have a gate now, connections that are open in them, and what a human is being asked for them. */
  readonly sessions: number
  readonly connections: number
  readonly asked: number
  /** Connections that are over, and names and connections that were refused. */
  readonly passed: number
  readonly refused: number
  /** Listed, and not reached. */
  readonly failed: number
  readonly sentBytes: number
  readonly receivedBytes: number
  /** The one that was refused last comes last. */
  readonly lately: readonly RefusedPlace[]
}

export interface GateTally {
  add(line: EgressRecord, nowMs: number): void
  readings(now: Pick<GateReadings, 'sessions' | 'connections' | 'asked'>): GateReadings
}

export function createGateTally(): GateTally {
  const lately = createLately(REFUSED_KEPT)
  let [passed, refused, failed, sentBytes, receivedBytes] = [0, 0, 0, 0, 0]
  return {
    add(line, nowMs) {
      if (line.verdict === 'refused') refused++
      else if (line.verdict === 'failed') failed++
      else passed++
      sentBytes += line.sentBytes
      receivedBytes += line.receivedBytes
      lately.add(line, nowMs)
    },
    readings: (now) => ({
      ...now,
      ...{ passed, refused, failed, sentBytes, receivedBytes, lately: lately.list() },
    }),
  }
}
