/**
 * Between the record and the anomaly monitor: what a record says that was seen of an agent, and what is recorded of
 * what the monitor has found in it. Both are functions of their arguments alone, so the daemon that watches and the
 * replay that does so again use the same.
 * Rules: docs/anomaly.md; docs/responses.md, section 7.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { Found, KeptBaselines, MonitorSettings, Observation } from '../../defense/anomaly/monitor.ts'
import type { Ending } from '../../defense/anomaly/turns.ts'
import type { AuditEvent } from '../../ports.ts'

export type Seen = {
  readonly agent: string
  readonly instance: string | null
  readonly session: string | null
  /** The number of the record. */
  readonly turn: number
  readonly observation: Observation
}

/** Responses that leave a request undone for good; the others wait for something, or are done. */
const REFUSED: ReadonlySet<unknown> = new Set(['STATUS', 'R4', 'R5', 'R6'])

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const countIn = (value: unknown): number => (Number.isSafeInteger(value) ? Math.max(0, value as number) : 0)

function endingOf({ state, exit_code }: AuditEvent): Ending {
  if (state === 'not_started') return 'refused'
  return exit_code === 0 ? 'done' : 'failed'
}

function observationIn(event: AuditEvent, atMs: number): Observation | undefined {
  if (event.type === 'execution_ended') {
    const bytes = countIn(event['stdout_bytes']) + countIn(event['stderr_bytes'])
    return { kind: 'turn', turn: { atMs, bytes, ending: endingOf(event) } }
  }
  if (event.type !== 'decision') return undefined
  const { response, layer, plan, undeclared } = event
  // What a level of alarm refuses says nothing new of who asks.
  if (REFUSED.has(response) && layer !== 'level')
    return { kind: 'turn', turn: { atMs, bytes: 0, ending: 'refused' } }
  if (response !== 'R1' || (typeof plan !== 'string' && typeof undeclared !== 'string')) return undefined
  const isOutside = typeof plan === 'string' ? plan === 'outside' : undefined
  return { kind: 'command', isOutside, ...(typeof undeclared === 'string' ? { undeclared } : {}) }
}

/** What the record says of an agent; undefined where that is nothing. `atMs`: when it was written. */
export function seenIn(event: AuditEvent, atMs: number): Seen | undefined {
  const { agent, seq } = event
  if (typeof agent !== 'string' || typeof seq !== 'number' || !Number.isSafeInteger(atMs)) return undefined
  const observation = observationIn(event, atMs)
  if (observation === undefined) return undefined
  const { instance, session } = event
  return { agent, instance: textOr(instance), session: textOr(session), turn: seq, observation }
}

/** What is recorded of it, in this order. `turn` names the record that it follows from. */
export function anomalyEvents(
  { agent, instance, session, turn }: Seen,
  { alerts, strayed, undeclared, contains }: Found,
  { sigma, consecutive, driftPermille }: MonitorSettings,
): AuditEvent[] {
  const who = { type: 'anomaly', agent, instance, session, turn }
  const events: AuditEvent[] = alerts.map(({ measure, value, step, mean, variance, limit, samples }) => ({
    ...who,
    ...{ what: 'beyond', measure, value, step, mean, limit, samples, sigma },
    sigma_squared: variance,
  }))
  if (strayed !== undefined)
    events.push({
      ...who,
      ...{ what: 'drift', measure: 'drift', value: strayed.permille, limit: driftPermille },
      samples: strayed.commands,
    })
  if (undeclared !== undefined)
    events.push({ ...who, what: 'combination', measure: 'combination', value: undeclared })
  if (contains) events.push({ ...who, what: 'in_a_row', measure: 'turns', value: consecutive })
  return events
}

/** SHA-256 of baselines, hex: by which a record names what a run begins with. */
export function baselinesDigest(kept: KeptBaselines): string {
  return encodeHex(sha256(encodeUtf8(canonicalize(kept))))
}
