/**
 * A thread that reads one Zstandard frame with fzstd, where Node knows none (20, 21, 22 before 22.15). It is given a piece
 * of whole blocks at a time and answers with what is in it, or with a sentence.
 * There are frames with which fzstd never ends: whoever started the thread ends it then.
 * @module
 */
import { parentPort } from 'node:worker_threads'
import { Decompress } from 'fzstd'
import { CHUNK_BYTES } from '../../limits.ts'

/** RFC 8878 section 3.1.1.2: a raw block of no bytes, which is not the last. */
const EMPTY_BLOCK_BYTES = 3
/** fzstd reads nothing of a frame before it has so much of it. */
const FIRST_BYTES = 18

/** The bytes of the next piece, or what is wrong with it. */
function createReader(): (piece: Uint8Array) => Uint8Array<ArrayBuffer> | string {
  const plain = new Uint8Array(CHUNK_BYTES)
  let plainBytes = 0
  const frame = new Decompress((block) => {
    if (block.length > CHUNK_BYTES - plainBytes) throw new Error('a message that holds more than a chunk')
    plain.set(block, plainBytes)
    plainBytes += block.length
  })
  /** Of the empty block that stands between two pieces, what belongs to the next one. */
  let owed = 0

  /**
   * The blocks with the greater part of an empty one behind them: where fzstd has nothing left over it keeps every piece
   * for ever, and where the first is short it waits for more.
   */
  function withSeam(piece: Uint8Array): Uint8Array {
    let behind = EMPTY_BLOCK_BYTES - 1
    while (owed + piece.length + behind < FIRST_BYTES) behind += EMPTY_BLOCK_BYTES
    const joined = new Uint8Array(owed + piece.length + behind)
    joined.set(piece, owed)
    owed = 1
    return joined
  }

  return (piece) => {
    plainBytes = 0
    try {
      frame.push(withSeam(piece))
    } catch (cause) {
      return cause instanceof Error ? cause.message : 'of an unknown form'
    }
    return plain.slice(0, plainBytes)
  }
}

const read = createReader()
parentPort?.on('message', (piece: Uint8Array) => {
  const answer = read(piece)
  parentPort?.postMessage(answer, typeof answer === 'string' ? [] : [answer.buffer])
})
