/**
 * The messages by which callers come to be listed and change their keys: an invitation that an operator asks for, and
 * another key for the caller itself; and by which an agent hands work on to another one. The tokens of both are in
 * Authenticate (messages.ts).
 * Rules: docs/protocol.md, sections 3 and 4.
 * @module
 */
import {
  AGENT_NAME_BYTES,
  ENROLMENT_TOKEN_BYTES,
  INVITATION_MAX_SECONDS,
  INVITATION_SECONDS,
  POLICY_DIGEST_BYTES,
} from '../limits.ts'
import {
  DELEGATED_PATTERN_BYTES,
  DELEGATED_PATTERNS,
  DELEGATION_MAX_SECONDS,
  DELEGATION_SECONDS,
  DELEGATION_TOKEN_BYTES,
  INSTANCE_BYTES,
} from './limits.ts'
import {
  bool,
  bytes,
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

const SENTENCE_BYTES = 1_024

export const inviteRequest = message('InviteRequest', {
  agent_name: required(1, text(AGENT_NAME_BYTES), 'of whoever is invited; nobody has it yet'),
  is_operator: defaulted(2, bool, false, 'its role: agent, or operator'),
  capability: required(3, text(AGENT_NAME_BYTES), 'the set that bounds it'),
  ttl_seconds: defaulted(4, unsigned(INVITATION_MAX_SECONDS), INVITATION_SECONDS, 'at least 1'),
})
export type InviteRequest = MessageValue<typeof inviteRequest>
export type InviteRequestInput = MessageInput<typeof inviteRequest>

export const invitation = message('Invitation', {
  success: defaulted(1, bool, false),
  message: defaulted(2, text(SENTENCE_BYTES), ''),
  token: optional(3, bytes(ENROLMENT_TOKEN_BYTES), 'known to nobody else: the device keeps its SHA-256'),
  expires_at: optional(4, unsigned(), 'Unix seconds, by the clock of the device'),
})
export type Invitation = MessageValue<typeof invitation>

export const keyRotation = message('KeyRotation', {
  public_key: required(1, bytes(32), 'the key that follows'),
  signature: required(2, bytes(64), 'made with it, see section 4'),
})
export type KeyRotation = MessageValue<typeof keyRotation>

const EVERYTHING: readonly string[] = Object.freeze(['*'])
const TOOL_BYTES = 32
const TOOLS_MAX = 64

export const delegateRequest = message('DelegateRequest', {
  worker: required(1, text(AGENT_NAME_BYTES), 'the agent that may begin a session with the token'),
  tools: defaulted(2, listOf(text(TOOL_BYTES), TOOLS_MAX), EVERYTHING, 'of the caller’s own, or *'),
  allowed_commands: defaulted(
    3,
    listOf(text(DELEGATED_PATTERN_BYTES), DELEGATED_PATTERNS),
    EVERYTHING,
    'patterns as capability sets have them',
  ),
  allowed_paths: defaulted(
    4,
    listOf(text(DELEGATED_PATTERN_BYTES), DELEGATED_PATTERNS),
    EVERYTHING,
    'as capability sets have them',
  ),
  ttl_seconds: defaulted(5, unsigned(DELEGATION_MAX_SECONDS), DELEGATION_SECONDS, 'at least 1'),
})
export type DelegateRequest = MessageValue<typeof delegateRequest>

export const delegation = message('Delegation', {
  success: defaulted(1, bool, false),
  message: defaulted(2, text(SENTENCE_BYTES), ''),
  token: optional(3, bytes(DELEGATION_TOKEN_BYTES), 'known to nobody else: the device keeps its SHA-256'),
  expires_at: optional(4, unsigned(), 'Unix seconds, by the clock of the device'),
})
export type DelegationAnswer = MessageValue<typeof delegation>

export const termination = message('Termination', {
  instance: required(1, text(INSTANCE_BYTES), 'of the session that ends for good'),
})
export type Termination = MessageValue<typeof termination>

export const rulesTold = message('RulesTold', {
  text: required(1, text(POLICY_DIGEST_BYTES), 'a rule a line, numbered'),
  sha256: required(2, bytes(32), 'of the text; the record has it'),
})

export type RulesTold = MessageValue<typeof rulesTold>
