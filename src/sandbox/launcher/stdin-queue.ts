/**
 * What waits for a program that does not read its stdin yet. Small pieces are put together in blocks, so that what is
 * kept is about as large as what was sent, however it was cut. Refuses nothing; whoever fills it looks at `bytes`.
 * Rules: docs/protocol.md, section 2 (credit counts bytes, not pieces).
 * @module
 */
import { STDIN_BLOCK_BYTES } from '../limits.ts'

export type StdinQueue = {
  /** How many bytes wait. */
  readonly bytes: number
  /** Takes a large piece over; copies a small one. */
  push(bytes: Uint8Array): void
  /** The oldest bytes that lie together; undefined when nothing waits. */
  peek(): Uint8Array | undefined
  /** The first `count` bytes of what `peek` gave have been dealt with. */
  consume(count: number): void
  clear(): void
}

/** Bytes `from` to `to` of `memory` wait; behind `to` there is room. */
type Block = { readonly memory: Uint8Array; from: number; to: number }

export function createStdinQueue(): StdinQueue {
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
        return
      }
      if (bytes.length >= STDIN_BLOCK_BYTES / 2) {
        blocks.push({ memory: bytes, from: 0, to: bytes.length })
        return
      }
      const memory = new Uint8Array(STDIN_BLOCK_BYTES)
      memory.set(bytes)
      blocks.push({ memory, from: 0, to: bytes.length })
    },
    peek() {
      const first = blocks[0]
      return first?.memory.subarray(first.from, first.to)
    },
    consume(count) {
      const first = blocks[0]
      if (first === undefined) return
      waiting -= count
      first.from += count
      if (first.from >= first.to) blocks.shift()
    },
    clear() {
      blocks = []
      waiting = 0
    },
  }
}
