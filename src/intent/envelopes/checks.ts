/**
 * The twelve checks of an envelope, in their order, before anything of it is done; the first that fails is the answer,
 * and what none of them has let through is refused. Pure and synchronous: bytes and what is known, and a verdict.
 * An answer of "not seen" at the twelfth is what was known before; the insert into the store decides.
 * Rules: SAOE context 2.2; docs/intent.md section 2.
 * @module
 */

import { decodeHex } from '../../base/encoding/hex.ts'
import { ENVELOPE_FILE_BYTES, ENVELOPES_PER_HOUR } from '../../config/intent-limits.ts'
import { pythonDefaultLength } from '../canonical/python-json.ts'
import { readUtcTime } from '../canonical/utc-time.ts'
import { ENVELOPE_AGE_MS, ENVELOPE_AHEAD_MS } from '../limits.ts'
import type { CapabilitySet } from '../vault/capability-set.ts'
import type { OpenEntry, VaultContents, VaultEntry } from '../vault/contents.ts'
import { isSignedBy, type Manifest, type Verify } from '../vault/manifest.ts'
import type { Template } from '../vault/template.ts'
import { type Envelope, envelopeSignedBytes, readEnvelope } from './envelope.ts'
import { type EnvelopeRefusal, type EnvelopeRefusalCode, refusalOf } from './refusal.ts'

export type { EnvelopeRefusal, EnvelopeRefusalCode } from './refusal.ts'

export type CheckedEnvelope = {
  readonly envelope: Envelope
  readonly template: Template
  readonly capabilitySet: CapabilitySet
}

/** What is known on the device when an envelope is looked at. */
export type EnvelopeGround = {
  /** Whose inbox it lay in. */
  readonly receiver: string
  /** The sender's public key, 32 bytes; undefined: nobody is known by that name. */
  readonly senderKey: (senderId: string) => Uint8Array | undefined
  readonly vault: VaultContents
  readonly verify: Verify
  readonly sha256: (bytes: Uint8Array) => Uint8Array
  readonly nowMs: number
  /** How many of the sender's were accepted in the hour before now. */
  readonly acceptedInHour: (senderId: string) => number
  /** Absent: ENVELOPES_PER_HOUR. */
  readonly acceptedPerHour?: number | undefined
  readonly wasSeen: (envelopeId: string) => boolean
}

export type EnvelopeVerdict =
  | ({ readonly kind: 'accepted' } & CheckedEnvelope)
  | {
      readonly kind: 'refused'
      readonly refusal: EnvelopeRefusal
      /** What it says of itself, once its shape is right; nothing of it is proven before check 3. */
      readonly claimed: Envelope | undefined
    }

/** A step that failed, until it is given its step and ticket. */
type Failure = readonly [code: EnvelopeRefusalCode, field: string, problem: string] | undefined

/** All twelve checks over the bytes of a file. */
export function checkEnvelope(bytes: Uint8Array, ground: EnvelopeGround): EnvelopeVerdict {
  if (bytes.length > ENVELOPE_FILE_BYTES)
    return refused(['FILE_SIZE_EXCEEDED', '', `is larger than ${ENVELOPE_FILE_BYTES} bytes`], undefined)
  const read = readEnvelope(bytes)
  if (!read.ok) {
    const code = read.isDuplicateKey ? 'DUPLICATE_KEY' : 'ENVELOPE_MALFORMED'
    const problem = read.field === '' ? `cannot be read: ${read.problem}` : read.problem
    return refused([code, read.field, problem], undefined)
  }
  const { envelope } = read
  const unproven =
    senderFailure(envelope, ground) ?? timeFailure(envelope, ground) ?? receiverFailure(envelope, ground)
  if (unproven !== undefined) return refused(unproven, envelope)

  const template = opened(
    ground.vault.template(envelope.templateRef.templateId, envelope.templateRef.version),
    'TEMPLATE_UNRESOLVED',
    'template_ref.template_id',
  )
  if (template.kind === 'failed') return refused(template.failure, envelope)
  const untrusted = templateFailure(envelope, template.entry, ground)
  if (untrusted !== undefined) return refused(untrusted, envelope)

  const { document } = template.entry
  const misnamed = capabilitySetNameFailure(envelope, document)
  if (misnamed !== undefined) return refused(misnamed, envelope)
  const capabilitySet = opened(
    ground.vault.capabilitySet(document.capabilitySetId, document.capabilitySetVersion),
    'CAPABILITY_SET_UNRESOLVED',
    'template_ref.capability_set_id',
  )
  if (capabilitySet.kind === 'failed') return refused(capabilitySet.failure, envelope)
  const failure =
    capabilitySetFailure(document, capabilitySet.entry, ground) ??
    payloadFailure(envelope, document) ??
    constraintFailure(envelope, document, ground) ??
    replayFailure(envelope, ground)
  if (failure !== undefined) return refused(failure, envelope)
  return { kind: 'accepted', envelope, template: document, capabilitySet: capabilitySet.entry.document }
}

function refused(failure: NonNullable<Failure>, claimed: Envelope | undefined): EnvelopeVerdict {
  return { kind: 'refused', refusal: refusalOf(...failure), claimed }
}

/** Check 3. */
function senderFailure(envelope: Envelope, { senderKey, verify }: EnvelopeGround): Failure {
  const key = senderKey(envelope.senderId)
  if (key === undefined) return ['UNKNOWN_SENDER', 'sender_id', 'is nobody whose key is known here']
  const signature = decodeHex(envelope.signature)
  const isSigned = signature?.length === 64 && verify(key, signature, envelopeSignedBytes(envelope))
  return isSigned
    ? undefined
    : ['BAD_SIGNATURE', 'envelope_signature', 'is not by the key that its sender has here']
}

/** Check 3 too: what was signed long ago, or in the future, may have been kept by somebody. */
function timeFailure({ timestampUtc }: Envelope, { nowMs }: EnvelopeGround): Failure {
  const at = readUtcTime(timestampUtc)
  if (at === undefined || at < nowMs - ENVELOPE_AGE_MS)
    return ['STALE', 'timestamp_utc', `is more than ${ENVELOPE_AGE_MS / 86_400_000} days ago`]
  return at > nowMs + ENVELOPE_AHEAD_MS
    ? ['STALE', 'timestamp_utc', `is more than ${ENVELOPE_AHEAD_MS / 1_000} seconds ahead of this clock`]
    : undefined
}

/** Check 4, before the vault is asked for anything. */
function receiverFailure({ receiverId }: Envelope, { receiver }: EnvelopeGround): Failure {
  return receiverId === receiver
    ? undefined
    : ['RECEIVER_MISMATCH', 'receiver_id', 'is not the one whose inbox it lay in']
}

/** Checks 5 and 8. */
function opened<Document>(
  entry: VaultEntry<Document> | undefined,
  code: EnvelopeRefusalCode,
  field: string,
):
  | { readonly kind: 'found'; readonly entry: OpenEntry<Document> }
  | { readonly kind: 'failed'; readonly failure: NonNullable<Failure> } {
  if (entry === undefined) return { kind: 'failed', failure: [code, field, 'is not in the vault'] }
  if (entry.kind === 'closed')
    return { kind: 'failed', failure: [code, field, `names an entry of the vault that ${entry.problem}`] }
  return { kind: 'found', entry }
}

/** Checks 6 and 7: the template is the one that is meant, and the dispatcher has signed it, there and here. */
function templateFailure(
  { templateRef }: Envelope,
  { document, sha256, manifest }: OpenEntry<Template>,
  { vault, verify }: EnvelopeGround,
): Failure {
  if (document.id !== templateRef.templateId || document.version !== templateRef.version)
    return ['TEMPLATE_MISMATCH', 'template_ref.template_id', 'is not what the template itself is called']
  if (sha256 !== templateRef.sha256)
    return ['TEMPLATE_MISMATCH', 'template_ref.sha256_hash', 'is not that of the template in the vault']
  const meant: Manifest = {
    kind: 'template',
    id: document.id,
    version: document.version,
    sha256,
    dispatcherSignature: templateRef.dispatcherSignature,
  }
  if (!isSignedBy(vault.dispatcherKeys, meant, verify))
    return ['DISPATCHER_SIGNATURE', 'template_ref.dispatcher_signature', 'is not by the pinned key']
  return isVouchedFor(meant, manifest, vault.dispatcherKeys, verify)
    ? undefined
    : ['DISPATCHER_SIGNATURE', 'template_ref.template_id', `has no manifest in the vault that ${SIGNED_SO}`]
}

const SIGNED_SO = 'is signed by the pinned key and says the same'

/** Whether the manifest of the vault says the same of an entry, and is signed. */
function isVouchedFor(
  of: Omit<Manifest, 'dispatcherSignature'>,
  manifest: Manifest | undefined,
  keys: readonly Uint8Array[],
  verify: Verify,
): boolean {
  if (manifest === undefined) return false
  const isSame =
    manifest.kind === of.kind &&
    manifest.id === of.id &&
    manifest.version === of.version &&
    manifest.sha256 === of.sha256
  return isSame && isSignedBy(keys, manifest, verify)
}

/** Check 8: the sender means the set that the template comes with. */
function capabilitySetNameFailure({ templateRef }: Envelope, template: Template): Failure {
  const isSame =
    templateRef.capabilitySetId === template.capabilitySetId &&
    templateRef.capabilitySetVersion === template.capabilitySetVersion
  return isSame
    ? undefined
    : ['CAPABILITY_SET_UNRESOLVED', 'template_ref.capability_set_id', 'is not the one of the template']
}

/** Check 9: by hash and signature, where the source trusts that nobody writes to the vault. */
function capabilitySetFailure(
  template: Template,
  { document, sha256, manifest }: OpenEntry<CapabilitySet>,
  { vault, verify }: EnvelopeGround,
): Failure {
  const field = 'template_ref.capability_set_id'
  if (document.id !== template.capabilitySetId || document.version !== template.capabilitySetVersion)
    return ['CAPABILITY_SET_INTEGRITY', field, 'is not what the capability set itself is called']
  const of = { kind: 'capability-set', id: document.id, version: document.version, sha256 } as const
  return isVouchedFor(of, manifest, vault.dispatcherKeys, verify)
    ? undefined
    : ['CAPABILITY_SET_INTEGRITY', field, `has no manifest in the vault that ${SIGNED_SO}`]
}

/** Check 10. */
function payloadFailure({ payload }: Envelope, { schema }: Template): Failure {
  if (!schema.ok) {
    const where = schema.field === '' ? 'which' : `whose ${schema.field}`
    return ['PAYLOAD_SCHEMA', 'payload', `has a template with a schema ${where} ${schema.problem}`]
  }
  const problem = schema.check(payload)
  if (problem === undefined) return undefined
  const field = problem.field === '' ? 'payload' : `payload.${problem.field}`
  return ['PAYLOAD_SCHEMA', field, problem.problem]
}

/** Check 11. */
function constraintFailure(
  { senderId, receiverId, payload }: Envelope,
  template: Template,
  { acceptedInHour, acceptedPerHour = ENVELOPES_PER_HOUR }: EnvelopeGround,
): Failure {
  if (!template.allowedSenders.includes(senderId))
    return ['CAPABILITY_CONSTRAINT', 'sender_id', 'is not on the list of senders of the template']
  if (!template.allowedReceivers.includes(receiverId))
    return ['CAPABILITY_CONSTRAINT', 'receiver_id', 'is not on the list of receivers of the template']
  if (pythonDefaultLength(payload) > template.maxPayloadBytes)
    return ['CAPABILITY_CONSTRAINT', 'payload', `is larger than ${template.maxPayloadBytes} bytes`]
  return acceptedInHour(senderId) < acceptedPerHour
    ? undefined
    : ['CAPABILITY_CONSTRAINT', 'sender_id', `has had ${acceptedPerHour} envelopes accepted within an hour`]
}

/** Check 12. */
function replayFailure({ envelopeId }: Envelope, { wasSeen }: EnvelopeGround): Failure {
  return wasSeen(envelopeId) ? ['REPLAY', 'envelope_id', 'was accepted before'] : undefined
}
