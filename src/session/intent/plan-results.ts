/**
 * What is told of a plan: on the record, and to the agents that wait for it, as payloads of envelopes of the template
 * `tool_result` (plan_id, tool_call_id, tool_name, session_id, result): one for each call, and a last one for all.
 * Rules: SAOE 2.1; docs/plans.md.
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { asSassError, reasonOf } from '../../errors.ts'
import type { JsonObject } from '../../intent/canonical/python-json.ts'
import type { PlanRefusal, PlanRefusalCode } from '../../intent/plans/gate.ts'
import type { ToolCall } from '../../intent/plans/plan.ts'
import type { JournalCall, JournalPlan } from '../../intent/plans/plan-journal.ts'
import type { CallResult, PlanDelivery, PlanRunner } from '../common/plan-room.ts'
import type { Rooms } from '../common/rooms.ts'
import { recordAnyway } from '../standing/record-anyway.ts'

/** A character of UTF-8 has at most so many bytes, so that many less one may be its beginning. */
const CUT_BYTES = 3
const NOTHING = new Uint8Array(0)
const UNTOLD = 'The daemon was interrupted before what it printed was handed on.'

/** A refusal that the gate does not make: of a plan that it let through, or never saw. */
export function refused(
  code: PlanRefusalCode,
  planId: string | undefined,
  problem: string,
  remedy: string,
): PlanRefusal {
  const sentence = `The plan was refused and nothing of it was run, because ${problem}: ${remedy}.`
  return { code, planId, callId: undefined, sentence }
}

/** What to do where results have no room. */
export const RESULTS_WAIT =
  'an operator makes room on the disk and in the quarantine, and those who wait take theirs (sass-edge intent inbox)'

export function noteRefused(
  rooms: Pick<Rooms, 'audit' | 'log'>,
  { code, planId, callId }: PlanRefusal,
  bytes: Uint8Array,
  who: Partial<PlanRunner>,
): void {
  const agent = who.caller?.name
  recordAnyway(rooms, {
    type: 'plan',
    what: 'refused',
    ...{ plan_id: planId ?? null, tool_call_id: callId ?? null, code, sha256: encodeHex(sha256(bytes)) },
    agent: agent ?? null,
    instance: who.session?.instance ?? null,
    session: who.session?.id ?? null,
  })
  rooms.log.write('warn', 'plan_refused', { code, plan: planId ?? '-', agent: agent ?? '-' })
}

/** Text as it is, anything else in base64url; of a character that was cut at the end nothing. */
function printed(bytes: Uint8Array): JsonObject {
  for (let cut = 0; cut <= Math.min(CUT_BYTES, bytes.length); cut++) {
    const text = decodeUtf8(bytes, 0, bytes.length - cut)
    if (text !== undefined) return { encoding: 'utf-8', data: text }
  }
  return { encoding: 'base64url', data: encodeBase64Url(bytes) }
}

/** What the result of one call says. */
export function partOf({ id, tool }: ToolCall, execution: string, result: CallResult): JsonObject {
  const { kind, number, why, stdoutBytes, stderrBytes, stdout, stderr } = result
  return {
    ...{ tool_call_id: id, tool_name: tool },
    result: {
      ...{ state: kind, number, why, execution_id: execution },
      ...{ stdout_bytes: stdoutBytes, stderr_bytes: stderrBytes },
      ...{ stdout: printed(stdout), stderr: printed(stderr) },
    },
  }
}

function callPart(call: JournalCall): JsonObject {
  return {
    ...{ tool_call_id: call.id, tool_name: call.tool, state: call.state, number: call.number },
    ...{ why: call.why, execution_id: call.execution },
    ...{ stdout_bytes: call.stdoutBytes, stderr_bytes: call.stderrBytes },
  }
}

/** What the last result of a plan says: which calls ran and how they ended, and which did not. */
export function summaryOf({ state, calls }: JournalPlan): JsonObject {
  return {
    ...{ tool_call_id: 'summary', tool_name: 'plan' },
    result: { state, calls: calls.map(callPart) },
  }
}

/**
 * To each of these agents; what cannot be delivered is in the log, and the plan goes on.
 * @param at the call that it is about
 * @returns false where there was no place for it, so that it is still to be told
 */
export function deliverTo(
  deliver: (delivery: PlanDelivery) => void,
  log: Rooms['log'],
  receivers: readonly string[],
  { issuer, planId, sessionId }: Pick<JournalPlan, 'issuer' | 'planId' | 'sessionId'>,
  at: number | 'summary',
  part: JsonObject,
): boolean {
  let isKept = true
  for (const receiver of new Set(receivers)) {
    try {
      const payload = { plan_id: planId, session_id: sessionId, ...part }
      deliver({ key: [issuer, planId, at, receiver].join('\n'), receiver, sessionId, payload })
    } catch (cause) {
      if (asSassError(cause)?.code === 'STATE_UNWRITABLE') isKept = false
      log.write('error', 'plan_result_undelivered', { receiver, reason: reasonOf(cause) })
    }
  }
  return isKept
}

/** What may not have been told of a plan that has ended; of what its calls printed nothing is left. */
export function deliverLeft(
  deliver: (delivery: PlanDelivery) => void,
  log: Rooms['log'],
  plan: JournalPlan,
): boolean {
  const receivers = [plan.issuer, plan.runner]
  let isKept = true
  for (const [at, call] of plan.calls.entries()) {
    if (call.state === 'waiting' || call.state === 'begun' || call.state === 'unanswered') continue
    const result = { ...call, kind: call.state, why: call.why || UNTOLD, stdout: NOTHING, stderr: NOTHING }
    const part = partOf({ ...call, args: {} }, call.execution, result)
    isKept = deliverTo(deliver, log, receivers, plan, at, part) && isKept
  }
  // After a call that was answered with nothing nobody hears more.
  if (plan.calls.some(({ state }) => state === 'unanswered')) return isKept
  return deliverTo(deliver, log, receivers, plan, 'summary', summaryOf(plan)) && isKept
}
