/**
 * Orders to whoever reads it, looked for in one stream of output: in windows that begin at fixed places of the stream and
 * overlap, so that it makes no difference how the bytes are cut, and what is at the end of one window is in the middle of
 * the next. A pause judges what has come so far, and the window goes on being filled.
 * What is to be done about it is not decided here.
 * Rules: jerry.md L4-C01; JF-081.
 * @module
 */

import type { Assessment } from './assess.ts'
import { INJECTION_OVERLAP_BYTES, INJECTION_WINDOW_BYTES, SUSPICIONS } from './limits.ts'

/** A window that says something. */
export type Suspicion = Assessment & {
  /** Of the bytes that came in. */
  readonly offset: number
  /** The window itself: for the sealed record alone. */
  readonly text: Uint8Array
}

export type InjectionWatch = {
  /** Bytes are lent. */
  push(bytes: Uint8Array): void
  /** Nothing has come for a while. */
  pause(): void
  /** Nothing follows. */
  finish(): void
  /** The highest confidence of all windows, in per mille. */
  readonly most: number
  /** Windows at JF-081's mark or above it. */
  readonly flagged: number
  /** The first of those. */
  readonly suspicions: readonly Suspicion[]
}

/** JF-081: from here on it is marked; from 900 on it is to be held back. */
export const FLAGGED_PERMILLE = 700

/** @param assess what judges one window: `start` to `end` of the bytes */
export function createInjectionWatch(
  assess: (bytes: Uint8Array, start: number, end: number) => Assessment,
): InjectionWatch {
  const window = new Uint8Array(INJECTION_WINDOW_BYTES)
  const suspicions: Suspicion[] = []
  /** Where the window begins in the stream, how much of it is filled, and how much of that is judged. */
  let [offset, filled, judged] = [0, 0, 0]
  let [most, flagged] = [0, 0]
  /** The window has been counted: what a pause found is not found again at its end. */
  let isCounted = false

  function judge(): void {
    if (filled === judged) return
    judged = filled
    const found = assess(window, 0, filled)
    most = Math.max(most, found.permille)
    if (found.permille < FLAGGED_PERMILLE || isCounted) return
    isCounted = true
    flagged++
    if (suspicions.length < SUSPICIONS) suspicions.push({ ...found, offset, text: window.slice(0, filled) })
  }

  /** The end of this window is the beginning of the next. */
  function moveOn(): void {
    const step = INJECTION_WINDOW_BYTES - INJECTION_OVERLAP_BYTES
    window.copyWithin(0, step)
    offset += step
    filled = INJECTION_OVERLAP_BYTES
    judged = filled
    isCounted = false
  }

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; ) {
        const size = Math.min(bytes.length - at, window.length - filled)
        window.set(bytes.subarray(at, at + size), filled)
        filled += size
        at += size
        if (filled < window.length) continue
        judge()
        moveOn()
      }
    },
    pause: judge,
    finish: judge,
    get most() {
      return most
    },
    get flagged() {
      return flagged
    },
    get suspicions() {
      return suspicions
    },
  }
}
