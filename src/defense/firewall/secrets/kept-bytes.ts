/**
 * Bytes of a stream that are kept from one push to the next, since they may be looked at again: a few, mostly, which lie in
 * the same room each time, as a block of memory for each push would cost more than looking at what comes.
 * @module
 */

/** Most of what is kept has room in that. */
const ROOM_BYTES = 512

export type KeptBytes = {
  /** Lent until the next are kept; those behind `length` do not count. */
  readonly bytes: Uint8Array
  readonly length: number
  /** From `from` to `end`, in place of those before. */
  keep(bytes: Uint8Array, from: number, end: number): void
  copyTo(target: Uint8Array): void
}

export function createKeptBytes(): KeptBytes {
  let kept: Uint8Array = new Uint8Array(0)
  let length = 0
  return {
    get bytes() {
      return kept
    },
    get length() {
      return length
    },
    keep(bytes, from, end) {
      length = end - from
      if (length > ROOM_BYTES) kept = bytes.slice(from, end)
      else {
        if (length > 0 && kept.length !== ROOM_BYTES) kept = new Uint8Array(ROOM_BYTES)
        for (let at = 0; at < length; at++) kept[at] = bytes[from + at] as number
      }
    },
    copyTo(target) {
      if (length > ROOM_BYTES) target.set(kept)
      else for (let at = 0; at < length; at++) target[at] = kept[at] as number
    },
  }
}
