/**
 * The decision of one cycle: from what was observed and what is proposed to ACTION, REFUSE or EXIT. In this order: the
 * one time of the cycle, integrity, budget, admission, selection, warrant. Pure: the same input gives the same output,
 * names of artifacts included, on every machine at every time.
 * Left out on purpose, and kept out: routing, priorities, retries, repairs, helpful guesses, ranking by meaning, work in
 * the background, tools that are added while it runs, the network, defaults that nobody sees.
 * Rules: docs/proposals.md, section on the decision.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import { type Admission, type AdmissionEvent, admit } from './admission.ts'
import {
  type Bundle,
  type ExecutionWarrant,
  type ExitRecord,
  executionWarrant,
  type Fields,
  named,
  type Observation,
  type RefusalRecord,
} from './artifacts.ts'
import { type Candidate, readCandidates } from './candidates.ts'
import { type CitationIndex, resolveCitation } from './citations.ts'
import type { Constitution } from './constitution.ts'
import { type RealPaths, rootsOf } from './gates.ts'
import { OBSERVATIONS_MAX } from './limits.ts'
import { isIntegrityRisk, isTimestamp, readObservation, tokensSpent } from './observations.ts'
import { Permit } from './permit.ts'
import { type SelectionEvent, select } from './selector.ts'

/** What every cycle is decided by. */
export type Law = { readonly constitution: Constitution; readonly index: CitationIndex }

export type CycleInput = {
  readonly cycle: number
  /** What is permitted is permitted to this session alone. */
  readonly session: string
  readonly observations: readonly Json[]
  /** JSON text of what is proposed. It is not read before there is budget for it. */
  readonly proposed: string
  readonly realPaths: RealPaths
}

export type Decision =
  | { readonly type: 'ACTION'; readonly bundle: Bundle; readonly warrant: ExecutionWarrant }
  | { readonly type: 'REFUSE'; readonly refusal: RefusalRecord }
  | { readonly type: 'EXIT'; readonly exit: ExitRecord }

export type Decided = {
  readonly decision: Decision
  /** Of an ACTION: what it is carried out with. */
  readonly permit: Permit | undefined
  /** Those that could be read, in their order. */
  readonly observations: readonly Observation[]
  readonly candidates: readonly Candidate[]
  readonly admission: readonly AdmissionEvent[]
  readonly selection: SelectionEvent | null
}

/** An exit record as the format has it, by the kernel. */
function exitRecord(fields: Omit<ExitRecord, 'type' | 'author' | 'id'>): ExitRecord {
  return named({ type: 'ExitRecord', author: 'kernel', ...fields } as const)
}

/** The exit that a risk to integrity ends in. It cites the clause that asks for it, whether that can be found or not. */
export function integrityExit(
  version: string,
  reason: { readonly observationIds: readonly string[]; readonly detail: string; readonly at: string },
): ExitRecord {
  return exitRecord({
    reason_code: 'INTEGRITY_RISK',
    authority_citations: [`constitution:v${version}@/exit_policy/exit_mandatory_conditions`],
    scope_claim: { observation_ids: reason.observationIds, claim: 'EXIT required: INTEGRITY_RISK' },
    justification: reason.detail,
    created_at: reason.at,
  })
}

/** An exit that was proposed and admitted: it is that of the one who asked, and ends the run. */
function askedExit({ action_request, scope_claim, justification, authority_citations }: Bundle, at: string) {
  return exitRecord({
    reason_code: String(action_request.fields['reason_code']),
    authority_citations,
    scope_claim: {
      observation_ids: scope_claim?.observation_ids ?? [],
      claim: scope_claim?.claim ?? '',
    },
    justification: justification?.text ?? '',
    created_at: at,
  })
}

type Refused = {
  readonly code: string
  readonly gate: string
  readonly missing: readonly string[]
  readonly cited?: readonly string[]
  readonly byGate?: Readonly<Record<string, number>>
}

function refusal(
  { code, gate, missing, cited = [], byGate = {} }: Refused,
  ids: readonly string[],
  at: string,
) {
  return named({
    type: 'RefusalRecord',
    reason_code: code,
    failed_gate: gate,
    missing_artifacts: missing,
    authority_ids_considered: cited,
    observation_ids_referenced: ids,
    rejection_summary_by_gate: byGate,
    author: 'kernel',
    created_at: at,
  } as const)
}

/** Every clause that a candidate has cited and that is there, once each. */
function citedBy(candidates: readonly Candidate[], { index }: Law): readonly string[] {
  const all = candidates.flatMap((candidate) => (candidate.ok ? candidate.bundle.authority_citations : []))
  return [...new Set(all)].filter((citation) => resolveCitation(index, citation) !== undefined)
}

/** What the warrant permits, as narrow as the action is. */
function constraintsOf({ action_request }: Bundle, { constitution }: Law, realPaths: RealPaths): Fields {
  const { action_type: type, fields } = action_request
  const bound = rootsOf(type, constitution)
  if (bound !== undefined)
    return {
      allowed_path: realPaths[String(fields[bound.field])] ?? null,
      [bound.below === 'read' ? 'read_roots' : 'write_roots']: bound.roots,
    }
  const named = ['target', 'log_name'].filter((name) => Object.hasOwn(fields, name))
  return Object.fromEntries(named.map((name) => [name, fields[name] ?? null]))
}

/** The warrant of an admitted candidate. Whoever acts on one asks where it is from: see redeem.ts. */
export function warrantFor(
  bundle: Bundle,
  law: Law,
  { cycle, realPaths, at }: Pick<CycleInput, 'cycle' | 'realPaths'> & { readonly at: string },
): ExecutionWarrant {
  return executionWarrant(bundle, constraintsOf(bundle, law, realPaths), cycle, at)
}

function decisionOf(
  admission: Admission,
  candidates: readonly Candidate[],
  { law, input, ids, at }: { law: Law; input: CycleInput; ids: readonly string[]; at: string },
): { readonly decision: Decision; readonly selection: SelectionEvent | null } {
  const selected = select(admission.admitted)
  if (selected === undefined) {
    const { failedGate: gate, missing, rejectedByGate: byGate } = admission
    const cited = citedBy(candidates, law)
    const refused = refusal({ code: 'NO_ADMISSIBLE_ACTION', gate, missing, cited, byGate }, ids, at)
    return { decision: { type: 'REFUSE', refusal: refused }, selection: null }
  }
  const { chosen, event } = selected
  const { bundle } = chosen
  const decision: Decision =
    bundle.action_request.action_type === 'Exit'
      ? { type: 'EXIT', exit: askedExit(bundle, at) }
      : { type: 'ACTION', bundle, warrant: warrantFor(bundle, law, { ...input, at }) }
  return { decision, selection: event }
}

/** One cycle from its beginning to its decision; what is permitted by it is done by somebody else. Never throws. */
export function decide(law: Law, input: CycleInput): Decided {
  const { constitution } = law
  const read = input.observations
    .slice(0, OBSERVATIONS_MAX)
    .map((value) => readObservation(value, constitution))
  const observations = read.filter((value) => value !== undefined)
  const ids = observations.map(({ id }) => id)
  const nothing = { permit: undefined, observations, candidates: [], admission: [], selection: null }

  const times = input.observations.filter(isTimestamp).length
  if (times !== 1) {
    const missing = [times === 0 ? 'TIMESTAMP' : `TIMESTAMP (ambiguous: ${times})`]
    const refused = { code: 'MISSING_REQUIRED_OBSERVATION', gate: 'required_observations', missing }
    return { ...nothing, decision: { type: 'REFUSE', refusal: refusal(refused, ids, '') } }
  }
  const at = String(observations.find(({ kind }) => kind === 'timestamp')?.payload['iso8601_utc'] ?? '')

  const risk = observations.find(isIntegrityRisk)
  if (risk !== undefined || observations.length < input.observations.length) {
    const observationIds = risk === undefined ? [] : [risk.id]
    const detail =
      risk === undefined
        ? 'An observation is not of the form that observations have.'
        : `${risk.payload['event']}: ${risk.payload['detail']}`
    const exit = integrityExit(constitution.version, { observationIds, detail, at })
    return { ...nothing, decision: { type: 'EXIT', exit } }
  }

  if (tokensSpent(observations) > constitution.tokensMax) {
    const refused = { code: 'BUDGET_EXHAUSTED', gate: 'none', missing: [] }
    return { ...nothing, decision: { type: 'REFUSE', refusal: refusal(refused, ids, at) } }
  }

  const candidates = readCandidates(input.proposed, constitution.candidatesMax)
  const ground = { ...law, observationIds: new Set(ids), realPaths: input.realPaths }
  const admission = admit(candidates, ground)
  const { decision, selection } = decisionOf(admission, candidates, { law, input, ids, at })
  const permit = decision.type === 'ACTION' ? Permit.issue(decision.warrant, input.session) : undefined
  return { decision, permit, observations, candidates, admission: admission.events, selection }
}

/** The paths that a cycle would have to be told about, as they are written; none where nothing would be read. */
export function askedPaths(law: Law, input: Omit<CycleInput, 'realPaths'>): readonly string[] {
  const { candidates } = decide(law, { ...input, realPaths: {} })
  const paths = candidates.flatMap((candidate) => {
    const request = candidate.ok ? candidate.bundle.action_request : undefined
    const bound = request === undefined ? undefined : rootsOf(request.action_type, law.constitution)
    const path = bound === undefined ? undefined : request?.fields[bound.field]
    return typeof path === 'string' ? [path] : []
  })
  return [...new Set(paths)]
}
