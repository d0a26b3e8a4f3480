/**
 * The gate before every plan: nothing of it runs unless all of it may. The keys of issuers are pinned in the
 * configuration and held against the list of agents when the gate is made: one that differs, and there is no gate. Who has
 * changed its key since signs with the new one. A plan is then looked at in one order: form, issuer, signature, session
 * and sender, times, single use, and for every call the tool, its arguments, what the capability set lets be said, and
 * what whoever runs it has.
 * Rules: SAOE 2.4 and FT-006; docs/plans.md.
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import { TIERS, type Tool } from '../../base/tool-name.ts'
import { argvOf } from '../tools/argv.ts'
import type { ToolManifest } from '../tools/manifest.ts'
import { PERMISSION_TOOLS } from '../tools/permissions.ts'
import { allowedArguments, allowsAction, type CapabilitySet } from '../vault/capability-set.ts'
import { PLAN_AHEAD_MS, PLAN_LIFE_MS } from './limits.ts'
import { PLAN_TEMPLATE, type Plan, readPlan, type ToolCall } from './plan.ts'

export type PlanRefusalCode =
  | 'plan_form'
  | 'unknown_issuer'
  | 'bad_signature'
  | 'session_mismatch'
  | 'issuer_mismatch'
  | 'not_yet'
  | 'no_expiry'
  | 'expired'
  | 'used'
  | 'busy'
  | 'unknown_tool'
  | 'tool_arguments'
  | 'argument_not_allowed'
  | 'tool_not_given'

export type PlanRefusal = {
  readonly code: PlanRefusalCode
  /** The plan and the call, where it came so far. */
  readonly planId: string | undefined
  readonly callId: string | undefined
  /** Who has signed it, where that was proven. */
  readonly issuer?: string | undefined
  /** One sentence: what is wrong, that nothing was run, what to do. */
  readonly sentence: string
}

/** What one call will be: the tool as it is registered, and the words that its arguments become. */
export type ReadyCall = {
  readonly call: ToolCall
  readonly tool: ToolManifest
  readonly words: readonly string[]
}

export type ReadyPlan = { readonly plan: Plan; readonly calls: readonly ReadyCall[] }

export type PlanGround = {
  readonly nowMs: number
  readonly wasUsed: (planId: string, issuer: string) => boolean
  /** In an envelope: then it does not run without one. */
  readonly wasRefused: (planId: string, issuer: string) => boolean
  readonly tools: ReadonlyMap<string, ToolManifest>
  /** Of the envelope that it came in; undefined: it came by itself. */
  readonly envelope:
    | { readonly sessionId: string; readonly sender: string; readonly capabilitySet: CapabilitySet }
    | undefined
  /** The tools of whoever would run it. */
  readonly has: (tool: Tool) => boolean
}

export type PlanCheck =
  | ({ readonly kind: 'ready' } & ReadyPlan)
  | { readonly kind: 'refused'; readonly refusal: PlanRefusal }

export type PlanGate = {
  check(bytes: Uint8Array, ground: PlanGround): PlanCheck
}

export type GateOptions = {
  /** By the name of an agent, SHA-256 of the key that its plans are signed with, lower-case hex. */
  readonly pins: Readonly<Record<string, string>>
  /** The key that the configuration lists. */
  readonly keyOf: (issuer: string) => Uint8Array | undefined
  /** Those that are in force when a plan is looked at: the issuer may have changed its key since. */
  readonly keysNow: (issuer: string) => readonly Uint8Array[]
  readonly sha256: (bytes: Uint8Array) => Uint8Array
  readonly verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean
  readonly plansWithoutExpiry: boolean
}

export type GateResult =
  | { readonly ok: true; readonly gate: PlanGate }
  | { readonly ok: false; readonly problem: string }

/** Makes the gate; refused where a pin is of nobody, or of another key than the agent's. */
export function createPlanGate(options: GateOptions): GateResult {
  for (const [issuer, pin] of Object.entries(options.pins)) {
    const key = options.keyOf(issuer)
    if (key === undefined)
      return { ok: false, problem: `intent.issuer_pins names ${issuer}, and agents has no such name` }
    if (encodeHex(options.sha256(key)) !== pin)
      return {
        ok: false,
        problem: `intent.issuer_pins.${issuer} is not the SHA-256 of that agent's public_key`,
      }
  }
  return { ok: true, gate: { check: (bytes, ground) => check(bytes, ground, options) } }
}

type Refuse = (code: PlanRefusalCode, problem: string, remedy: string, callId?: string) => PlanCheck

function check(
  bytes: Uint8Array,
  ground: PlanGround,
  { pins, keysNow, verify, plansWithoutExpiry }: GateOptions,
): PlanCheck {
  const read = readPlan(bytes)
  const planId = read.ok ? read.plan.id : undefined
  let issuer: string | undefined
  const refuse: Refuse = (code, problem, remedy, callId) => ({
    kind: 'refused',
    refusal: {
      ...{ code, planId, callId, issuer },
      sentence: `The plan was refused and nothing of it was run, because ${problem}: ${remedy}.`,
    },
  })
  if (!read.ok)
    return refuse(
      'plan_form',
      `${read.field === '' ? 'it' : read.field} ${read.problem}`,
      'correct that and sign it again',
    )
  const { plan } = read
  const keys = Object.hasOwn(pins, plan.issuer) ? keysNow(plan.issuer) : []
  if (keys.length === 0)
    return refuse(
      'unknown_issuer',
      `no key of ${plan.issuer} is pinned here`,
      'an operator pins it in intent.issuer_pins',
    )
  if (!keys.some((key) => verify(key, plan.signedBytes, plan.signature)))
    return refuse(
      'bad_signature',
      `it is not signed with the key of ${plan.issuer} as it stands`,
      'have its issuer sign it again',
    )
  issuer = plan.issuer
  return (
    misplaced(plan, ground, refuse) ??
    untimely(plan, ground, plansWithoutExpiry, refuse) ??
    readyOrRefused(plan, ground, refuse)
  )
}

function misplaced(
  { sessionId, issuer }: Plan,
  { envelope }: PlanGround,
  refuse: Refuse,
): PlanCheck | undefined {
  if (envelope === undefined) return undefined
  if (envelope.sessionId !== sessionId)
    return refuse(
      'session_mismatch',
      'it is of another session than the envelope that it came in',
      'send it in an envelope of its own session',
    )
  if (envelope.sender !== issuer)
    return refuse(
      'issuer_mismatch',
      'somebody else has sent it than has issued it',
      'have its issuer send it',
    )
  return undefined
}

function untimely(
  { id, issuer, atMs, expiresMs }: Plan,
  { nowMs, wasUsed, wasRefused, envelope }: PlanGround,
  plansWithoutExpiry: boolean,
  refuse: Refuse,
): PlanCheck | undefined {
  const again = 'have its issuer sign a new one'
  if (atMs > nowMs + PLAN_AHEAD_MS)
    return refuse('not_yet', 'it was signed later than it is here now', 'set the clock that is wrong')
  if (expiresMs === undefined && !plansWithoutExpiry)
    return refuse('no_expiry', 'it has no expires_utc', `${again}, of schema_version 1.1`)
  if (expiresMs !== undefined && expiresMs <= nowMs) return refuse('expired', 'its time is over', again)
  if (expiresMs !== undefined && (expiresMs <= atMs || expiresMs - atMs > PLAN_LIFE_MS))
    return refuse('expired', 'its expiry is not within a year of when it was signed', again)
  // Once for ever, whatever became of it then.
  if (wasUsed(id, issuer))
    return refuse('used', `a plan of this id by ${issuer} was run before`, `${again}, of another id`)
  // What an envelope may not have run is not run by leaving the envelope away.
  if (envelope === undefined && wasRefused(id, issuer))
    return refuse(
      'used',
      'it was refused in the envelope that it came in',
      'have its issuer send it in one that allows it',
    )
  return undefined
}

function readyOrRefused(plan: Plan, ground: PlanGround, refuse: Refuse): PlanCheck {
  const calls: ReadyCall[] = []
  for (const call of plan.calls) {
    const tool = ground.tools.get(call.tool)
    if (tool === undefined)
      return refuse(
        'unknown_tool',
        `call ${call.id} wants ${call.tool}, and no such tool is loaded here`,
        'sass-edge intent tools lists those that are',
        call.id,
      )
    const words = judgeArguments(call, tool, ground, refuse)
    if (!Array.isArray(words)) return words as PlanCheck
    const lacking = neededOf(tool).find((one) => !ground.has(one))
    if (lacking !== undefined)
      return refuse(
        'tool_not_given',
        `call ${call.id} needs ${lacking}, which whoever would run it does not have`,
        'have an agent of another tier run it',
        call.id,
      )
    calls.push({ call, tool, words: words as readonly string[] })
  }
  return { kind: 'ready', plan, calls }
}

function judgeArguments(
  { id, args, tool: name }: ToolCall,
  tool: ToolManifest,
  { envelope }: PlanGround,
  refuse: Refuse,
): readonly string[] | PlanCheck {
  const again = 'correct that and sign the plan again'
  const found = tool.check(args)
  if (found !== undefined)
    return refuse(
      'tool_arguments',
      `call ${id}, ${found.field === '' ? 'args' : found.field} ${found.problem}`,
      again,
      id,
    )
  if (envelope !== undefined) {
    const allowed = allowedArguments(envelope.capabilitySet, name)
    const extra = Object.keys(args).find((arg) => allowed?.includes(arg) !== true)
    const isAllowed = allowsAction(envelope.capabilitySet, PLAN_TEMPLATE, name)
    if (!isAllowed || allowed === undefined || extra !== undefined)
      return refuse(
        'argument_not_allowed',
        `call ${id} uses ${extra === undefined ? name : `${name} with ${extra}`}, which the capability set of its template does not list`,
        'use a template that allows it',
        id,
      )
  }
  const words = argvOf(tool.argv, args)
  return words.ok
    ? words.words
    : refuse('tool_arguments', `call ${id}, ${words.arg} ${words.problem}`, again, id)
}

/** The tools of a tier that whoever runs it must have. */
function neededOf({ tier, permissions }: ToolManifest): readonly Tool[] {
  return [...new Set<Tool>([...TIERS[tier], ...permissions.map((one) => PERMISSION_TOOLS[one])])]
}
