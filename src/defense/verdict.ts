/**
 * What the decision gives: one of six responses, and why. The union is closed; there is no seventh and no else.
 * Rules: docs/responses.md.
 * @module
 */

import type { ToxicProperty } from '../base/toxic-property.ts'
import type { Code } from '../errors.ts'
import type { OpaqueClass } from './13policy/opaque/opaque-class.ts'
import type { Tool } from './tools.ts'
import type { Warrant } from './warrant.ts'

export const RESPONSES = Object.freeze([
  'EXECUTE',
  'CHALLENGE',
  'THROTTLE',
  'VI_SWAP',
  'TARPIT',
  'DROP',
] as const)
export type Response = (typeof RESPONSES)[number]

/** R1 to R6, as SecurityStatus counts them. */
export const RESPONSE_NUMBERS: Readonly<Record<Response, number>> = Object.freeze({
  EXECUTE: 1,
  CHALLENGE: 2,
  THROTTLE: 3,
  VI_SWAP: 4,
  TARPIT: 5,
  DROP: 6,
})

/** The layers in their order: the first that does not pass decides. */
export const LAYER_NAMES = Object.freeze([
  'acl',
  'transport',
  'identity',
  'session',
  'level',
  'completeness',
  'tool_access',
  'delegation',
  'capability',
  'specifics',
  '13policy',
  'quota',
] as const)
export type LayerName = (typeof LAYER_NAMES)[number]

export type Severity = 'info' | 'warning' | 'critical'

/**
 * What a refusal says about the caller, for the levels of alarm. `violation`: it tried what it may not; three of them
 * are one too many. The other three are the severities of a rule that denied.
 */
export type Incident = 'violation' | 'medium' | 'high' | 'critical'

/** What a throttled request waits for; undefined: nothing, it is refused at once. */
export type Awaited = 'slot' | 'operator'

type Decided = {
  /** The name of the code in the table of errors.ts; undefined for a plain R1. */
  readonly code: Code | undefined
  /** `all` when every layer passed. */
  readonly layer: LayerName | 'all'
  /** What in that layer decided: a stable name, for the audit and for people. */
  readonly rule: string
  /** One sentence for the operator; sent to an agent only where the answer is a sentence. */
  readonly reason: string
  readonly severity: Severity
  readonly enhancedAudit: boolean
  readonly incident: Incident | undefined
  /** The tools that were asked for, where they are not granted. */
  readonly needed?: readonly Tool[] | undefined
}

/**
 * Refused with the reason (STATUS): a caller's plain mistake, what its set does not allow, and what a human did not
 * approve. `ends` also ends the connection.
 */
export type Told = { readonly kind: 'status'; readonly ends: boolean } & Decided

/** A warrant exists exactly when the response is EXECUTE, and something awaited only where it is THROTTLE. */
export type Verdict =
  | ({
      readonly kind: 'response'
      readonly response: 'EXECUTE'
      readonly warrant: Warrant
      /** The clause that allows it. */
      readonly authority: string
      /** The tools that it is permitted to use; none where it uses none. */
      readonly tools: readonly Tool[]
      /** What the permitted action adds to what its session has done. */
      readonly toxic: readonly ToxicProperty[]
      /** Of a command: what of it nobody has read; undefined: its words say what it does. */
      readonly opaque: OpaqueClass | undefined
      /** Of a command: whether it is in the plan of its caller's set; undefined: there is none. */
      readonly plan?: 'inside' | 'outside' | undefined
      /** What comes together in the session with it and the caller's set does not declare; undefined: nothing does. */
      readonly undeclared?: string | undefined
    } & Decided)
  | ({
      readonly kind: 'response'
      readonly response: 'THROTTLE'
      readonly awaits: Awaited | undefined
    } & Decided)
  | ({
      readonly kind: 'response'
      readonly response: Exclude<Response, 'EXECUTE' | 'THROTTLE'>
    } & Decided)
  | Told
