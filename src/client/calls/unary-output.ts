/**
 * The output of a unary Execute as it comes: pieces ahead of the answer and what the answer itself carries, each source
 * within what the protocol allows.
 * Rules: docs/protocol.md, section 3.
 * @module
 */
import { joined } from '../../base/joined.ts'
import { UNARY_OUTPUT_BYTES } from '../../limits.ts'
import type { OutputSource } from '../../ports.ts'

export type UnaryOutput = {
  /** Copies a piece; false where that is more than an answer may have. */
  add(source: OutputSource, piece: Uint8Array): boolean
  /** All of one source, its last piece included. */
  whole(source: OutputSource, last: Uint8Array): Uint8Array
}

export function createUnaryOutput(): UnaryOutput {
  const parts: [Uint8Array[], Uint8Array[]] = [[], []]
  const partBytes: [number, number] = [0, 0]
  return {
    add(source, piece) {
      partBytes[source] += piece.length
      if (partBytes[source] > UNARY_OUTPUT_BYTES) return false
      parts[source].push(piece.slice())
      return true
    },
    whole(source, last) {
      if (parts[source].length === 0) return last
      return joined([...parts[source], last])
    },
  }
}
