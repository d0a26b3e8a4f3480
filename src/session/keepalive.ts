/**
 * Whether an idle connection is still alive: when to ask, and when not to wait any longer. The silence before a PING
 * grows while every one is answered, and falls back when an answer was late.
 * Rules: docs/protocol.md, section 2.
 * @module
 */
import { KEEPALIVE_MAX_MS, KEEPALIVE_UNANSWERED } from '../limits.ts'

export type Keepalive = {
  received(nowMs: number): void
  answered(): void
  /** What is due now. */
  tick(nowMs: number): 'nothing' | 'ping' | 'dead'
}

/** `stepMs`: the shortest silence, and by how much it grows. */
export function createKeepalive(stepMs: number, nowMs: number): Keepalive {
  let lastReceivedMs = nowMs
  let unanswered = 0
  let idleMs = stepMs
  return {
    received(now) {
      lastReceivedMs = now
      // It came after all, but late: the link does not keep idle connections that long.
      if (unanswered > 1) idleMs = stepMs
      unanswered = 0
    },
    answered() {
      idleMs = Math.max(idleMs, Math.min(idleMs + stepMs, KEEPALIVE_MAX_MS))
    },
    tick(now) {
      if (now - lastReceivedMs < idleMs + stepMs * unanswered) return 'nothing'
      return unanswered++ < KEEPALIVE_UNANSWERED ? 'ping' : 'dead'
    },
  }
}
