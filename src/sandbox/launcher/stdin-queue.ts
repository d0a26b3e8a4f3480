/**
 * What waits for whoever does not take it yet: a program its stdin, a file what is uploaded. Small pieces are put together
 * in blocks, so that what is kept is about as large as what was sent, however it was cut. Refuses nothing; whoever fills
 * it looks at `bytes`.
 * Rules: docs/protocol.md, section 2 (credit counts bytes, not pieces).
 * @module
 */
import { STDIN_BLOCK_BYTES } from '../limits.ts'

export type StdinQueue = {
  /** How many bytes wait. */
  readonly bytes: number
  /** Takes a large piece over; copies a small one. */
  push(bytes: Uint8Array): void
  /** The oldest bytes that lie together, or the oldest piece, or what is left of it; undefined when nothing waits. */
  peek(): Uint8Array | undefined
  /** The first `count` bytes of what `peek` gave have been dealt with. */
  consume(count: number): void
  clear(): void
}

/** Bytes `from` to `to` of `memory` wait; behind `to` there is room. By pieces the first one ends at `ends[next]`. */
type Block = {
  readonly memory: Uint8Array
  from: number
  to: number
  readonly ends: number[]
  next: number
}

/** `isByPiece`: each piece comes out as it was pushed, for whom that means something. */
export function createStdinQueue(isByPiece = false): StdinQueue {
  let blocks: Block[] = []
  let waiting = 0

  return {
    get bytes() {
      return waiting
    },
    push(bytes) {
      if (bytes.length === 0) return
      waiting += bytes.length
      const last = blocks.at(-1)
      if (last !== undefined && last.memory.length - last.to >= bytes.length) {
        last.memory.set(bytes, last.to)
        last.to += bytes.length
        if (isByPiece) last.ends.push(last.to)
        return
      }
      const isSmall = bytes.length < STDIN_BLOCK_BYTES / 2
      const memory = isSmall ? new Uint8Array(STDIN_BLOCK_BYTES) : bytes
      if (isSmall) memory.set(bytes)
      blocks.push({ memory, from: 0, to: bytes.length, ends: isByPiece ? [bytes.length] : [], next: 0 })
    },
    peek() {
      const first = blocks[0]
      return first?.memory.subarray(first.from, first.ends[first.next] ?? first.to)
    },
    consume(count) {
      const first = blocks[0]
      if (first === undefined) return
      waiting -= count
      first.from += count
      while ((first.ends[first.next] ?? Number.POSITIVE_INFINITY) <= first.from) first.next++
      if (first.from >= first.to) blocks.shift()
    },
    clear() {
      blocks = []
      waiting = 0
    },
  }
}
