/**
 * Reads the Zstandard frame of an attached output piece by piece. What is not of that frame, has a larger window than
 * is agreed, or becomes more than one chunk in one message, is refused before it is held.
 * Node 22.15 and later know Zstandard; with an earlier one a thread of zstd-thread.node.ts reads it.
 * Rules: docs/protocol.md, section 3 (zstd data).
 * @module
 */
import * as zlib from 'node:zlib'
import { defer } from '../../base/deferred.ts'
import { CHUNK_BYTES, DECODED_WINDOW_LOG } from '../../limits.ts'
import { createPieceCheck } from '../../wire/zstd-gate.ts'
import type { FrameReader } from '../calls/output-decoder.ts'
import { createThreadReader } from './zstd-thread-reader.node.ts'

/** A reader that any Node has. Every piece passes the gate before anything reads it. */
export function createFrameReader(): FrameReader {
  const isKnown = typeof zlib.createZstdDecompress === 'function'
  const reader = isKnown ? createHostReader() : createThreadReader()
  const problemOf = createPieceCheck()
  return {
    async read(coded) {
      const problem = problemOf(coded)
      if (problem !== undefined) throw new Error(problem)
      return reader.read(coded)
    },
    close: reader.close,
  }
}

function createHostReader(): FrameReader {
  const { constants, createZstdDecompress } = zlib
  // One byte more than a message may hold: the library stops there, and waits for whoever would read it.
  const mostBytes = CHUNK_BYTES + 1
  const options: zlib.ZstdOptions & { readonly readableHighWaterMark: number } = {
    chunkSize: mostBytes,
    readableHighWaterMark: mostBytes,
    params: { [constants.ZSTD_d_windowLogMax]: DECODED_WINDOW_LOG },
  }
  const frame = createZstdDecompress(options)
  let refuse: ((error: Error) => void) | undefined

  frame.on('error', (error) => refuse?.(error))
  frame.on('readable', () => {
    if (frame.readableLength > CHUNK_BYTES) refuse?.(new Error('a message that holds more than a chunk'))
  })

  function taken(): Uint8Array {
    const pieces: Buffer[] = []
    for (let piece: Buffer | null = frame.read(); piece !== null; piece = frame.read()) pieces.push(piece)
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  }

  return {
    read(coded) {
      const { promise, resolve, reject } = defer<Uint8Array>()
      refuse = reject
      frame.write(coded, (error) => (error == null ? resolve(taken()) : reject(error)))
      return promise
    },
    close() {
      refuse = undefined
      frame.destroy()
    },
  }
}
