/**
 * The messages of handoffs from agent to agent, by the names and keys of docs/protocol.md, section 3. Beside
 * messages.ts, and docs/sass.cddl is generated from both.
 * @module
 */
import {
  AGENT_NAME_BYTES,
  DELIVERED_BYTES,
  EXECUTION_ID_BYTES,
  HANDOFF_BYTES,
  LISTED_ENTRIES,
  PATH_BYTES,
} from '../limits.ts'
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

const id = bytes(EXECUTION_ID_BYTES)
const digest = bytes(32)
/** A name, a time and a nonce. */
const instance = text(AGENT_NAME_BYTES + 32)
const permille = unsigned(1_000)

export const handoffRequest = message('HandoffRequest', {
  content: required(1, bytes(1, HANDOFF_BYTES), 'JSON of docs/handoffs.md'),
})

export const handoffReference = message('HandoffReference', { handoff_id: required(1, id) })

export const handoffArtifact = message('HandoffArtifact', {
  path: required(1, text(PATH_BYTES), 'as the content has it'),
  size: defaulted(2, unsigned(), 0),
  sha256: optional(3, digest, 'of the file that was brought'),
  why: defaulted(4, text(1_024), '', 'it was not brought'),
})
export type HandoffArtifact = MessageValue<typeof handoffArtifact>

export const handoffEntry = message('HandoffEntry', {
  handoff_id: required(1, id),
  from_agent: required(2, instance, 'the instance that sent it, set by the daemon'),
  to_agent: required(3, text(AGENT_NAME_BYTES)),
  criticality: required(4, unsigned(4), '1 to 4'),
  depth: required(5, unsigned(), 'how often the task was handed on'),
  sent_at: required(6, unsigned(), 'Unix seconds'),
  expires_at: required(7, unsigned()),
  digest: required(8, digest, 'of the content'),
  is_taken: defaulted(9, bool, false),
  injection: defaulted(10, permille, 0, 'per mille of certainty that it gives orders; marked from 700 on'),
  hidden: defaulted(11, unsigned(), 0, 'secrets that were hidden in it'),
  previous: optional(12, id, 'the handoff that it follows'),
  artifacts: optional(13, listOf(handoffArtifact, 32), 'of one that is sent or taken; in no list'),
})
export type HandoffEntry = MessageValue<typeof handoffEntry>

export const handoffList = message('HandoffList', {
  handoffs: defaulted(1, listOf(handoffEntry, LISTED_ENTRIES), []),
  total: defaulted(2, unsigned(), 0),
})
export type HandoffList = MessageValue<typeof handoffList>

export const handoffContent = message('HandoffContent', {
  entry: required(1, handoffEntry),
  content: required(2, text(DELIVERED_BYTES), 'RFC 8785 JSON of docs/handoffs.md'),
  content_source: required(3, text(32), 'AGENT_HANDOFF: an agent wrote it, never its reader or the device'),
})
export type HandoffContent = MessageValue<typeof handoffContent>
