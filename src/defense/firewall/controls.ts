/**
 * Control sequences of a terminal within output, taken out of the way of whoever looks for words and put back behind
 * it: `grep --color` and prompts stand in the middle of words.
 * Of ECMA-48: sequences of ESC with a final byte, CSI with its parameters, and the selection of a character set. What is
 * within a string (OSC, DCS) stays text, since it goes on to the terminal as that.
 * A sequence that does not end within its bound was none: its bytes are text.
 * Rules: ECMA-48 sections 5.3 to 5.5; docs/firewall.md.
 * @module
 */
import { CONTROL_BYTES } from './limits.ts'

/** A sequence, and how much text stood before it. */
export type Control = { readonly offset: number; readonly bytes: Uint8Array }

export type Controls = {
  /**
   * Takes bytes apart: the text goes into `text`, whose length is given; what is no text is kept.
   * @param text with room for the bytes and for CONTROL_BYTES
   */
  take(bytes: Uint8Array, text: Uint8Array): number
  /** Nothing follows: a sequence that was begun is text. */
  finish(text: Uint8Array): number
  /** Those that stand within that text, or right before it. */
  within(start: number, end: number): readonly Control[]
  /** Gives back, in order, what stood before the text from `offset` on. */
  upTo(offset: number, give: (bytes: Uint8Array) => void): void
  readonly keptCount: number
  /** Nothing is kept, and no sequence has begun. */
  readonly isIdle: boolean
  /** Text that has passed without being taken apart: offsets count it. */
  skip(bytes: number): void
}

const ESC = 0x1b
const CSI = 0x5b
const isIntermediate = (byte: number): boolean => byte >= 0x20 && byte <= 0x2f
const isParameter = (byte: number): boolean => byte >= 0x20 && byte <= 0x3f
const isFinal = (byte: number): boolean => byte >= 0x30 && byte <= 0x7e
/** What begins a string, whose content is text: DCS, SOS, OSC, PM, APC. */
const isStringOpener = (byte: number): boolean =>
  byte === 0x50 || byte === 0x58 || (byte >= 0x5d && byte <= 0x5f)

type Phase = 'text' | 'escape' | 'sequence' | 'set'

export function createControls(): Controls {
  const begun = new Uint8Array(CONTROL_BYTES)
  let length = 0
  let phase: Phase = 'text'
  let kept: Control[] = []
  let textBytes = 0

  /** What the byte makes of a sequence: it goes on, it has ended, or it was none. */
  function step(byte: number): Phase | 'none' {
    if (length === CONTROL_BYTES) return 'none'
    switch (phase) {
      case 'escape':
        if (byte === CSI) return 'sequence'
        if (isIntermediate(byte)) return 'set'
        return isFinal(byte) && !isStringOpener(byte) ? 'text' : 'none'
      case 'set':
        if (isIntermediate(byte)) return 'set'
        return isFinal(byte) ? 'text' : 'none'
      case 'sequence':
        if (isParameter(byte)) return 'sequence'
        return byte >= 0x40 && byte <= 0x7e ? 'text' : 'none'
      case 'text':
        return 'none'
    }
  }

  function release(text: Uint8Array, at: number): number {
    text.set(begun.subarray(0, length), at)
    textBytes += length
    const end = at + length
    length = 0
    phase = 'text'
    return end
  }

  return {
    take(bytes, text) {
      let out = 0
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0
        if (phase !== 'text') {
          const now = step(byte)
          if (now !== 'none') {
            begun[length++] = byte
            phase = now
            if (now === 'text') {
              kept.push({ offset: textBytes, bytes: begun.slice(0, length) })
              length = 0
            }
            continue
          }
          out = release(text, out)
        }
        if (byte === ESC) {
          begun[0] = byte
          length = 1
          phase = 'escape'
          continue
        }
        text[out++] = byte
        textBytes++
      }
      return out
    },
    finish: (text) => release(text, 0),
    within: (start, end) => kept.filter(({ offset }) => offset >= start && offset < end),
    upTo(offset, give) {
      let done = 0
      for (const control of kept) {
        if (control.offset > offset) break
        give(control.bytes)
        done++
      }
      if (done > 0) kept = kept.slice(done)
    },
    get keptCount() {
      return kept.length
    },
    get isIdle() {
      return phase === 'text' && kept.length === 0
    },
    skip(bytes) {
      textBytes += bytes
    },
  }
}
