/**
 * What one agent of a device hands to another: sent, listed and taken through the device alone. Ids and digests are hex.
 * What comes is somebody else's text: data to be judged, never an instruction, and never written to a terminal as it is.
 * Rules: docs/handoffs.md; docs/protocol.md, section 3 (24 to 26).
 * @module
 */

import { sha256 as sha256Of } from '../base/crypto/hash.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { misuse, SassError } from '../errors.ts'
import { EXECUTION_ID_BYTES, HANDOFF_BYTES } from '../limits.ts'
import {
  type HandoffContent,
  type HandoffEntry,
  type HandoffList,
  handoffReference,
  handoffRequest,
} from '../wire/handoff-messages.ts'
import * as m from '../wire/messages.ts'
import type { Caller } from './calls/caller.ts'
import type { OnWaiting } from './calls/waiting.ts'
import { hexBytes } from './hex-bytes.ts'

/** From so much certainty on, per mille, the device says that a text seems to give orders. */
const MARKED_PERMILLE = 700

export type HandoffArtifact = {
  /** As the content names it. */
  readonly path: string
  readonly size: number
  /** Of the file that was brought: `read` and `download` of the client give it, with the id of the handoff. */
  readonly sha256: string | undefined
  /** Why it was not brought; empty: it was. */
  readonly why: string
}

export type Handoff = {
  readonly id: string
  /** The instance that sent it, as the device knows it, and the agent that it is for. */
  readonly from: string
  readonly to: string
  /** 1 to 4. */
  readonly criticality: number
  /** How often the task was handed on. */
  readonly depth: number
  /** Unix seconds. */
  readonly sentAt: number
  readonly expiresAt: number
  /** SHA-256 of the content. */
  readonly digest: string
  readonly isTaken: boolean
  /** It reads as if it gave orders to the model that reads it. */
  readonly isMarked: boolean
  /** Per mille of certainty of that. */
  readonly injection: number
  /** Secrets that the device has hidden in it. */
  readonly hidden: number
  /** The handoff that it follows. */
  readonly previous: string | undefined
  /** What its content names, and what came of it; of one that was sent or taken, not in a list. */
  readonly artifacts: readonly HandoffArtifact[]
}
export type HandoffListing = { readonly handoffs: readonly Handoff[]; readonly total: number }
export type TakenHandoff = Handoff & {
  /** RFC 8785 JSON. */
  readonly content: string
  /** AGENT_HANDOFF. */
  readonly source: string
}

export type HandoffClient = {
  /**
   * JSON of docs/handoffs.md: an object, or its text. Resolves once the device keeps it, or a human has let it through.
   * Rejects with HANDOFF_REJECTED and the rule that it broke, FRAME_MALFORMED with every bad field. Whoever loses the
   * link before the answer lists what was sent before sending it again.
   */
  send(handoff: object | string, onWaiting?: OnWaiting): Promise<Handoff>
  /** What was given to this agent in the last day, the latest first; to an operator everybody's. */
  list(): Promise<HandoffListing>
  /** Taken once it is marked as taken, and can be taken again. Rejects with HANDOFF_REJECTED where it was changed. */
  take(id: string): Promise<TakenHandoff>
}

function toHandoff(entry: HandoffEntry): Handoff {
  return {
    id: encodeHex(entry.handoff_id),
    from: entry.from_agent,
    to: entry.to_agent,
    criticality: entry.criticality,
    depth: entry.depth,
    sentAt: entry.sent_at,
    expiresAt: entry.expires_at,
    digest: encodeHex(entry.digest),
    isTaken: entry.is_taken,
    isMarked: entry.injection >= MARKED_PERMILLE,
    injection: entry.injection,
    hidden: entry.hidden,
    previous: entry.previous === undefined ? undefined : encodeHex(entry.previous),
    artifacts: (entry.artifacts ?? []).map(({ path, size, sha256, why }) => ({
      ...{ path, size, why },
      sha256: sha256 === undefined ? undefined : encodeHex(sha256),
    })),
  }
}

/** @throws SassError USAGE */
export const handoffIdBytes = (id: string): Uint8Array =>
  hexBytes(id, EXECUTION_ID_BYTES, 'The id of a handoff', 'the list')

function contentOf(handoff: object | string): Uint8Array {
  const content = encodeUtf8(typeof handoff === 'string' ? handoff : JSON.stringify(handoff))
  if (content.length <= HANDOFF_BYTES && content.length > 0) return content
  throw misuse(
    `A handoff has 1 to ${HANDOFF_BYTES} bytes, and this has ${content.length}: put what is long into a file, and name that in artifacts.`,
  )
}

/** The methods of handoffs over `call`. */
export function createHandoffClient(call: Caller['call']): HandoffClient {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await call(...args)) as T
  return {
    async send(handoff, onWaiting) {
      const request = handoffRequest.encode({ content: contentOf(handoff) })
      return toHandoff(await ask<HandoffEntry>('SendHandoff', request, onWaiting))
    },
    async list() {
      const { handoffs, total } = await ask<HandoffList>('ListHandoffs', m.empty.encode({}))
      return { handoffs: handoffs.map(toHandoff), total }
    },
    async take(id) {
      const bytes = handoffIdBytes(id)
      const { entry, content, content_source } = await ask<HandoffContent>(
        'TakeHandoff',
        handoffReference.encode({ handoff_id: bytes }),
      )
      const handoff = toHandoff(entry)
      if (encodeHex(sha256Of(encodeUtf8(content))) !== handoff.digest)
        throw new SassError(
          'HANDOFF_REJECTED',
          'The content is not what its digest says, so it was changed on its way: do not use it, and tell the operator of the device.',
        )
      return { ...handoff, content, source: content_source }
    },
  }
}
