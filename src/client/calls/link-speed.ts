/**
 * What a link is like, from the time that its handshake took: the round trip, and the rate where it is a slow one. A
 * fast one cannot be told from a busy machine by a few KB, and need not be: its window grows by itself.
 * Rules: docs/protocol.md, section 2 (flow control).
 * @module
 */
import {
  LINK_NOISE_MS,
  MAX_WINDOW_BYTES,
  MIN_WINDOW_BYTES,
  ROUND_TRIP_MAX_MS,
  WINDOW_TARGET_SECONDS,
} from '../../limits.ts'

export type LinkSpeed = {
  /** What one answer takes that carries next to nothing; 0 where nothing is known. */
  readonly roundTripMs: number
  /** Undefined: too fast to be measured. */
  readonly bytesPerSecond: number | undefined
}

export const UNKNOWN_SPEED: LinkSpeed = Object.freeze({ roundTripMs: 0, bytesPerSecond: undefined })

/**
 * `connectMs` is what TCP took to connect: a round trip that carries next to nothing. `handshakeMs` is what TLS took
 * after it: another one, and the time that `handshakeBytes` needed.
 */
export function measureSpeed(connectMs: number, handshakeMs: number, handshakeBytes: number): LinkSpeed {
  const roundTripMs = Math.min(connectMs, handshakeMs, ROUND_TRIP_MAX_MS)
  // A connect whose first packet was lost took longer than a round trip, and must not make the rest look like nothing.
  const carryMs = Math.max(handshakeMs - roundTripMs, handshakeMs / 10)
  const bytesPerSecond = carryMs < LINK_NOISE_MS ? undefined : (handshakeBytes * 1_000) / carryMs
  return { roundTripMs, bytesPerSecond }
}

/**
 * The same once the first question was answered, in `answerMs` and a tenth of those bytes. A connect that took no time
 * was answered near by, as a proxy does on the way to a satellite: then the answer says what a round trip is. And a
 * handshake that took no longer than the answer was slow for want of a processor.
 */
export function settledSpeed(speed: LinkSpeed, handshakeMs: number, answerMs: number): LinkSpeed {
  const isNear = speed.roundTripMs < LINK_NOISE_MS
  const roundTripMs = isNear ? Math.min(handshakeMs, answerMs, ROUND_TRIP_MAX_MS) : speed.roundTripMs
  const isSlow = handshakeMs - answerMs >= LINK_NOISE_MS / 2
  return { roundTripMs, bytesPerSecond: isSlow ? speed.bytesPerSecond : undefined }
}

/** What may be under way at that rate, so that it has arrived in about the target time. */
export function windowFor(bytesPerSecond: number, roundTripMs: number): number {
  const seconds = WINDOW_TARGET_SECONDS + roundTripMs / 1_000
  return Math.floor(Math.min(Math.max(bytesPerSecond * seconds, MIN_WINDOW_BYTES), MAX_WINDOW_BYTES))
}

/** The window to ask for: `wantedBytes`, or less where the link is found too slow for it. */
export function firstWindow(wantedBytes: number, { bytesPerSecond, roundTripMs }: LinkSpeed): number {
  return bytesPerSecond === undefined
    ? wantedBytes
    : Math.min(wantedBytes, windowFor(bytesPerSecond, roundTripMs))
}
