/**
 * The keys of a terminal session that are for us and not for the device, as ssh(1) has them: at the beginning of a line
 * `~.` leaves, `~?` tells them, `~~` is a tilde. Everything else passes as it was typed, a tilde that was held back too.
 * @module
 */

export type EscapeEvent =
  | { readonly kind: 'pass'; readonly bytes: Uint8Array }
  | { readonly kind: 'leave' }
  | { readonly kind: 'help' }

export const ESCAPES_HELP: readonly string[] = Object.freeze([
  'At the beginning of a line:',
  '  ~.  leaves; what runs goes on',
  '  ~~  sends a tilde',
  '  ~?  shows this',
])

const TILDE = 0x7e
const [CR, LF, DOT, QUESTION] = [0x0d, 0x0a, 0x2e, 0x3f]

/** What becomes of bytes that were typed. After `leave` nothing is to be passed any more. */
export function createEscapes(): (typed: Uint8Array) => EscapeEvent[] {
  let isLineStart = true
  let isHeld = false

  return (typed) => {
    const events: EscapeEvent[] = []
    let passed: number[] = []
    const tell = (kind: 'leave' | 'help') => {
      if (passed.length > 0) events.push({ kind: 'pass', bytes: Uint8Array.from(passed) })
      passed = []
      events.push({ kind })
    }
    for (const byte of typed) {
      if (isHeld) {
        isHeld = false
        if (byte === DOT || byte === QUESTION) {
          tell(byte === DOT ? 'leave' : 'help')
          continue
        }
        passed.push(TILDE)
        isLineStart = false
        if (byte === TILDE) continue
      } else if (isLineStart && byte === TILDE) {
        isHeld = true
        continue
      }
      passed.push(byte)
      isLineStart = byte === CR || byte === LF
    }
    if (passed.length > 0) events.push({ kind: 'pass', bytes: Uint8Array.from(passed) })
    return events
  }
}
