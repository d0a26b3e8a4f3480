/**
 * The constitution: the closed document that says what may be proposed and how it is decided. It is taken by its bytes:
 * only those with the pinned SHA-256, and only where the file of its hash is there and says the same. What it limits is
 * read from it here once; whatever is missing or of another form makes the whole of it unusable.
 * Rules: docs/proposals.md, section on the constitution.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { CONSTITUTION_BYTES } from './limits.ts'

/** Of the constitution that ships, and what its citations name. */
export const CONSTITUTION_VERSION = '0.1.1'

/** SHA-256 of the file that ships, policy/constitution/proposals.v0.1.1.json. To change that file is to change this. */
export const CONSTITUTION_SHA256 = '84ed0b5c67db826e53872306cf633dd0849fb16fde63d4cc18cb8fe7a24c5d63'

export type FieldRule = {
  readonly name: string
  readonly type: 'string' | 'enum' | 'int' | 'array<string>'
  readonly allowed: readonly string[]
  readonly maxChars: number | undefined
  /** Of a path: the list that it must lie below. */
  readonly below: 'read' | 'write' | undefined
}

export type ActionRule = {
  readonly type: string
  readonly fields: readonly FieldRule[]
  readonly requires: { readonly scope: boolean; readonly justification: boolean }
  readonly isKernelOnly: boolean
}

export type LogLimits = { readonly lines: number; readonly lineChars: number; readonly bytes: number }

export type Constitution = {
  readonly version: string
  /** SHA-256 of its bytes, lower-case hex. */
  readonly digest: string
  readonly document: Json
  readonly invariants: readonly string[]
  readonly actions: ReadonlyMap<string, ActionRule>
  readonly observations: ReadonlyMap<string, readonly FieldRule[]>
  readonly readRoots: readonly string[]
  readonly writeRoots: readonly string[]
  readonly candidatesMax: number
  readonly tokensMax: number
  readonly exitCodes: readonly string[]
  readonly logNames: readonly string[]
  readonly log: LogLimits
}

export type ConstitutionResult =
  | { readonly ok: true; readonly constitution: Constitution }
  | { readonly ok: false; readonly problem: string }

/** Where something in the document has another form: its pointer, as a sentence of this file says it. */
class Unusable extends Error {}

function fail(pointer: string, what: string): never {
  throw new Unusable(`${pointer} ${what}`)
}

type Members = Readonly<Record<string, Json>>

function members(value: Json | undefined, pointer: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(pointer, 'is no object')
  return value as Members
}

function list(value: Json | undefined, pointer: string): readonly Json[] {
  return Array.isArray(value) && value.length > 0 ? value : fail(pointer, 'is no list with anything in it')
}

function text(value: Json | undefined, pointer: string): string {
  return typeof value === 'string' && value !== '' ? value : fail(pointer, 'is no text')
}

function texts(value: Json | undefined, pointer: string): readonly string[] {
  return list(value, pointer).map((item, at) => text(item, `${pointer}/${at}`))
}

function count(value: Json | undefined, pointer: string): number {
  return Number.isSafeInteger(value) && Number(value) > 0
    ? Number(value)
    : fail(pointer, 'is no whole number')
}

function flag(value: Json | undefined, pointer: string): boolean {
  return typeof value === 'boolean' ? value : fail(pointer, 'is neither true nor false')
}

const FIELD_TYPES = ['string', 'enum', 'int', 'array<string>'] as const
const BELOW: Readonly<Record<string, 'read' | 'write'>> = Object.freeze({
  must_be_under_allowlist_read: 'read',
  must_be_under_allowlist_write: 'write',
})

function fieldRule(value: Json, pointer: string): FieldRule {
  const field = members(value, pointer)
  const type = FIELD_TYPES.find((known) => known === field['type']) ?? fail(`${pointer}/type`, 'is not known')
  const max = field['max_len'] ?? field['max_len_per_item']
  const constraints = field['constraints'] === undefined ? [] : texts(field['constraints'], pointer)
  const unknown = constraints.find((constraint) => !Object.hasOwn(BELOW, constraint))
  if (unknown !== undefined) fail(`${pointer}/constraints`, 'has one that is not known')
  return {
    name: text(field['name'], `${pointer}/name`),
    type,
    allowed: type === 'enum' ? texts(field['allowed'], `${pointer}/allowed`) : [],
    maxChars: max === undefined ? undefined : count(max, `${pointer}/max_len`),
    below: constraints[0] === undefined ? undefined : BELOW[constraints[0]],
  }
}

function fieldRules(value: Json | undefined, pointer: string): readonly FieldRule[] {
  return list(value, pointer).map((field, at) => fieldRule(field, `${pointer}/${at}`))
}

function actionRule(value: Json, pointer: string): ActionRule {
  const action = members(value, pointer)
  const requires = members(action['requires'], `${pointer}/requires`)
  if (!flag(requires['authority_citations'], `${pointer}/requires/authority_citations`))
    fail(pointer, 'would need no authority')
  return {
    type: text(action['type'], `${pointer}/type`),
    fields: fieldRules(action['required_fields'], `${pointer}/required_fields`),
    requires: {
      scope: flag(requires['scope_claim'], `${pointer}/requires/scope_claim`),
      justification: flag(requires['justification'], `${pointer}/requires/justification`),
    },
    isKernelOnly:
      action['kernel_only'] !== undefined && flag(action['kernel_only'], `${pointer}/kernel_only`),
  }
}

/** The member at that pointer, by names that are ours and need no escapes. */
function at(document: Json, pointer: string): Json | undefined {
  return pointer
    .slice(1)
    .split('/')
    .reduce<Json | undefined>((value, name) => members(value, pointer)[name], document)
}

function logLimits(actions: readonly Json[]): LogLimits {
  const append = actions.map((action) => members(action, '')).find(({ type }) => type === 'LogAppend')
  const limits = members(append?.['limits'], '/action_space/action_types/LogAppend/limits')
  const number = (name: string) => count(limits[name], `/action_space/action_types/LogAppend/limits/${name}`)
  return {
    lines: number('max_lines_per_warrant'),
    lineChars: number('max_chars_per_line'),
    bytes: number('max_bytes_per_warrant'),
  }
}

function exitCodesOf(actions: readonly ActionRule[]): readonly string[] {
  const exit = actions.find(({ type }) => type === 'Exit')
  return (
    exit?.fields.find(({ name }) => name === 'reason_code')?.allowed ?? fail('Exit', 'has no reason_code')
  )
}

function byName<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  pointer: string,
): ReadonlyMap<string, T> {
  const named = new Map(items.map((item) => [nameOf(item), item]))
  return named.size === items.length ? named : fail(pointer, 'names one thing twice')
}

function read(document: Json, digest: string): Constitution {
  const actionValues = list(at(document, '/action_space/action_types'), '/action_space/action_types')
  const actions = actionValues.map((value, index) => actionRule(value, `/action_space/action_types/${index}`))
  const kinds = list(at(document, '/observation_schema/kinds'), '/observation_schema/kinds').map(
    (value, index) => {
      const pointer = `/observation_schema/kinds/${index}`
      const kind = members(value, pointer)
      return [text(kind['kind'], pointer), fieldRules(kind['payload'], `${pointer}/payload`)] as const
    },
  )
  if (at(document, '/io_policy/network/enabled') !== false) fail('/io_policy/network/enabled', 'is not false')
  if (at(document, '/amendment_policy/amendments_enabled') !== false)
    fail('/amendment_policy/amendments_enabled', 'is not false')
  const key = at(document, '/selection_policy/default_selector_rule/key')
  if (key !== 'bundle_hash_lexicographic_min')
    fail('/selection_policy/default_selector_rule/key', 'is not the one rule that there is')
  const budgets = '/reflection_policy/proposal_budgets'
  const roots = '/io_policy/allowlist'
  return {
    version: text(at(document, '/meta/version'), '/meta/version'),
    digest,
    document,
    invariants: list(at(document, '/invariants'), '/invariants').map((value, index) =>
      text(members(value, '/invariants')['id'], `/invariants/${index}/id`),
    ),
    actions: byName(actions, ({ type }) => type, '/action_space/action_types'),
    observations: new Map(kinds),
    readRoots: texts(at(document, `${roots}/read_paths`), `${roots}/read_paths`),
    writeRoots: texts(at(document, `${roots}/write_paths`), `${roots}/write_paths`),
    candidatesMax: count(at(document, `${budgets}/max_candidates_per_cycle`), budgets),
    tokensMax: count(at(document, `${budgets}/max_total_tokens_per_cycle`), budgets),
    exitCodes: exitCodesOf(actions),
    logNames: texts(at(document, '/telemetry_policy/required_logs'), '/telemetry_policy/required_logs'),
    log: logLimits(actionValues),
  }
}

export type ConstitutionFiles = {
  readonly bytes: Uint8Array
  /** The file with its hash, which stands beside it; undefined: there is none. */
  readonly hashFile: string | undefined
}

/**
 * The constitution of those files, or one clause about why there is none. Never throws.
 * @param pin SHA-256 of the bytes that are accepted, lower-case hex; where it comes from, the file has no part in it
 */
export function readConstitution({ bytes, hashFile }: ConstitutionFiles, pin: string): ConstitutionResult {
  if (bytes.length > CONSTITUTION_BYTES)
    return { ok: false, problem: `it is larger than ${CONSTITUTION_BYTES} bytes` }
  const digest = encodeHex(sha256(bytes))
  if (hashFile === undefined) return { ok: false, problem: 'the file of its hash is not there' }
  if (/^[0-9a-f]{64}/.exec(hashFile)?.[0] !== digest)
    return { ok: false, problem: 'the file of its hash names other bytes' }
  if (digest !== pin) return { ok: false, problem: `its SHA-256 is ${digest} and not the pinned ${pin}` }
  const parsed = parseStrictJson(bytes, { size: CONSTITUTION_BYTES })
  if (!parsed.ok) return { ok: false, problem: `it is no JSON: ${parsed.problem}` }
  try {
    return { ok: true, constitution: read(parsed.value, digest) }
  } catch (error) {
    if (error instanceof Unusable) return { ok: false, problem: error.message }
    throw error
  }
}
