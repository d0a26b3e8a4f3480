/**
 * What the daemon counts, as text for Prometheus: one table of families, read where somebody asks. Labels have values of
 * fixed sets alone, so nobody can make the text longer by what he sends.
 * Rules: the exposition format 0.0.4 of Prometheus, and its conventions for names: units in them, `_total` for counters.
 * @module
 */

import { LEVELS } from '../../defense/level.ts'
import type { HostReadings } from './host-readings.ts'
import type { Rooms } from './rooms.ts'

type Samples = number | undefined | readonly (readonly [labels: Labels, value: number])[]
type Labels = Readonly<Record<string, string>>
/** By its name, which says whether it is a counter. */
type Family = readonly [help: string, read: (rooms: Rooms, host: HostReadings) => Samples]

const SECOND_MS = 1_000

/** One sample for each key, which becomes the value of that label. */
function by(label: string, values: Readonly<Record<string, number>>): Samples {
  return Object.entries(values).map(([key, value]) => [{ [label]: key }, value])
}

function sessionsByState({ sessions }: Rooms): Samples {
  const counts: Record<string, number> = { created: 0, active: 0, executing: 0, expired: 0 }
  for (const { state } of sessions.all()) {
    const key = state.toLowerCase()
    if (key in counts) counts[key] = (counts[key] ?? 0) + 1
  }
  return by('state', counts)
}

function raised({ levels }: Rooms): Samples {
  const counts = { agent: 0, session: 0 }
  for (const { scope } of levels.list()) if (scope !== 'daemon') counts[scope]++
  return by('scope', counts)
}

function verdicts({ counts }: Rooms): Samples {
  return [...counts.verdicts].sort().map(([key, value]) => {
    const [layer = '', response = ''] = key.split(' ')
    return [{ layer, response }, value]
  })
}

const FAMILIES: Readonly<Record<string, Family>> = {
  sass_edge_build_info: [
    'The version of the daemon and of its runtime; always 1.',
    ({ settings }, { runtime }) => [[{ version: settings.version, runtime }, 1]],
  ],
  process_start_time_seconds: [
    'When the daemon started, in Unix time.',
    (_, { startedAtMs }) => startedAtMs / SECOND_MS,
  ],
  sass_edge_uptime_seconds: [
    'How long it runs, by a clock that nobody sets.',
    ({ clock, settings }) => (clock.monotonicMs() - settings.startedAtMs) / SECOND_MS,
  ],
  process_cpu_seconds_total: ['Processor time of the daemon itself.', (_, host) => host.cpuSeconds],
  process_resident_memory_bytes: ['Resident memory.', (_, host) => host.rssBytes],
  process_virtual_memory_bytes: ['Address space.', (_, host) => host.virtualBytes],
  sass_edge_memory_anonymous_bytes: [
    'Resident memory that is no file: what the daemon costs beside others.',
    (_, host) => host.anonymousBytes,
  ],
  process_open_fds: ['Open file descriptors.', (_, host) => host.openFiles],
  process_max_fds: ['The most there may be.', (_, host) => host.maxFiles],
  sass_edge_sessions: ['Sessions by their state.', sessionsByState],
  sass_edge_connections: [
    'Connections by how far they are.',
    (_, { connections }) => by('phase', connections),
  ],
  sass_edge_connections_total: ['Connections that came.', ({ counts }) => by('transport', counts.arrived)],
  sass_edge_connections_turned_away_total: [
    'Connections that were reset before a byte of theirs was read.',
    ({ counts }) => by('transport', counts.turnedAway),
  ],
  sass_edge_executions_running: ['Commands that run.', ({ executions }) => executions.running],
  sass_edge_executions_stalled: [
    'Commands that are held back, since their client takes no more output.',
    ({ executions }) => executions.stalled,
  ],
  sass_edge_executions_started_total: ['Commands that were started.', ({ counts }) => counts.started],
  sass_edge_executions_ended_total: [
    'Commands that have ended, by how; not_started: the system did not start the program.',
    ({ counts }) => by('result', counts.ended),
  ],
  sass_edge_executions_lost_total: [
    'Commands that were cut off with an earlier daemon, once they are found.',
    ({ counts }) => counts.lost,
  ],
  sass_edge_queue_length: ['Commands that wait for a place.', ({ queue }) => queue.size],
  sass_edge_confirmations_pending: [
    'Requests that wait for an operator.',
    ({ confirmations }) => confirmations.list().length,
  ],
  sass_edge_transfers_running: ['Files on their way.', ({ transfers }) => transfers.running],
  sass_edge_rings: ['Places for the output of a command.', ({ executions }) => executions.rings.all],
  sass_edge_rings_used: ['Those of them that are taken.', ({ executions }) => executions.rings.used],
  sass_edge_branches: ['Branches that wait for a decision.', ({ branches }) => branches.list().length],
  sass_edge_responses_total: [
    'Decisions by response, R1 (executed) to R6 (dropped).',
    ({ responses }) =>
      [1, 2, 3, 4, 5, 6].map((number) => [{ response: `R${number}` }, responses.get(number) ?? 0]),
  ],
  sass_edge_verdicts_total: ['Decisions by the layer that made them, and response.', verdicts],
  sass_edge_offences_total: [
    'What cost an address seconds, by reason.',
    ({ counts }) => by('reason', counts.offences),
  ],
  sass_edge_penalties_total: ['Penalties that began.', ({ counts }) => counts.penalties],
  sass_edge_penalties_active: [
    'Addresses that are under a penalty.',
    ({ penalties, clock }) => penalties.active(clock.monotonicMs()),
  ],
  sass_edge_tarpit_clients: ['Connections that are held in the tarpit.', ({ tarpits }) => tarpits.held],
  sass_edge_tarpit_clients_total: ['Connections that were.', ({ tarpits }) => tarpits.totalServed],
  sass_edge_tarpit_seconds_total: [
    'Time of theirs that it has taken.',
    ({ tarpits }) => tarpits.totalMs / SECOND_MS,
  ],
  sass_edge_tarpit_bytes_total: ['Noise that it has sent.', ({ tarpits }) => tarpits.totalBytes],
  sass_edge_network_receive_bytes_total: [
    'Payload of TCP that was received, TLS and strangers included.',
    ({ traffic }) => traffic.total.received,
  ],
  sass_edge_network_transmit_bytes_total: ['The same that was sent.', ({ traffic }) => traffic.total.sent],
  sass_edge_level: [
    'The level of alarm of the daemon: 1 for the one that holds.',
    ({ levels }) => LEVELS.map((level) => [{ level }, level === levels.daemon ? 1 : 0]),
  ],
  sass_edge_anomalies_total: [
    'What the anomaly monitor has found, by measure; in_a_row: turns that contain an agent.',
    ({ anomalies }) => by('measure', anomalies.counts),
  ],
  sass_edge_levels_raised: ['Agents and sessions whose level is raised.', raised],
  sass_edge_audit_records_total: [
    'Records of the audit chain, earlier daemons included.',
    ({ audit }) => audit.head.sequence,
  ],
  sass_edge_audit_epoch: ['The epoch of its key.', ({ audit }) => audit.epoch],
  sass_edge_audit_unwritten_records: [
    'Records of what has happened that wait for the disk.',
    (_, { audit }) => audit.unwritten,
  ],
  sass_edge_audit_failures_total: ['Records that could not be written.', (_, { audit }) => audit.failed],
  sass_edge_audit_sync_seconds: [
    'How long the disk took the last time to keep what was written.',
    (_, { audit }) => audit.syncMs / SECOND_MS,
  ],
  sass_edge_disk_free_bytes: ['Room on the disk of the record.', (_, { freeBytes }) => freeBytes],
  sass_edge_config_reloads_total: [
    'Reloads of the configuration, by what came of them.',
    ({ counts }) => by('result', counts.reloads),
  ],
  sass_edge_config_last_success_timestamp_seconds: [
    'When the configuration that holds was taken over.',
    ({ counts }) => counts.configuredAtMs / SECOND_MS,
  ],
  sass_edge_certificate_not_before_timestamp_seconds: [
    'From when on the TLS certificate is valid.',
    (_, { certificate }) => certificate.fromMs / SECOND_MS,
  ],
  sass_edge_certificate_not_after_timestamp_seconds: [
    'Until when it is.',
    (_, { certificate }) => certificate.untilMs / SECOND_MS,
  ],
  sass_edge_clock_timestamp_seconds: ['The clock of the device.', ({ clock }) => clock.wallMs() / SECOND_MS],
  sass_edge_clock_step_seconds: [
    'How far it was set since the start.',
    (_, { clockStepMs }) => clockStepMs / SECOND_MS,
  ],
  sass_edge_intent_envelopes_total: [
    'Signed envelopes, by what became of them; absent where there is no vault.',
    ({ intent }) => {
      if (intent === undefined) return undefined
      const { accepted, refused, taken, delivered } = intent.readings()
      return by('result', { accepted, refused, taken, delivered })
    },
  ],
  sass_edge_intent_waiting: [
    'Signed envelopes that lie somewhere, by where.',
    ({ intent }) => {
      if (intent === undefined) return undefined
      const { waiting, quarantined, outbox } = intent.readings()
      return by('place', { accepted: waiting, quarantine: quarantined, outbox })
    },
  ],
  sass_edge_intent_handler_errors_total: [
    'Envelopes to the device whose work failed.',
    ({ intent }) => intent?.readings().handlerErrors,
  ],
  sass_edge_log_lines_total: ['Lines of the log, by level.', (_, { log }) => by('level', log.written)],
  sass_edge_log_suppressed_lines_total: [
    'Lines that were too many in a second.',
    (_, { log }) => log.suppressed,
  ],
  sass_edge_log_missed_lines_total: [
    'Lines that could not go where the configuration says.',
    (_, { log }) => log.missed,
  ],
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    return `${name}="${escaped}"`
  })
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The text that a scraper is answered with. */
export function metricsText(rooms: Rooms): string {
  rooms.traffic.settle()
  const host = rooms.host()
  const lines: string[] = []
  for (const [name, [help, read]] of Object.entries(FAMILIES)) {
    const value = read(rooms, host)
    const samples = typeof value === 'number' ? ([[{}, value]] as const) : (value ?? [])
    if (samples.length === 0) continue
    const type = name.endsWith('_total') ? 'counter' : 'gauge'
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [labels, number] of samples) lines.push(`${name}${labelText(labels)} ${number}`)
  }
  return `${lines.join('\n')}\n`
}
