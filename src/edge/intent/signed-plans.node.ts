/**
 * Plans that came in envelopes, and what became of them: a plan for the device is run with the rights of its issuer, one
 * for an agent waits under its session until that agent runs it, and results leave as envelopes that the device signs.
 * Both follow templates of the vault, `execution_plan` and `tool_result`, whose lists say who may send them to whom.
 * Rules: SAOE 2.4 and 3; docs/intent.md; docs/plans.md.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { signWith } from '../../base/crypto/ed25519.node.ts'
import { SassError } from '../../errors.ts'
import { isJsonObject, pythonJsonBytes } from '../../intent/canonical/python-json.ts'
import { writeUtcTime } from '../../intent/canonical/utc-time.ts'
import { readEnvelope, sealEnvelope, writeEnvelope } from '../../intent/envelopes/envelope.ts'
import { PLAN_TEMPLATE, RESULT_TEMPLATE, RESULT_VERSION } from '../../intent/plans/limits.ts'
import type { Accepted } from '../../intent/spool/room.ts'
import type { Clock } from '../../ports.ts'
import type { PlanDelivery, PlanEnvelope, PlanRoom } from '../../session/common/plan-room.ts'
import type { Intent } from './intent.node.ts'

/** Whether that envelope holds a plan: its template is `execution_plan`, of whatever version. */
export function holdsPlan({ template }: Pick<Accepted, 'template'>): boolean {
  return template.startsWith(`${PLAN_TEMPLATE} v`)
}

type FromEnvelope = { readonly plan: Uint8Array; readonly envelope: PlanEnvelope }

/** The plan of an envelope that has passed every check. @throws SassError INTENT_REJECTED where it holds none */
function planIn(intent: Intent, bytes: Uint8Array): FromEnvelope {
  const read = readEnvelope(bytes)
  const plan =
    read.ok && isJsonObject(read.envelope.payload['plan']) ? read.envelope.payload['plan'] : undefined
  if (!read.ok || plan === undefined)
    throw new SassError('INTENT_REJECTED', 'The envelope has no plan in its payload: nothing of it was run.')
  const { sessionId, senderId: sender, templateRef } = read.envelope
  const set = intent.vault().capabilitySet(templateRef.capabilitySetId, templateRef.capabilitySetVersion)
  if (set?.kind !== 'open')
    throw new SassError(
      'INTENT_REJECTED',
      `The capability set ${templateRef.capabilitySetId} is not in the vault any more: nothing of the plan was run.`,
    )
  return { plan: pythonJsonBytes(plan), envelope: { sessionId, sender, capabilitySet: set.document } }
}

/** Runs one that came for the device. What the gate refuses is on the record. @throws as `planIn`, and what the record throws */
export function runFromEnvelope(intent: Intent, plans: PlanRoom, bytes: Uint8Array): void {
  const { plan, envelope } = planIn(intent, bytes)
  plans.runSigned(plan, envelope)
}

/** Keeps one for the agent that it came for. @throws likewise */
export function keepFromEnvelope(intent: Intent, plans: PlanRoom, of: Accepted, bytes: Uint8Array): void {
  const { plan, envelope } = planIn(intent, bytes)
  plans.keep(plan, envelope, of.receiver)
}

/**
 * Signs a result as the device and leaves it with the outbox.
 * @throws SassError INTENT_REJECTED where the vault has no such template, STATE_UNWRITABLE where nothing can be kept
 */
export function deliverResult(
  intent: Intent,
  clock: Clock,
  { receiver, sessionId, payload }: PlanDelivery,
): void {
  const entry = intent.vault().template(RESULT_TEMPLATE, RESULT_VERSION)
  if (entry?.kind !== 'open' || entry.manifest === undefined)
    throw new SassError(
      'INTENT_REJECTED',
      `The vault has no template ${RESULT_TEMPLATE} v${RESULT_VERSION}: publish one, or ask for the result with sass-edge intent status.`,
    )
  const { document: template, manifest } = entry
  const envelopeId = randomUUID()
  const envelope = sealEnvelope(
    {
      ...{ envelopeId, sessionId, receiverId: receiver, senderId: intent.device.id, payload },
      timestampUtc: writeUtcTime(clock.wallMs()),
      humanReadable: '',
      templateRef: {
        ...{ templateId: template.id, version: template.version, sha256: manifest.sha256 },
        dispatcherSignature: manifest.dispatcherSignature,
        ...{ capabilitySetId: template.capabilitySetId, capabilitySetVersion: template.capabilitySetVersion },
      },
    },
    (bytes) => signWith(intent.device.seed, bytes),
  )
  intent.outbox.send(receiver, envelopeId, writeEnvelope(envelope))
}
