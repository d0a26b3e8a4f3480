/**
 * What was refused lately, each once with how often: for whoever wants to know why something was not reached. The one
 * that was refused last comes last, and beyond a bound the one that was refused longest ago is forgotten.
 * @module
 */

import type { EgressRecord, GateReason } from './gate-events.ts'
import type { Protocol } from './lists/egress-list.ts'

export type RefusedPlace = {
  /** A name, or the text of an address. */
  readonly host: string
  /** Undefined: a name was asked for, and no port yet. */
  readonly port: number | undefined
  readonly protocol: Protocol
  readonly reason: GateReason
  readonly times: number
  /** When it was refused last. */
  readonly atMs: number
}

export interface Lately {
  /** Counts a line that says that something did not pass; any other is none. */
  add(line: EgressRecord, nowMs: number): void
  list(): readonly RefusedPlace[]
  /** As `list`, and nothing is left of it. */
  take(): readonly RefusedPlace[]
}

/** Of these nobody need be told: it was not the gate that ended it. */
const ENDS: ReadonlySet<GateReason> = new Set<GateReason>(['ended', 'silent'])

export function createLately(most: number): Lately {
  const known = new Map<string, RefusedPlace>()
  const list = (): readonly RefusedPlace[] => [...known.values()]
  return {
    add({ name, address, port, protocol = 'tcp', reason, verdict }, nowMs) {
      if (reason === undefined || ENDS.has(reason) || (verdict !== 'refused' && verdict !== 'failed')) return
      const host = name ?? address ?? ''
      const key = `${host} ${port} ${protocol} ${reason}`
      const times = (known.get(key)?.times ?? 0) + 1
      known.delete(key)
      known.set(key, { host, port, protocol, reason, times, atMs: nowMs })
      const [oldest] = known.keys()
      if (known.size > most && oldest !== undefined) known.delete(oldest)
    },
    list,
    take() {
      const all = list()
      known.clear()
      return all
    },
  }
}
