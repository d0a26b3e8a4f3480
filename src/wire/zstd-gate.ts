/**
 * The gate before Zstandard (RFC 8878): a frame is measured before it is decoded, and decoded into a buffer of exactly
 * the size that it declared.
 * Refused from the heads alone: another magic (skippable frames too), reserved bits, a dictionary, no content size, a
 * size or window over the limit, too many blocks, a reserved block type, a block over its maximum, anything behind the
 * last block. Refused while decoding: whatever the block decoder refuses, a length other than declared, a checksum
 * (XXH64) that does not match. Nothing is ever cut or padded.
 * Decoding is our own: a frame of 21 bytes makes fzstd 0.1.1 copy for seconds and one of 20 bytes loop for ever, it accepts
 * frames that libzstd calls corrupt, and it refuses one that is valid.
 * Rules: docs/protocol.md, section 3 (raw_payload); draft 6.2.
 * @module
 */
import { xxh64Low } from '../base/crypto/xxh64.ts'
import { asSassError, SassError } from '../errors.ts'
import { ZSTD_BLOCKS } from '../limits.ts'
import { decodeBlock } from './zstd-block.ts'
import { readBlockHead, startFrame } from './zstd-block-head.ts'
import { corrupt } from './zstd-entropy.ts'

export type ZstdRefusal = {
  readonly ok: false
  readonly code: 'DECOMPRESSION_LIMIT_EXCEEDED' | 'FRAME_MALFORMED'
  /** A clause without any of the input in it. */
  readonly problem: string
}
export type ZstdMeasure =
  | { readonly ok: true; readonly plainBytes: number; readonly blocks: number }
  | ZstdRefusal
export type ZstdPlain = { readonly ok: true; readonly plain: Uint8Array } | ZstdRefusal

export type ZstdOptions = {
  /**
   * `required` is the rule of the wire. `optional` also takes a frame that does not say its size; its measure is then
   * the most that it can give, which is held to the limit while decoding.
   */
  readonly contentSize?: 'required' | 'optional'
  /** A time for reading heads and tables, all blocks together, and the monotonic clock that it is measured on. */
  readonly headerTime?: { readonly limitMs: number; readonly elapsedMs: () => number }
}

/** RFC 8878 section 3.1.1: little-endian 0xFD2FB528. */
const MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd]
/** RFC 8878 section 3.1.1.2.4. */
const BLOCK_BYTES = 131_072
const BLOCK_HEAD_BYTES = 3
const CHECKSUM_BYTES = 4
const RAW = 0
const RLE = 1
const RESERVED = 3

type FrameHead = {
  /** Undefined where the frame does not say. */
  readonly contentBytes: number | undefined
  readonly windowBytes: number
  readonly hasChecksum: boolean
  /** Where the first block begins. */
  readonly next: number
}

type Block = {
  readonly kind: number
  readonly isLast: boolean
  readonly size: number
  readonly start: number
  readonly end: number
}

function overLimit(problem: string): never {
  throw new SassError('DECOMPRESSION_LIMIT_EXCEEDED', `The Zstandard frame was not decoded: ${problem}.`, {
    problem,
  })
}

/** Little-endian, `count` bytes from 0 to 8. Above 2^53 the sum is rounded, which cannot bring it under a limit. */
function readLittleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = count - 1; index >= 0; index -= 1) value = value * 256 + (bytes[at + index] ?? 0)
  return value
}

/** RFC 8878 section 3.1.1.1. */
function readFrameHead(frame: Uint8Array): FrameHead {
  if (MAGIC.some((byte, at) => frame[at] !== byte)) corrupt('it does not begin as a Zstandard frame does')
  const descriptor = frame[4]
  if (descriptor === undefined) return corrupt('its head is cut')
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  if ((descriptor & 0x08) !== 0) corrupt('a reserved bit is set')
  if ((descriptor & 0x03) !== 0) corrupt('it asks for a dictionary')
  let next = 5
  let windowBytes = 0
  if (!isSingleSegment) {
    const window = frame[next] ?? 0
    const base = 2 ** (10 + (window >> 3))
    windowBytes = base + (base / 8) * (window & 7)
    next += 1
  }
  const sizeBytes = sizeFlag > 0 ? 1 << sizeFlag : isSingleSegment ? 1 : 0
  // RFC 8878 section 3.1.1.1.4: two bytes count from 256.
  const contentBytes =
    sizeBytes === 0 ? undefined : readLittleEndian(frame, next, sizeBytes) + (sizeFlag === 1 ? 256 : 0)
  next += sizeBytes
  if (next > frame.length) corrupt('its head is cut')
  if (isSingleSegment) windowBytes = contentBytes ?? 0
  return { contentBytes, windowBytes, hasChecksum: (descriptor & 0x04) !== 0, next }
}

/** RFC 8878 section 3.1.1.2; `largestBytes` bounds a block in both its forms. */
function readBlock(frame: Uint8Array, at: number, largestBytes: number): Block {
  const start = at + BLOCK_HEAD_BYTES
  if (start > frame.length) corrupt('it ends before its last block')
  const head = readLittleEndian(frame, at, BLOCK_HEAD_BYTES)
  const kind = (head >> 1) & 3
  const size = head >> 3
  if (kind === RESERVED) corrupt('a block is of the reserved type')
  if (size > largestBytes) corrupt('a block is larger than the frame allows')
  const end = start + (kind === RLE ? 1 : size)
  if (end > frame.length) corrupt('a block is cut')
  return { kind, isLast: (head & 1) === 1, size, start, end }
}

type Measured = {
  readonly head: FrameHead
  readonly largestBytes: number
  readonly plainBytes: number
  readonly blocks: number
}

/** Measures the whole frame by its heads; cost is one step a block, nothing is allocated. */
function measure(frame: Uint8Array, limitPlainBytes: number, options: ZstdOptions): Measured {
  const head = readFrameHead(frame)
  const { contentBytes, windowBytes } = head
  if (contentBytes === undefined && options.contentSize !== 'optional')
    corrupt('it does not say the size of its content')
  if ((contentBytes ?? 0) > limitPlainBytes)
    overLimit(`its content is larger than the limit of ${limitPlainBytes} bytes`)
  if (windowBytes > limitPlainBytes)
    overLimit(`its window is larger than the limit of ${limitPlainBytes} bytes`)
  const largestBytes = Math.min(windowBytes, BLOCK_BYTES)
  let at = head.next
  let blocks = 0
  let mostBytes = 0
  for (let isLast = false; !isLast; ) {
    blocks += 1
    if (blocks > ZSTD_BLOCKS) overLimit(`it has more than ${ZSTD_BLOCKS} blocks`)
    const block = readBlock(frame, at, largestBytes)
    mostBytes += block.kind === RAW || block.kind === RLE ? block.size : largestBytes
    at = block.end
    isLast = block.isLast
  }
  if (head.hasChecksum) at += CHECKSUM_BYTES
  if (at > frame.length) corrupt('its checksum is cut')
  if (at < frame.length) corrupt('something follows the frame')
  if (contentBytes !== undefined && mostBytes < contentBytes)
    corrupt('its blocks cannot give the size that it says')
  return { head, largestBytes, plainBytes: contentBytes ?? Math.min(mostBytes, limitPlainBytes), blocks }
}

function decode(frame: Uint8Array, limitPlainBytes: number, options: ZstdOptions): Uint8Array {
  const { headerTime } = options
  const began = headerTime?.elapsedMs() ?? 0
  const { head, largestBytes, plainBytes } = measure(frame, limitPlainBytes, options)
  let headerMs = (headerTime?.elapsedMs() ?? 0) - began
  const state = startFrame(new Uint8Array(plainBytes), head.windowBytes, largestBytes)
  const { output } = state
  let at = head.next
  for (let isLast = false; !isLast; ) {
    if (headerTime !== undefined && headerMs > headerTime.limitMs) {
      overLimit(`reading its heads took more than ${headerTime.limitMs} ms`)
    }
    const block = readBlock(frame, at, largestBytes)
    if (block.kind === RAW || block.kind === RLE) {
      if (block.size > plainBytes - state.produced) corrupt('its blocks give more than the size that it says')
      if (block.kind === RAW) output.set(frame.subarray(block.start, block.end), state.produced)
      else output.fill(frame[block.start] ?? 0, state.produced, state.produced + block.size)
      state.produced += block.size
    } else {
      const before = headerTime?.elapsedMs() ?? 0
      const blockHead = readBlockHead(state, frame, block.start, block.end)
      headerMs += (headerTime?.elapsedMs() ?? 0) - before
      decodeBlock(state, blockHead)
    }
    at = block.end
    isLast = block.isLast
  }
  if (head.contentBytes !== undefined && state.produced !== plainBytes)
    corrupt('its blocks give less than the size that it says')
  const plain = state.produced === plainBytes ? output : output.slice(0, state.produced)
  if (head.hasChecksum && readLittleEndian(frame, at, CHECKSUM_BYTES) !== xxh64Low(plain))
    corrupt('its checksum does not match')
  return plain
}

/** The refusal in an error that this folder threw; anything else is a bug and goes on. */
function refusalOf(error: unknown): ZstdRefusal {
  const { code, details } = asSassError(error) ?? {}
  if (code !== 'FRAME_MALFORMED' && code !== 'DECOMPRESSION_LIMIT_EXCEEDED') throw error
  return { ok: false, code, problem: String(details?.['problem']) }
}

/**
 * Measures one frame without decoding it: what it will give (`plainBytes`), and in how many blocks.
 * A frame that passes may still be refused by `decompressZstd`, never for being larger than `plainBytes` in memory.
 */
export function readZstdFrame(
  frame: Uint8Array,
  limitPlainBytes: number,
  options: ZstdOptions = {},
): ZstdMeasure {
  try {
    const { plainBytes, blocks } = measure(frame, limitPlainBytes, options)
    return { ok: true, plainBytes, blocks }
  } catch (error) {
    return refusalOf(error)
  }
}

/** The content of exactly one frame, at most `limitPlainBytes` bytes; measured first, as by `readZstdFrame`. */
export function decompressZstd(
  frame: Uint8Array,
  limitPlainBytes: number,
  options: ZstdOptions = {},
): ZstdPlain {
  try {
    return { ok: true, plain: decode(frame, limitPlainBytes, options) }
  } catch (error) {
    return refusalOf(error)
  }
}
