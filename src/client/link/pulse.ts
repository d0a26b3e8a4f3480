/**
 * Whether the link of a client is still there: when to ask, and when not to wait any longer. Silence is looked into only
 * while somebody waits for something, after so long that on a link that works the daemon's own PING comes first; sooner
 * where somebody has typed or pressed ^C and nothing comes back.
 * Rules: docs/protocol.md, section 2 (keepalive).
 * @module
 */
import { PROBE_AFTER_MS, PROBE_ANSWER_BEHIND_MS, PROBE_ANSWER_MS, PROBE_BEHIND_BYTES } from '../limits.ts'

export type Pulse = {
  received(nowMs: number): void
  /** Something was sent that should be answered soon. */
  poke(nowMs: number): void
  /** What is due now. `underwayBytes` of ours stand before a PING. */
  tick(nowMs: number, isAwaited: boolean, underwayBytes: number): 'nothing' | 'ping' | 'dead'
}

/** `silenceMs`: the longest one that is not looked into. */
export function createPulse(silenceMs: number, nowMs: number): Pulse {
  let lastReceivedMs = nowMs
  let pokedMs: number | undefined
  let pingedMs: number | undefined
  return {
    received(now) {
      lastReceivedMs = now
      pokedMs = undefined
      pingedMs = undefined
    },
    poke(now) {
      pokedMs ??= now
    },
    tick(now, isAwaited, underwayBytes) {
      if (!isAwaited) {
        pokedMs = undefined
        pingedMs = undefined
        return 'nothing'
      }
      if (pingedMs !== undefined) {
        const patienceMs = underwayBytes > PROBE_BEHIND_BYTES ? PROBE_ANSWER_BEHIND_MS : PROBE_ANSWER_MS
        return now - pingedMs >= patienceMs ? 'dead' : 'nothing'
      }
      const isSilent = now - lastReceivedMs >= silenceMs
      if (!isSilent && (pokedMs === undefined || now - pokedMs < PROBE_AFTER_MS)) return 'nothing'
      pingedMs = now
      return 'ping'
    },
  }
}
