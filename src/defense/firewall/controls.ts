/**
 * Control sequences of a terminal within output, taken out of the way of whoever looks for words and put back behind
 * it: `grep --color` and prompts stand in the middle of words.
 * Of ECMA-48: sequences of ESC with a final byte, CSI with its parameters, the selection of a character set, and OSC with
 * its string: links and titles, of which the terminal shows nothing where they stand. Other strings (DCS, APC) stay text.
 * A sequence that does not end within its bound was none: its bytes are text.
 * Rules: ECMA-48 sections 5.3 to 5.5; docs/firewall.md.
 * @module
 */
import { CONTROL_BYTES, CONTROL_STRING_BYTES, CONTROLS_KEPT, CONTROLS_KEPT_BYTES } from './limits.ts'

export type Controls = {
  /**
   * Takes bytes apart: the text goes into `text`, whose length is given; what is no text is kept. It stops behind so many
   * sequences, which are counted over all that comes, wherever it is cut.
   * @param text with room for the bytes and for CONTROL_STRING_BYTES
   */
  take(bytes: Uint8Array, text: Uint8Array): number
  /** Of the bytes that were to be taken last. */
  readonly takenBytes: number
  /** It stopped behind so many, and all of them are still kept: they are to be given. */
  readonly isFull: boolean
  /** Nothing follows: a sequence that was begun is text. */
  finish(text: Uint8Array): number
  /** How much text stands before the next one that is kept; Infinity: none is. */
  readonly nextOffset: number
  /**
   * Puts those that stand before the text from `offset` on at `at` of the target, as many as there is room for, and keeps
   * them no longer; how many bytes that were. One with a string is given alone.
   */
  giveUpTo(offset: number, target: Uint8Array, at: number): number
  readonly keptCount: number
  /** Nothing is kept, and no sequence has begun. */
  readonly isIdle: boolean
  /** Text that has passed without being taken apart: offsets count it. */
  skip(bytes: number): void
}

/** Where a byte is first, from `from` on; -1: it is not there. */
export type FindByte = (bytes: Uint8Array, byte: number, from?: number) => number
/** As the language has it; hosts may have one that is faster. */
export const findByteAlone: FindByte = (bytes, byte, from) => bytes.indexOf(byte, from)

const ESC = 0x1b
/** Between sequences there are often a few bytes, which cost less one by one. */
const NEAR_BYTES = 32
const BYTES = 256
/** Where a byte leads: beyond text, into a sequence, or it was none. */
const [TEXT, ESCAPE, SEQUENCE, SET, STRING, STRING_END, NONE] = [0, 1, 2, 3, 4, 5, 6]
const STRING_OPENER = 0x5d
const BEL = 0x07

/** By `phase * BYTES + byte`. */
const NEXT = new Uint8Array(NONE * BYTES).fill(NONE)
function lead(phase: number, from: number, to: number, next: number): void {
  NEXT.fill(next, phase * BYTES + from, phase * BYTES + to + 1)
}
lead(ESCAPE, 0x30, 0x7e, TEXT)
lead(ESCAPE, 0x20, 0x2f, SET)
lead(ESCAPE, 0x5b, 0x5b, SEQUENCE)
// What begins a string, whose content is text: DCS, SOS, PM, APC.
for (const opener of [0x50, 0x58, 0x5e, 0x5f]) lead(ESCAPE, opener, opener, NONE)
lead(ESCAPE, STRING_OPENER, STRING_OPENER, STRING)
// A line never ends in one: what has begun without an end is told from text there.
lead(STRING, 0x20, 0xff, STRING)
lead(STRING, BEL, BEL, TEXT)
lead(STRING, ESC, ESC, STRING_END)
lead(STRING_END, 0x5c, 0x5c, TEXT)
lead(SEQUENCE, 0x20, 0x3f, SEQUENCE)
lead(SEQUENCE, 0x40, 0x7e, TEXT)
lead(SET, 0x20, 0x2f, SET)
lead(SET, 0x30, 0x7e, TEXT)

/** Whether a sequence holds a string, by where it begins. */
export const isString = (bytes: Uint8Array, at: number): boolean => bytes[at + 1] === STRING_OPENER

export function createControls(findByte: FindByte = findByteAlone): Controls {
  let phase = TEXT
  /**
   * Sequences one after the other, with where each ends and how much text stood before it; those before `given` are gone.
   * Behind the last of them lie the bytes of the one that has begun.
   */
  let store = new Uint8Array(0)
  let ends: number[] = []
  let offsets: number[] = []
  let given = 0
  let length = 0
  let textBytes = 0
  let takenBytes = 0
  /** Since it stopped last. */
  let [count, countedBytes] = [0, 0]

  const endOf = (number: number): number => (number < 0 ? 0 : (ends[number] ?? 0))

  /** Forgets what is gone, and makes room for so many bytes more. */
  function makeRoom(bytes: number): void {
    const [from, to] = [endOf(given - 1), endOf(ends.length - 1) + length]
    ends = given === ends.length ? [] : ends.slice(given).map((end) => end - from)
    offsets = given === offsets.length ? [] : offsets.slice(given)
    given = 0
    if (store.length >= to - from + bytes) return void store.copyWithin(0, from, to)
    const rest = store.subarray(from, to)
    store = new Uint8Array(rest.length + bytes)
    store.set(rest)
  }

  const isAtBound = (): boolean => count >= CONTROLS_KEPT || countedBytes >= CONTROLS_KEPT_BYTES

  function begin(): void {
    store[endOf(ends.length - 1)] = ESC
    length = 1
    phase = ESCAPE
  }

  function end(at: number): void {
    ends.push(at)
    offsets.push(textBytes)
    count++
    countedBytes += length
    length = 0
  }

  /** What has begun was none. */
  function release(text: Uint8Array, at: number): number {
    const from = endOf(ends.length - 1)
    for (let index = 0; index < length; index++) text[at + index] = store[from + index] ?? 0
    textBytes += length
    const end = at + length
    length = 0
    phase = TEXT
    return end
  }

  return {
    take(bytes, text) {
      makeRoom(bytes.length)
      if (isAtBound()) count = countedBytes = 0
      let out = 0
      let at = 0
      while (at < bytes.length && !isAtBound()) {
        if (phase === TEXT) {
          const from = at
          const end = Math.min(bytes.length, at + NEAR_BYTES)
          for (; at < end && bytes[at] !== ESC; at++) text[out++] = bytes[at] as number
          // Farther ones are looked for and copied by who does many bytes at once.
          if (at === end && end < bytes.length) {
            const found = findByte(bytes, ESC, at)
            const next = found < 0 ? bytes.length : found
            text.set(bytes.subarray(at, next), out)
            out += next - at
            at = next
          }
          textBytes += at - from
          if (at++ === bytes.length) break
          begin()
        }
        let to = endOf(ends.length - 1) + length
        while (at < bytes.length && phase !== TEXT) {
          if (phase === STRING) {
            const end = Math.min(bytes.length, at + CONTROL_STRING_BYTES - length)
            const from = at
            while (at < end && NEXT[STRING * BYTES + (bytes[at] as number)] === STRING)
              store[to++] = bytes[at++] as number
            length += at - from
            if (at === bytes.length) break
          }
          const byte = bytes[at] as number
          const most = phase < STRING ? CONTROL_BYTES : CONTROL_STRING_BYTES
          const now = length === most ? NONE : (NEXT[phase * BYTES + byte] as number)
          if (now === NONE) {
            const isBegun = phase === STRING_END
            out = release(text, out)
            if (!isBegun) break
            // Its last byte begins another one.
            out--
            textBytes--
            begin()
            to = endOf(ends.length - 1) + length
            continue
          }
          store[to++] = byte
          length++
          at++
          phase = now
          if (now === TEXT) end(to)
        }
      }
      takenBytes = Math.min(at, bytes.length)
      return out
    },
    get takenBytes() {
      return takenBytes
    },
    get isFull() {
      return isAtBound() && ends.length - given >= count
    },
    finish: (text) => release(text, 0),
    get nextOffset() {
      return given < offsets.length ? (offsets[given] as number) : Number.POSITIVE_INFINITY
    },
    giveUpTo(offset, target, at) {
      const from = endOf(given - 1)
      const most = from + target.length - at
      let to = from
      // They lie one behind the other.
      for (; given < ends.length && (offsets[given] as number) <= offset; given++) {
        const end = ends[given] as number
        if (end > most) break
        const isAlone = isString(store, to)
        if (isAlone && to > from) break
        to = end
        if (!isAlone) continue
        given++
        break
      }
      if (to - from > CONTROL_BYTES) target.set(store.subarray(from, to), at)
      else for (let index = from; index < to; index++) target[at + index - from] = store[index] as number
      return to - from
    },
    get keptCount() {
      return ends.length - given
    },
    get isIdle() {
      return phase === TEXT && given === ends.length
    },
    skip(bytes) {
      textBytes += bytes
    },
  }
}
