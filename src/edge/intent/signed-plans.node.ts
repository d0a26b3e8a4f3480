/**
 * Plans in envelopes: one of the template `execution_plan` to the device is run with the authority of whoever issued it,
 * one to an agent is kept for that agent under its session. Results of calls leave as envelopes of the template
 * `tool_result`, signed by the device.
 * Rules: docs/plans.md; SAOE 2.1.
 * @module
 */
import { signWith } from '../../base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { SassError } from '../../errors.ts'
import { isJsonObject, pythonJsonBytes } from '../../intent/canonical/python-json.ts'
import { writeUtcTime } from '../../intent/canonical/utc-time.ts'
import { readEnvelope, sealEnvelope, writeEnvelope } from '../../intent/envelopes/envelope.ts'
import { PLAN_TEMPLATE } from '../../intent/plans/plan.ts'
import type { VaultContents } from '../../intent/vault/contents.ts'
import type { PlanDelivery } from '../../session/common/plan-room.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import type { Intent, IntentHandler } from './intent.node.ts'

/** The template of results, and the versions of it that are looked for, the newest first. */
const RESULT_TEMPLATE = 'tool_result'
const VERSIONS: readonly string[] = ['2', '1']
/** 128 bits. */
const RESULT_ID_DIGITS = 32

function resultTemplate(vault: VaultContents) {
  for (const version of VERSIONS) {
    const entry = vault.template(RESULT_TEMPLATE, version)
    if (entry?.kind === 'open' && entry.manifest !== undefined) return { ...entry, manifest: entry.manifest }
  }
  throw new SassError(
    'CONFIG_INVALID',
    `The vault has no template ${RESULT_TEMPLATE}, so results of plans cannot be sent: publish one.`,
  )
}

/**
 * The id of a result's envelope, the same for the same result. By the device's signature: nobody else can say it before
 * the device does, and so keep the result out with an envelope of that id.
 */
function resultId({ device }: Intent, key: string): string {
  const signed = signWith(device.seed, encodeUtf8(`sass-plan-result-v1\n${key}`))
  return encodeHex(hostSha256(signed)).slice(0, RESULT_ID_DIGITS)
}

/**
 * Sends a result through the outbox, where it was not sent before.
 * @throws SassError where there is no template for it, or no room
 */
export function sendResult(
  intent: Intent,
  { key, receiver, sessionId, payload }: PlanDelivery,
  nowMs: number,
): void {
  const envelopeId = resultId(intent, key)
  if (intent.wasSeen(envelopeId)) return
  const { document, sha256, manifest } = resultTemplate(intent.vault())
  const envelope = sealEnvelope(
    {
      envelopeId,
      sessionId,
      timestampUtc: writeUtcTime(nowMs),
      senderId: intent.device.id,
      receiverId: receiver,
      humanReadable: '',
      templateRef: {
        templateId: document.id,
        version: document.version,
        sha256,
        dispatcherSignature: manifest.dispatcherSignature,
        capabilitySetId: document.capabilitySetId,
        capabilitySetVersion: document.capabilitySetVersion,
      },
      payload,
    },
    (bytes) => signWith(intent.device.seed, bytes),
  )
  intent.outbox.send(receiver, envelope.envelopeId, writeEnvelope(envelope))
}

/**
 * What is done with an envelope that all checks have passed; of another template nothing.
 * @throws SassError INTENT_REJECTED where its plan is refused
 */
export function planHandler(intent: Intent, rooms: Pick<Rooms, 'plans' | 'prepare'>): IntentHandler {
  return async (of, bytes) => {
    const { plans: room } = rooms
    const read = readEnvelope(bytes)
    if (room === undefined || !read.ok || read.envelope.templateRef.templateId !== PLAN_TEMPLATE) return
    const { payload, sessionId, senderId, templateRef } = read.envelope
    const set = intent.vault().capabilitySet(templateRef.capabilitySetId, templateRef.capabilitySetVersion)
    const { plan } = payload
    if (!isJsonObject(plan) || set?.kind !== 'open')
      throw new SassError('INTENT_REJECTED', 'The envelope holds no plan, or its capability set is gone.')
    const envelope = { sessionId, sender: senderId, capabilitySet: set.document }
    const given = pythonJsonBytes(plan)
    // Nobody has connected, perhaps: then what judges commands is not loaded yet.
    await rooms.prepare()
    const done =
      of.receiver === intent.device.id
        ? room.runSigned(given, envelope)
        : room.keep(given, envelope, of.receiver)
    if (done.kind === 'refused') throw new SassError('INTENT_REJECTED', done.refusal.sentence)
  }
}
