/**
 * The head of one compressed block of a Zstandard frame (RFC 8878 section 3.1.1.3): sizes and tables of its literals
 * and sequences, and the state that blocks of a frame hand on. Nothing is decoded here.
 * Refused: every size that its section cannot hold or that is over the block's maximum, codes and modes that the
 * format does not have, a table to be repeated that was never given.
 * @module
 */
import {
  buildFse,
  corrupt,
  type FseTable,
  type HuffmanTable,
  readFse,
  readHuffman,
  singleSymbolFse,
} from './zstd-entropy.ts'

type CodeKind = { readonly largestLog: number; readonly largestSymbol: number; readonly predefined: FseTable }

/** The least that one sequence gives. */
export const MATCH_LEAST = 3

/** RFC 8878 sections 3.1.1.3.2.1.1 and 3.1.1.3.2.2: limits and default distributions. */
const LITERALS_CODE: CodeKind = {
  largestLog: 9,
  largestSymbol: 35,
  predefined: buildFse(
    [
      4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
      -1, -1,
    ],
    6,
  ),
}
const MATCH_CODE: CodeKind = {
  largestLog: 9,
  largestSymbol: 52,
  predefined: buildFse(
    [
      1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
    6,
  ),
}
const OFFSET_CODE: CodeKind = {
  largestLog: 8,
  largestSymbol: 31,
  predefined: buildFse(
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    5,
  ),
}

/** What blocks of one frame hand on to the next, and where they write. */
export type FrameState = {
  readonly output: Uint8Array
  readonly windowBytes: number
  readonly blockBytes: number
  /** Room for the literals of a block: `blockBytes`, made once a frame. */
  readonly literals: Uint8Array
  produced: number
  huffman: HuffmanTable | undefined
  literalsTable: FseTable | undefined
  matchTable: FseTable | undefined
  offsetTable: FseTable | undefined
  repeat1: number
  repeat2: number
  repeat3: number
}

/** The state before the first block; `output` is what the frame may fill and no more. */
export function startFrame(output: Uint8Array, windowBytes: number, blockBytes: number): FrameState {
  return {
    output,
    windowBytes,
    blockBytes,
    literals: new Uint8Array(blockBytes),
    produced: 0,
    huffman: undefined,
    literalsTable: undefined,
    matchTable: undefined,
    offsetTable: undefined,
    // RFC 8878 section 3.1.1.5: the offsets that a frame begins with.
    repeat1: 1,
    repeat2: 4,
    repeat3: 8,
  }
}

/** RFC 8878 section 3.1.1.3.1.1; the fourth, 3, is compressed with the Huffman table of a block before. */
export const LITERALS_RAW = 0
export const LITERALS_RLE = 1
const LITERALS_COMPRESSED = 2

/** Where a block's parts lie, all tables read: nothing but streams is left to decode. */
export type BlockHead = {
  readonly bytes: Uint8Array
  readonly literalsKind: number
  readonly literalsSize: number
  readonly streams: 1 | 4
  readonly literalsStart: number
  readonly literalsEnd: number
  readonly sequences: number
  readonly sequencesStart: number
  readonly end: number
}

function readTable(
  kind: CodeKind,
  mode: number,
  bytes: Uint8Array,
  at: number,
  end: number,
  previous: FseTable | undefined,
): { table: FseTable; next: number } {
  switch (mode) {
    case 0:
      return { table: kind.predefined, next: at }
    case 1: {
      const symbol = bytes[at] ?? 0
      if (at >= end || symbol > kind.largestSymbol)
        corrupt('a code of a sequence is not one that the format has')
      return { table: singleSymbolFse(symbol), next: at + 1 }
    }
    case 2:
      return readFse(bytes, at, end, kind.largestLog, kind.largestSymbol)
    default:
      return previous === undefined
        ? corrupt('a table is to be repeated that was never given')
        : { table: previous, next: at }
  }
}

/** RFC 8878 section 3.1.1.3.2.1: number of sequences, modes, tables. Returns where the bit stream begins. */
function readSequencesHead(
  state: FrameState,
  bytes: Uint8Array,
  start: number,
  end: number,
): { sequences: number; next: number } {
  if (start >= end) corrupt('a block ends before its sequences')
  const first = bytes[start] ?? 0
  const width = first < 128 ? 1 : first < 255 ? 2 : 3
  let at = start + width
  if (at > end) corrupt('a block ends before its sequences')
  const second = bytes[start + 1] ?? 0
  const sequences =
    width === 1
      ? first
      : width === 2
        ? ((first - 128) << 8) | second
        : (second | ((bytes[start + 2] ?? 0) << 8)) + 0x7f00
  if (sequences === 0) {
    if (at !== end) corrupt('a block without sequences goes on')
    return { sequences, next: at }
  }
  if (sequences * MATCH_LEAST > state.blockBytes) corrupt('a block has more sequences than its size allows')
  const modes = bytes[at] ?? 0
  at += 1
  if (at > end || (modes & 3) !== 0) corrupt('the modes of a block are cut or reserved')
  const literals = readTable(LITERALS_CODE, modes >> 6, bytes, at, end, state.literalsTable)
  const offsets = readTable(OFFSET_CODE, (modes >> 4) & 3, bytes, literals.next, end, state.offsetTable)
  const matches = readTable(MATCH_CODE, (modes >> 2) & 3, bytes, offsets.next, end, state.matchTable)
  state.literalsTable = literals.table
  state.offsetTable = offsets.table
  state.matchTable = matches.table
  return { sequences, next: matches.next }
}

/**
 * Reads the heads and tables of the compressed block `bytes[start, end)`, without decoding anything.
 * @throws SassError FRAME_MALFORMED
 */
export function readBlockHead(state: FrameState, bytes: Uint8Array, start: number, end: number): BlockHead {
  if (start >= end) corrupt('a compressed block is empty')
  // Five bytes hold the largest head; what is not there reads as 0, and the sizes below then do not fit.
  const [b0, b1, b2, b3, b4] = [0, 1, 2, 3, 4].map((at) =>
    start + at < end ? (bytes[start + at] ?? 0) : 0,
  ) as [number, number, number, number, number]
  const literalsKind = b0 & 3
  const format = (b0 >> 2) & 3
  let literalsSize: number
  let packedSize: number
  let literalsStart: number
  let streams: 1 | 4 = 1
  if (literalsKind <= LITERALS_RLE) {
    const width = format === 1 ? 2 : format === 3 ? 3 : 1
    literalsSize =
      width === 1 ? b0 >> 3 : width === 2 ? (b0 >> 4) | (b1 << 4) : (b0 >> 4) | (b1 << 4) | (b2 << 12)
    packedSize = literalsKind === LITERALS_RAW ? literalsSize : 1
    literalsStart = start + width
  } else {
    // Two numbers of 10, 14 or 18 bits behind the first four bits.
    const width = format < 2 ? 10 : format === 2 ? 14 : 18
    const low = (b0 >> 4) | (b1 << 4) | (b2 << 12)
    const high = (b2 >> 4) | (b3 << 4) | (b4 << 12)
    literalsSize = low & ((1 << width) - 1)
    packedSize =
      width === 10
        ? (low >> 10) & 0x3ff
        : width === 14
          ? ((b2 | (b3 << 8)) >> 2) & 0x3fff
          : (high >> 2) & 0x3ffff
    literalsStart = start + (width === 10 ? 3 : width === 14 ? 4 : 5)
    if (format !== 0) streams = 4
  }
  const literalsEnd = literalsStart + packedSize
  if (literalsSize > state.blockBytes) corrupt('a block has more literals than its size allows')
  if (literalsEnd > end) corrupt('the literals of a block are cut')
  if (literalsKind === LITERALS_COMPRESSED) {
    const { table, next } = readHuffman(bytes, literalsStart, literalsEnd)
    state.huffman = table
    literalsStart = next
  }
  const { sequences, next } = readSequencesHead(state, bytes, literalsEnd, end)
  return {
    bytes,
    literalsKind,
    literalsSize,
    streams,
    literalsStart,
    literalsEnd,
    sequences,
    sequencesStart: next,
    end,
  }
}
