/**
 * Plans for tests: the vector of the source, tools that need no device, and a gate with the issuer's pin.
 * @module
 */
import { publicKeyOf, signWith, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import type { JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { createPlanGate, type PlanCheck, type PlanGround } from '../../../src/intent/plans/gate.ts'
import { signPlan, type UnsignedPlan } from '../../../src/intent/plans/plan.ts'
import { readManifest, type ToolManifest } from '../../../src/intent/tools/manifest.ts'
import { NOW_MS, OVER } from '../ground.ts'

/** Features of the source, 2.1: one call, signed by over_agent. */
export const VECTOR: JsonObject = {
  schema_version: '1.0',
  plan_id: '00000000-0000-4000-8000-0000000000b1',
  session_id: '00000000-0000-4000-8000-0000000000aa',
  issuer_id: 'over_agent',
  timestamp_utc: '2026-02-24T00:00:00+00:00',
  tool_calls: [
    {
      tool_call_id: '00000000-0000-4000-8000-0000000000c1',
      tool_name: 'markdown_to_html',
      args: { markdown: '# Test' },
    },
  ],
  issuer_signature:
    'ce114473dcc5288f8a6ab9670c8ab557cfef15b8d7bc8e4e446bd6287f666e469727f336a3cc6a216acbdce5fa8ed21e670ff39d15edda079f4508b9864e720d',
}
export const VECTOR_SHA256 = 'f5b3dcf025df2ff25e576be1269037dfdb2a2ca0f828dac0df46d9370f0e0640'
export const OVER_PIN = 'b62e867fa2f33afe62d5d6b1642e1621d543307846b2a57b897e710919b76709'

export const MANIFEST: JsonObject = {
  name: 'markdown_to_html',
  version: '1',
  executable: '/usr/bin/md',
  sha256: 'ab'.repeat(32),
  args_schema: {
    type: 'object',
    required: ['markdown'],
    properties: { markdown: { type: 'string', maxLength: 200_000 }, wide: { type: 'boolean' } },
    additionalProperties: false,
  },
  argv: [{ arg: 'wide', flag: '--wide' }, '--', { arg: 'markdown' }],
  permissions: ['fs:read'],
  tier: 'T1',
}

export function toolOf(more: JsonObject = {}): ToolManifest {
  const result = readManifest({ ...MANIFEST, ...more })
  if (!result.ok) throw new Error(result.problem)
  return result.manifest
}

export const TOOLS: ReadonlyMap<string, ToolManifest> = new Map([['markdown_to_html', toolOf()]])

const CALL = { tool_call_id: 'c1', tool_name: 'markdown_to_html', args: { markdown: '# Test' } }

/** A plan that the gate lets through; `more` takes the place of its fields before it is signed. */
export function planWith(more: Partial<UnsignedPlan> = {}, seed: Uint8Array = OVER): JsonObject {
  const plan: UnsignedPlan = {
    plan_id: 'p1',
    session_id: 's1',
    issuer_id: 'over_agent',
    timestamp_utc: '2026-02-24T00:00:00+00:00',
    expires_utc: '2026-02-25T00:00:00+00:00',
    tool_calls: [CALL],
    ...more,
  }
  return signPlan(plan, (bytes) => signWith(seed, bytes))
}

export const callOf = (more: object): typeof CALL => ({ ...CALL, ...more })
export const bytesOf = (plan: JsonObject): Uint8Array => encodeUtf8(JSON.stringify(plan))
export const pinOf = (seed: Uint8Array): string => encodeHex(hostSha256(publicKeyOf(seed)))

export function gateOf(
  pins: Readonly<Record<string, string>>,
  plansWithoutExpiry = false,
  keys = [publicKeyOf(OVER)],
) {
  return createPlanGate({
    pins,
    keyOf: (issuer) => (issuer === 'over_agent' ? publicKeyOf(OVER) : undefined),
    keysNow: () => keys,
    sha256: hostSha256,
    verify: verifyWith,
    plansWithoutExpiry,
  })
}

/** What the gate says of a plan, as a code or `ready`. */
export function judged(
  plan: JsonObject | Uint8Array,
  more: Partial<PlanGround> = {},
  withoutExpiry = false,
): PlanCheck {
  const made = gateOf({ over_agent: OVER_PIN }, withoutExpiry)
  if (!made.ok) throw new Error(made.problem)
  return made.gate.check(plan instanceof Uint8Array ? plan : bytesOf(plan), {
    nowMs: NOW_MS,
    wasUsed: () => false,
    wasRefused: () => false,
    tools: TOOLS,
    envelope: undefined,
    has: () => true,
    ...more,
  })
}

export function codeOf(
  plan: JsonObject | Uint8Array,
  more?: Partial<PlanGround>,
  withoutExpiry?: boolean,
): string {
  const found = judged(plan, more, withoutExpiry)
  return found.kind === 'ready' ? 'ready' : found.refusal.code
}
