/**
 * The five gates that a candidate passes, in their order: it is complete; its authority is cited and found; its claim
 * rests on a clause and on observations of this cycle; its action is one that there is; its path is where it may be.
 * Each looks at what the ones before have let through, and says by a code of a closed set why it does not.
 * What is judged is form: whether a claim is true, or the clause the right one, nobody here can tell.
 * Rules: docs/proposals.md, section on the gates.
 * @module
 */
import { utf8Length } from '../../base/encoding/utf8.ts'
import type { Bundle } from './artifacts.ts'
import type { UnreadCode } from './candidates.ts'
import { type CitationIndex, resolveCitation } from './citations.ts'
import type { ActionRule, Constitution } from './constitution.ts'
import { fieldProblem } from './fields.ts'
import { PATH_UNITS } from './limits.ts'

export type RejectionCode =
  | UnreadCode
  | 'KERNEL_ONLY_ACTION'
  | 'CITATION_UNRESOLVABLE'
  | 'PATH_NOT_ALLOWLISTED'

/** Where each path of a proposal leads, below the directory of proposals; null: somewhere else, or nowhere. */
export type RealPaths = Readonly<Record<string, string | null>>

export type GateGround = {
  readonly constitution: Constitution
  readonly index: CitationIndex
  readonly observationIds: ReadonlySet<string>
  readonly realPaths: RealPaths
}

type Gate = {
  readonly name: GateName
  /** Why the candidate goes no further; undefined: it does. */
  readonly check: (bundle: Bundle, ground: GateGround) => RejectionCode | undefined
}

export type GateName =
  | 'completeness'
  | 'authority_citation'
  | 'scope_claim'
  | 'constitution_compliance'
  | 'io_allowlist'

function isWithinLog(bundle: Bundle, { log }: Constitution): boolean {
  const lines = bundle.action_request.fields['jsonl_lines']
  if (!Array.isArray(lines)) return true
  const bytes = lines.reduce((sum: number, line) => sum + utf8Length(String(line)) + 1, 0)
  return lines.length <= log.lines && bytes <= log.bytes
}

/** What an action needs that is not known yet: everything. Whether there is such an action is the fourth gate's. */
function needsOf(rule: ActionRule | undefined): ActionRule['requires'] {
  return rule?.requires ?? { scope: true, justification: true }
}

/** The artifacts that the candidate would need and has not. */
export function missingArtifacts(bundle: Bundle, { actions }: Constitution): readonly string[] {
  const needs = needsOf(actions.get(bundle.action_request.action_type))
  return [
    ...(needs.scope && bundle.scope_claim === null ? ['scope_claim'] : []),
    ...(needs.justification && bundle.justification === null ? ['justification'] : []),
  ]
}

function completeness(bundle: Bundle, { constitution }: GateGround): RejectionCode | undefined {
  const { action_type: type, fields, author } = bundle.action_request
  const rule = constitution.actions.get(type)
  if (rule?.isKernelOnly === true && author !== 'kernel') return 'KERNEL_ONLY_ACTION'
  if (missingArtifacts(bundle, constitution).length > 0) return 'MISSING_FIELD'
  if (rule === undefined) return undefined
  return (
    fieldProblem(rule.fields, fields) ?? (isWithinLog(bundle, constitution) ? undefined : 'INVALID_FIELD')
  )
}

function authorityCitation(bundle: Bundle, { index }: GateGround): RejectionCode | undefined {
  const { authority_citations: citations } = bundle
  const isCited =
    citations.length > 0 && citations.every((citation) => resolveCitation(index, citation) !== undefined)
  return isCited ? undefined : 'CITATION_UNRESOLVABLE'
}

function claimOfScope({ scope_claim: claim }: Bundle, ground: GateGround): RejectionCode | undefined {
  if (claim === null) return undefined
  if (resolveCitation(ground.index, claim.clause_ref) === undefined) return 'CITATION_UNRESOLVABLE'
  const { observation_ids: ids } = claim
  return ids.length > 0 && ids.every((id) => ground.observationIds.has(id)) ? undefined : 'INVALID_FIELD'
}

function compliance(
  { action_request: request }: Bundle,
  { constitution }: GateGround,
): RejectionCode | undefined {
  return constitution.actions.has(request.action_type) ? undefined : 'INVALID_FIELD'
}

/** A path below the directory of proposals without `./` before it; undefined: it is none that can be judged as text. */
export function plainPath(path: string): string | undefined {
  const plain = path.startsWith('./') ? path.slice(2) : path
  if (plain.length > PATH_UNITS || plain.includes('\0') || plain.includes('\\')) return undefined
  return plain.split('/').some((segment) => segment === '' || segment === '.' || segment === '..')
    ? undefined
    : plain
}

function isBelow(roots: readonly string[], path: string | undefined): boolean {
  return path !== undefined && roots.some((root) => path.startsWith(root.slice('./'.length)))
}

/** The roots that bound the paths of an action; undefined: it has none. */
export function rootsOf(type: string, { actions, readRoots, writeRoots }: Constitution) {
  const below = actions.get(type)?.fields.find((field) => field.below !== undefined)
  if (below === undefined) return undefined
  return { field: below.name, roots: below.below === 'read' ? readRoots : writeRoots, below: below.below }
}

/** As it is written and where it leads both lie below one of the roots; what nobody has looked up leads nowhere. */
function ioAllowlist(bundle: Bundle, { constitution, realPaths }: GateGround): RejectionCode | undefined {
  const { action_type: type, fields } = bundle.action_request
  const bound = rootsOf(type, constitution)
  if (bound === undefined) return undefined
  const path = String(fields[bound.field])
  const real = Object.hasOwn(realPaths, path) ? (realPaths[path] ?? undefined) : undefined
  const leads = real === undefined ? undefined : plainPath(real)
  return isBelow(bound.roots, plainPath(path)) && isBelow(bound.roots, leads)
    ? undefined
    : 'PATH_NOT_ALLOWLISTED'
}

/** In their order, which is also that of the trace. */
export const GATES: readonly Gate[] = Object.freeze([
  { name: 'completeness', check: completeness },
  { name: 'authority_citation', check: authorityCitation },
  { name: 'scope_claim', check: claimOfScope },
  { name: 'constitution_compliance', check: compliance },
  { name: 'io_allowlist', check: ioAllowlist },
] as const)
