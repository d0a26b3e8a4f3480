/**
 * An envelope (SATL): what an agent means to have done, signed by it. The shape is closed: a key that nobody knows
 * would not be signed and is refused. The signature is over the canonical JSON of everything else; the text for people
 * is in it, and no decision reads it.
 * Rules: SAOE context 2.1, docs/intent.md section 2.
 * @module
 */

import { encodeHex } from '../../base/encoding/hex.ts'
import { DUPLICATE_KEY_PROBLEM } from '../../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import { type JsonObject, pythonJsonBytes, readIntentJson } from '../canonical/python-json.ts'
import {
  type FieldProblem,
  fieldWhere,
  hexField,
  nameField,
  objectField,
  objectOf,
  shapeField,
  textField,
  textOf,
  versionField,
} from '../canonical/shape.ts'
import { readUtcTime } from '../canonical/utc-time.ts'
import { HUMAN_READABLE_CHARS } from '../limits.ts'

const ENVELOPE_VERSION = '1.0'
/** How files of envelopes are called, after their id. */
export const ENVELOPE_SUFFIX = '.satl.json'

/** Which template the payload follows, and that the dispatcher has signed it. */
export type TemplateRef = {
  readonly templateId: string
  readonly version: string
  /** Lower-case hex of the template's canonical JSON. */
  readonly sha256: string
  /** Lower-case hex, 64 bytes. */
  readonly dispatcherSignature: string
  readonly capabilitySetId: string
  readonly capabilitySetVersion: string
}

export type UnsignedEnvelope = {
  readonly envelopeId: string
  readonly sessionId: string
  readonly timestampUtc: string
  readonly senderId: string
  readonly receiverId: string
  readonly humanReadable: string
  readonly templateRef: TemplateRef
  readonly payload: JsonObject
}

export type Envelope = UnsignedEnvelope & {
  /** Lower-case hex, 64 bytes. */
  readonly signature: string
}

const timeField = fieldWhere(
  (value) => typeof value === 'string' && readUtcTime(value) !== undefined,
  'must be a time in UTC, as 2026-02-24T00:00:00+00:00',
)

const ENVELOPE_SHAPE = shapeField({
  version: fieldWhere((value) => value === ENVELOPE_VERSION, `must be "${ENVELOPE_VERSION}"`),
  envelope_id: nameField,
  session_id: nameField,
  timestamp_utc: timeField,
  sender_id: nameField,
  receiver_id: nameField,
  human_readable: textField(HUMAN_READABLE_CHARS),
  template_ref: shapeField({
    template_id: nameField,
    version: versionField,
    sha256_hash: hexField(32),
    dispatcher_signature: hexField(64),
    capability_set_id: nameField,
    capability_set_version: versionField,
  }),
  payload: objectField,
  // Its form is looked at by the check of the signature: an empty one is a bad signature.
  envelope_signature: textField(128),
})

export type EnvelopeRead =
  | { readonly ok: true; readonly envelope: Envelope }
  | ({ readonly ok: false; readonly isDuplicateKey: boolean } & FieldProblem)

/** An envelope of bytes, its shape checked and nothing else. */
export function readEnvelope(bytes: Uint8Array): EnvelopeRead {
  const json = readIntentJson(bytes, ENVELOPE_FILE_BYTES)
  if (!json.ok) {
    const isDuplicateKey = json.problem === DUPLICATE_KEY_PROBLEM
    return {
      ok: false,
      isDuplicateKey,
      field: '',
      problem: `${json.problem}, at byte or unit ${json.offset}`,
    }
  }
  const problem = ENVELOPE_SHAPE(json.value)
  if (problem !== undefined) return { ok: false, isDuplicateKey: false, ...problem }
  // Its shape has been checked.
  return { ok: true, envelope: fromJson(json.value as JsonObject) }
}

function fromJson(value: JsonObject): Envelope {
  const reference = objectOf(value, 'template_ref')
  return {
    envelopeId: textOf(value, 'envelope_id'),
    sessionId: textOf(value, 'session_id'),
    timestampUtc: textOf(value, 'timestamp_utc'),
    senderId: textOf(value, 'sender_id'),
    receiverId: textOf(value, 'receiver_id'),
    humanReadable: textOf(value, 'human_readable'),
    templateRef: {
      templateId: textOf(reference, 'template_id'),
      version: textOf(reference, 'version'),
      sha256: textOf(reference, 'sha256_hash'),
      dispatcherSignature: textOf(reference, 'dispatcher_signature'),
      capabilitySetId: textOf(reference, 'capability_set_id'),
      capabilitySetVersion: textOf(reference, 'capability_set_version'),
    },
    payload: objectOf(value, 'payload'),
    signature: textOf(value, 'envelope_signature'),
  }
}

function toJson(envelope: UnsignedEnvelope): JsonObject {
  const { templateRef } = envelope
  return {
    version: ENVELOPE_VERSION,
    envelope_id: envelope.envelopeId,
    session_id: envelope.sessionId,
    timestamp_utc: envelope.timestampUtc,
    sender_id: envelope.senderId,
    receiver_id: envelope.receiverId,
    human_readable: envelope.humanReadable,
    template_ref: {
      template_id: templateRef.templateId,
      version: templateRef.version,
      sha256_hash: templateRef.sha256,
      dispatcher_signature: templateRef.dispatcherSignature,
      capability_set_id: templateRef.capabilitySetId,
      capability_set_version: templateRef.capabilitySetVersion,
    },
    payload: envelope.payload,
  }
}

/** What the sender signs: the canonical JSON of all fields but the signature. */
export function envelopeSignedBytes(envelope: UnsignedEnvelope): Uint8Array {
  return pythonJsonBytes(toJson(envelope))
}

/** The envelope with its sender's signature. */
export function sealEnvelope(envelope: UnsignedEnvelope, sign: (bytes: Uint8Array) => Uint8Array): Envelope {
  return { ...envelope, signature: encodeHex(sign(envelopeSignedBytes(envelope))) }
}

/** The file of an envelope, for people to read too. */
export function writeEnvelope(envelope: Envelope): Uint8Array {
  const document = { ...toJson(envelope), envelope_signature: envelope.signature }
  return encodeUtf8(`${JSON.stringify(document, undefined, 2)}\n`)
}

/** How its file is called. */
export function envelopeFileName(envelopeId: string): string {
  return `${envelopeId}${ENVELOPE_SUFFIX}`
}
