/**
 * Decisions made again from their record: the sealed facts of each, the policy of its day, and the same adjudicator.
 * What comes out must be the record itself, field by field, warrant ids included. No clock, no file, no effect: what was
 * decided is compared, and nothing is done.
 * Rules: docs/responses.md, section 7 (replay).
 * @module
 */
import { classified } from '../../audit/taxonomy.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { adjudicate } from '../../defense/adjudicator.ts'
import type { Facts, Ledger, ProposalAction } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import { type CycleInput, decide, type Law } from '../../intent/proposals/decide.ts'
import { artifactOf } from '../../intent/proposals/streams.ts'
import type { AuditEvent } from '../../ports.ts'
import { decisionEvent } from './decision-event.ts'
import type { Decided } from './rebuilt-state.ts'

/** What is there of the facts of one decision. */
export type Sealed =
  | { readonly kind: 'content'; readonly value: unknown }
  /** Its session was purged. */
  | { readonly kind: 'purged' }
  /** The frame is not there, cannot be opened, or was too long to be kept. */
  | { readonly kind: 'missing' }

export type Outcome =
  | { readonly kind: 'same'; readonly decided: Decided }
  | { readonly kind: 'purged' | 'missing' }
  /** No policy is known that held then. */
  | { readonly kind: 'no_policy' }
  | { readonly kind: 'different'; readonly fields: readonly string[]; readonly decided: Decided }

type Content = { readonly facts: Facts; readonly ledger: Ledger }

function isContent(value: unknown): value is Content {
  return typeof value === 'object' && value !== null && 'facts' in value && 'ledger' in value
}

/** What a record says since it says the tier of its caller: those from before it are none the less whole. */
const SINCE_TIERS: readonly string[] = Object.freeze([
  ...['tier', 'tool', 'tool_tier', 'criticality', 'depth'],
  ...['category', 'severity', 'security', 'risk'],
])

/** Names of what is not the same in both. */
function differences(recorded: AuditEvent, again: AuditEvent): readonly string[] {
  const passed = 'tier' in recorded ? [] : SINCE_TIERS
  const names = new Set([...Object.keys(recorded), ...Object.keys(again)])
  const textOf = (event: AuditEvent, name: string) =>
    event[name] === undefined ? '' : canonicalize(event[name])
  return [...names]
    .filter((name) => !passed.includes(name) && textOf(recorded, name) !== textOf(again, name))
    .sort()
}

/** What of a proposal comes out another way by that law; undefined: it is not the law that held. */
function proposalDifferences(action: ProposalAction, law: Law): readonly string[] | undefined {
  if (law.constitution.digest !== action.constitution) return undefined
  const parsed = parseStrictJson(action.input, { size: action.input.length })
  if (!parsed.ok) return ['proposal.input']
  const decided = decide(law, { ...(parsed.value as unknown as CycleInput), cycle: action.cycle })
  const { decision } = decided
  const tool = decision.type === 'ACTION' ? decision.warrant.action_type : null
  const isSame =
    decision.type === action.decision &&
    tool === action.tool &&
    canonicalize(artifactOf(decided)) === action.artifact
  return isSame ? [] : ['proposal']
}

/**
 * Decides once more what `recorded` says was decided.
 * @param law by which proposals are decided
 */
export function replayDecision(
  recorded: AuditEvent,
  sealed: Sealed,
  policy: Policy | undefined,
  law: Law,
): Outcome {
  if (sealed.kind !== 'content') return { kind: sealed.kind }
  if (policy === undefined) return { kind: 'no_policy' }
  if (!isContent(sealed.value)) return { kind: 'missing' }
  const { facts, ledger } = sealed.value
  const proposal = facts.action?.kind === 'propose' ? proposalDifferences(facts.action, law) : []
  if (proposal === undefined) return { kind: 'no_policy' }
  const verdict = adjudicate(facts, policy, ledger)
  const { seq = null, facts: digest = null } = recorded
  const event = { ...classified(decisionEvent(facts, verdict, policy.digestOf)), facts: digest, seq }
  const fields = [...differences(recorded, event), ...proposal]
  const decided = { facts, ledger, verdict }
  return fields.length === 0 ? { kind: 'same', decided } : { kind: 'different', fields, decided }
}
