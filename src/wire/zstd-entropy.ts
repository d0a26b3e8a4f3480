/**
 * The entropy coding of Zstandard (RFC 8878 section 4): bit streams read backwards, FSE tables, Huffman tables.
 * Refused: tables larger than the format allows, probabilities that do not add up, reading past either end of a
 * stream. Every loop is bounded by a table's size or by the bytes at hand, so a hostile table costs microseconds.
 * What is refused is thrown as FRAME_MALFORMED with the clause in `details.problem`; the gate makes a value of it.
 * @module
 */
import { SassError } from '../errors.ts'

/** @throws SassError FRAME_MALFORMED, always; `problem` is a clause */
export function corrupt(problem: string): never {
  throw new SassError('FRAME_MALFORMED', `The Zstandard frame is corrupt and was dropped: ${problem}.`, {
    problem,
  })
}

/** Position of the highest set bit; `value` is above 0. */
export function highestBit(value: number): number {
  return 31 - Math.clz32(value)
}

/** A stream that is read from its last bit to its first; `left` bits are still there. */
export type BackwardBits = { readonly bytes: Uint8Array; readonly start: number; left: number }

/** RFC 8878 section 4.1: the last byte is not 0, and its highest set bit only marks where the stream begins. */
export function openBackward(bytes: Uint8Array, start: number, end: number): BackwardBits {
  const last = end > start ? (bytes[end - 1] ?? 0) : 0
  if (last === 0) corrupt('a bit stream is empty or has no end mark')
  return { bytes, start, left: (end - start - 1) * 8 + highestBit(last) }
}

/** The next `count` bits (0 to 25). Below the start of the stream are zeros, and `left` goes below 0. */
export function readBits(stream: BackwardBits, count: number): number {
  stream.left -= count
  return bitsAt(stream, stream.left, count)
}

/** `count` bits from bit `position` up; positions below 0 hold zeros. */
export function bitsAt(stream: BackwardBits, position: number, count: number): number {
  const mask = (1 << count) - 1
  const { bytes } = stream
  if (position >= 0) {
    const at = stream.start + (position >> 3)
    const word =
      (bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24)
    return (word >>> (position & 7)) & mask
  }
  if (position <= -count) return 0
  const at = stream.start
  const word =
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  return (word << -position) & mask
}

/** An FSE decoding table: for each state the symbol, and how the next state is found. */
export type FseTable = {
  readonly accuracyLog: number
  readonly symbols: Uint8Array
  readonly bits: Uint8Array
  readonly bases: Uint16Array
}

/** RFC 8878 section 4.1.1, "from normalized distribution to decoding tables". -1 stands for "less than 1". */
export function buildFse(probabilities: readonly number[], accuracyLog: number): FseTable {
  const size = 1 << accuracyLog
  const symbols = new Uint8Array(size)
  const next = new Uint16Array(probabilities.length)
  let high = size
  probabilities.forEach((probability, symbol) => {
    if (probability !== -1) return
    high -= 1
    symbols[high] = symbol
    next[symbol] = 1
  })
  const step = (size >> 1) + (size >> 3) + 3
  const mask = size - 1
  let position = 0
  probabilities.forEach((probability, symbol) => {
    if (probability <= 0) return
    next[symbol] = probability
    for (let cell = 0; cell < probability; cell += 1) {
      symbols[position] = symbol
      do position = (position + step) & mask
      while (position >= high)
    }
  })
  const bits = new Uint8Array(size)
  const bases = new Uint16Array(size)
  for (let state = 0; state < size; state += 1) {
    const symbol = symbols[state] ?? 0
    const value = next[symbol] ?? 0
    next[symbol] = value + 1
    const count = accuracyLog - highestBit(value)
    bits[state] = count
    bases[state] = (value << count) - size
  }
  return { accuracyLog, symbols, bits, bases }
}

/** The table of one symbol that takes no bits (RLE_Mode). */
export function singleSymbolFse(symbol: number): FseTable {
  return {
    accuracyLog: 0,
    symbols: Uint8Array.of(symbol),
    bits: new Uint8Array(1),
    bases: new Uint16Array(1),
  }
}

/**
 * Reads the description of an FSE table at `start` (RFC 8878 section 4.1.1).
 * Returns the table and the position behind it.
 */
export function readFse(
  bytes: Uint8Array,
  start: number,
  end: number,
  largestLog: number,
  largestSymbol: number,
): { table: FseTable; next: number } {
  let position = start * 8
  const endBit = end * 8
  const byteAt = (at: number): number => (at < end ? (bytes[at] ?? 0) : 0)
  const peek = (count: number): number => {
    const at = position >> 3
    const word = byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16)
    return (word >> (position & 7)) & ((1 << count) - 1)
  }
  const accuracyLog = peek(4) + 5
  position += 4
  if (accuracyLog > largestLog) corrupt('an FSE table is larger than the format allows')
  const probabilities: number[] = []
  let remaining = 1 << accuracyLog
  while (remaining > 0) {
    if (probabilities.length > largestSymbol)
      corrupt('an FSE table has a symbol that the format does not have')
    const count = highestBit(remaining + 1) + 1
    const lowMask = (1 << (count - 1)) - 1
    const threshold = (1 << count) - 2 - remaining
    let value = peek(count)
    if ((value & lowMask) < threshold) {
      // Small values take a bit less.
      value &= lowMask
      position += count - 1
    } else {
      if (value > lowMask) value -= threshold
      position += count
    }
    const probability = value - 1
    remaining -= Math.abs(probability)
    probabilities.push(probability)
    if (probability === 0) {
      let repeat = 3
      while (repeat === 3) {
        repeat = peek(2)
        position += 2
        for (let more = 0; more < repeat; more += 1) probabilities.push(0)
        if (probabilities.length > largestSymbol + 1)
          corrupt('an FSE table has a symbol that the format does not have')
      }
    }
    if (position > endBit) corrupt('an FSE table is cut')
  }
  if (remaining !== 0) corrupt('the probabilities of an FSE table do not add up')
  return { table: buildFse(probabilities, accuracyLog), next: (position + 7) >> 3 }
}

/** A Huffman decoding table: indexed by the next `maxBits` bits of the stream. */
export type HuffmanTable = {
  readonly maxBits: number
  readonly symbols: Uint8Array
  readonly bits: Uint8Array
}

/** RFC 8878 section 4.2.1: no code is longer than 11 bits, and the last of at most 256 weights is implied. */
const HUFFMAN_BITS = 11
const HUFFMAN_GIVEN_WEIGHTS = 255
const WEIGHT_FSE_LOG = 6

/** RFC 8878 section 4.2.1.2: two states take turns until the stream has been overdrawn. */
function readCompressedWeights(bytes: Uint8Array, start: number, end: number): number[] {
  const { table, next } = readFse(bytes, start, end, WEIGHT_FSE_LOG, HUFFMAN_BITS + 1)
  const stream = openBackward(bytes, next, end)
  let state = readBits(stream, table.accuracyLog)
  let other = readBits(stream, table.accuracyLog)
  if (stream.left < 0) corrupt('the weights of a Huffman table are cut')
  const weights: number[] = []
  for (;;) {
    // A state may take no bits at all, so the count is what ends a stream that never runs dry.
    if (weights.length >= HUFFMAN_GIVEN_WEIGHTS)
      corrupt('a Huffman table has more weights than there are symbols')
    weights.push(table.symbols[state] ?? 0)
    const following = (table.bases[state] ?? 0) + readBits(stream, table.bits[state] ?? 0)
    if (stream.left < 0) {
      weights.push(table.symbols[other] ?? 0)
      return weights
    }
    state = other
    other = following
  }
}

function readPlainWeights(bytes: Uint8Array, start: number, count: number): number[] {
  const weights: number[] = []
  for (let index = 0; index < count; index += 1) {
    const pair = bytes[start + (index >> 1)] ?? 0
    weights.push(index % 2 === 0 ? pair >> 4 : pair & 15)
  }
  return weights
}

function buildHuffman(weights: number[]): HuffmanTable {
  if (weights.length > HUFFMAN_GIVEN_WEIGHTS)
    corrupt('a Huffman table has more weights than there are symbols')
  let sum = 0
  for (const weight of weights) {
    if (weight > HUFFMAN_BITS) corrupt('a Huffman code is longer than the format allows')
    if (weight > 0) sum += 1 << (weight - 1)
  }
  if (sum === 0) corrupt('a Huffman table has no codes')
  const maxBits = highestBit(sum) + 1
  if (maxBits > HUFFMAN_BITS) corrupt('a Huffman code is longer than the format allows')
  const rest = (1 << maxBits) - sum
  if ((rest & (rest - 1)) !== 0) corrupt('the weights of a Huffman table do not add up')
  weights.push(highestBit(rest) + 1)
  const symbols = new Uint8Array(1 << maxBits)
  const bits = new Uint8Array(1 << maxBits)
  let cell = 0
  // Longest codes (lowest weight) first, then by symbol: the canonical order of section 4.2.1.3.
  for (let weight = 1; weight <= maxBits; weight += 1) {
    const cellsEach = 1 << (weight - 1)
    weights.forEach((candidate, symbol) => {
      if (candidate !== weight) return
      symbols.fill(symbol, cell, cell + cellsEach)
      bits.fill(maxBits + 1 - weight, cell, cell + cellsEach)
      cell += cellsEach
    })
    // The deepest level of a prefix code has its leaves in pairs; without any it would not be the deepest.
    if (weight === 1 && (cell < 2 || cell % 2 !== 0)) corrupt('a Huffman table is not a full tree')
  }
  return { maxBits, symbols, bits }
}

/** Reads a Huffman tree description at `start` (RFC 8878 section 4.2.1). Returns the table and the position behind it. */
export function readHuffman(
  bytes: Uint8Array,
  start: number,
  end: number,
): { table: HuffmanTable; next: number } {
  if (start >= end) corrupt('a Huffman table is cut')
  const head = bytes[start] ?? 0
  const isPlain = head >= 128
  const next = start + 1 + (isPlain ? (head - 126) >> 1 : head)
  if (next > end) corrupt('a Huffman table is cut')
  const weights = isPlain
    ? readPlainWeights(bytes, start + 1, head - 127)
    : readCompressedWeights(bytes, start + 1, next)
  return { table: buildHuffman(weights), next }
}

/** Decodes exactly `count` literals of one stream into `output` at `at` (RFC 8878 section 4.2.2). */
export function decodeHuffman(
  table: HuffmanTable,
  bytes: Uint8Array,
  start: number,
  end: number,
  output: Uint8Array,
  at: number,
  count: number,
): void {
  const stream = openBackward(bytes, start, end)
  const { maxBits, symbols, bits } = table
  let { left } = stream
  for (let index = at; index < at + count; index += 1) {
    const cell = bitsAt(stream, left - maxBits, maxBits)
    output[index] = symbols[cell] ?? 0
    left -= bits[cell] ?? 0
    if (left < 0) corrupt('a stream of literals is cut')
  }
  if (left !== 0) corrupt('a stream of literals is longer than what it says')
}
