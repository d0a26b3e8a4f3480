/**
 * How long an answer to a stranger is held back, so that asking much takes long.
 * Source: draft 8.4 (slow denial).
 * @module
 */

export const DELAY_MIN_MS = 200
export const DELAY_MAX_MS = 1_500
/** Random bytes that a delay is drawn from. */
export const DELAY_DRAW_BYTES = 4

/** 200 to 1500 ms, every one as likely as another to one part in a million; `draw` is DELAY_DRAW_BYTES of a CSPRNG. */
export function delayMs(draw: Uint8Array): number {
  const [a = 0, b = 0, c = 0, d = 0] = draw
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  return DELAY_MIN_MS + Math.floor((whole * (DELAY_MAX_MS - DELAY_MIN_MS + 1)) / 2 ** 32)
}
