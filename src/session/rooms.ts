/**
 * What every connection shares: the rooms behind it and the ports beneath, put together once by the composition
 * root, and the one door to the decision. `decide` records before it returns: what cannot be recorded is refused.
 * @module
 */
import type { BufferPool } from '../base/buffer-pool.ts'
import { adjudicate } from '../defense/adjudicator.ts'
import type { CapabilitySet } from '../defense/capability.ts'
import type { Facts, Ledger } from '../defense/facts.ts'
import type { Policy } from '../defense/layers.ts'
import { RESPONSE_NUMBERS, type Verdict } from '../defense/verdict.ts'
import { actionDigest } from '../defense/warrant.ts'
import type { AuditEvent, AuditSink, Clock, Log, Random } from '../ports.ts'
import type { Planner } from '../sandbox/plan.ts'
import type { Executions } from './executions.ts'
import type { Identities, VerifySignature } from './identities.ts'
import type { Refusals } from './refusals.ts'
import type { Sessions } from './sessions.ts'
import type { Tarpits } from './tarpits.ts'

export type Settings = {
  readonly version: string
  /** `Linux 6.1 aarch64`. */
  readonly os: string
  readonly startedAtMs: number
  readonly keepaliveMs: number
  readonly viHoldMs: number
  readonly denyResponse: 'vi_swap' | 'reason'
  readonly ringBytes: number
  readonly policyVersion: string
  /** Who may use the admin socket: root and the daemon's own user. */
  readonly adminUserIds: readonly number[]
}

export type Rooms = {
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly audit: AuditSink
  readonly refusals: Refusals
  readonly policy: Policy
  readonly identities: Identities
  readonly verify: VerifySignature
  readonly sessions: Sessions
  readonly executions: Executions
  readonly tarpits: Tarpits
  readonly buffers: BufferPool
  readonly planner: Planner
  /** R4 screens that hold a slot, by caller. */
  readonly viHolds: Map<string, number>
  /** How often each response was given, by number. */
  readonly responses: Map<number, number>
  /** Counts the decisions. */
  readonly cycles: { next: number }
}

/** The set of that name; undefined where there is none, which allows nothing. */
export function capabilityOf(rooms: Rooms, name: string): CapabilitySet | undefined {
  return Object.hasOwn(rooms.policy.capabilities, name) ? rooms.policy.capabilities[name] : undefined
}

function ledgerFor(rooms: Rooms, facts: Facts): Ledger {
  const caller = facts.identity.kind === 'known' ? facts.identity.name : ''
  return {
    tarpitsFree: rooms.tarpits.free,
    executionsFree: rooms.executions.free,
    executionsOfCaller: rooms.executions.slotsOf(caller) + (rooms.viHolds.get(caller) ?? 0),
    sessionsFree: rooms.sessions.hasRoom(),
  }
}

/** Permitting it is what makes an active session an executing one. */
function startsExecution(verdict: Verdict, action: Facts['action']): boolean {
  return action?.kind === 'execute' && verdict.kind === 'response' && verdict.response === 'EXECUTE'
}

/** Digests and names only: no argument, path or payload ever enters the chain. */
function toEvent(facts: Facts, verdict: Verdict): AuditEvent {
  const { identity, session, request, action } = facts
  const warrant = verdict.kind === 'response' && verdict.response === 'EXECUTE' ? verdict.warrant : undefined
  return {
    type: 'decision',
    cycle: facts.cycle,
    source: facts.source.address,
    agent: identity.kind === 'known' ? identity.name : null,
    session: session?.id ?? null,
    session_state: startsExecution(verdict, action) ? 'EXECUTING' : (session?.state ?? null),
    method: request?.method ?? null,
    action: action?.kind ?? null,
    action_digest: warrant?.actionDigest ?? (action === undefined ? null : actionDigest(action)),
    execution: action !== undefined && 'executionId' in action ? action.executionId : null,
    response: verdict.kind === 'response' ? `R${RESPONSE_NUMBERS[verdict.response]}` : 'STATUS',
    layer: verdict.layer,
    rule: verdict.rule,
    code: verdict.code ?? null,
    severity: verdict.severity,
    warrant: warrant?.id ?? null,
  }
}

/** Written before anything is done, or counted: strangers, and questions that only read. */
function keep(rooms: Rooms, facts: Facts, verdict: Verdict): void {
  const { kind } = facts.identity
  const isPermitted = verdict.kind === 'response' && verdict.response === 'EXECUTE'
  if (isPermitted && (facts.action?.kind === 'read' || kind !== 'known')) return
  if (kind === 'known' || (kind === 'failed' && rooms.refusals.mayWriteAlone())) {
    return rooms.audit.append(toEvent(facts, verdict))
  }
  const { layer, rule } = verdict
  rooms.refusals.count({ layer, rule, response: verdict.kind === 'response' ? verdict.response : 'STATUS' })
}

/**
 * The decision, recorded. Throws what the audit throws: then nothing may be done.
 */
export function decide(rooms: Rooms, facts: Facts): Verdict {
  const verdict = adjudicate(facts, rooms.policy, ledgerFor(rooms, facts))
  if (verdict.kind === 'response') {
    const number = RESPONSE_NUMBERS[verdict.response]
    rooms.responses.set(number, (rooms.responses.get(number) ?? 0) + 1)
  }
  keep(rooms, facts, verdict)
  if (verdict.kind === 'mistake' || verdict.response !== 'EXECUTE') {
    rooms.log.write(verdict.severity === 'info' ? 'info' : 'warn', 'refused', {
      source: facts.source.address,
      agent: facts.identity.kind === 'known' ? facts.identity.name : '-',
      method: facts.request?.method ?? '-',
      response: verdict.kind === 'response' ? verdict.response : 'STATUS',
      layer: verdict.layer,
      rule: verdict.rule,
      reason: verdict.reason,
    })
  }
  return verdict
}

export function nextCycle(rooms: Rooms): number {
  return rooms.cycles.next++
}
