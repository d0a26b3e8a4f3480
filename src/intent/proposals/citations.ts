/**
 * What a proposal may cite, looked up in an index of the constitution that is made at the start:
 *
 *     constitution:v0.1.1#INV-AUTHORITY-CITED          by the id of a clause, which is preferred
 *     constitution:v0.1.1@/io_policy/allowlist         by a JSON pointer (RFC 6901, with its escapes ~0 and ~1)
 *
 * A citation that does not resolve to exactly one place of exactly this version is no authority.
 * Rules: docs/proposals.md, section on citations; RFC 6901.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import type { Constitution } from './constitution.ts'
import { CITATION_CHARS } from './limits.ts'

export type CitationIndex = {
  /** Every citation begins so, and goes on with `#` or `@`. */
  readonly prefix: string
  /** Pointer of each clause that has an id. */
  readonly ids: ReadonlyMap<string, string>
  readonly document: Json
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Every `id` of the document with its pointer; undefined: one stands twice, and names nothing. */
function idsOf(document: Json): ReadonlyMap<string, string> | undefined {
  const ids = new Map<string, string>()
  const visit = (value: Json, pointer: string): boolean => {
    if (Array.isArray(value)) return value.every((item: Json, at) => visit(item, `${pointer}/${at}`))
    if (!isObject(value)) return true
    const { id } = value
    if (typeof id === 'string') {
      if (ids.has(id)) return false
      ids.set(id, pointer)
    }
    return Object.entries(value).every(([name, item]) =>
      visit(item, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    )
  }
  return visit(document, '') ? ids : undefined
}

/** The index of that constitution; undefined where an id stands twice in it. */
export function citationIndex({ version, document }: Constitution): CitationIndex | undefined {
  const ids = idsOf(document)
  return ids && { prefix: `constitution:v${version}`, ids, document }
}

/** Index of an array as RFC 6901 writes it: no sign, no leading zero. */
const ARRAY_INDEX = /^(?:0|[1-9][0-9]{0,8})$/
/** A `~` that begins no escape. */
const BAD_ESCAPE = /~(?![01])/

/** The value that an RFC 6901 pointer names; undefined: none. */
function resolvePointer(document: Json, pointer: string): Json | undefined {
  if (!pointer.startsWith('/') || BAD_ESCAPE.test(pointer)) return undefined
  let value: Json | undefined = document
  for (const token of pointer.slice(1).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (value === undefined || value === null || typeof value !== 'object') return undefined
    if (Array.isArray(value))
      value = ARRAY_INDEX.test(name) ? (value as readonly Json[])[Number(name)] : undefined
    else value = Object.hasOwn(value, name) ? (value as Readonly<Record<string, Json>>)[name] : undefined
  }
  return value
}

/** The clause that the citation names; undefined: it names none. */
export function resolveCitation(
  { prefix, ids, document }: CitationIndex,
  citation: string,
): Json | undefined {
  if (citation.length > CITATION_CHARS || !citation.startsWith(prefix)) return undefined
  const rest = citation.slice(prefix.length)
  if (rest.startsWith('@')) return resolvePointer(document, rest.slice(1))
  const pointer = rest.startsWith('#') ? ids.get(rest.slice(1)) : undefined
  return pointer === undefined ? undefined : resolvePointer(document, pointer)
}

/** Where the rules of this room are looked up in the document, by pointer. */
const RELIED_UPON: readonly string[] = [
  '/telemetry_policy/required_logs',
  '/selection_policy/default_selector_rule',
  '/io_policy/allowlist',
  '/exit_policy/exit_mandatory_conditions',
  '/reflection_policy/proposal_budgets',
]

/** What of the constitution cannot be cited and must be, at the start; undefined: everything is there. */
export function selfTest(index: CitationIndex, { invariants }: Constitution): string | undefined {
  const must = [
    ...invariants.map((id) => `${index.prefix}#${id}`),
    ...RELIED_UPON.map((pointer) => `${index.prefix}@${pointer}`),
  ]
  return must.find((citation) => resolveCitation(index, citation) === undefined)
}
