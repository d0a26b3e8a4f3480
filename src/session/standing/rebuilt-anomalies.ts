/**
 * What the anomaly monitor must have found, rebuilt from the records that it saw: each `anomaly` of the chain is to be
 * the next one that comes out here. A run says in its first record by what it watches and which baselines it begins
 * with; where those are not the ones that came out of the run before (a crash has cost them, or that run was dropped),
 * nothing of it is compared. What was delivered to a session is observed and not rebuilt.
 * Rules: docs/anomaly.md; docs/responses.md, section 7 (replay).
 * @module
 */
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { ANOMALIES_AWAITED } from '../../defense/anomaly/limits.ts'
import { createMonitor, type Monitor, type MonitorSettings } from '../../defense/anomaly/monitor.ts'
import type { AuditEvent } from '../../ports.ts'
import { anomalyEvents, baselinesDigest, seenIn } from './anomaly-events.ts'
import type { Departure } from './rebuilt-state.ts'

export type RebuiltAnomalies = {
  /** Compares the record, written at that time, with what those before it lead to, and takes it in. */
  take(event: AuditEvent, atMs: number): readonly Departure[]
}

const NOTHING: readonly Departure[] = Object.freeze([])

const isCount = (value: unknown): value is number => Number.isSafeInteger(value)

/** By what a run watches, and the digest of what it begins with; undefined where its record does not say. */
function watchOf({ watch }: AuditEvent): (MonitorSettings & { readonly baselines: string }) | undefined {
  if (typeof watch !== 'object' || watch === null) return undefined
  const { sigma, consecutive, drift_permille: driftPermille, baselines } = watch
  if (!isCount(sigma) || !isCount(driftPermille) || typeof baselines !== 'string') return undefined
  if (consecutive !== null && !isCount(consecutive)) return undefined
  return { sigma, consecutive, driftPermille, baselines }
}

/** What a record has besides what is said of an anomaly. */
const OF_RECORDS: ReadonlySet<string> = new Set(['seq', 'stream', 'category', 'severity', 'security', 'risk'])

function bare(event: AuditEvent): string {
  return canonicalize(Object.fromEntries(Object.entries(event).filter(([name]) => !OF_RECORDS.has(name))))
}

export function createRebuiltAnomalies(): RebuiltAnomalies {
  let monitor: Monitor | undefined
  let settings: MonitorSettings | undefined
  /** What is to be recorded, in this order. */
  let awaited: string[] = []

  function forget(): readonly Departure[] {
    monitor = undefined
    settings = undefined
    awaited = []
    return NOTHING
  }

  function begin(event: AuditEvent): readonly Departure[] {
    const before = monitor?.kept() ?? []
    forget()
    const watch = watchOf(event)
    if (watch === undefined) return NOTHING
    const kept = [before, []].find((one) => baselinesDigest(one) === watch.baselines)
    if (kept === undefined) return NOTHING
    settings = watch
    monitor = createMonitor(watch, kept)
    return NOTHING
  }

  function compared(event: AuditEvent): readonly Departure[] {
    if (monitor === undefined || event['what'] === 'window') return NOTHING
    const recorded = bare(event)
    const rebuilt = awaited.shift() ?? 'null'
    return recorded === rebuilt ? NOTHING : [{ what: 'anomaly', recorded, rebuilt }]
  }

  function watch(event: AuditEvent, atMs: number): readonly Departure[] {
    const seen = seenIn(event, atMs)
    if (monitor === undefined || settings === undefined || seen === undefined) return NOTHING
    const found = monitor.take(seen.agent, seen.observation)
    awaited.push(...anomalyEvents(seen, found, settings).map(bare))
    if (awaited.length <= ANOMALIES_AWAITED) return NOTHING
    // They are recorded in the same breath: so many that are not were left out.
    const [rebuilt = ''] = awaited.splice(0, 1)
    return [{ what: 'anomaly', recorded: 'null', rebuilt }]
  }

  return {
    take(event, atMs) {
      if (event.type === 'daemon' && event['what'] === 'started') return begin(event)
      if (event.type === 'recovered' && event['what'] === 'records_lost') return forget()
      return event.type === 'anomaly' ? compared(event) : watch(event, atMs)
    },
  }
}
