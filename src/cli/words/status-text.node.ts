/**
 * What a daemon tells of itself, as one object and as lines for people; and the same lines cut to a screen.
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import { visible } from '../../base/text/visible.ts'
import type { GateReadings } from '../../wire/egress-messages.ts'
import type { ExecutionSummary, PingResponse } from '../../wire/messages.ts'
import type { DeviceReadings, SecurityStatus } from '../../wire/status-messages.ts'
import { sizeText } from './copy-place.ts'
import { alignColumns, counted, shortDuration, shortIds } from './listing.ts'

/** The answers of one moment. `executions` are all that were listed; `atMs`, Unix time. */
export type Snapshot = {
  readonly status: SecurityStatus
  readonly ping: PingResponse
  readonly executions: readonly ExecutionSummary[]
  readonly atMs: number
}

const RESPONSES = ['execute', 'challenge', 'throttle', 'vi swap', 'tarpit', 'drop'] as const
/** Places that were refused, as people see them; programs see all that are told. */
const REFUSED_SHOWN = 4
/** Agents, those with alerts first; programs see all. */
const WATCHED_SHOWN = 8
/** ExecutionSummary.state: 0 starts, 1 runs. */
const RUNNING = 1

type Carried = { readonly received: number; readonly sent: number; readonly since?: number | undefined }

function timeOf({ since }: Carried): string {
  return new Date((since ?? 0) * 1_000).toISOString()
}

function day(carried: Carried | undefined): Readonly<Record<string, unknown>> | null {
  if (carried === undefined) return null
  return { received_bytes: carried.received, sent_bytes: carried.sent, since: timeOf(carried) }
}

/** Bytes of TCP payload as the device counts them; null: not told, or nothing is known of it. */
function linkObject({
  session,
  today,
  yesterday,
  sessions,
}: SecurityStatus): Readonly<Record<string, unknown>> {
  return {
    session: session === undefined ? null : { received_bytes: session.received, sent_bytes: session.sent },
    today: day(today),
    yesterday: day(yesterday),
    sessions: sessions.map(({ session_id, agent_name, received, sent, acts_for, instance }) => ({
      session: encodeHex(session_id),
      agent: agent_name,
      received_bytes: received,
      sent_bytes: sent,
      instance,
      ...(acts_for === undefined ? {} : { acts_for }),
    })),
  }
}

function deviceObject(device: DeviceReadings | undefined): Readonly<Record<string, unknown>> | null {
  if (device === undefined) return null
  const { started_at, free_bytes, ...counted } = device
  return {
    ...counted,
    started_at: new Date(started_at * 1_000).toISOString(),
    free_bytes: free_bytes ?? null,
  }
}

function gateObject(gate: GateReadings | undefined): Readonly<Record<string, unknown>> | null {
  if (gate === undefined) return null
  const { sent, received, lately, ...counts } = gate
  return {
    ...counts,
    ...{ sent_bytes: sent, received_bytes: received },
    lately: lately.map(({ host, port, protocol, reason, times, at }) => ({
      ...{ host, port: port ?? null, protocol: port === undefined ? null : protocol, reason, times },
      at: new Date(at * 1_000).toISOString(),
    })),
  }
}

function jobsOf({ executions, atMs }: Snapshot) {
  return executions
    .filter(({ state }) => state <= RUNNING)
    .map(({ execution_id, agent_name, command, started_at, stdout_bytes, stderr_bytes, is_attached }) => ({
      id: encodeHex(execution_id),
      agent: agent_name,
      command,
      seconds: Math.max(0, Math.floor(atMs / 1_000) - started_at),
      output_bytes: stdout_bytes + stderr_bytes,
      attached: is_attached,
    }))
}

/** For programs. What only operators are told is null, or absent from its list. */
export function statusObject(snapshot: Snapshot): Readonly<Record<string, unknown>> {
  const { status, ping } = snapshot
  return {
    version: ping.daemon_version,
    os: ping.os,
    uptime_seconds: ping.uptime_seconds,
    level: status.level === '' ? null : status.level,
    active_processes: ping.active_processes,
    active_sessions: status.active_sessions,
    active_tarpits: status.active_tarpits,
    active_penalties: status.blocked_ips,
    policy_version: status.policy_version,
    responses: Object.fromEntries(
      RESPONSES.map((_, index) => [`R${index + 1}`, status.responses.get(index + 1) ?? 0]),
    ),
    audit: { sequence: status.audit_seq, hash: encodeHex(status.audit_hash) },
    device: deviceObject(status.device),
    gate: gateObject(status.gate),
    signed_work: status.signed_work ?? null,
    watched: status.watched.map(({ agent_name, turns, is_calibrated, alerts, beyond }) => ({
      ...{ agent: agent_name, turns, calibrated: is_calibrated, alerts },
      beyond: beyond === '' ? [] : beyond.split(' '),
    })),
    jobs: jobsOf(snapshot),
    link: linkObject(status),
  }
}

function carried({ received, sent }: Carried): string {
  return `received ${sizeText(received)}, sent ${sizeText(sent)}`
}

function linkLines({ session, today, yesterday, sessions }: SecurityStatus): string[] {
  const lines =
    session === undefined || today !== undefined ? [] : [`link       ${carried(session)} in this session`]
  if (today !== undefined) lines.push(`link       ${carried(today)} since ${timeOf(today).slice(0, 16)}Z`)
  if (yesterday !== undefined) lines.push(`           ${carried(yesterday)} the day before`)
  for (const one of sessions)
    lines.push(
      `           ${carried(one)} in session ${encodeHex(one.session_id).slice(0, 8)} of ${visible(one.agent_name)}${one.acts_for === undefined ? '' : ` for ${visible(one.acts_for)}`}`,
    )
  return lines
}

function deviceLines(status: SecurityStatus): string[] {
  const { device, level } = status
  if (device === undefined) return []
  const { strangers, free_bytes } = device
  return [
    `level      ${visible(level)}`,
    `commands   ${device.running} running, ${device.stalled} held back by their client, ${device.queued} queued; ${device.rings_used} of ${counted(device.rings, 'ring')} taken`,
    `links      ${counted(device.connections, 'connection')}${strangers === 0 ? '' : `, ${strangers} of them of strangers`}, ${counted(device.transfers, 'file')} on the way`,
    `waiting    ${counted(device.confirmations, 'question')} for an operator, ${device.branches} branch${device.branches === 1 ? '' : 'es'}`,
    `kept out   ${status.blocked_ips} address${status.blocked_ips === 1 ? '' : 'es'} under penalty; tarpits so far ${shortDuration(device.tarpit_seconds)}, ${sizeText(device.tarpit_bytes)}`,
    `memory     ${sizeText(device.rss_bytes)}, ${sizeText(device.anonymous_bytes)} of it its own; ${counted(device.open_files, 'open file')}`,
    ...(free_bytes === undefined ? [] : [`disk       ${sizeText(free_bytes)} free`]),
  ]
}

function refusedText({ host, port, protocol, reason, times }: GateReadings['lately'][number]): string {
  const shown = host.includes(':') ? `[${host}]` : visible(host)
  const place = port === undefined ? shown : `${shown}:${port}${protocol === 'udp' ? '/udp' : ''}`
  return `${place} (${visible(reason)}${times === 1 ? '' : `, ${times} times`})`
}

function gateLines({ gate }: SecurityStatus): string[] {
  if (gate === undefined) return []
  const { sessions, connections, passed, refused, failed, sent, received, lately } = gate
  return [
    `gate       ${counted(connections, 'connection')} open in ${counted(sessions, 'session')}; ${passed} passed, ${refused} refused, ${failed} not reached; ${sizeText(sent)} out, ${sizeText(received)} in`,
    ...(lately.length === 0
      ? []
      : [`           refused lately: ${lately.slice(0, REFUSED_SHOWN).map(refusedText).join(', ')}`]),
  ]
}

function signedLines({ signed_work: work }: SecurityStatus): string[] {
  if (work === undefined) return []
  const { waiting, quarantined, outbox, plans_running: running, plans_kept: kept } = work
  return [
    `signed     ${counted(waiting, 'envelope')} waiting, ${quarantined} in quarantine, ${outbox} to be sent; ${counted(running, 'plan')} running, ${kept} kept`,
  ]
}

/** One agent a line, by what it usually does (docs/anomaly.md). */
function watchedLines({ watched }: SecurityStatus): string[] {
  return watched
    .slice(0, WATCHED_SHOWN)
    .map(({ agent_name, turns, is_calibrated, alerts, beyond }, index) => {
      const head = index === 0 ? 'watched    ' : '           '
      const state = is_calibrated ? 'calibrated' : 'uncalibrated'
      const now = beyond === '' ? '' : `, now beyond: ${visible(beyond)}`
      return `${head}${visible(agent_name)}: ${counted(turns, 'turn')}, ${state}, ${counted(alerts, 'alert')}${now}`
    })
}

/** For people. */
export function statusLines({ status, ping }: Snapshot): string[] {
  const counts = RESPONSES.map((name, index) => `${name} ${status.responses.get(index + 1) ?? 0}`)
  return [
    `daemon     sass-edge ${visible(ping.daemon_version)} on ${visible(ping.os)}, up ${ping.uptime_seconds} s`,
    `running    ${counted(ping.active_processes, 'command')} in ${counted(status.active_sessions, 'session')}, ${counted(status.active_tarpits, 'tarpit')}`,
    ...deviceLines(status),
    `responses  ${counts.join(', ')}`,
    `policy     ${visible(status.policy_version)}`,
    `audit      record ${status.audit_seq}, ${encodeHex(status.audit_hash).slice(0, 16)}…`,
    ...gateLines(status),
    ...signedLines(status),
    ...watchedLines(status),
    ...linkLines(status),
  ]
}

function jobLines(snapshot: Snapshot): string[] {
  const jobs = jobsOf(snapshot)
  if (jobs.length === 0) return []
  const short = shortIds(jobs.map(({ id }) => id))
  const rows = jobs.map(({ id, agent, command, seconds, output_bytes }) => [
    short(id),
    visible(agent),
    shortDuration(seconds),
    sizeText(output_bytes),
    visible(command),
  ])
  return ['', ...alignColumns([['JOB', 'AGENT', 'SINCE', 'OUTPUT', 'COMMAND'], ...rows])]
}

/**
 * One screen: no more lines than rows, none longer than the columns, the note in the last one.
 * @param snapshot undefined: nothing has been told yet
 */
export function screenLines(
  snapshot: Snapshot | undefined,
  note: string,
  size: { readonly rows: number; readonly columns: number },
): string[] {
  const rows = Math.max(1, size.rows)
  // What stands in the last column would be erased with the rest of its line.
  const columns = Math.max(1, size.columns - 1)
  const all =
    snapshot === undefined
      ? []
      : [...statusLines(snapshot), ...jobLines(snapshot)].map((line) => line.slice(0, columns))
  const room = rows - 1
  const shown = all.length <= room ? all : all.slice(0, Math.max(0, room - 1))
  if (all.length > room && room > 0) shown.push(`(${all.length - shown.length} more lines)`.slice(0, columns))
  while (shown.length < room) shown.push('')
  return [...shown, note.slice(0, columns)]
}
