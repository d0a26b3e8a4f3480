/**
 * Which pieces of an attached output are compressed, and the one that is being compressed: all that are, in the order
 * in which they leave, are one Zstandard frame. Small pieces and what does not shrink go as they are, so that nothing
 * ever costs more than a few bytes more than without.
 * Rules: docs/protocol.md, section 3 (zstd data).
 * @module
 */
import {
  CHUNK_BYTES,
  CODED_FIRST_BYTES,
  CODED_JUDGED_BYTES,
  CODED_MIN_BYTES,
  CODED_SKIP_BYTES,
  CODED_SKIP_MAX_BYTES,
  ZSTD_GROWTH_BYTES,
  ZSTD_GROWTH_SHIFT,
} from '../../limits.ts'
import type { OutputCoder, OutputCoders, OutputSource } from '../../ports.ts'
import type { CopyOut } from '../../wire/frame.ts'

/** A piece of output that is ready to be sent; `encoding` 0: as it is. */
export type PackedPiece = {
  readonly source: OutputSource
  /** Of its first plain byte. */
  readonly offset: number
  readonly plainBytes: number
  readonly data: Uint8Array
  readonly encoding: 0 | 1
}

export type OutputPacker = {
  /**
   * Begins to compress at most `left` bytes that begin at `offset`, and returns how many; 0: they are to be sent as they
   * are. Whatever becomes of them, their message has no more data than `creditBytes`. Only while it is idle.
   */
  take(
    source: OutputSource,
    offset: number,
    left: number,
    creditBytes: number,
    copyOut: (offset: number, ...target: Parameters<CopyOut>) => void,
  ): number
  /** The piece that was taken last, once it can be sent. */
  readonly ready: PackedPiece | undefined
  /** It has been sent: the next one may be taken. */
  sent(): void
  /** False from `take` to `sent`: what comes after a piece leaves after it. */
  readonly isIdle: boolean
  /** So many bytes were sent as they are. */
  passed(bytes: number): void
  close(): void
}

/** How much may be compressed so that what comes of it has `roomBytes` at most. */
export function plainWithin(roomBytes: number): number {
  const room = Math.min(roomBytes, CHUNK_BYTES) - ZSTD_GROWTH_BYTES
  return room <= 0 ? 0 : room - Math.ceil(room / 2 ** ZSTD_GROWTH_SHIFT)
}

/** `ready` is called when a piece can be sent, never from inside `take`. */
export function createOutputPacker(coders: OutputCoders, ready: () => void): OutputPacker {
  let coder: OutputCoder | undefined
  let isUsable = true
  let isIdle = true
  let piece: PackedPiece | undefined
  // One place for what is being compressed, as large as the credit has ever asked for.
  let place = new Uint8Array(0)
  let skipBytes = 0
  let nextSkipBytes = CODED_SKIP_BYTES

  /** The first piece that is worth it opens the frame. */
  function opened(): OutputCoder | undefined {
    if (coder !== undefined || !isUsable) return coder
    coder = coders.open()
    isUsable = coder !== undefined
    return coder
  }

  function judge(plainBytes: number, codedBytes: number): void {
    if (plainBytes < CODED_JUDGED_BYTES) return
    if (codedBytes <= plainBytes - plainBytes / 16) {
      nextSkipBytes = CODED_SKIP_BYTES
      return
    }
    skipBytes = nextSkipBytes
    nextSkipBytes = Math.min(nextSkipBytes * 2, CODED_SKIP_MAX_BYTES)
  }

  function close(): void {
    isUsable = false
    coder?.close()
    coder = undefined
  }

  return {
    take(source, offset, left, creditBytes, copyOut) {
      const plainBytes = Math.min(left, plainWithin(creditBytes))
      if (plainBytes < (coder === undefined ? CODED_FIRST_BYTES : CODED_MIN_BYTES) || skipBytes > 0) return 0
      const frame = opened()
      if (frame === undefined) return 0
      if (place.length < plainBytes) place = new Uint8Array(plainBytes)
      const plain = place.subarray(0, plainBytes)
      copyOut(offset, plain)
      isIdle = false
      frame.code(plain, (coded) => {
        if (coded === undefined) close()
        else judge(plainBytes, coded.length)
        piece = { source, offset, plainBytes, data: coded ?? plain, encoding: coded === undefined ? 0 : 1 }
        ready()
      })
      return plainBytes
    },
    get ready() {
      return piece
    },
    sent() {
      piece = undefined
      isIdle = true
    },
    get isIdle() {
      return isIdle
    },
    passed(bytes) {
      skipBytes = Math.max(0, skipBytes - bytes)
    },
    close,
  }
}
