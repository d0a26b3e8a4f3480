/**
 * The messages of proposals, by the names and keys of docs/protocol.md, section 3. Beside messages.ts, and
 * docs/sass.cddl is generated from both.
 * @module
 */
import {
  PROPOSAL_ARTIFACT_BYTES,
  PROPOSAL_BYTES,
  PROPOSAL_CONTENT_BYTES,
  PROPOSAL_SAID_BYTES,
} from './limits.ts'
import { bytes, defaulted, type MessageValue, message, optional, required, text, unsigned } from './schema.ts'

export const decideRequest = message('DecideRequest', {
  content: required(1, bytes(1, PROPOSAL_BYTES), 'JSON of docs/proposals.md'),
  said: optional(2, text(PROPOSAL_SAID_BYTES), 'what it is an answer to; the user_input of the cycle'),
  tokens: optional(3, unsigned(), 'spent on it; absent: a quarter of the bytes of content'),
})
export type DecideRequest = MessageValue<typeof decideRequest>

export const decided = message('Decided', {
  decision: required(1, text(8), 'ACTION, REFUSE or EXIT'),
  cycle: required(2, unsigned()),
  artifact: required(
    3,
    text(PROPOSAL_ARTIFACT_BYTES),
    'RFC 8785 JSON of the warrant, refusal or exit record',
  ),
  state: required(4, bytes(32), 'hash of the run up to here'),
  content: optional(5, text(PROPOSAL_CONTENT_BYTES), 'what was read, or said to stdout'),
  hidden: defaulted(6, unsigned(), 0, 'secrets that were hidden in it'),
  injection: defaulted(
    7,
    unsigned(1_000),
    0,
    'per mille of certainty that it gives orders; marked from 700 on',
  ),
})
export type Decided = MessageValue<typeof decided>
