/**
 * The messages of plans and tools, by the names and keys of docs/protocol.md, section 3. Beside messages.ts, and
 * docs/sass.cddl is generated from both.
 * @module
 */
import { AGENT_NAME_BYTES, EXECUTION_ID_BYTES, LISTED_ENTRIES } from '../limits.ts'
import {
  PLAN_CALLS_TOLD,
  PLAN_FRAME_BYTES,
  PLAN_NAME_BYTES,
  PLAN_WHY_BYTES,
  TOOL_ARGS_TOLD,
} from './limits.ts'
import {
  bool,
  bytes,
  defaulted,
  listOf,
  type MessageValue,
  message,
  optional,
  required,
  text,
  unsigned,
} from './schema.ts'

const name = text(PLAN_NAME_BYTES)
const state = text(16)

export const planRequest = message('PlanRequest', {
  plan: optional(1, bytes(1, PLAN_FRAME_BYTES), 'JSON of docs/plans.md; else the one that is kept'),
  session_id: optional(2, name, 'of a plan that is kept for the caller'),
})

export const planReference = message('PlanReference', {
  plan_id: optional(1, name),
  session_id: optional(2, name, 'the newest one of it'),
})

export const planCall = message('PlanCall', {
  tool_call_id: required(1, name),
  tool_name: required(2, name),
  state: required(3, state, 'waiting, begun, exited, signalled, not_started, refused, unknown'),
  number: defaulted(4, unsigned(), 0, 'exit code, signal or errno'),
  why: defaulted(5, text(PLAN_WHY_BYTES), ''),
  execution_id: required(6, bytes(EXECUTION_ID_BYTES)),
  stdout_bytes: defaulted(7, unsigned(), 0),
  stderr_bytes: defaulted(8, unsigned(), 0),
})

export const planState = message('PlanState', {
  plan_id: required(1, name),
  session_id: required(2, name),
  issuer: required(3, text(AGENT_NAME_BYTES)),
  state: required(4, state, 'running, done, call_failed, interrupted, stopped'),
  calls: defaulted(5, listOf(planCall, PLAN_CALLS_TOLD), []),
  begun_at: defaulted(6, unsigned(), 0, 'Unix seconds'),
})
export type PlanState = MessageValue<typeof planState>

export const toolEntry = message('ToolEntry', {
  name: required(1, name),
  version: defaulted(2, text(32), ''),
  tier: defaulted(3, text(2), ''),
  permissions: defaulted(4, listOf(text(32), 16), []),
  args: defaulted(5, listOf(name, TOOL_ARGS_TOLD), []),
  is_loaded: defaulted(6, bool, false),
  why: defaulted(7, text(PLAN_WHY_BYTES), '', 'to operators: why it is not loaded'),
})

export const toolList = message('ToolList', {
  tools: defaulted(1, listOf(toolEntry, LISTED_ENTRIES), []),
})
export type ToolList = MessageValue<typeof toolList>
