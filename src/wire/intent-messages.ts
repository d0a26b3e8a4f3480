/**
 * The messages of signed envelopes, by the names and keys of docs/protocol.md, section 3. Beside messages.ts, and
 * docs/sass.cddl is generated from both.
 * @module
 */
import { ENVELOPE_FILE_BYTES, INTENT_NAME_CHARS, QUARANTINE_LISTED } from '../config/intent-limits.ts'
import { CHUNK_BYTES, LISTED_ENTRIES } from '../limits.ts'
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

const name = text(INTENT_NAME_CHARS)
const digest = bytes(32)
/** `ID vVERSION`. */
const template = text(2 * INTENT_NAME_CHARS + 2)
const size = unsigned(ENVELOPE_FILE_BYTES)

export const envelopePiece = message('EnvelopePiece', {
  receiver: required(1, name, 'in whose name it is handed in'),
  piece: required(2, bytes(1, CHUNK_BYTES)),
  total: optional(3, size, 'bytes of the whole; absent: piece is all of it'),
  offset: defaulted(4, size, 0),
  digest: optional(5, digest, 'of the whole; with total'),
})
export type EnvelopePiece = MessageValue<typeof envelopePiece>

export const envelopeEntry = message('EnvelopeEntry', {
  envelope_id: required(1, name),
  session_id: required(2, name),
  sender: required(3, name),
  receiver: required(4, name),
  template: required(5, template),
  digest: required(6, digest, 'of its bytes'),
  size: required(7, size),
  accepted_at: required(8, unsigned(), 'Unix seconds'),
  is_taken: defaulted(9, bool, false),
})
export type EnvelopeEntry = MessageValue<typeof envelopeEntry>

export const envelopeReceipt = message('EnvelopeReceipt', {
  entry: optional(1, envelopeEntry, 'absent: it is not whole yet'),
  received: defaulted(2, size, 0, 'bytes of it that are there'),
})
export type EnvelopeReceipt = MessageValue<typeof envelopeReceipt>

export const envelopeList = message('EnvelopeList', {
  envelopes: defaulted(1, listOf(envelopeEntry, LISTED_ENTRIES), []),
  total: defaulted(2, unsigned(), 0),
})
export type EnvelopeList = MessageValue<typeof envelopeList>

export const envelopeReference = message('EnvelopeReference', {
  envelope_id: required(1, name),
  offset: defaulted(2, size, 0),
})

export const envelopeContent = message('EnvelopeContent', {
  entry: required(1, envelopeEntry),
  piece: required(2, bytes(0, CHUNK_BYTES), 'from the offset on'),
  content_source: required(3, text(32), 'AGENT_HANDOFF: an agent wrote it, never its reader or the device'),
  injection: defaulted(
    4,
    unsigned(1_000),
    0,
    'per mille of certainty that it gives orders; marked from 700 on',
  ),
})
export type EnvelopeContent = MessageValue<typeof envelopeContent>

export const quarantineRequest = message('QuarantineRequest', {
  offset: defaulted(1, unsigned(), 0),
})

export const quarantineEntry = message('QuarantineEntry', {
  name: required(1, text(192)),
  receiver: required(2, name),
  from: defaulted(3, text(256), '', 'the inbox or directory that it lay in, or who handed it in'),
  since: required(4, unsigned(), 'Unix seconds'),
  size: defaulted(5, unsigned(), 0),
  digest: optional(6, digest),
  step: optional(7, unsigned(12), 'the check that refused it, 0 the file itself; absent: not judged yet'),
  code: defaulted(8, text(64), ''),
  ticket: defaulted(9, text(16), ''),
  problem: defaulted(10, text(1_024), ''),
})
export type QuarantineEntry = MessageValue<typeof quarantineEntry>

export const quarantineList = message('QuarantineList', {
  files: defaulted(1, listOf(quarantineEntry, QUARANTINE_LISTED), []),
  total: defaulted(2, unsigned(), 0),
})
export type QuarantineList = MessageValue<typeof quarantineList>

export const quarantineSettling = message('QuarantineSettling', {
  name: required(1, text(192)),
  releases: defaulted(2, bool, false, 'true: judged once more; false: thrown away'),
})
