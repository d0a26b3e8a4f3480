/**
 * What every connection shares: the rooms behind it and the ports beneath, put together once by the composition
 * root, and the one door to the decision. `decide` records before it returns: what cannot be recorded is refused.
 * Policy, identities and settings are replaced as a whole by a reload; nothing keeps a copy of them.
 * @module
 */

import type { BufferPool } from '../../base/buffer-pool.ts'
import { baseName } from '../../base/text/lexical-path.ts'
import { adjudicate } from '../../defense/adjudicator.ts'
import type { CapabilitySet } from '../../defense/capability.ts'
import type { DeceptionBudget } from '../../defense/deception/budget.ts'
import type { Figures } from '../../defense/deception/figures.ts'
import type { Facts, Ledger } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import { narrowedSet, withinSubset } from '../../defense/narrowed-set.ts'
import type { Penalties, PenaltyReason } from '../../defense/penalties.ts'
import { RESPONSE_NUMBERS, type Verdict } from '../../defense/verdict.ts'
import type { Warrant } from '../../defense/warrant.ts'
import type { EgressSettings } from '../../egress/egress-settings.ts'
import type { EgressRoom } from '../../egress/gate-port.ts'
import type { IntentRoom } from '../../intent/spool/room.ts'
import { RECORD_LINE_BYTES } from '../../limits.ts'
import type {
  AuditSink,
  Clock,
  FactsSink,
  FileWork,
  Log,
  OutputCoders,
  Random,
  SessionView,
  Spawner,
  ZstdDecoder,
} from '../../ports.ts'
import type { SessionNetwork } from '../../sandbox/namespaces/namespace-plan.ts'
import type { Places, Tenant } from '../../sandbox/places/place.ts'
import type { Planner } from '../../sandbox/places/plan.ts'
import type { ChallengeRates } from '../callers/challenges.ts'
import type { Delegations } from '../callers/delegations.ts'
import type { Enrolments } from '../callers/enrolments.ts'
import type { Caller, Identities, VerifySignature } from '../callers/identities.ts'
import { isAllowed, recalled, remember } from '../callers/session-memory.ts'
import type { Session, Sessions } from '../callers/sessions.ts'
import type { Executions } from '../executions/executions.ts'
import type { Queue } from '../executions/queue.ts'
import type { Transfers } from '../executions/transfers.ts'
import type { Anomalies } from '../standing/anomalies.ts'
import type { Confirmations } from '../standing/confirmations.ts'
import { type Counts, countVerdict } from '../standing/counts.ts'
import { decisionEvent, recordedResponse } from '../standing/decision-event.ts'
import type { Explanations } from '../standing/explanations.ts'
import type { Handoffs } from '../standing/handoffs.ts'
import type { Levels } from '../standing/levels.ts'
import type { Proposals } from '../standing/proposals.ts'
import type { RecordShares } from '../standing/record-shares.ts'
import type { Refusals } from '../standing/refusals.ts'
import type { Tarpits } from '../standing/tarpits.ts'
import type { Traffic } from '../standing/traffic.ts'
import type { Branches } from './branch-deeds.ts'
import type { HostReadings } from './host-readings.ts'
import { penalise } from './penalise.ts'
import type { PlanRoom } from './plan-room.ts'
import type { FirewallRoom, ReadText } from './screening.ts'

export type Settings = {
  readonly version: string
  /** `Linux 6.1 aarch64`. */
  readonly os: string
  readonly startedAtMs: number
  readonly keepaliveMs: number
  /** The device's link is paid by the byte: clients are told. */
  readonly isMetered: boolean
  readonly viHoldMs: number
  readonly challengeTtlMs: number
  readonly confirmTimeoutMs: number
  readonly confirmPending: number
  readonly denyResponse: 'vi_swap' | 'reason'
  readonly ringBytes: number
  readonly policyVersion: string
  /** Most output of one execution and most time for it, whatever its capability says; null: no further bound. */
  readonly outputBytes: number | null
  readonly toolTimeoutSeconds: number | null
  /** Whether an address is in the allow-list, and whether it is never penalised. */
  readonly isAllowed: (address: string) => boolean
  readonly isExempt: (address: string) => boolean
  /** Fingerprint of the device key that follows this one, where there is one already. */
  readonly nextKeyDigest?: Uint8Array | undefined
  readonly egress: EgressSettings
  /** Nothing runs but where what it changes waits in a branch; and which network they have where their set says nothing. */
  readonly isBranched: boolean
  readonly network: SessionNetwork
  /** Who may use the admin socket: root and the daemon's own user. */
  readonly adminUserIds: readonly number[]
}

/** A refused command, as its caller believes it to be. */
export type HeldScreen = {
  readonly owner: string
  readonly idBytes: Uint8Array
  readonly command: string
  readonly startedAtMs: number
  /** Another stream shows it now, as with any command that is attached to. */
  replaced(): void
}

export type ReloadResult =
  | { readonly ok: true; readonly policyVersion: string; readonly needsRestart: readonly string[] }
  | { readonly ok: false; readonly problem: string }

export type Rooms = {
  settings: Settings
  policy: Policy
  identities: Identities
  /** Who is listed beside the configuration, and who is invited. */
  readonly enrolments: Enrolments
  /** What sessions have handed on to other agents. */
  readonly delegations: Delegations
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly audit: AuditSink
  readonly facts: FactsSink
  readonly refusals: Refusals
  /** Makes sure that there is room for the record of what makes room, and for that itself. */
  readonly roomToClear: () => void
  readonly recordShares: RecordShares
  readonly verify: VerifySignature
  readonly sessions: Sessions
  readonly executions: Executions
  readonly firewall: FirewallRoom
  /** Where each session's commands run. */
  readonly places: Places
  readonly branches: Branches
  readonly egress: EgressRoom
  readonly transfers: Transfers
  readonly files: FileWork
  /** What that session sees of the files; rejects with SANDBOX_UNAVAILABLE where it has no branch to see them in. */
  readonly viewOf: (session: Session) => Promise<SessionView>
  readonly tarpits: Tarpits
  readonly buffers: BufferPool
  /** Who compresses output, for clients that read it so. */
  readonly coders: OutputCoders
  /** Who opens packed arguments and pieces of files. */
  readonly decoder: ZstdDecoder
  readonly traffic: Traffic
  readonly anomalies: Anomalies
  readonly planner: Planner
  plans?: PlanRoom
  readonly queue: Queue
  readonly confirmations: Confirmations
  readonly handoffs: Handoffs
  readonly intent: IntentRoom | undefined
  readonly proposals: Proposals
  /** How texts of agents are read before others read them. */
  readonly readText: ReadText
  readonly levels: Levels
  readonly challengeRates: ChallengeRates
  penalties: Penalties
  readonly explanations: Explanations
  readonly deceptions: DeceptionBudget
  /** One story of disk and memory for all strangers. */
  readonly figures: Figures
  /** What runs the reads of strangers, made at the first of them; undefined where this device cannot confine them. */
  readonly confined: () => Promise<Spawner | undefined>
  /** Loads what judges commands; before that nobody is let in. */
  readonly prepare: () => Promise<void>
  isReady: boolean
  readonly closeConfined: () => Promise<void>
  /** Reads the configuration again; what is wrong with it leaves everything as it was. */
  readonly reload: () => Promise<ReloadResult>
  /** An operator has asked the daemon to end; what they are told. */
  readonly drain: (by: string) => string
  /** Lets HALT be lowered: the operator names the record of what led to it. */
  readonly acknowledge: (incident: string) => boolean
  readonly incident: () => string | undefined
  /** R4 screens that hold a slot, by caller. */
  readonly viHolds: Map<string, number>
  /** Those screens by `caller/id`: to its caller one is a command that runs. */
  readonly screens: Map<string, HeldScreen>
  /** How often each response was given, by number. */
  readonly responses: Map<number, number>
  readonly counts: Counts
  /** What the process and its surroundings look like now. */
  readonly host: () => HostReadings
  /** The warrant of the last decision, where it gave one. */
  openWarrant: Warrant | undefined
  /** Counts the decisions. */
  readonly cycles: { next: number }
}

/** The set of that name; undefined where there is none, which allows nothing. */
export function capabilityOf(rooms: Rooms, name: string): CapabilitySet | undefined {
  return Object.hasOwn(rooms.policy.capabilities, name) ? rooms.policy.capabilities[name] : undefined
}

/** The set that bounds a session: its caller's, within it that of whoever it acts for, and what was handed on. */
export function setOf(
  rooms: Rooms,
  caller: Pick<Caller, 'capability' | 'delegatedBy'> | undefined,
  session: Pick<Session, 'handed'> | undefined,
): CapabilitySet | undefined {
  const own = capabilityOf(rooms, caller?.capability ?? '')
  const handed = session?.handed
  const by = handed?.by ?? caller?.delegatedBy
  if (own === undefined || by === undefined) return own
  const above = capabilityOf(rooms, rooms.identities.find(by)?.capability ?? '')
  const both = above && narrowedSet(own, above)
  return both && handed ? withinSubset(both, handed) : both
}

/** The network of whoever it acts for holds, too; of one who is gone there is none. */
function withinOf(rooms: Rooms, { handed, caller }: Session): Tenant['within'] {
  const agent = handed?.by ?? caller.delegatedBy
  if (agent === undefined) return undefined
  const above = capabilityOf(rooms, rooms.identities.find(agent)?.capability ?? '')
  const network = above === undefined ? 'none' : (above.network ?? 'default')
  return { of: handed?.orchestrator, agent, network }
}

/** On what terms that session's commands run. */
export function tenantOf(rooms: Rooms, session: Session): Tenant {
  const { id, caller, wish } = session
  const set = capabilityOf(rooms, caller.capability)
  return {
    session: id,
    agent: caller.name,
    isOperator: caller.role === 'operator',
    wish,
    runAs: set?.run_as ?? null,
    network: set?.network ?? 'default',
    egress: set?.egress ?? null,
    within: withinOf(rooms, session),
  }
}

/** Slots that a caller takes up, held screens included. */
export function slotsOf(rooms: Rooms, caller: string): number {
  return rooms.executions.slotsOf(caller) + (rooms.viHolds.get(caller) ?? 0)
}

/** Bytes of output count as tokens, four to one: nobody declares them. */
const BYTES_PER_TOKEN = 4

/** Whoever is above the caller. */
function actsForOf(identity: Facts['identity']): readonly string[] {
  return identity.kind === 'known' ? (identity.delegation?.chain.map(({ name }) => name) ?? []) : []
}

function ledgerFor(rooms: Rooms, facts: Facts, session: Session | undefined): Ledger {
  const { identity, request, action } = facts
  const caller = identity.kind === 'known' ? identity.name : ''
  const actsFor = actsForOf(identity)
  return {
    tarpitsFree: rooms.tarpits.free,
    executionsFree: rooms.executions.free,
    executionsOfCaller: slotsOf(rooms, caller),
    transfersFree: rooms.transfers.isFree(caller),
    sessionsFree: rooms.sessions.hasRoom(),
    sessionsOfCaller: rooms.sessions.countOf(caller),
    leavingOfCaller: rooms.executions.leavingSessions(caller, session?.id ?? ''),
    queueFree: rooms.queue.isFree(caller),
    challengesFree: rooms.challengeRates.isFree(caller),
    confirmationsFree: session !== undefined && rooms.confirmations.isFree(session.id),
    deceptionsFree: rooms.deceptions.free > 0,
    level: rooms.levels.of(caller, session?.id ?? '', actsFor, session?.handed?.session),
    tokens: Math.floor((session?.deliveredBytes ?? 0) / BYTES_PER_TOKEN),
    recordFree: isRecordFree(rooms, identity),
    ...(action?.kind === 'handoff' ? { handoffs: rooms.handoffs.counts(caller, action.to) } : {}),
    ...recalled(session, request),
  }
}

/** Operators are not bounded: they are who clears up. */
function isRecordFree({ recordShares, clock }: Rooms, identity: Facts['identity']): boolean {
  if (identity.kind !== 'known' || identity.role === 'operator') return true
  return recordShares.isFree(identity.name, clock.monotonicMs())
}

/** What is permitted always; what is refused alone as long as it is not too often. */
function mustWrite(rooms: Rooms, { identity, action }: Facts, isPermitted: boolean): boolean {
  const { refusals } = rooms
  if (identity.kind === 'known')
    return isPermitted || (isRecordFree(rooms, identity) && refusals.mayWriteAlone(identity.name))
  // Whoever has tried to prove something, or to read as a stranger of this host.
  return (identity.kind === 'failed' || action?.kind === 'deceive') && refusals.mayWriteAlone()
}

/** Written before anything is done, or counted: strangers, and questions that only read. True: it was written. */
function keep(rooms: Rooms, facts: Facts, ledger: Ledger, verdict: Verdict): boolean {
  const { kind } = facts.identity
  const isPermitted = verdict.kind === 'response' && verdict.response === 'EXECUTE'
  const isQuiet = facts.action?.kind === 'read' || (kind !== 'known' && facts.action?.kind !== 'deceive')
  if (isPermitted && isQuiet) return false
  if (isPermitted && (facts.action?.kind === 'drop_branch' || facts.action?.kind === 'purge'))
    rooms.roomToClear()
  if (mustWrite(rooms, facts, isPermitted)) {
    const before = rooms.facts.sealedBytes
    const sealed = rooms.facts.seal(facts.session?.id, { facts, ledger })
    const bytes = rooms.facts.sealedBytes - before + RECORD_LINE_BYTES
    if (facts.identity.kind === 'known' && facts.identity.role === 'agent')
      rooms.recordShares.charge(facts.identity.name, bytes, rooms.clock.monotonicMs())
    rooms.audit.append({ ...decisionEvent(facts, verdict, rooms.policy.digestOf), facts: sealed })
    return true
  }
  const { layer, rule } = verdict
  rooms.refusals.count({ layer, rule, response: recordedResponse(verdict) })
  return false
}

/**
 * What cannot be recorded is not done, and nothing else is until it can be: the daemon halts. Whoever sits at
 * the device may still look at why.
 */
function keepOrHalt(rooms: Rooms, facts: Facts, ledger: Ledger, verdict: Verdict): boolean {
  try {
    return keep(rooms, facts, ledger, verdict)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'The record cannot be written.'
    rooms.levels.storage('HALT', why)
    const isLook = facts.action?.kind === 'connect' || facts.action?.kind === 'authenticate'
    if (facts.source.transport !== 'admin' || !isLook) throw cause
    rooms.log.write('error', 'not_recorded', { action: facts.action?.kind ?? '-', reason: why })
    return false
  }
}

/** What a stranger's refusal costs its address. Callers that we know are judged by the levels instead. */
const PENALTIES: Readonly<Record<string, PenaltyReason>> = Object.freeze({
  login_grace: 'grace_exceeded',
  authenticate: 'auth_failed',
  'challenge.wrong': 'auth_failed',
  'challenge.replay': 'auth_failed',
  'challenge.late': 'auth_failed',
  before_authenticate: 'violation',
  'localhost.unauthorized': 'violation',
  'session.unknown': 'violation',
  frame: 'refused',
  tls: 'refused',
})

function penaliseSource(rooms: Rooms, facts: Facts, verdict: Verdict): void {
  if (facts.source.transport !== 'tls' || !Object.hasOwn(PENALTIES, verdict.rule)) return
  // A caller that we know is judged by the levels, but for an answer that shows that it is not who it was.
  if (facts.identity.kind === 'known' && !verdict.rule.startsWith('challenge.')) return
  const reason = PENALTIES[verdict.rule]
  if (reason !== undefined) penalise(rooms, facts.source.address, reason)
}

/** Enough to tell programs apart. */
const TOOL_CHARS = 64

/** What counts as the same violation: any tool that is not given, else what decided, of the same program or method. */
function violationOf({ action, request }: Facts, { layer, rule }: Verdict): string {
  if (layer === 'tool_access') return layer
  const tool = action?.kind === 'execute' ? baseName(action.argv[0] ?? '') : request?.method
  return `${layer} ${rule} ${(tool ?? '').slice(0, TOOL_CHARS)}`
}

/** @param sequence the number of the decision's record, where it has one: `sass-edge why` explains it */
function raiseLevel(
  rooms: Rooms,
  facts: Facts,
  verdict: Verdict,
  session: Session | undefined,
  sequence: number | undefined,
): void {
  const { identity } = facts
  if (verdict.incident === undefined || identity.kind !== 'known') return
  // What it may do at any other time is no violation while the disk does not take more than reads.
  const isOurs =
    verdict.rule === 'level.restrict' &&
    rooms.levels.byIncidents(
      identity.name,
      session?.id ?? '',
      actsForOf(identity),
      session?.handed?.session,
    ) === 'NORMAL'
  if (isOurs) return
  const why = `${verdict.layer} ${verdict.rule}`
  rooms.levels.incident(
    verdict.incident,
    {
      agent: identity.name,
      instance: identity.instance ?? null,
      sessionId: session?.id ?? '',
      what: violationOf(facts, verdict),
    },
    `${why} by ${identity.name}${sequence === undefined ? '' : `, record ${sequence}`}`,
    rooms.clock.monotonicMs(),
  )
}

/** What a permitted action leaves behind in its session; tokens that a human allowed once more count anew. */
function account({ request }: Facts, verdict: Verdict, session: Session | undefined): void {
  if (session === undefined || verdict.kind !== 'response' || verdict.response !== 'EXECUTE') return
  if (isAllowed(request, 'quota.tokens_per_session')) session.deliveredBytes = 0
  remember(session, request, verdict)
}

function log(rooms: Rooms, facts: Facts, verdict: Verdict, sequence: number | undefined): void {
  rooms.log.write(verdict.severity === 'info' ? 'info' : 'warn', 'refused', {
    source: facts.source.address,
    agent: facts.identity.kind === 'known' ? facts.identity.name : '-',
    method: facts.request?.method ?? '-',
    response: verdict.kind === 'response' ? verdict.response : 'STATUS',
    layer: verdict.layer,
    rule: verdict.rule,
    ...(sequence === undefined ? {} : { seq: sequence }),
    reason: verdict.reason,
  })
}

/**
 * The decision, recorded. Throws what the audit throws: then nothing may be done.
 */
export function decide(rooms: Rooms, facts: Facts, session?: Session): Verdict {
  // A warrant dies with its cycle, and this is the next one.
  rooms.openWarrant?.lapse()
  rooms.openWarrant = undefined
  const ledger = ledgerFor(rooms, facts, session)
  const verdict = adjudicate(facts, rooms.policy, ledger)
  if (verdict.kind === 'response' && verdict.response === 'EXECUTE') rooms.openWarrant = verdict.warrant
  if (verdict.kind === 'response') {
    const number = RESPONSE_NUMBERS[verdict.response]
    rooms.responses.set(number, (rooms.responses.get(number) ?? 0) + 1)
  }
  countVerdict(rooms.counts, verdict)
  const sequence = keepOrHalt(rooms, facts, ledger, verdict) ? rooms.audit.head.sequence : undefined
  if (sequence !== undefined) rooms.explanations.keep(sequence, facts, verdict)
  account(facts, verdict, session)
  if (verdict.kind === 'status' || verdict.response !== 'EXECUTE') {
    log(rooms, facts, verdict, sequence)
    penaliseSource(rooms, facts, verdict)
    raiseLevel(rooms, facts, verdict, session, sequence)
  }
  return verdict
}

export function nextCycle(rooms: Rooms): number {
  return rooms.cycles.next++
}
