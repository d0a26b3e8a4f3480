/**
 * The seven kinds of artifact that a proposal, its decision and its end are made of, and how each is named: by the whole
 * SHA-256 of its RFC 8785 form without the name itself, in lower-case digits. Two that say the same are the same.
 * Nothing here reads a clock: what the kernel makes carries the time of the cycle's one observation of it, and what is
 * proposed carries none.
 * Rules: docs/proposals.md, sections on artifacts and on names.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'

/** Who made it: the decision, the daemon, a person or the configuration, or an agent, which decides nothing. */
export type Author = 'kernel' | 'host' | 'user' | 'reflection'

export type Fields = Readonly<Record<string, Json>>

export type Observation = {
  readonly type: 'Observation'
  readonly kind: string
  readonly payload: Fields
  readonly author: Author
  readonly created_at: string
  readonly id: string
}

export type ActionRequest = {
  readonly type: 'ActionRequest'
  readonly action_type: string
  readonly fields: Fields
  readonly author: Author
  readonly created_at: string
  readonly id: string
}

export type ScopeClaim = {
  readonly type: 'ScopeClaim'
  readonly observation_ids: readonly string[]
  readonly claim: string
  readonly clause_ref: string
  readonly author: Author
  readonly created_at: string
  readonly id: string
}

export type Justification = {
  readonly type: 'Justification'
  readonly text: string
  readonly author: Author
  readonly created_at: string
  readonly id: string
}

export type ExecutionWarrant = {
  readonly type: 'ExecutionWarrant'
  readonly action_request_id: string
  readonly action_type: string
  readonly scope_constraints: Fields
  readonly issued_in_cycle: number
  readonly single_use: true
  readonly warrant_id: string
  readonly created_at: string
}

export type RefusalRecord = {
  readonly type: 'RefusalRecord'
  readonly reason_code: string
  readonly failed_gate: string
  readonly missing_artifacts: readonly string[]
  readonly authority_ids_considered: readonly string[]
  readonly observation_ids_referenced: readonly string[]
  readonly rejection_summary_by_gate: Readonly<Record<string, number>>
  readonly author: 'kernel'
  readonly created_at: string
  readonly id: string
}

export type ExitRecord = {
  readonly type: 'ExitRecord'
  readonly reason_code: string
  readonly authority_citations: readonly string[]
  readonly scope_claim: { readonly observation_ids: readonly string[]; readonly claim: string }
  readonly justification: string
  readonly author: 'kernel'
  readonly created_at: string
  readonly id: string
}

/** One candidate whole: what is asked, why it may be, and what it rests on. */
export type Bundle = {
  readonly action_request: ActionRequest
  readonly scope_claim: ScopeClaim | null
  readonly justification: Justification | null
  readonly authority_citations: readonly string[]
}

/** SHA-256 of the RFC 8785 form, 32 bytes. */
function digestBytes(value: Json): Uint8Array {
  return sha256(encodeUtf8(canonicalize(value)))
}

/** The same in lower-case hex. */
export function digestOf(value: Json): string {
  return encodeHex(digestBytes(value))
}

/** The artifact with its name. */
export function named<T extends Readonly<Record<string, unknown>>>(artifact: T): T & { readonly id: string } {
  return { ...artifact, id: digestOf(artifact as unknown as Json) }
}

export function observation(kind: string, payload: Fields, author: Author, createdAt = ''): Observation {
  return named({ type: 'Observation', kind, payload, author, created_at: createdAt } as const)
}

export function actionRequest(
  actionType: string,
  fields: Fields,
  author: Author,
  createdAt = '',
): ActionRequest {
  return named({
    type: 'ActionRequest',
    action_type: actionType,
    fields,
    author,
    created_at: createdAt,
  } as const)
}

export function scopeClaim(
  { observationIds, claim, clause }: { observationIds: readonly string[]; claim: string; clause: string },
  author: Author,
): ScopeClaim {
  return named({
    type: 'ScopeClaim',
    observation_ids: observationIds,
    claim,
    clause_ref: clause,
    author,
    created_at: '',
  } as const)
}

export function justification(text: string, author: Author): Justification {
  return named({ type: 'Justification', text, author, created_at: '' } as const)
}

/** The bytes by which one candidate is chosen among several. */
export function bundleHash(bundle: Bundle): Uint8Array {
  return digestBytes(bundle as unknown as Json)
}

/**
 * A warrant with its name. Its digest is taken with an empty `warrant_id` in it and not without one: the vectors of the
 * format are made so.
 */
export function executionWarrant(
  bundle: Bundle,
  constraints: Fields,
  cycle: number,
  createdAt: string,
): ExecutionWarrant {
  const { id, action_type } = bundle.action_request
  const warrant = {
    type: 'ExecutionWarrant',
    action_request_id: id,
    action_type,
    scope_constraints: { action_type, ...constraints },
    issued_in_cycle: cycle,
    single_use: true,
    warrant_id: '',
    created_at: createdAt,
  } as const
  return { ...warrant, warrant_id: digestOf(warrant as unknown as Json) }
}
