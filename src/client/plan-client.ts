/**
 * Signed plans over a connection: run, asked about, and the tools that they may call. A plan goes on without whoever
 * has begun it, and runs once: after a link that broke its state is asked for, and it is not sent again.
 * Rules: docs/plans.md; docs/protocol.md, section 3 (70 to 72).
 * @module
 */
import { defer } from '../base/deferred.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { misuse } from '../errors.ts'
import { type OutputSource, STDERR, STDOUT } from '../ports.ts'
import { PLAN_FRAME_BYTES } from '../wire/limits.ts'
import * as m from '../wire/messages.ts'
import { type PlanState, planReference, planRequest, type ToolList } from '../wire/plan-messages.ts'
import type { Link } from './calls/link.ts'
import type { OnWaiting } from './calls/waiting.ts'

export type PlanCallState = {
  readonly id: string
  readonly tool: string
  /** waiting, begun, exited, signalled, not_started, refused or unknown. */
  readonly state: string
  /** Exit code, signal or errno. */
  readonly number: number
  readonly why: string
  /** Hex: the execution that it is, as for `attach`. */
  readonly execution: string
  readonly stdoutBytes: number
  readonly stderrBytes: number
}

export type PlanResult = {
  readonly planId: string
  readonly sessionId: string
  readonly issuer: string
  /** running, done, call_failed, interrupted or stopped. */
  readonly state: string
  readonly calls: readonly PlanCallState[]
  /** Unix seconds. */
  readonly begunAt: number
}

export type PlanTool = {
  readonly name: string
  readonly version: string
  readonly tier: string
  readonly permissions: readonly string[]
  readonly args: readonly string[]
  readonly isLoaded: boolean
  /** To operators: why it is not loaded. */
  readonly why: string
}

export type PlanClient = {
  /**
   * Runs a signed plan, or the one that is kept for this agent under a session. Resolves with how all of it ended; rejects with
   * INTENT_REJECTED where the plan was refused as a whole. `output` gets the beginning of what its calls print, and
   * `onWaiting` hears what a call waits for before it begins.
   */
  run(
    plan: Uint8Array | { readonly sessionId: string },
    output?: (source: OutputSource, bytes: Uint8Array) => void,
    onWaiting?: OnWaiting,
  ): Promise<PlanResult>
  /** How far a plan is, by its id or as the newest one of a session. */
  state(of: { readonly planId: string } | { readonly sessionId: string }): Promise<PlanResult>
  tools(): Promise<readonly PlanTool[]>
}

function toResult({ plan_id, session_id, issuer, state, calls, begun_at }: PlanState): PlanResult {
  return {
    ...{ planId: plan_id, sessionId: session_id, issuer, state, begunAt: begun_at },
    calls: calls.map((call) => ({
      ...{ id: call.tool_call_id, tool: call.tool_name, state: call.state, number: call.number },
      ...{ why: call.why, execution: encodeHex(call.execution_id) },
      ...{ stdoutBytes: call.stdout_bytes, stderrBytes: call.stderr_bytes },
    })),
  }
}

function requestOf(plan: Uint8Array | { readonly sessionId: string }): ReturnType<typeof planRequest.encode> {
  if (!(plan instanceof Uint8Array)) return planRequest.encode({ session_id: plan.sessionId })
  if (plan.length > 0 && plan.length <= PLAN_FRAME_BYTES) return planRequest.encode({ plan })
  throw misuse(
    `A plan has 1 to ${PLAN_FRAME_BYTES} bytes here, and this has ${plan.length}: send a longer one in an envelope.`,
  )
}

/** The methods of plans over `link`. */
export function createPlanClient(link: Pick<Link, 'call' | 'use'>): PlanClient {
  return {
    async run(plan, output = () => {}, onWaiting) {
      const request = requestOf(plan)
      return link.use((caller) => {
        const { promise, resolve, reject } = defer<PlanResult>()
        const stream = caller.open('RunPlan', request, false, {
          message(value, dataBytes) {
            const { data, source } = value as m.StreamResponse
            if (data === undefined) return
            output(source === STDERR ? STDERR : STDOUT, data)
            stream.consumed(dataBytes)
          },
          ended: (value) => resolve(toResult(value as PlanState)),
          failed: reject,
          credit() {},
          onWaiting,
        })
        return promise
      }, false)
    },
    async state(of) {
      const asked = 'planId' in of ? { plan_id: of.planId } : { session_id: of.sessionId }
      return toResult((await link.call('PlanStatus', planReference.encode(asked))) as PlanState)
    },
    async tools() {
      const { tools } = (await link.call('ShowTools', m.empty.encode({}))) as ToolList
      return tools.map(({ name, version, tier, permissions, args, is_loaded, why }) => ({
        ...{ name, version, tier, permissions, args, isLoaded: is_loaded, why },
      }))
    },
  }
}
