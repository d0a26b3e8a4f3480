/**
 * What a device tells about itself: its decisions, its record and what its link has carried, by the names and keys of
 * docs/protocol.md, section 3. Beside messages.ts, and docs/sass.cddl is generated from both.
 * @module
 */
import { AGENT_NAME_BYTES, EXECUTION_ID_BYTES, LISTED_ENTRIES } from '../limits.ts'
import {
  bytes,
  countMap,
  defaulted,
  listOf,
  type MessageInput,
  type MessageValue,
  message,
  optional,
  required,
  text,
  unsigned,
} from './schema.ts'

/** Bytes of TCP payload, TLS included, as the device counts them. */
export const wireBytes = message('WireBytes', {
  received: defaulted(1, unsigned(), 0, 'by the device'),
  sent: defaulted(2, unsigned(), 0),
  since: optional(3, unsigned(), 'Unix seconds; of a day: its midnight, or when counting began'),
})

export const sessionBytes = message('SessionBytes', {
  session_id: required(1, bytes(EXECUTION_ID_BYTES)),
  agent_name: required(2, text(AGENT_NAME_BYTES)),
  received: defaulted(3, unsigned(), 0, 'by the device'),
  sent: defaulted(4, unsigned(), 0),
})

export const securityStatus = message('SecurityStatus', {
  active_tarpits: defaulted(1, unsigned(), 0),
  active_sessions: defaulted(2, unsigned(), 0),
  blocked_ips: defaulted(3, unsigned(), 0),
  policy_version: defaulted(4, text(64), ''),
  responses: required(12, countMap(6), 'how often each of R1 to R6 was given'),
  level: defaulted(13, text(16), ''),
  audit_seq: required(14, unsigned()),
  audit_hash: required(15, bytes(32)),
  session: optional(16, wireBytes, 'of the caller’s own session'),
  today: optional(17, wireBytes, 'of the whole device, to operators; the day is one of UTC'),
  yesterday: optional(18, wireBytes),
  sessions: defaulted(19, listOf(sessionBytes, LISTED_ENTRIES), [], 'to operators'),
})

export type SecurityStatus = MessageValue<typeof securityStatus>
export type SecurityStatusInput = MessageInput<typeof securityStatus>
