/**
 * Refusals that are not written one by one: those of strangers, and of callers who are refused all the time, so that
 * nobody can fill the disk through the audit. They are counted by what decided, and one record a minute says how many
 * there were. Failed proofs of identity are written alone as long as they are few.
 * Rules: docs/responses.md (audit); the counters are as many as there are layers, rules and responses.
 * @module
 */
import { FAILED_PROOFS_PER_MINUTE, REFUSALS_PER_MINUTE, REFUSALS_RECORD_MS } from '../../limits.ts'
import type { AuditEvent } from '../../ports.ts'

export type Refusals = {
  /**
   * True: this one may have a record of its own. Strangers share one share of the minute (no name), every known
   * caller has one of its own.
   */
  mayWriteAlone(caller?: string): boolean
  count(what: { readonly layer: string; readonly rule: string; readonly response: string }): void
  /** The record of a minute that is over, where there is anything to say. */
  tick(nowMs: number): AuditEvent | undefined
  /** What is left, at the end of the daemon. */
  rest(): AuditEvent | undefined
}

export function createRefusals(startMs: number): Refusals {
  let counts = new Map<string, number>()
  let alone = 0
  let ofCallers = new Map<string, number>()
  let sinceMs = startMs

  function rest(): AuditEvent | undefined {
    alone = 0
    ofCallers = new Map()
    if (counts.size === 0) return undefined
    const event = { type: 'refusals', counts: Object.fromEntries([...counts].sort()) }
    counts = new Map()
    return event
  }

  return {
    mayWriteAlone(caller) {
      if (caller === undefined) return alone++ < FAILED_PROOFS_PER_MINUTE
      const before = ofCallers.get(caller) ?? 0
      ofCallers.set(caller, before + 1)
      return before < REFUSALS_PER_MINUTE
    },
    count({ layer, rule, response }) {
      const key = `${response} ${layer} ${rule}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    tick(nowMs) {
      if (nowMs - sinceMs < REFUSALS_RECORD_MS) return undefined
      sinceMs = nowMs
      return rest()
    },
    rest,
  }
}
