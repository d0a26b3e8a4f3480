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

export type Controls = {
  /**
   * Takes bytes apart: the text goes into `text`, whose length is given; what is no text is kept.
   * @param text with room for the bytes and for CONTROL_BYTES
   */
  take(bytes: Uint8Array, text: Uint8Array): number
  /** Nothing follows: a sequence that was begun is text. */
  finish(text: Uint8Array): number
  /** How much text stands before the next one that is kept; Infinity: none is. */
  readonly nextOffset: number
  /** Puts the next one at `at` of the target, where there is room for it, and keeps it no longer; how many bytes that were. */
  giveNext(target: Uint8Array, at: number): number
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
  /** Sequences one after the other, with where each ends and how much text stood before it; those before `given` are gone. */
  let store = new Uint8Array(0)
  let ends: number[] = []
  let offsets: number[] = []
  let given = 0
  let textBytes = 0

  const endOf = (number: number): number => (number < 0 ? 0 : (ends[number] ?? 0))

  /** Forgets what is gone, and makes room for so many bytes more. */
  function makeRoom(bytes: number): void {
    const [from, to] = [endOf(given - 1), endOf(ends.length - 1)]
    const rest = store.subarray(from, to)
    ends = ends.slice(given).map((end) => end - from)
    offsets = offsets.slice(given)
    given = 0
    store = new Uint8Array(rest.length + bytes)
    store.set(rest)
  }

  function keep(): void {
    const at = endOf(ends.length - 1)
    for (let index = 0; index < length; index++) store[at + index] = begun[index] ?? 0
    ends.push(at + length)
    offsets.push(textBytes)
    length = 0
  }

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
      makeRoom(length + bytes.length)
      let out = 0
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0
        if (phase !== 'text') {
          const now = step(byte)
          if (now !== 'none') {
            begun[length++] = byte
            phase = now
            if (now === 'text') keep()
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
    get nextOffset() {
      return offsets[given] ?? Number.POSITIVE_INFINITY
    },
    giveNext(target, at) {
      if (given === ends.length) return 0
      const [from, to] = [endOf(given - 1), endOf(given)]
      given++
      for (let index = from; index < to; index++) target[at + index - from] = store[index] ?? 0
      return to - from
    },
    get keptCount() {
      return ends.length - given
    },
    get isIdle() {
      return phase === 'text' && given === ends.length
    },
    skip(bytes) {
      textBytes += bytes
    },
  }
}
