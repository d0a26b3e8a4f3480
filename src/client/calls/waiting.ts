/**
 * What a request that the device has taken waits for before it begins: a place, a human, or our own answer to a
 * challenge. The device says so ahead of the answer, in messages of its own.
 * Rules: docs/protocol.md, sections 5 and 8.
 * @module
 */
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { SYSTEM } from '../../wire/frame.ts'
import type { StreamResponse } from '../../wire/messages.ts'

export type Waiting =
  /** `position` 1 is next. */
  | { readonly kind: 'queued'; readonly position: number }
  /** A human is asked whether it may be done. */
  | { readonly kind: 'operator' }
  /** The device wants proof that this is still the same connection; it is answered without anybody's help. */
  | { readonly kind: 'challenge' }

export type OnWaiting = (what: Waiting) => void

/** What the device writes beside the place of a request that no place but a human is missing for. */
const AWAITING_OPERATOR = 'awaiting operator'

/** What the message says that the request waits for; undefined: it is about something else. */
export function waitingOf(value: StreamResponse): Waiting | undefined {
  if (value.source !== SYSTEM) return undefined
  if (value.challenge !== undefined) return { kind: 'challenge' }
  if (!value.is_queued) return undefined
  const { data } = value
  if (
    data !== undefined &&
    data.length === AWAITING_OPERATOR.length &&
    decodeUtf8(data) === AWAITING_OPERATOR
  )
    return { kind: 'operator' }
  return { kind: 'queued', position: value.queue_position ?? 0 }
}
