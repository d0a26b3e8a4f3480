/**
 * Envelopes of the device itself on their way: written down first, then brought to the inbox of a receiver here, by a
 * rename, as long as few others lie there, or into `intent.outbox_directory`, whenever that is there. What cannot be
 * delivered is tried again, later each time, and never given up: the outbox is full some time, and says so to whoever
 * would send more.
 * Rules: docs/intent.md (the outbox).
 * @module
 */
import { readdirSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../base/attempt.ts'
import {
  createFile,
  errnoOf,
  errnoText,
  makeDirectories,
  makePrivateDirectory,
  readBounded,
} from '../../base/files.node.ts'
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import { SassError } from '../../errors.ts'
import { isSafeName } from '../../intent/canonical/shape.ts'
import { ENVELOPE_SUFFIX, envelopeFileName } from '../../intent/envelopes/envelope.ts'
import {
  INBOX_CROWDED,
  OUTBOX_FILES,
  OUTBOX_RETRY_MAX_MS,
  OUTBOX_RETRY_MS,
} from '../../intent/spool/limits.ts'
import type { AuditEvent, Clock, Log } from '../../ports.ts'
import { eachEnvelope } from './inboxes.node.ts'

const MODE = 0o600

export type OutboxGround = {
  /** `STATE/intent`. */
  readonly directory: string
  /** Where envelopes for receivers elsewhere go; null: nowhere. */
  readonly away: () => string | null
  readonly isReceiver: (name: string) => boolean
  readonly clock: Clock
  readonly log: Log
  readonly note: (event: AuditEvent) => void
  /** Something more waits to be delivered. */
  readonly kept: () => void
}

export type Outbox = {
  /**
   * Kept for good when it returns. Of an id that waits already there is one, whatever it says.
   * @throws SassError STATE_UNWRITABLE where too much waits or the disk takes nothing
   */
  send(receiver: string, id: string, bytes: Uint8Array): void
  /** Tries whatever is due. */
  deliver(): void
  readonly size: number
  /** How many more it takes. */
  readonly free: number
  readonly counts: { delivered: number; retries: number }
}

type Due = {
  readonly receiver: string
  readonly name: string
  attempts: number
  /** On the monotonic clock. */
  atMs: number
}

/** Opens the outbox with what waits in it. */
export function openOutbox(ground: OutboxGround): Outbox {
  const { directory, away, isReceiver, clock, log, note, kept } = ground
  const root = join(directory, 'outbox')
  makePrivateDirectory(root)
  const counts = { delivered: 0, retries: 0 }
  const waiting = new Map<string, Due>()
  for (const receiver of readdirSync(root).filter(isSafeName))
    for (const name of readdirSync(join(root, receiver)).filter((one) => one.endsWith(ENVELOPE_SUFFIX)))
      waiting.set(`${receiver}/${name}`, { receiver, name, attempts: 0, atMs: 0 })

  /** How many more an inbox here takes: of one that is not emptied the rest waits where it is bounded. */
  function roomIn(inbox: string, receiver: string): number {
    makePrivateDirectory(inbox)
    let lying = 0
    const all = { limit: INBOX_CROWDED, start: 0, isLeft: () => false }
    eachEnvelope({ path: inbox, receiver, from: 'inbox' }, all, () => lying++)
    return INBOX_CROWDED - lying
  }

  /** True: it is where its receiver finds it. */
  function bring({ receiver, name }: Due): boolean {
    const from = join(root, receiver, name)
    if (isReceiver(receiver)) {
      renameSync(from, join(directory, 'inbox', receiver, name))
      return true
    }
    const place = away()
    if (place === null) return false
    makeDirectories(join(place, receiver))
    const read = readBounded(from, ENVELOPE_FILE_BYTES, true)
    if (!read.ok) throw new Error('the file was changed')
    try {
      createFile(join(place, receiver, name), read.bytes, 0o644)
    } catch (cause) {
      // From before a crash: an id is one envelope.
      if (errnoOf(cause) !== 'EEXIST') throw cause
    }
    unlinkSync(from)
    return true
  }

  function later(due: Due, reason: string): void {
    due.attempts++
    counts.retries++
    const waitMs = Math.min(OUTBOX_RETRY_MS * 2 ** (due.attempts - 1), OUTBOX_RETRY_MAX_MS)
    due.atMs = clock.monotonicMs() + waitMs
    if (due.attempts === 1)
      log.write('warn', 'intent_not_delivered', { receiver: due.receiver, file: due.name, reason })
  }

  function tried(key: string, due: Due): void {
    try {
      if (!bring(due)) return later(due, 'its receiver is not here, and intent.outbox_directory is not set')
    } catch (cause) {
      const errno = errnoOf(cause)
      return later(due, errno === undefined ? (cause as Error).message : errnoText(errno))
    }
    waiting.delete(key)
    counts.delivered++
    note({
      type: 'intent',
      what: 'sent',
      envelope: due.name.slice(0, -ENVELOPE_SUFFIX.length),
      receiver: due.receiver,
    })
  }

  return {
    send(receiver, id, bytes) {
      if (!isSafeName(receiver) || !isSafeName(id))
        throw new SassError('USAGE', 'A receiver or an id has letters that no name of a file may have.')
      const name = envelopeFileName(id)
      if (waiting.has(`${receiver}/${name}`)) return
      if (waiting.size >= OUTBOX_FILES)
        throw new SassError(
          'STATE_UNWRITABLE',
          `${OUTBOX_FILES} envelopes wait in the outbox, so that this one was not kept: make room by delivering them (intent.outbox_directory).`,
        )
      makePrivateDirectory(join(root, receiver))
      try {
        createFile(join(root, receiver, name), bytes, MODE)
      } catch (cause) {
        throw new SassError(
          'STATE_UNWRITABLE',
          `An envelope for ${receiver} cannot be kept, since ${errnoText(errnoOf(cause))}: it was not sent.`,
          {},
          cause,
        )
      }
      waiting.set(`${receiver}/${name}`, { receiver, name, attempts: 0, atMs: 0 })
      kept()
    },
    deliver() {
      const now = clock.monotonicMs()
      const room = new Map<string, number>()
      for (const [key, due] of waiting) {
        if (due.atMs > now) continue
        const { receiver } = due
        if (isReceiver(receiver)) {
          const inbox = join(directory, 'inbox', receiver)
          // One that cannot be read says so when something is brought there.
          const left = room.get(receiver) ?? attempt(() => roomIn(inbox, receiver), 1)
          room.set(receiver, left - 1)
          // It is no failure, and the next look may find room.
          if (left <= 0) continue
        }
        tried(key, due)
      }
    },
    get size() {
      return waiting.size
    },
    get free() {
      return Math.max(0, OUTBOX_FILES - waiting.size)
    },
    counts,
  }
}
