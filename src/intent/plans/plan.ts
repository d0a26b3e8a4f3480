/**
 * An execution plan: calls of tools, in their order, signed by whoever stands for them. What is signed is the canonical
 * JSON of every field but the signature. Version 1.0 is what SAOE signs; 1.1 also has `expires_utc` in the signed bytes.
 * Everything is required and closed: a field that is absent has no default, and one that is not known is refused.
 * Rules: SAOE 2.4; docs/plans.md.
 * @module
 */
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { isJsonObject, type JsonObject, pythonJsonBytes, readIntentJson } from '../canonical/python-json.ts'
import {
  fieldWhere,
  hexField,
  itemsOf,
  listField,
  nameField,
  objectField,
  objectOf,
  type Shape,
  shapeField,
  textOf,
} from '../canonical/shape.ts'
import { readUtcTime } from '../canonical/utc-time.ts'
import { PLAN_BYTES, PLAN_CALLS } from './limits.ts'

export type ToolCall = { readonly id: string; readonly tool: string; readonly args: JsonObject }

export type Plan = {
  readonly id: string
  readonly sessionId: string
  readonly issuer: string
  readonly atMs: number
  /** Undefined: version 1.0, which has none. */
  readonly expiresMs: number | undefined
  readonly calls: readonly ToolCall[]
  /** 64 bytes. */
  readonly signature: Uint8Array
  readonly signedBytes: Uint8Array
}

export type PlanResult =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly field: string; readonly problem: string }

/** The template of envelopes that hold one, as `plan` of their payload. */
export const PLAN_TEMPLATE = 'execution_plan'
const SIGNATURE = 'issuer_signature'
const timeField = fieldWhere(
  (value) => typeof value === 'string' && readUtcTime(value) !== undefined,
  'must be a time like 2026-02-24T00:00:00+00:00',
)
const CALLS = listField(
  shapeField({ tool_call_id: nameField, tool_name: nameField, args: objectField }),
  PLAN_CALLS,
)
const FIELDS: Shape = Object.freeze({
  schema_version: () => undefined,
  plan_id: nameField,
  session_id: nameField,
  issuer_id: nameField,
  timestamp_utc: timeField,
  tool_calls: (value: Json) =>
    Array.isArray(value) && value.length === 0
      ? { field: '', problem: 'must have at least one call' }
      : CALLS(value),
  [SIGNATURE]: hexField(64),
})
const SHAPES = Object.freeze({
  '1.0': shapeField(FIELDS),
  '1.1': shapeField({ ...FIELDS, expires_utc: timeField }),
})

function callsOf(value: JsonObject): readonly ToolCall[] {
  return itemsOf(value, 'tool_calls')
    .filter(isJsonObject)
    .map((call) => ({
      id: textOf(call, 'tool_call_id'),
      tool: textOf(call, 'tool_name'),
      args: objectOf(call, 'args'),
    }))
}

/** Reads a plan that strict JSON has turned into a value: its form alone, no signature is looked at. */
export function planOf(value: Json): PlanResult {
  const version = isJsonObject(value) ? textOf(value, 'schema_version') : ''
  if (!isJsonObject(value) || (version !== '1.0' && version !== '1.1'))
    return { ok: false, field: 'schema_version', problem: 'must be "1.0" or "1.1"' }
  const wrong = SHAPES[version](value)
  if (wrong !== undefined) return { ok: false, ...wrong }
  const calls = callsOf(value)
  if (new Set(calls.map(({ id }) => id)).size < calls.length)
    return { ok: false, field: 'tool_calls', problem: 'has a tool_call_id twice' }
  const { [SIGNATURE]: _, ...signed } = value
  return {
    ok: true,
    plan: {
      id: textOf(value, 'plan_id'),
      sessionId: textOf(value, 'session_id'),
      issuer: textOf(value, 'issuer_id'),
      atMs: readUtcTime(textOf(value, 'timestamp_utc')) ?? 0,
      expiresMs: readUtcTime(textOf(value, 'expires_utc')),
      calls,
      signature: decodeHex(textOf(value, SIGNATURE)) ?? new Uint8Array(0),
      signedBytes: pythonJsonBytes(signed),
    },
  }
}

/** Reads the file of a plan: measured before it is parsed, no key twice, integers alone. */
export function readPlan(bytes: Uint8Array): PlanResult {
  if (bytes.length > PLAN_BYTES) return { ok: false, field: '', problem: `has more than ${PLAN_BYTES} bytes` }
  const json = readIntentJson(bytes, PLAN_BYTES)
  return json.ok ? planOf(json.value) : { ok: false, field: '', problem: `cannot be read: ${json.problem}` }
}

export type UnsignedPlan = {
  readonly plan_id: string
  readonly session_id: string
  readonly issuer_id: string
  readonly timestamp_utc: string
  /** Absent: version 1.0. */
  readonly expires_utc?: string
  readonly tool_calls: readonly {
    readonly tool_call_id: string
    readonly tool_name: string
    readonly args: JsonObject
  }[]
}

/**
 * The plan with its signature, to be written as JSON.
 * @param sign Ed25519 over the bytes, by the issuer: 64 bytes
 */
export function signPlan(plan: UnsignedPlan, sign: (bytes: Uint8Array) => Uint8Array): JsonObject {
  const unsigned: JsonObject = {
    schema_version: plan.expires_utc === undefined ? '1.0' : '1.1',
    ...plan,
  }
  return { ...unsigned, [SIGNATURE]: encodeHex(sign(pythonJsonBytes(unsigned))) }
}
