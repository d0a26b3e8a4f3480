/**
 * Whether an idle connection is still alive: when to ask, and when not to wait any longer. The silence before a PING
 * grows while every one is answered, and falls back when an answer was late.
 * Rules: docs/protocol.md, section 2.
 * @module
 */
import { KEEPALIVE_MAX_MS, KEEPALIVE_MS, KEEPALIVE_UNANSWERED } from '../../limits.ts'

export type Keepalive = {
  received(nowMs: number): void
  answered(): void
  /** What is due now. */
  tick(nowMs: number): 'nothing' | 'ping' | 'dead'
}

/**
 * `firstMs`: the silence before the first PING. It grows by steps of at most KEEPALIVE_MS, which is also how long an
 * answer may take: whoever is asked seldom is not waited for longer.
 */
export function createKeepalive(firstMs: number, nowMs: number): Keepalive {
  const stepMs = Math.min(firstMs, KEEPALIVE_MS)
  let lastReceivedMs = nowMs
  let unanswered = 0
  let idleMs = firstMs
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
