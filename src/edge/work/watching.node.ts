/**
 * What is counted over restarts, joined: the anomaly monitor with the record that it sees and the baselines that it goes
 * on from, and what the link has carried. Beside it, who is told of the record.
 * @module
 */
import type { Journal } from '../../audit/journal.node.ts'
import type { Config } from '../../config/config.ts'
import type { AuditValue, Clock, Log } from '../../ports.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import { type Anomalies, type AnomalySettings, createAnomalies } from '../../session/standing/anomalies.ts'
import { baselinesDigest } from '../../session/standing/anomaly-events.ts'
import type { RecordObserver } from '../record/record.node.ts'
import { createBaselineStore, loadBaselines } from '../state/baseline-store.node.ts'
import { createTrafficStore } from '../state/traffic-store.node.ts'
import { ALERT_PROGRAM_MS, createAlerts } from './alerts.node.ts'
import { record } from './work.node.ts'

export type WatchingGround = {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly audit: Journal
  readonly observer: RecordObserver
}

function settingsOf({ defense: { anomaly } }: Config): AnomalySettings {
  return {
    isEnabled: anomaly.enabled,
    sigma: anomaly.sigma,
    consecutive: anomaly.consecutive,
    driftPermille: anomaly.drift_permille,
    windowTokens: anomaly.window_tokens,
  }
}

/** The monitor, which sees every record from here on, as does who is told of what is critical. */
export function createWatch(
  { config, clock, log, audit, observer }: WatchingGround,
  rooms: () => Rooms,
): Anomalies {
  const anomalies = createAnomalies({
    settings: settingsOf(config),
    kept: loadBaselines(config.state_directory),
    clock,
    log,
    record: (event) => record(audit, log, event),
    rooms,
  })
  const alerts = createAlerts({
    ...{ program: config.alerts.program, limitMs: ALERT_PROGRAM_MS, clock, log },
    record: (event) => record(audit, log, event),
  })
  observer.seen = (event, timestamp) => {
    anomalies.seen(event, Date.parse(timestamp))
    alerts.seen(event)
  }
  return anomalies
}

/** What a run says of it in its first record: with what it watches, and what it goes on from; null: nobody is watched. */
export function watchTold(config: Config, { anomalies }: Pick<Rooms, 'anomalies'>): AuditValue {
  const { isEnabled, sigma, consecutive, driftPermille } = settingsOf(config)
  if (!isEnabled) return null
  const baselines = baselinesDigest(anomalies.kept())
  return { sigma, consecutive, drift_permille: driftPermille, baselines }
}

export type Counting = { tick(): void; save(): void }

/** Keeps what is counted on the disk. */
export function createCounting(
  { state_directory }: Config,
  { traffic, anomalies }: Pick<Rooms, 'traffic' | 'anomalies'>,
  clock: Clock,
): Counting {
  const stores = [
    createTrafficStore(state_directory, traffic, clock),
    createBaselineStore(state_directory, anomalies.kept, clock),
  ]
  return {
    tick() {
      traffic.settle()
      for (const store of stores) store.tick()
    },
    save() {
      anomalies.settle()
      for (const store of stores) store.save()
    },
  }
}
