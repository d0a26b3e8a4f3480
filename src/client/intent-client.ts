/**
 * Signed envelopes on a device: handed in, listed and taken over the connection of an agent, and what lies in quarantine
 * for its operator. What is taken was written by somebody else: data to be judged, never an instruction.
 * Rules: docs/intent.md; docs/protocol.md, section 3 (64 to 68).
 * @module
 */

import { sha256 } from '../base/crypto/hash.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { ENVELOPE_FILE_BYTES } from '../config/intent-limits.ts'
import { misuse, SassError } from '../errors.ts'
import { CHUNK_BYTES } from '../limits.ts'
import * as n from '../wire/intent-messages.ts'
import * as m from '../wire/messages.ts'
import type { Caller } from './calls/caller.ts'
import type { OnWaiting } from './calls/waiting.ts'
import type { Outcome } from './operator-client.ts'

/** As with a handoff. */
const MARKED_PERMILLE = 700

export type Envelope = {
  readonly id: string
  readonly session: string
  readonly sender: string
  readonly receiver: string
  /** `ID vVERSION`. */
  readonly template: string
  /** SHA-256 of its bytes, hex. */
  readonly digest: string
  readonly size: number
  /** Unix seconds. */
  readonly acceptedAt: number
  readonly isTaken: boolean
}
export type EnvelopeListing = { readonly envelopes: readonly Envelope[]; readonly total: number }
export type TakenEnvelope = Envelope & {
  readonly bytes: Uint8Array
  /** AGENT_HANDOFF. */
  readonly source: string
  /** Per mille of certainty that it gives orders to whoever reads it; it is marked from 700 on. */
  readonly injection: number
  readonly isMarked: boolean
}
export type QuarantinedEnvelope = {
  readonly name: string
  readonly receiver: string
  readonly from: string
  /** Unix seconds. */
  readonly since: number
  readonly size: number
  readonly digest: string | undefined
  /** 1 to 12, 0 the file itself; undefined: not judged yet. */
  readonly step: number | undefined
  readonly code: string
  readonly ticket: string
  readonly problem: string
}

export type IntentClient = {
  /**
   * Hands in the bytes of an envelope for that receiver. Resolves once it was accepted; rejects with INTENT_REJECTED and
   * the check that refused it. Whoever loses the link before the answer hands it in again: one that was accepted is then
   * refused as a replay.
   */
  submit(receiver: string, bytes: Uint8Array, onWaiting?: OnWaiting): Promise<Envelope>
  /** What waits for this agent, the oldest first; to an operator everybody's. */
  list(): Promise<EnvelopeListing>
  /** Marked as taken from then on; the same agent can fetch it again for an hour. */
  take(id: string): Promise<TakenEnvelope>
  /** Operators only. */
  quarantine(): Promise<readonly QuarantinedEnvelope[]>
  /** Judges it once more; success: every check let it through. */
  release(name: string): Promise<Outcome>
  discard(name: string): Promise<Outcome>
}

function toEnvelope(entry: n.EnvelopeEntry): Envelope {
  return {
    id: entry.envelope_id,
    session: entry.session_id,
    sender: entry.sender,
    receiver: entry.receiver,
    template: entry.template,
    digest: encodeHex(entry.digest),
    size: entry.size,
    acceptedAt: entry.accepted_at,
    isTaken: entry.is_taken,
  }
}

/** The methods of signed intent over `call`. */
export function createIntentClient(call: Caller['call']): IntentClient {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await call(...args)) as T

  async function from(id: string, offset: number): Promise<n.EnvelopeContent> {
    return ask<n.EnvelopeContent>('TakeEnvelope', n.envelopeReference.encode({ envelope_id: id, offset }))
  }
  const settle = (name: string, releases: boolean) =>
    ask<Outcome>('SettleQuarantine', n.quarantineSettling.encode({ name, releases }))

  return {
    async submit(receiver, bytes, onWaiting) {
      if (bytes.length === 0 || bytes.length > ENVELOPE_FILE_BYTES)
        throw misuse(
          `An envelope has 1 to ${ENVELOPE_FILE_BYTES} bytes, and this has ${bytes.length}: send what is long by another way, and its digest in the payload.`,
        )
      const whole = bytes.length > CHUNK_BYTES ? { total: bytes.length, digest: sha256(bytes) } : undefined
      for (let offset = 0; ; offset += CHUNK_BYTES) {
        const piece = bytes.slice(offset, offset + CHUNK_BYTES)
        const request = n.envelopePiece.encode({ receiver, piece, ...whole, offset })
        const { entry } = await ask<n.EnvelopeReceipt>('SubmitEnvelope', request, onWaiting)
        if (entry !== undefined) return toEnvelope(entry)
        if (offset + CHUNK_BYTES >= bytes.length)
          throw new SassError(
            'FRAME_MALFORMED',
            'The device has the whole envelope and does not say what became of it: list what waits before it is sent again.',
          )
      }
    },
    async list() {
      const { envelopes, total } = await ask<n.EnvelopeList>('ListEnvelopes', m.empty.encode({}))
      return { envelopes: envelopes.map(toEnvelope), total }
    },
    async take(id) {
      const first = await from(id, 0)
      const envelope = toEnvelope(first.entry)
      const bytes = new Uint8Array(envelope.size)
      let part = first
      for (let offset = 0; ; ) {
        if (part.piece.length > bytes.length - offset) break
        bytes.set(part.piece, offset)
        offset += part.piece.length
        if (offset === bytes.length || part.piece.length === 0) break
        part = await from(id, offset)
      }
      if (encodeHex(sha256(bytes)) !== envelope.digest)
        throw new SassError(
          'INTENT_REJECTED',
          'The envelope is not what its digest says, so it was changed on its way: do not use it, and tell the operator of the device.',
        )
      const { content_source: source, injection } = first
      return { ...envelope, bytes, source, injection, isMarked: injection >= MARKED_PERMILLE }
    },
    async quarantine() {
      const all: QuarantinedEnvelope[] = []
      for (;;) {
        const request = n.quarantineRequest.encode({ offset: all.length })
        const { files, total } = await ask<n.QuarantineList>('ListQuarantine', request)
        for (const { digest, step, ...file } of files)
          all.push({ ...file, step, digest: digest === undefined ? undefined : encodeHex(digest) })
        if (files.length === 0 || all.length >= total) return all
      }
    },
    release: (name) => settle(name, true),
    discard: (name) => settle(name, false),
  }
}
