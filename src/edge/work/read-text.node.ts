/**
 * How texts of agents are read before other agents read them: the one place that asks the firewall about a whole text.
 * Rules: docs/handoffs.md; docs/firewall.md.
 * @module
 */
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { INJECTION_OVERLAP_BYTES, INJECTION_WINDOW_BYTES } from '../../defense/firewall/injections/limits.ts'
import type { ReadText } from '../../session/common/read-text.ts'
import type { FirewallRoom } from '../../session/common/rooms.ts'

export function createReadText({ open, assess }: FirewallRoom): ReadText {
  return {
    hide(text) {
      const screen = open(false)
      const pieces: Uint8Array[] = []
      // What is given is lent.
      const emit = (bytes: Uint8Array) => void pieces.push(bytes.slice())
      screen.push(encodeUtf8(text), emit)
      screen.finish(emit)
      const hidden = screen.secrets?.count ?? 0
      // What is not UTF-8 any more was cut where a secret stood.
      return { text: hidden === 0 ? text : Buffer.concat(pieces).toString(), hidden }
    },
    assess(text) {
      const bytes = encodeUtf8(text)
      let most = 0
      for (let at = 0; at < bytes.length; at += INJECTION_WINDOW_BYTES - INJECTION_OVERLAP_BYTES)
        most = Math.max(most, assess(bytes.subarray(at, at + INJECTION_WINDOW_BYTES)).permille)
      return most
    },
  }
}
