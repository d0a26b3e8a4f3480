/**
 * Decisions made again from their record: the sealed facts of each, the policy of its day, and the same adjudicator.
 * What comes out must be the record itself, field by field, warrant ids included. No clock, no file, no effect: what was
 * decided is compared, and nothing is done.
 * Rules: docs/responses.md, section 7 (replay).
 * @module
 */
import { classified } from '../../audit/taxonomy.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { adjudicate } from '../../defense/adjudicator.ts'
import type { Facts, Ledger } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
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

/** Names of what is not the same in both. */
function differences(recorded: AuditEvent, again: AuditEvent): readonly string[] {
  const names = new Set([...Object.keys(recorded), ...Object.keys(again)])
  const textOf = (event: AuditEvent, name: string) =>
    event[name] === undefined ? '' : canonicalize(event[name])
  return [...names].filter((name) => textOf(recorded, name) !== textOf(again, name)).sort()
}

/** Decides once more what `recorded` says was decided. */
export function replayDecision(recorded: AuditEvent, sealed: Sealed, policy: Policy | undefined): Outcome {
  if (sealed.kind !== 'content') return { kind: sealed.kind }
  if (policy === undefined) return { kind: 'no_policy' }
  if (!isContent(sealed.value)) return { kind: 'missing' }
  const { facts, ledger } = sealed.value
  const verdict = adjudicate(facts, policy, ledger)
  const { seq = null, facts: digest = null } = recorded
  const fields = differences(recorded, {
    ...classified(decisionEvent(facts, verdict, policy.digestOf)),
    facts: digest,
    seq,
  })
  const decided = { facts, ledger, verdict }
  return fields.length === 0 ? { kind: 'same', decided } : { kind: 'different', fields, decided }
}
