/**
 * The way of received bytes into a connection, only as fast as the peer takes the answers, and as its requests may be
 * recorded: one that asks and does not read must not make them pile up. After each frame it is looked whether answers
 * wait; what had been read when the pause began is kept, and nothing more. What comes with an Authenticate that is yet to
 * be decided about waits here as well.
 * Rules: docs/protocol.md, section 2; docs/security.md (bounds of one connection); docs/responses.md, section 7.
 * @module
 */

import type { Clock, Transport } from '../../ports.ts'
import type { Answers } from '../common/answers.ts'

export type Intake = {
  push(bytes: Uint8Array): void
  /** The answers have been taken. */
  goOn(): void
  /** Takes nothing more before that time of the monotonic clock. */
  waitUntil(ms: number): void
  /** Takes nothing more before the returned function is called. */
  hold(): () => void
  /** Forgets what was kept. */
  stop(): void
}

/** `receive` returns how many of the bytes it has taken; fewer than all where `mustWait` holds. */
export function createIntake(
  transport: Pick<Transport, 'pauseReading' | 'resumeReading'>,
  answers: Pick<Answers, 'areMany'>,
  clock: Pick<Clock, 'monotonicMs' | 'after'>,
  receive: (bytes: Uint8Array, mustWait: () => boolean) => number,
): Intake {
  const mustWait = () => isHeld || holds > 0 || answers.areMany
  let kept: Uint8Array | undefined
  let isPaused = false
  let isOver = false
  let isHeld = false
  let holds = 0
  let cancel = () => {}

  /** `isOurs`: no longer the transport's, so that what is left of it need not be copied for each turn. */
  function take(bytes: Uint8Array, isOurs: boolean): void {
    const taken = mustWait() ? 0 : receive(bytes, mustWait)
    if (isOver) return
    if (taken < bytes.length) kept = isOurs ? bytes.subarray(taken) : bytes.slice(taken)
    if (!mustWait() || isPaused) return
    isPaused = true
    transport.pauseReading()
  }

  function goOn(): void {
    if (!isPaused || isOver) return
    const rest = kept
    kept = undefined
    if (rest !== undefined) take(rest, true)
    if (isOver || mustWait()) return
    isPaused = false
    transport.resumeReading()
  }

  return {
    push(bytes) {
      if (isOver) return
      if (!isPaused) return take(bytes, false)
      // Read before the pause held: no more than one buffer of the socket.
      const before = kept ?? new Uint8Array(0)
      kept = new Uint8Array(before.length + bytes.length)
      kept.set(before)
      kept.set(bytes, before.length)
    },
    goOn,
    waitUntil(ms) {
      const leftMs = ms - clock.monotonicMs()
      if (leftMs <= 0 || isHeld || isOver) return
      isHeld = true
      cancel = clock.after(leftMs, () => {
        isHeld = false
        goOn()
      })
    },
    hold() {
      holds++
      let isReleased = false
      return () => {
        if (isReleased) return
        isReleased = true
        holds--
        goOn()
      }
    },
    stop() {
      isOver = true
      cancel()
      kept = undefined
    },
  }
}
