/**
 * Decodes one compressed block of a Zstandard frame (RFC 8878 section 3.1.1.3) whose head has been read.
 * Refused: an offset of 0, beyond what was produced or beyond the window, a block that gives more than its maximum or
 * the frame's declared size, bits left over or missing in any stream.
 * Work is bounded by the block: at most 128 KiB are produced, and each sequence produces three bytes or more.
 * @module
 */
import {
  type BlockHead,
  type FrameState,
  LITERALS_RAW,
  LITERALS_RLE,
  MATCH_LEAST,
} from './zstd-block-head.ts'
import {
  type BackwardBits,
  corrupt,
  decodeHuffman,
  type FseTable,
  type HuffmanTable,
  openBackward,
  readBits,
} from './zstd-entropy.ts'

/** RFC 8878 section 3.1.1.3.2.1.1: literals length codes 16 and up: base and extra bits; below, the code is the length. */
const LITERALS_BASES: readonly number[] = [
  16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
]
const LITERALS_BITS: readonly number[] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const LITERALS_PLAIN = 16
/** The same for match lengths: below code 32, the length is the code and 3. */
const MATCH_BASES: readonly number[] = [
  35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539,
]
const MATCH_BITS: readonly number[] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const MATCH_PLAIN = 32

/** RFC 8878 section 3.1.1.3.1.6: four streams behind a table of three sizes; the last takes what is left. */
function decodeFourStreams(head: BlockHead, table: HuffmanTable, output: Uint8Array): void {
  const { bytes, literalsSize, literalsEnd } = head
  const each = (literalsSize + 3) >> 2
  let start = head.literalsStart + 6
  if (literalsSize < 6 || start > literalsEnd) corrupt('the four streams of literals are cut')
  for (let stream = 0; stream < 4; stream += 1) {
    const at = head.literalsStart + stream * 2
    const end = stream === 3 ? literalsEnd : start + ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8))
    if (end > literalsEnd) corrupt('the four streams of literals are cut')
    const count = stream === 3 ? literalsSize - 3 * each : each
    decodeHuffman(table, bytes, start, end, output, stream * each, count)
    start = end
  }
}

/** The literals of the block: a view of the input where they are raw, otherwise of the state's own room. */
function decodeLiterals(state: FrameState, head: BlockHead): Uint8Array {
  const { bytes, literalsStart, literalsEnd, literalsSize } = head
  if (head.literalsKind === LITERALS_RAW) return bytes.subarray(literalsStart, literalsEnd)
  const output = state.literals.subarray(0, literalsSize)
  if (head.literalsKind === LITERALS_RLE) return output.fill(bytes[literalsStart] ?? 0)
  const table = state.huffman
  if (table === undefined) return corrupt('a Huffman table is to be repeated that was never given')
  if (head.streams === 4) decodeFourStreams(head, table, output)
  else decodeHuffman(table, bytes, literalsStart, literalsEnd, output, 0, literalsSize)
  return output
}

/** The offset that a value above 0 stands for, with the history moved on (RFC 8878 section 3.1.1.5). */
function takeOffset(state: FrameState, value: number, hasLiterals: boolean): number {
  const { repeat1, repeat2, repeat3 } = state
  const which = value + (hasLiterals ? 0 : 1)
  if (value <= 3 && which === 1) return repeat1
  let offset = value - 3
  if (value <= 3) offset = which === 2 ? repeat2 : which === 3 ? repeat3 : repeat1 - 1
  if (offset === 0) corrupt('an offset is 0')
  if (value > 3 || which !== 2) state.repeat3 = repeat2
  state.repeat2 = repeat1
  state.repeat1 = offset
  return offset
}

/** Up to 31 extra bits: the wide ones in two goes. */
function readOffsetBits(stream: BackwardBits, count: number): number {
  if (count <= 16) return readBits(stream, count)
  const high = readBits(stream, count - 16)
  return high * 0x1_0000 + readBits(stream, 16)
}

function nextState(table: FseTable, state: number, stream: BackwardBits): number {
  return (table.bases[state] ?? 0) + readBits(stream, table.bits[state] ?? 0)
}

/**
 * Decodes the block behind `head` into the frame's output.
 * @throws SassError FRAME_MALFORMED
 */
export function decodeBlock(state: FrameState, head: BlockHead): void {
  const literals = decodeLiterals(state, head)
  const { output, windowBytes } = state
  const stop = Math.min(output.length, state.produced + state.blockBytes)
  let at = state.produced
  let taken = 0
  const { literalsTable, offsetTable, matchTable } = state
  if (
    head.sequences > 0 &&
    literalsTable !== undefined &&
    offsetTable !== undefined &&
    matchTable !== undefined
  ) {
    const stream = openBackward(head.bytes, head.sequencesStart, head.end)
    let literalsState = readBits(stream, literalsTable.accuracyLog)
    let offsetState = readBits(stream, offsetTable.accuracyLog)
    let matchState = readBits(stream, matchTable.accuracyLog)
    for (let left = head.sequences; left > 0; left -= 1) {
      const literalsCode = literalsTable.symbols[literalsState] ?? 0
      const offsetCode = offsetTable.symbols[offsetState] ?? 0
      const matchCode = matchTable.symbols[matchState] ?? 0
      const offsetValue = 2 ** offsetCode + readOffsetBits(stream, offsetCode)
      const matchIndex = matchCode - MATCH_PLAIN
      const match =
        matchIndex < 0
          ? matchCode + MATCH_LEAST
          : (MATCH_BASES[matchIndex] ?? 0) + readBits(stream, MATCH_BITS[matchIndex] ?? 0)
      const literalsIndex = literalsCode - LITERALS_PLAIN
      const count =
        literalsIndex < 0
          ? literalsCode
          : (LITERALS_BASES[literalsIndex] ?? 0) + readBits(stream, LITERALS_BITS[literalsIndex] ?? 0)
      if (left > 1) {
        literalsState = nextState(literalsTable, literalsState, stream)
        matchState = nextState(matchTable, matchState, stream)
        offsetState = nextState(offsetTable, offsetState, stream)
      }
      if (stream.left < 0) corrupt('the sequences of a block are cut')
      if (count > literals.length - taken) corrupt('a sequence takes more literals than there are')
      if (count + match > stop - at) corrupt('a block gives more than its size allows')
      for (const end = taken + count; taken < end; taken += 1, at += 1) output[at] = literals[taken] ?? 0
      const offset = takeOffset(state, offsetValue, count > 0)
      if (offset > at || offset > windowBytes) corrupt('an offset points before the beginning')
      // Byte by byte: where the match overlaps itself, it repeats what it has just written.
      for (const end = at + match; at < end; at += 1) output[at] = output[at - offset] ?? 0
    }
    if (stream.left !== 0) corrupt('the sequences of a block are longer than what they say')
  }
  const rest = literals.length - taken
  if (rest > stop - at) corrupt('a block gives more than its size allows')
  output.set(literals.subarray(taken), at)
  state.produced = at + rest
}
