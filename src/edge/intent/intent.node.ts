/**
 * Work that arrives signed, joined: the vault, the index of what was accepted, the spool with its inboxes, the outbox,
 * and whoever does what the device itself is asked to. Looks at the inboxes every `intent.poll_ms`, some files at a time,
 * so that nobody waits for it; what goes wrong is told and tried again, and ends nothing.
 * Rules: docs/intent.md.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { makePrivateDirectory } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { isSafeName } from '../../intent/canonical/shape.ts'
import { checkEnvelope } from '../../intent/envelopes/checks.ts'
import type { Envelope } from '../../intent/envelopes/envelope.ts'
import { refusalText } from '../../intent/envelopes/refusal.ts'
import { PLAN_TEMPLATE } from '../../intent/plans/plan.ts'
import type { Accepted, Given, IntentRoom, Judged, SpoolReadings } from '../../intent/spool/room.ts'
import { createStaging } from '../../intent/spool/staging.ts'
import type { VaultContents } from '../../intent/vault/contents.ts'
import type { AuditEvent, Clock, Log, Random } from '../../ports.ts'
import { createKeyFiles, type KeyPair, readPrivateKey } from '../state/key-file.node.ts'
import { type Outbox, openOutbox } from './outbox.node.ts'
import { remembering } from './remembered.node.ts'
import { openReplayIndex } from './replay-index.node.ts'
import { createSpool, type Spool } from './spool.node.ts'
import { readVault, verifySignature } from './vault.node.ts'

/** Does what one envelope to the device asks for, once; whatever it throws is told and stops nothing. */
export type IntentHandler = (of: Accepted, bytes: Uint8Array) => void | Promise<void>

export type IntentGround = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** @throws where it cannot be written: then nothing is done */
  readonly record: (event: AuditEvent) => void
  /** Of what has happened, whatever can be written. */
  readonly note: (event: AuditEvent) => void
  /** The public key of an agent; undefined: there is none of that name. */
  readonly keyOf: (name: string) => Uint8Array | undefined
}

export type Intent = {
  readonly room: IntentRoom
  /** The device as a sender. */
  readonly device: KeyPair & { readonly id: string }
  readonly outbox: Outbox
  readonly vault: () => VaultContents
  /** Whether an envelope of that id was accepted, ever. */
  wasSeen(id: string): boolean
  /** Begins to look at the inboxes. `handle` is asked for every envelope to the device; absent: they wait. */
  start(handle?: IntentHandler): void
  /** Reads the vault again. What is wrong with it leaves the old one, and is returned and told. */
  renew(): Promise<string | undefined>
  close(): Promise<void>
}

const INBOX = 'inbox'

/** The device's own key, made at its first start. */
function deviceIntentKey(directory: string): KeyPair {
  const base = join(directory, 'device')
  if (!existsSync(`${base}.key`)) return createKeyFiles(base)
  const seed = readPrivateKey(`${base}.key`)
  return { seed, publicKey: publicKeyOf(seed) }
}

/** @throws SassError, with what is to be done about it */
async function openVault({ intent }: Config, log: Log): Promise<VaultContents> {
  const { contents, notes } = await readVault(intent.vault ?? '', intent.dispatcher_pin ?? '')
  for (const reason of notes) log.write('warn', 'intent_vault', { reason })
  return contents
}

function claimedOf(envelope: Envelope | undefined) {
  if (envelope === undefined) return {}
  const { envelopeId, sessionId, senderId, templateRef } = envelope
  return {
    id: envelopeId,
    session: sessionId,
    sender: senderId,
    template: `${templateRef.templateId} v${templateRef.version}`,
  }
}

/**
 * Opens what there is; undefined where the configuration names no vault.
 * @throws SassError where the vault, the pin or the index is not what it must be: then the daemon does not start
 */
export async function openIntent(ground: IntentGround): Promise<Intent | undefined> {
  const { config, clock, random, log, record, note, keyOf } = ground
  if (config.intent.vault === null) return undefined
  // The pin comes first: no envelope is read, and nothing is made, where the vault is not whose it must be.
  let vault = await openVault(config, log)
  const { id, quarantine_max, drop_directories, outbox_directory, envelopes_per_hour, poll_ms } =
    config.intent
  const directory = join(config.state_directory, 'intent')
  makePrivateDirectory(directory)
  const device = { id, ...deviceIntentKey(directory) }
  const isReceiver = (name: string) => isSafeName(name) && (name === id || keyOf(name) !== undefined)
  const isReserved = (name: string) =>
    name === id || config.agents.some((agent) => agent.name === name && agent.role === 'operator')
  const receivers = [id, ...config.agents.map(({ name }) => name)].filter(isSafeName)
  for (const name of receivers) makePrivateDirectory(join(directory, INBOX, name))
  const index = await openReplayIndex(join(directory, 'index.sqlite'))
  const verify = remembering(verifySignature)
  const counts = { handlerErrors: 0 }
  const waitingWork: Accepted[] = []
  let handler: IntentHandler | undefined
  let isClosed = false
  let cancel = () => {}
  let working: Promise<void> | undefined

  function judge(bytes: Uint8Array, receiver: string): Judged {
    const verdict = checkEnvelope(bytes, {
      receiver,
      senderKey: (sender) => (sender === id ? device.publicKey : keyOf(sender)),
      vault,
      verify,
      sha256: hostSha256,
      nowMs: clock.wallMs(),
      // What the device itself says answers what it was asked to do, and that is bounded; its outbox is, too.
      acceptedInHour: (sender) => (sender === id ? 0 : index.acceptedInHour(sender, clock.wallMs())),
      acceptedPerHour: envelopes_per_hour,
      wasSeen: index.wasSeen,
    })
    if (verdict.kind === 'refused') {
      const { step, code, ticket, field } = verdict.refusal
      const refusal = { step, code, ticket, field, problem: refusalText(verdict.refusal) }
      return { kind: 'refused', refusal, claimed: claimedOf(verdict.claimed) }
    }
    const { envelopeId, sessionId, senderId, receiverId, templateRef } = verdict.envelope
    const template = `${templateRef.templateId} v${templateRef.version}`
    return {
      kind: 'accepted',
      of: { id: envelopeId, session: sessionId, sender: senderId, receiver: receiverId, template },
    }
  }

  const spool: Spool = createSpool({
    ...{ directory, index, clock, random, log, isReceiver, isReserved, judge, isOurs, record, note },
    settings: () => ({ quarantineMax: quarantine_max, dropDirectories: drop_directories }),
    arrived(of) {
      if (!isOurs(of)) return
      waitingWork.push(of)
      working ??= work()
    },
  })
  const outbox = openOutbox({
    ...{ directory, away: () => outbox_directory, isReceiver, clock, log, note },
    // Whoever waits for a result has it as soon as it is there, not at the next look.
    kept() {
      if (handler !== undefined) lookNext(soon)
    },
  })

  /** To the device itself, or a plan for an agent, which is kept for it under its session. */
  function isOurs({ receiver, template }: Accepted): boolean {
    return receiver === id || template.startsWith(`${PLAN_TEMPLATE} v`)
  }

  /**
   * What is the device's is taken; what an agent is to hear of goes on waiting for it. Undefined where it is done, or an
   * operator has taken it. One that was taken and is due was cut off: it is gone on with.
   */
  function bytesOf(of: Accepted): Uint8Array | undefined {
    const isDue = index.isDue(of.id)
    if (of.receiver !== id) return isDue ? spool.read(of.id) : undefined
    const given = spool.take(of.id, id)
    return given.kind === 'given' && (isDue || !given.of.isTaken) ? given.bytes : undefined
  }

  /** An operator who takes what is the device's has it: then the device does nothing with it. */
  function takeFor(of: string, receiver: string): Given {
    const given = spool.take(of, receiver)
    if (given.kind === 'given' && receiver === id && !given.of.isTaken) index.done(of)
    return given
  }

  /** One after the other, each due until it was done: none is lost, and none that was done is begun again. */
  async function work(): Promise<void> {
    await Promise.resolve()
    for (let of = waitingWork.shift(); of !== undefined && !isClosed; of = waitingWork.shift()) {
      if (handler === undefined) continue
      try {
        const bytes = bytesOf(of)
        if (bytes !== undefined) await handler(of, bytes)
      } catch (cause) {
        counts.handlerErrors++
        const reason = cause instanceof Error ? cause.message : 'unknown'
        log.write('error', 'intent_handler_failed', { envelope: of.id, template: of.template, reason })
        note({
          type: 'intent',
          what: 'handler_error',
          envelope: of.id,
          session: of.session,
          template: of.template,
        })
      }
      finish(of)
    }
    working = undefined
  }

  /** Where that cannot be written it is begun again at the next start: a plan says itself that it was used. */
  function finish({ id: envelope }: Accepted): void {
    try {
      index.done(envelope)
    } catch (cause) {
      log.write('error', 'intent_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
    }
  }

  /** What the device has sent comes into an inbox first, and is taken in from there with what others sent. */
  function settle(): boolean {
    try {
      outbox.deliver()
      return spool.poll()
    } catch (cause) {
      log.write('error', 'intent_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
      return false
    }
  }

  function look(): void {
    const isMore = settle()
    lookNext(isMore ? soon : (call) => clock.after(poll_ms, call))
  }

  function lookNext(plan: (call: () => void) => () => void): void {
    cancel()
    if (!isClosed) cancel = plan(look)
  }

  function readings(): SpoolReadings {
    return {
      ...spool.counts,
      waiting: index.load(undefined).count,
      quarantined: spool.quarantine().length,
      quarantineMax: quarantine_max,
      handlerErrors: counts.handlerErrors,
      outbox: outbox.size,
      ...outbox.counts,
    }
  }

  return {
    room: { id, staging: createStaging(), isReceiver, ...spool, take: takeFor, readings },
    device,
    outbox,
    vault: () => vault,
    wasSeen: index.wasSeen,
    start(handle) {
      handler = handle
      const due = index.due()
      // Those of a version that did not write down what was due.
      const others = index.waiting(id).filter((one) => !index.isDue(one.id))
      waitingWork.push(...due, ...others)
      working ??= work()
      look()
    },
    async renew() {
      try {
        vault = await openVault(config, log)
        return undefined
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : 'unknown'
        log.write('error', 'intent_vault_refused', { reason })
        return reason
      }
    },
    async close() {
      isClosed = true
      cancel()
      await working
      settle()
      index.close()
    },
  }
}

/** After whatever else is due. */
function soon(call: () => void): () => void {
  const immediate = setImmediate(call)
  return () => clearImmediate(immediate)
}
