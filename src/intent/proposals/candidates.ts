/**
 * What is proposed, read: `{"candidates": [...]}` or the list alone, of which each is an action request with its claim,
 * its justification and its citations. Who sends it is reflection, whatever it says of itself: authors, names and times
 * in it are not looked at. What cannot be read is rejected by itself and takes no other with it, but where the text as a
 * whole is no JSON there is nothing to tell apart.
 * Rules: docs/proposals.md, section on candidates.
 * @module
 */
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { actionRequest, type Bundle, justification, scopeClaim } from './artifacts.ts'
import { areTextsOf, isObject, isTextOf } from './fields.ts'
import {
  CITATION_CHARS,
  EXPLANATION_CHARS,
  PROPOSED_CANDIDATES,
  PROPOSED_DEPTH,
  PROPOSED_UNITS,
  REFERENCES_MAX,
} from './limits.ts'

export type UnreadCode =
  | 'CANDIDATE_PARSE_FAILED'
  | 'INVALID_UNICODE'
  | 'CANDIDATE_BUDGET_EXCEEDED'
  | 'MISSING_FIELD'
  | 'INVALID_FIELD'

/** One candidate in the order in which they came: read, or why not. */
export type Candidate =
  | { readonly ok: true; readonly bundle: Bundle }
  | { readonly ok: false; readonly code: UnreadCode }

const unread = (code: UnreadCode): Candidate => ({ ok: false, code })

/** What an artifact may say of itself without being believed. */
const OWN_WORDS: readonly string[] = ['type', 'author', 'created_at', 'id']

function hasOnly(value: Readonly<Record<string, Json>>, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name) || OWN_WORDS.includes(name))
}

/** Null: there is none, which a gate judges. Undefined: it is none. */
function readClaim(value: Json | undefined): Bundle['scope_claim'] | undefined {
  if (value === undefined || value === null) return null
  if (!isObject(value) || !hasOnly(value, ['observation_ids', 'claim', 'clause_ref'])) return undefined
  const { observation_ids: observationIds, claim, clause_ref: clause } = value
  if (!areTextsOf(observationIds, REFERENCES_MAX, CITATION_CHARS)) return undefined
  if (!isTextOf(claim, EXPLANATION_CHARS) || !isTextOf(clause, CITATION_CHARS)) return undefined
  return scopeClaim({ observationIds, claim, clause }, 'reflection')
}

function readJustification(value: Json | undefined): Bundle['justification'] | undefined {
  if (value === undefined || value === null) return null
  if (!isObject(value) || !hasOnly(value, ['text'])) return undefined
  const { text } = value
  return isTextOf(text, EXPLANATION_CHARS) ? justification(text, 'reflection') : undefined
}

function readCandidate(value: Json): Candidate {
  if (!isObject(value)) return unread('CANDIDATE_PARSE_FAILED')
  const { action_request: request, authority_citations: citations = [], ...rest } = value
  if (!hasOnly(rest, ['scope_claim', 'justification'])) return unread('CANDIDATE_PARSE_FAILED')
  if (request === undefined) return unread('MISSING_FIELD')
  if (!isObject(request) || !hasOnly(request, ['action_type', 'fields'])) return unread('INVALID_FIELD')
  const { action_type: actionType, fields } = request
  if (actionType === undefined || fields === undefined) return unread('MISSING_FIELD')
  if (!isTextOf(actionType, CITATION_CHARS) || !isObject(fields)) return unread('INVALID_FIELD')
  const claim = readClaim(rest['scope_claim'])
  const why = readJustification(rest['justification'])
  if (claim === undefined || why === undefined) return unread('INVALID_FIELD')
  if (!areTextsOf(citations, REFERENCES_MAX, CITATION_CHARS)) return unread('INVALID_FIELD')
  return {
    ok: true,
    bundle: {
      action_request: actionRequest(actionType, fields, 'reflection'),
      scope_claim: claim,
      justification: why,
      authority_citations: citations,
    },
  }
}

/** An escape of half a character: what JSON can say and no UTF-8 can. */
function isUnicodeProblem(problem: string): boolean {
  return problem.includes('surrogate')
}

/**
 * The candidates of a text in their order: as many as one cycle may have are read, and whatever comes after them is
 * rejected unread. A text that is none gives one that could not be read.
 */
export function readCandidates(proposed: string, candidatesMax: number): readonly Candidate[] {
  const parsed = parseStrictJson(proposed, { size: PROPOSED_UNITS, depth: PROPOSED_DEPTH })
  if (!parsed.ok)
    return [unread(isUnicodeProblem(parsed.problem) ? 'INVALID_UNICODE' : 'CANDIDATE_PARSE_FAILED')]
  const { value } = parsed
  const listed = isObject(value) && Object.keys(value).length === 1 ? value['candidates'] : value
  if (!Array.isArray(listed) || listed.length > PROPOSED_CANDIDATES) return [unread('CANDIDATE_PARSE_FAILED')]
  return (listed as readonly Json[]).map((candidate, at) =>
    at < candidatesMax ? readCandidate(candidate) : unread('CANDIDATE_BUDGET_EXCEEDED'),
  )
}
