/**
 * What the chain says of a decision: a function of its facts and its verdict alone, so that who has both can make the
 * same record again.
 * Rules: docs/responses.md, section 7 (what is recorded).
 * @module
 */
import { tierNeeded } from '../../base/tool-name.ts'
import type { Facts } from '../../defense/facts.ts'
import { depthOf } from '../../defense/handoffs/judge.ts'
import type { Policy } from '../../defense/layer.ts'
import { RESPONSE_NUMBERS, type Verdict } from '../../defense/verdict.ts'
import { actionDigest } from '../../defense/warrant.ts'
import type { AuditEvent } from '../../ports.ts'

/** Permitting it is what makes an active session an executing one. */
function startsExecution(verdict: Verdict, action: Facts['action']): boolean {
  return action?.kind === 'execute' && verdict.kind === 'response' && verdict.response === 'EXECUTE'
}

/** As every record names a response: R1 to R6, or STATUS for a refusal with a sentence. */
export function recordedResponse(verdict: Verdict): string {
  return verdict.kind === 'response' ? `R${RESPONSE_NUMBERS[verdict.response]}` : 'STATUS'
}

/** The tools that the decision was about, and the lowest tier that gives them; nothing where it was about none. */
function toolFields(verdict: Verdict): { tool?: string; tool_tier?: string } {
  const isPermit = verdict.kind === 'response' && verdict.response === 'EXECUTE'
  const tools = (isPermit ? verdict.tools : verdict.needed) ?? []
  const tier = tierNeeded(tools)
  return tier === undefined ? {} : { tool: tools.join(' '), tool_tier: tier }
}

/** How much what is handed over matters, and through how many hands work has gone: of a handoff, or of who acts for another. */
function routingFields({ action, identity }: Facts): { criticality?: string; depth?: number } {
  if (action?.kind === 'handoff') return { criticality: `C${action.criticality}`, depth: depthOf(action) }
  const depth = identity.kind === 'known' ? (identity.delegation?.chain.length ?? 0) : 0
  return depth === 0 ? {} : { depth }
}

/** For whom a delegate acts, the nearest first; of work that was handed on also which session did, and whose it is; nothing where it acts for itself. */
function actsFor(identity: Facts['identity']): { acts_for?: string; orchestrator?: string; user?: string } {
  const delegation = identity.kind === 'known' ? identity.delegation : undefined
  if (delegation === undefined || delegation.chain.length === 0) return {}
  const names = { acts_for: delegation.chain.map(({ name }) => name).join(' ') }
  if (delegation.handed === undefined) return names
  const { orchestrator, user } = delegation.handed
  return { ...names, orchestrator, user }
}

/** Which branch a human decides about, and the digest of what was shown; nothing of other actions. */
function branchFields(action: Facts['action']): { branch?: string; shown?: string } {
  if (action === undefined || !('branch' in action)) return {}
  return { branch: action.branch, ...('digest' in action ? { shown: action.digest } : {}) }
}

/** How far a command is kept from the device: how what it changes is, and the digest of all that its session has. */
function isolationOf(action: Facts['action']): { isolation?: string; confinement?: string; weak?: string } {
  if (action?.kind !== 'execute' || action.place === undefined) return {}
  const { level, confinement } = action.place
  const { digest, weak } = confinement
  return { isolation: level, confinement: digest, ...(weak.length === 0 ? {} : { weak: weak.join(' ') }) }
}

/** Which call of which plan it is, by names; nothing where it was asked for by itself. */
function planFields(action: Facts['action']): Record<string, string> {
  if (action?.kind !== 'execute' || action.plan === undefined) return {}
  const { id, call, tool, issuer } = action.plan
  return { plan_id: id, tool_call_id: call, tool_name: tool, issuer }
}

/** Digests and names only: no argument, path or payload ever enters the chain. */
export function decisionEvent(facts: Facts, verdict: Verdict, digestOf: Policy['digestOf']): AuditEvent {
  const { identity, session, request, action } = facts
  const permitted = verdict.kind === 'response' && verdict.response === 'EXECUTE' ? verdict : undefined
  const warrant = permitted?.warrant
  const event = {
    type: 'decision',
    cycle: facts.cycle,
    source: facts.source.address,
    agent: identity.kind === 'known' ? identity.name : null,
    instance: identity.kind === 'known' ? (identity.instance ?? null) : null,
    tier: identity.kind === 'known' ? identity.tier : null,
    session: session?.id ?? null,
    session_state: startsExecution(verdict, action) ? 'EXECUTING' : (session?.state ?? null),
    method: request?.method ?? null,
    action: action?.kind ?? null,
    action_digest: warrant?.actionDigest ?? (action === undefined ? null : actionDigest(action, digestOf)),
    execution: action !== undefined && 'executionId' in action ? action.executionId : null,
    response: recordedResponse(verdict),
    layer: verdict.layer,
    rule: verdict.rule,
    code: verdict.code ?? null,
    severity: verdict.severity,
    warrant: warrant?.id ?? null,
    ...(permitted === undefined ? {} : { authority: permitted.authority }),
    ...toolFields(verdict),
    ...routingFields(facts),
    ...actsFor(identity),
    ...branchFields(action),
    ...isolationOf(action),
    ...planFields(action),
    ...(permitted?.plan === undefined ? {} : { plan: permitted.plan }),
    ...(permitted?.undeclared === undefined ? {} : { undeclared: permitted.undeclared }),
    ...(permitted?.opaque === undefined ? {} : { opaque: permitted.opaque }),
  }
  if (!verdict.enhancedAudit) return event
  // What is worth a second look: the circumstances, by what they are and not by what they hold.
  const { terminal, stdin, executable } =
    action?.kind === 'execute' ? action : { terminal: null, stdin: null, executable: null }
  return {
    ...event,
    enhanced: {
      challenge: facts.request?.challenge ?? null,
      approvals: facts.request?.approvals.length ?? 0,
      terminal,
      stdin,
      device: executable?.device ?? null,
      inode: executable?.inode ?? null,
      links: facts.realPaths.length,
      incident: verdict.incident ?? null,
    },
  }
}
