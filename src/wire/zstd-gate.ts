/**
 * The gate before Zstandard (RFC 8878): what a frame is by its heads, before any decoder sees it. A decoder alone would
 * take skippable frames, several frames, dictionaries and whatever follows in silence.
 * Refused: another magic (skippable frames too), reserved bits, a dictionary, a window or size over the limit, too many
 * blocks, a reserved block type, a block over its maximum, anything cut, anything behind the last block.
 * What the blocks hold is for the decoder to judge, and whether they give the size that was declared.
 * Rules: docs/protocol.md, section 3 (raw_payload, zstd data); draft 6.2.
 * @module
 */
import { CHUNK_BYTES, DECODED_WINDOW_LOG, ZSTD_BLOCKS } from '../limits.ts'

export type ZstdRefusal = {
  readonly ok: false
  readonly code: 'DECOMPRESSION_LIMIT_EXCEEDED' | 'FRAME_MALFORMED'
  /** A clause without any of the input in it. */
  readonly problem: string
}
export type ZstdMeasure =
  | { readonly ok: true; readonly plainBytes: number; readonly blocks: number }
  | ZstdRefusal

/** RFC 8878 section 3.1.1: little-endian 0xFD2FB528. */
const MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd]
/** RFC 8878 section 3.1.1.2.4. */
const BLOCK_BYTES = 131_072
const BLOCK_HEAD_BYTES = 3
const CHECKSUM_BYTES = 4
const RLE = 1
const RESERVED = 3

/** A problem is a text. */
type Head = {
  /** Undefined where the frame does not say. */
  readonly contentBytes: number | undefined
  readonly windowBytes: number
  readonly hasChecksum: boolean
  /** Where the first block begins. */
  readonly next: number
}
type Blocks = { readonly blocks: number; readonly isLast: boolean; readonly end: number }

function malformed(problem: string): ZstdRefusal {
  return { ok: false, code: 'FRAME_MALFORMED', problem }
}

function overLimit(problem: string): ZstdRefusal {
  return { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED', problem }
}

/** Little-endian, `count` bytes from 0 to 8. Above 2^53 the sum is rounded, which cannot bring it under a limit. */
function readLittleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = count - 1; index >= 0; index -= 1) value = value * 256 + (bytes[at + index] ?? 0)
  return value
}

/** RFC 8878 section 3.1.1.1. */
function readHead(frame: Uint8Array): Head | string {
  if (MAGIC.some((byte, at) => frame[at] !== byte)) return 'it does not begin as a Zstandard frame does'
  const descriptor = frame[4]
  if (descriptor === undefined) return 'its head is cut'
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  if ((descriptor & 0x08) !== 0) return 'a reserved bit is set'
  if ((descriptor & 0x03) !== 0) return 'it asks for a dictionary'
  const sizeAt = isSingleSegment ? 5 : 6
  const window = frame[5] ?? 0
  const base = 2 ** (10 + (window >> 3))
  const sizeBytes = sizeFlag > 0 ? 1 << sizeFlag : isSingleSegment ? 1 : 0
  const next = sizeAt + sizeBytes
  if (next > frame.length) return 'its head is cut'
  // RFC 8878 section 3.1.1.1.4: two bytes count from 256.
  const contentBytes =
    sizeBytes === 0 ? undefined : readLittleEndian(frame, sizeAt, sizeBytes) + (sizeFlag === 1 ? 256 : 0)
  const windowBytes = isSingleSegment ? (contentBytes ?? 0) : base + (base / 8) * (window & 7)
  return { contentBytes, windowBytes, hasChecksum: (descriptor & 0x04) !== 0, next }
}

/**
 * Goes over the heads of blocks (RFC 8878 section 3.1.1.2) to the last one, or where `isOpen` to the end of the bytes.
 * Cost is one step a block.
 */
function readBlocks(
  bytes: Uint8Array,
  from: number,
  windowBytes: number,
  isOpen: boolean,
): Blocks | ZstdRefusal {
  const largestBytes = Math.min(windowBytes, BLOCK_BYTES)
  let at = from
  for (let blocks = 0; ; ) {
    if (isOpen && at === bytes.length) return { blocks, isLast: false, end: at }
    blocks += 1
    if (blocks > ZSTD_BLOCKS) return overLimit(`it has more than ${ZSTD_BLOCKS} blocks`)
    if (at + BLOCK_HEAD_BYTES > bytes.length) return malformed('it ends before its last block')
    const head = readLittleEndian(bytes, at, BLOCK_HEAD_BYTES)
    const kind = (head >> 1) & 3
    const size = head >> 3
    if (kind === RESERVED) return malformed('a block is of the reserved type')
    if (size > largestBytes) return malformed('a block is larger than the frame allows')
    at += BLOCK_HEAD_BYTES + (kind === RLE ? 1 : size)
    if (at > bytes.length) return malformed('a block is cut')
    if ((head & 1) === 1) return { blocks, isLast: true, end: at }
  }
}

/** Measures `frame` as exactly one frame that says how much it holds; nothing is allocated. */
export function checkZstdFrame(frame: Uint8Array, limitPlainBytes: number): ZstdMeasure {
  const head = readHead(frame)
  if (typeof head === 'string') return malformed(head)
  const { contentBytes, windowBytes, hasChecksum, next } = head
  if (contentBytes === undefined) return malformed('it does not say the size of its content')
  if (contentBytes > limitPlainBytes)
    return overLimit(`its content is larger than the limit of ${limitPlainBytes} bytes`)
  if (windowBytes > limitPlainBytes)
    return overLimit(`its window is larger than the limit of ${limitPlainBytes} bytes`)
  const read = readBlocks(frame, next, windowBytes, false)
  if ('ok' in read) return read
  const end = read.end + (hasChecksum ? CHECKSUM_BYTES : 0)
  if (end > frame.length) return malformed('its checksum is cut')
  if (end < frame.length) return malformed('something follows the frame')
  return { ok: true, plainBytes: contentBytes, blocks: read.blocks }
}

/**
 * The problems of the pieces of one frame of output, which is never finished; undefined: none. Each piece is whole
 * blocks, the first has the head of the frame before them.
 */
export function createPieceCheck(): (piece: Uint8Array) => string | undefined {
  let windowBytes: number | undefined
  return (piece) => {
    let next = 0
    if (windowBytes === undefined) {
      const head = readHead(piece)
      if (typeof head === 'string') return head
      if (head.windowBytes > 2 ** DECODED_WINDOW_LOG) return 'its window is larger than agreed'
      windowBytes = head.windowBytes
      next = head.next
    }
    const read = readBlocks(piece, next, Math.min(windowBytes, CHUNK_BYTES), true)
    return 'ok' in read ? read.problem : read.isLast ? 'it ends within the stream' : undefined
  }
}
