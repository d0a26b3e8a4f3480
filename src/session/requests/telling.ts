/**
 * What the daemon tells about itself: what runs, what is allowed, where the chain stands. An agent hears of its own
 * alone, and of what is done to the refused nothing; an operator hears all.
 * Rules: docs/protocol.md, section 3; docs/responses.md, "Who learns what".
 * @module
 */

import { NO_CAPABILITY } from '../../defense/capability.ts'
import { viScreen } from '../../defense/deception/vi-screen.ts'
import { LISTED_ENTRIES, LISTED_EXECUTIONS } from '../../limits.ts'
import * as m from '../../wire/messages.ts'
import * as s from '../../wire/status-messages.ts'
import { ownScope, type Peer } from '../common/peer.ts'
import { type HeldScreen, setOf } from '../common/rooms.ts'
import type { Execution } from '../executions/execution.ts'
import type { DayBytes } from '../standing/traffic.ts'

/** Sequence and hash of the chain are part of several answers: every client keeps the head it last saw. */
export function auditFields(peer: Peer): { audit_seq: number; audit_hash: Uint8Array } {
  const { head } = peer.rooms.audit
  return { audit_seq: head.sequence, audit_hash: head.hash }
}

const STATES = Object.freeze({ starting: 0, running: 1, finished: 2, not_started: 3, unknown: 4 } as const)

function summary(execution: Execution, hasLeft: boolean): m.ExecutionSummaryInput {
  const { exit } = execution
  return {
    execution_id: execution.idBytes,
    state: STATES[execution.state],
    command: execution.command,
    started_at: Math.floor(execution.startedAtMs / 1_000),
    ended_at: execution.endedAtMs === 0 ? undefined : Math.floor(execution.endedAtMs / 1_000),
    exit_code: exit?.kind === 'exited' ? exit.code : undefined,
    signal: exit?.kind === 'signalled' ? exit.signal : undefined,
    stdout_bytes: execution.outputBytes[0],
    stderr_bytes: execution.outputBytes[1],
    is_attached: execution.watcher !== undefined,
    agent_name: execution.owner,
    is_terminal: execution.isTerminal,
    has_left: hasLeft,
  }
}

function screenSummary({ owner, idBytes, command, startedAtMs }: HeldScreen): m.ExecutionSummaryInput {
  return {
    execution_id: idBytes,
    state: STATES.running,
    command,
    started_at: Math.floor(startedAtMs / 1_000),
    stdout_bytes: viScreen().length,
    is_attached: true,
    agent_name: owner,
  }
}

/** Newest first, and only as many as one frame holds. */
export function listExecutions(peer: Peer): ReturnType<typeof m.executionList.encode> {
  const name = peer.caller?.name ?? ''
  const isOperator = peer.caller?.role === 'operator'
  const scope = isOperator ? undefined : ownScope(peer)
  const { found, total } = peer.rooms.executions.recent(scope, LISTED_EXECUTIONS)
  const all = found.map((execution) => summary(execution, peer.rooms.executions.hasLeft(execution)))
  if (!isOperator)
    for (const screen of peer.rooms.screens.values())
      if (screen.owner === name) all.push(screenSummary(screen))
  all.sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0))
  return m.executionList.encode({
    executions: all.reverse().slice(0, LISTED_EXECUTIONS) as readonly m.ExecutionSummary[],
    total: total + all.length - found.length,
  })
}

export function ping(peer: Peer): ReturnType<typeof m.pingResponse.encode> {
  const { settings, clock, executions, screens } = peer.rooms
  const name = peer.caller?.name ?? ''
  let own = executions.runningOf(name)
  for (const { owner } of screens.values()) if (owner === name) own++
  return m.pingResponse.encode({
    daemon_version: settings.version,
    uptime_seconds: Math.floor((clock.monotonicMs() - settings.startedAtMs) / 1_000),
    os: settings.os,
    // Of others an agent learns nothing, and its own screens are commands to it.
    active_processes: peer.caller?.role === 'operator' ? executions.running : own,
  })
}

type LinkFields = Pick<s.SecurityStatusInput, 'session' | 'today' | 'yesterday' | 'sessions'>

function dayBytes({ received, sent, sinceMs }: DayBytes): LinkFields['today'] {
  return { received, sent, since: Math.floor(sinceMs / 1_000) }
}

/** What the link has carried: for an agent its own session, for an operator all of it. */
function linkFields({ rooms: { traffic, sessions }, caller, session, transport }: Peer): LinkFields {
  traffic.settle()
  const own = transport.kind === 'tls' && session !== undefined ? { session: { ...session.wire } } : {}
  if (caller?.role !== 'operator') return own
  const { today, yesterday } = traffic.days
  const all = Array.from(sessions.all(), ({ idBytes, caller: owner, wire, handed, instance }) => ({
    session_id: idBytes,
    agent_name: owner.name,
    acts_for: handed?.orchestrator,
    instance,
    ...wire,
  })).filter(({ received }) => received > 0)
  return {
    ...own,
    today: dayBytes(today),
    yesterday: yesterday && dayBytes(yesterday),
    sessions: all.slice(0, LISTED_ENTRIES),
  }
}

function deviceReadings({ rooms }: Peer): s.SecurityStatusInput['device'] {
  const { executions, queue, confirmations, transfers, branches, tarpits } = rooms
  const host = rooms.host()
  const { handshake = 0, unauthenticated = 0 } = host.connections
  return {
    started_at: Math.floor(host.startedAtMs / 1_000),
    rss_bytes: host.rssBytes ?? 0,
    anonymous_bytes: host.anonymousBytes ?? 0,
    open_files: host.openFiles ?? 0,
    free_bytes: host.freeBytes,
    running: executions.running,
    stalled: executions.stalled,
    queued: queue.size,
    rings: executions.rings.all,
    rings_used: executions.rings.used,
    confirmations: confirmations.list().length,
    transfers: transfers.running,
    branches: branches.list().length,
    connections: Object.values(host.connections).reduce((sum, count) => sum + count, 0),
    strangers: handshake + unauthenticated,
    tarpit_bytes: tarpits.totalBytes,
    tarpit_seconds: Math.floor(tarpits.totalMs / 1_000),
  }
}

function gateReadings({ rooms }: Peer): s.SecurityStatusInput['gate'] {
  const { sentBytes, receivedBytes, lately, ...counts } = rooms.egress.readings()
  const { sessions, passed, refused, failed } = counts
  if (sessions + passed + refused + failed === 0) return undefined
  return {
    ...counts,
    ...{ sent: sentBytes, received: receivedBytes },
    lately: lately.toReversed().map(({ host, port, protocol, reason, times, atMs }) => ({
      ...{ host, port, protocol, reason, times },
      at: Math.floor(atMs / 1_000),
    })),
  }
}

function signedWork({ rooms }: Peer): s.SecurityStatusInput['signed_work'] {
  const { intent, plans } = rooms
  if (intent === undefined && plans === undefined) return undefined
  const { waiting = 0, quarantined = 0, outbox = 0 } = intent?.readings() ?? {}
  const [running, kept] = [plans?.running ?? 0, plans?.keptCount ?? 0]
  return { waiting, quarantined, outbox, plans_running: running, plans_kept: kept }
}

/** Those with something to tell first, then whoever was busy last. */
function watchedAgents({ rooms }: Peer): s.SecurityStatusInput['watched'] {
  const all = rooms.anomalies.list().toReversed()
  const told = [...all.filter(({ alerts }) => alerts > 0), ...all.filter(({ alerts }) => alerts === 0)]
  return told.slice(0, LISTED_ENTRIES).map(({ agent, turns, isCalibrated, alerts, beyond }) => ({
    ...{ agent_name: agent, turns, alerts, is_calibrated: isCalibrated },
    beyond: beyond.join(' '),
  }))
}

/** An agent sees that the daemon is there and what it has been given; what is done to the refused is not its business. */
export function securityStatus(peer: Peer): ReturnType<typeof s.securityStatus.encode> {
  const { tarpits, sessions, settings, responses, penalties, levels, clock } = peer.rooms
  const isOperator = peer.caller?.role === 'operator'
  const shown = isOperator ? [1, 2, 3, 4, 5, 6] : [1, 2, 3]
  const head = isOperator ? undefined : peer.session?.head
  return s.securityStatus.encode({
    active_tarpits: isOperator ? tarpits.held : 0,
    active_sessions: sessions.size,
    blocked_ips: isOperator ? penalties.active(clock.monotonicMs()) : 0,
    level: isOperator ? levels.daemon : '',
    policy_version: settings.policyVersion,
    responses: new Map(
      [1, 2, 3, 4, 5, 6].map((number) => [number, shown.includes(number) ? (responses.get(number) ?? 0) : 0]),
    ),
    ...linkFields(peer),
    device: isOperator ? deviceReadings(peer) : undefined,
    gate: isOperator ? gateReadings(peer) : undefined,
    watched: isOperator ? watchedAgents(peer) : [],
    signed_work: isOperator ? signedWork(peer) : undefined,
    ...(head === undefined ? auditFields(peer) : { audit_seq: head.sequence, audit_hash: head.hash }),
  })
}

export function capabilities(peer: Peer): ReturnType<typeof m.capabilities.encode> {
  const set = setOf(peer.rooms, peer.caller, peer.session) ?? NO_CAPABILITY
  return m.capabilities.encode({
    allowed_commands: set.allowed_commands,
    denied_commands: set.denied_commands,
    allowed_paths: set.allowed_paths,
    denied_paths: set.denied_paths,
    max_concurrent: set.max_concurrent,
    timeout_seconds: set.timeout_seconds ?? 0,
    max_file_size_bytes: set.max_file_size_bytes,
  })
}

export function auditPublicKey(peer: Peer): ReturnType<typeof m.auditPublicKey.encode> {
  const { audit } = peer.rooms
  return m.auditPublicKey.encode({
    public_key: audit.publicKey,
    key_fingerprint: audit.keyFingerprint,
    epoch: audit.epoch,
  })
}
