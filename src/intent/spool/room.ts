/**
 * The spool as the rest of the daemon sees it: what waits for whom, what was refused and why, and how bytes come in by
 * another way than a file. Interfaces alone; the files are edge/intent/spool.node.ts's.
 * Rules: docs/intent.md.
 * @module
 */
import type { Staging } from './staging.ts'

/** What became of one envelope: `step` 1 to 12 is the check, 0 the file itself. */
export type Refusal = {
  readonly step: number
  /** `REPLAY`, `NOT_A_FILE`: stable for programs. */
  readonly code: string
  /** `FT-002`; undefined where the source has no ticket for it. */
  readonly ticket: string | undefined
  readonly field: string
  /** One sentence. */
  readonly problem: string
}

/** What is known of an envelope that was accepted. */
export type Accepted = {
  readonly id: string
  readonly session: string
  readonly sender: string
  readonly receiver: string
  /** `ID vVERSION`. */
  readonly template: string
  /** SHA-256 of its bytes, hex, and how many there are. */
  readonly digest: string
  readonly size: number
  /** Unix milliseconds. */
  readonly acceptedAtMs: number
}

export type Waiting = Accepted & { readonly isTaken: boolean }

/** Ids of a refused envelope as far as it could be read; nothing of it was believed. */
export type Claimed = Partial<Pick<Accepted, 'id' | 'session' | 'sender' | 'template'>>

export type Judged =
  | { readonly kind: 'accepted'; readonly of: Omit<Accepted, 'digest' | 'size' | 'acceptedAtMs'> }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly claimed: Claimed }

/** `busy`: not taken in, and nothing of it is kept; the sentence says why. */
export type Intake =
  | { readonly kind: 'accepted'; readonly of: Accepted }
  | { readonly kind: 'refused'; readonly name: string; readonly refusal: Refusal }
  | { readonly kind: 'busy'; readonly problem: string }

export type Given =
  | { readonly kind: 'given'; readonly of: Waiting; readonly bytes: Uint8Array }
  /** None of that id is for that receiver. */
  | { readonly kind: 'unknown' }
  /** It is not what was accepted. */
  | { readonly kind: 'changed' }

export type Quarantined = {
  /** The name of its file. */
  readonly name: string
  readonly receiver: string
  /** The inbox that it lay in, or the agent that has handed it in. */
  readonly from: string
  readonly sinceMs: number
  readonly size: number
  /** SHA-256 of the bytes, hex; empty where they were not read. */
  readonly digest: string
  /** Undefined: not judged yet. */
  readonly refusal: Refusal | undefined
}

export type SpoolReadings = {
  readonly accepted: number
  readonly refused: number
  readonly taken: number
  readonly waiting: number
  readonly quarantined: number
  readonly quarantineMax: number
  readonly handlerErrors: number
  readonly outbox: number
  readonly delivered: number
  /** Attempts to deliver that came to nothing. */
  readonly retries: number
}

export type IntentRoom = {
  /** The device itself as a receiver and a sender. */
  readonly id: string
  /** What came in pieces and is not whole yet. */
  readonly staging: Staging
  /** Whether anything may be addressed to it here. */
  isReceiver(name: string): boolean
  /** The same path as a file's: into quarantine, judged there. */
  submit(bytes: Uint8Array, receiver: string, agent: string): Intake
  /** The oldest first; undefined: everybody's. Without those that were taken. */
  list(receiver: string | undefined): readonly Waiting[]
  /** From then on it is marked as taken. */
  take(id: string, receiver: string): Given
  quarantine(): readonly Quarantined[]
  /** Judges it once more; undefined: there is none of that name. Nothing is let through unjudged. */
  release(name: string, by: string): Intake | undefined
  /** False: there is none of that name. */
  discard(name: string, by: string): boolean
  readings(): SpoolReadings
}
