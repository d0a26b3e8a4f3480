/**
 * The output of a command as a result carries it: the end of it, or a piece from an offset on, never more than was asked
 * for, and how much there is in all.
 * @module
 */
import { createRing } from '../../base/ring.ts'

export type Kept = {
  readonly bytes: Uint8Array
  /** Where they begin in the whole output. */
  readonly offset: number
  /** Of the whole output, as far as it was seen. */
  readonly total: number
}

export type Keeper = {
  /** `bytes` are borrowed. */
  take(bytes: Uint8Array, offset: number): void
  /** Further bytes would not be kept. */
  readonly isFull: boolean
  /** Bytes and ends of lines that came. */
  readonly seenBytes: number
  readonly lines: number
  /** Where the next byte stands. */
  readonly end: number
  kept(): Kept
}

const NEW_LINE = 0x0a

function linesIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, at + 1)) count++
  return count
}

/** `from` undefined: the last `limitBytes` of what comes. Otherwise the first `limitBytes` from that offset on. */
export function createKeeper(limitBytes: number, from?: number): Keeper {
  // A ring of nothing has no places to count.
  const ring = createRing(new Uint8Array(Math.max(1, limitBytes)))
  /** The offset of the first byte that went into the ring. */
  let base = from ?? 0
  let end = base
  let seenBytes = 0
  let lines = 0
  const isFull = () => from !== undefined && ring.totalBytes >= limitBytes
  return {
    take(bytes, offset) {
      seenBytes += bytes.length
      lines += linesIn(bytes)
      const isGap = offset !== end
      end = offset + bytes.length
      // What is kept is one piece: the later one where the end is wanted, else what came before the gap.
      if (isGap && from !== undefined && ring.totalBytes > 0) return
      if (isGap) {
        ring.reset()
        base = offset
      }
      if (from === undefined) return ring.write(bytes)
      if (base + ring.totalBytes === offset)
        ring.write(bytes.subarray(0, Math.max(0, limitBytes - ring.totalBytes)))
    },
    get isFull() {
      return isFull()
    },
    get seenBytes() {
      return seenBytes
    },
    get lines() {
      return lines
    },
    get end() {
      return end
    },
    kept() {
      const count = Math.min(limitBytes, ring.totalBytes)
      const at = from === undefined ? ring.totalBytes - count : 0
      const bytes = new Uint8Array(count)
      ring.copyOut(at, bytes)
      return { bytes, offset: base + at, total: end }
    },
  }
}
