/**
 * The OutputCoders port over the Zstandard of Node: frames that are compressed on the thread pool, a bounded number at
 * once.
 * Rules: docs/protocol.md, section 3 (zstd data).
 * @module
 */
import { constants, createZstdCompress, type ZstdCompress, type ZstdOptions } from 'node:zlib'
import {
  CHUNK_BYTES,
  OUTPUT_CODERS,
  OUTPUT_ZSTD_LEVEL,
  OUTPUT_ZSTD_TABLE_LOG,
  OUTPUT_ZSTD_WINDOW_LOG,
} from '../../limits.ts'
import type { OutputCoder, OutputCoders } from '../../ports.ts'

/** What comes out is taken in pieces of this size; a chunk that shrinks to less is copied once. */
const PIECE_BYTES = 16_384

function openFrame(): ZstdCompress {
  const options: ZstdOptions & { readonly readableHighWaterMark: number } = {
    // Every write is flushed.
    flush: constants.ZSTD_e_flush,
    chunkSize: PIECE_BYTES,
    // A write is done when all that came of it is there: it must never wait for a reader.
    readableHighWaterMark: 2 * CHUNK_BYTES,
    params: {
      [constants.ZSTD_c_compressionLevel]: OUTPUT_ZSTD_LEVEL,
      [constants.ZSTD_c_windowLog]: OUTPUT_ZSTD_WINDOW_LOG,
      [constants.ZSTD_c_hashLog]: OUTPUT_ZSTD_TABLE_LOG,
      [constants.ZSTD_c_chainLog]: OUTPUT_ZSTD_TABLE_LOG,
    },
  }
  return createZstdCompress(options)
}

function createCoder(closed: () => void): OutputCoder {
  const frame = openFrame()
  let isClosed = false
  let waiting: ((coded: Uint8Array | undefined) => void) | undefined

  function settle(coded: Uint8Array | undefined): void {
    const done = waiting
    waiting = undefined
    done?.(coded)
  }

  function taken(): Uint8Array {
    const pieces: Buffer[] = []
    for (let piece: Buffer | null = frame.read(); piece !== null; piece = frame.read()) pieces.push(piece)
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  }

  // Told to whoever waits by the end of its write.
  frame.on('error', () => settle(undefined))
  return {
    code(plain, done) {
      waiting = done
      frame.write(plain, (error) => settle(error == null ? taken() : undefined))
    },
    close() {
      if (isClosed) return
      isClosed = true
      waiting = undefined
      frame.destroy()
      closed()
    },
  }
}

export function createOutputCoders(most: number = OUTPUT_CODERS): OutputCoders {
  let open = 0
  return {
    open() {
      if (open >= most) return undefined
      const coder = createCoder(() => open--)
      open++
      return coder
    },
  }
}
