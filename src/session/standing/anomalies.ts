/**
 * The anomaly monitor of a running daemon: it sees what is recorded and nothing else, records what it finds, tells the
 * log, and contains an agent whose turns stay anomalous. It also follows how full the context of each session must be.
 * A record is looked at after whatever wrote it is over: what leads here may be a decision itself.
 * Rules: docs/anomaly.md; docs/responses.md, section 8.
 * @module
 */
import { EMPTY, type Fill, fillNotice, takeDelivered } from '../../defense/anomaly/fill.ts'
import { FILL_STEPS, SESSIONS_FILLED } from '../../defense/anomaly/limits.ts'
import {
  type AgentStanding,
  createMonitor,
  type KeptBaselines,
  type MonitorSettings,
} from '../../defense/anomaly/monitor.ts'
import { MEASURES, type Sign } from '../../defense/anomaly/turns.ts'
import type { AuditEvent, Clock, Log } from '../../ports.ts'
import type { Caller } from '../callers/identities.ts'
import type { Session } from '../callers/sessions.ts'
import { anomalyEvents, type Seen, seenIn } from './anomaly-events.ts'
import type { Levels } from './levels.ts'

export type AnomalySettings = MonitorSettings & {
  readonly isEnabled: boolean
  /** 0: nobody's context is followed. */
  readonly windowTokens: number
}

export type AnomaliesGround = {
  readonly settings: AnomalySettings
  readonly kept: KeptBaselines
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>
  readonly log: Log
  /** Of what has happened already. */
  readonly record: (event: AuditEvent) => void
  readonly rooms: () => {
    readonly levels: Pick<Levels, 'incident'>
    readonly identities: { find(name: string): Pick<Caller, 'role'> | undefined }
    readonly branches: {
      preserve(
        session: string,
        cause: { readonly level: 'CHECKPOINT'; readonly why: string; readonly instance: string | null },
      ): void
    }
  }
}

/** What was found, counted: each sign that begins, drift, steps of the fill, and agents that were contained for it. */
export type AnomalyCounts = Record<Sign | 'drift' | 'combination' | 'window' | 'in_a_row', number>

export type Anomalies = {
  /** A record that was written at that time, in Unix milliseconds. */
  seen(event: AuditEvent, atMs: number): void
  /** Looks at what was seen and not looked at yet. */
  settle(): void
  /** What the agent of that session is to be told now that so much has been delivered to it; mostly nothing. */
  delivered(session: Session): string | undefined
  list(): readonly AgentStanding[]
  kept(): KeptBaselines
  readonly counts: Readonly<AnomalyCounts>
}

function noCounts(): AnomalyCounts {
  const signs = Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as Record<Sign, number>
  return { ...signs, row: 0, drift: 0, combination: 0, window: 0, in_a_row: 0 }
}

export function createAnomalies({ settings, kept, clock, log, record, rooms }: AnomaliesGround): Anomalies {
  const monitor = createMonitor(settings, kept)
  const counts = noCounts()
  let waiting: Seen[] = []
  const fills = new Map<string, Fill>()

  function contain({ agent, instance, session, turn }: Seen): void {
    // No level holds for operators: they are who would lower it.
    if (rooms().identities.find(agent)?.role !== 'agent') return
    const why = `${settings.consecutive ?? 0} anomalous turns in a row by ${agent}, record ${turn}`
    const offender = { agent, instance, sessionId: session ?? '', what: 'anomaly' }
    rooms().levels.incident('critical', offender, why, clock.monotonicMs())
  }

  function look(seen: Seen): void {
    const found = monitor.take(seen.agent, seen.observation)
    for (const { measure } of found.alerts) counts[measure]++
    if (found.strayed !== undefined) counts.drift++
    if (found.undeclared !== undefined) counts.combination++
    for (const event of anomalyEvents(seen, found, settings)) {
      record(event)
      const { agent, measure = '', value = 0, turn = 0 } = event as Readonly<Record<string, string | number>>
      log.write('warn', 'anomaly', { agent: `${agent}`, measure, value, record: turn })
    }
    if (!found.contains) return
    counts.in_a_row++
    contain(seen)
  }

  function settle(): void {
    const these = waiting
    waiting = []
    for (const seen of these) look(seen)
  }

  function remember(session: string, fill: Fill): void {
    fills.delete(session)
    fills.set(session, fill)
    const [oldest] = fills.keys()
    if (fills.size > SESSIONS_FILLED && oldest !== undefined) fills.delete(oldest)
  }

  return {
    seen(event, atMs) {
      if (event.type === 'session' && event['to'] === 'DESTROYED') fills.delete(`${event['session']}`)
      const seen = settings.isEnabled ? seenIn(event, atMs) : undefined
      if (seen === undefined) return
      waiting.push(seen)
      if (waiting.length === 1) clock.after(0, settle)
    },
    settle,
    delivered({ id, caller, deliveredBytes, instance }) {
      const { windowTokens, isEnabled } = settings
      if (!isEnabled || windowTokens === 0 || caller.role !== 'agent') return undefined
      const { fill, permille, isHigher } = takeDelivered(fills.get(id) ?? EMPTY, deliveredBytes, windowTokens)
      remember(id, fill)
      if (!isHigher) return undefined
      const { step } = fill
      counts.window++
      record({
        ...{ type: 'anomaly', what: 'window', agent: caller.name, instance, session: id },
        ...{ measure: 'window', value: permille, limit: FILL_STEPS[step - 1] ?? 0, window: windowTokens },
      })
      log.write('warn', 'anomaly', { agent: caller.name, measure: 'window', value: permille })
      if (step > 1)
        rooms().branches.preserve(id, {
          level: 'CHECKPOINT',
          why: `context ${Math.floor(permille / 10)} % full`,
          instance,
        })
      return fillNotice(step, permille)
    },
    list: monitor.list,
    kept: monitor.kept,
    counts,
  }
}
