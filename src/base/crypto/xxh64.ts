/**
 * XXH64 with seed 0, as Zstandard frames carry the low half of it (RFC 8878 section 3.1.1). It finds accidents, not
 * forgeries. Written on 32-bit halves: BigInt would take a third of a second for 5 MiB, this takes about 15 ms.
 * Rules: the xxHash specification, version 0.1.1, "XXH64 Algorithm Description".
 * @module
 */

/** A 64-bit number as two unsigned halves; changed in place so that the loop allocates nothing. */
type Wide = { high: number; low: number }

const PRIME_1: Readonly<Wide> = Object.freeze({ high: 0x9e3779b1, low: 0x85ebca87 })
const PRIME_2: Readonly<Wide> = Object.freeze({ high: 0xc2b2ae3d, low: 0x27d4eb4f })
const PRIME_3: Readonly<Wide> = Object.freeze({ high: 0x165667b1, low: 0x9e3779f9 })
const PRIME_4: Readonly<Wide> = Object.freeze({ high: 0x85ebca77, low: 0xc2b2ae63 })
const PRIME_5: Readonly<Wide> = Object.freeze({ high: 0x27d4eb2f, low: 0x165667c5 })
const STRIPE_BYTES = 32

function add(to: Wide, high: number, low: number): void {
  const sum = to.low + low
  to.low = sum >>> 0
  to.high = (to.high + high + (sum > 0xffff_ffff ? 1 : 0)) >>> 0
}

function multiply(to: Wide, by: Readonly<Wide>): void {
  const a0 = to.low & 0xffff
  const a1 = to.low >>> 16
  const b0 = by.low & 0xffff
  const b1 = by.low >>> 16
  // Each sum stays below 2^32: (2^16 - 1)^2 + 2^16 - 1.
  const lowest = a0 * b0
  const middle = a1 * b0 + (lowest >>> 16)
  const other = a0 * b1 + (middle & 0xffff)
  const carried = a1 * b1 + (middle >>> 16) + (other >>> 16)
  to.high = (carried + Math.imul(to.high, by.low) + Math.imul(to.low, by.high)) >>> 0
  to.low = ((other << 16) | (lowest & 0xffff)) >>> 0
}

/** `count` from 1 to 31. */
function rotateLeft(to: Wide, count: number): void {
  const { high, low } = to
  to.high = ((high << count) | (low >>> (32 - count))) >>> 0
  to.low = ((low << count) | (high >>> (32 - count))) >>> 0
}

/** `to ^= to >>> count`, 0 < count < 64. */
function xorShiftRight(to: Wide, count: number): void {
  const { high, low } = to
  if (count < 32) {
    to.low = (low ^ ((low >>> count) | (high << (32 - count)))) >>> 0
    to.high = (high ^ (high >>> count)) >>> 0
  } else to.low = (low ^ (high >>> (count - 32))) >>> 0
}

function read32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24)) >>>
    0
  )
}

/** One lane into one accumulator. */
function round(accumulator: Wide, lane: Wide): void {
  multiply(lane, PRIME_2)
  add(accumulator, lane.high, lane.low)
  rotateLeft(accumulator, 31)
  multiply(accumulator, PRIME_1)
}

function readLane(lane: Wide, bytes: Uint8Array, at: number): void {
  lane.low = read32(bytes, at)
  lane.high = read32(bytes, at + 4)
}

/** The four accumulators over all whole stripes, folded into one. */
function foldStripes(bytes: Uint8Array, end: number): Wide {
  const one: Wide = { ...PRIME_1 }
  add(one, PRIME_2.high, PRIME_2.low)
  const two: Wide = { ...PRIME_2 }
  const three: Wide = { high: 0, low: 0 }
  // 0 - PRIME_1
  const four: Wide = { high: ~PRIME_1.high >>> 0, low: ~PRIME_1.low >>> 0 }
  add(four, 0, 1)
  const lane: Wide = { high: 0, low: 0 }
  for (let at = 0; at < end; at += STRIPE_BYTES) {
    readLane(lane, bytes, at)
    round(one, lane)
    readLane(lane, bytes, at + 8)
    round(two, lane)
    readLane(lane, bytes, at + 16)
    round(three, lane)
    readLane(lane, bytes, at + 24)
    round(four, lane)
  }
  const hash: Wide = { high: 0, low: 0 }
  const turned: Wide = { high: 0, low: 0 }
  const accumulators = [one, two, three, four]
  const rotations = [1, 7, 12, 18]
  for (let index = 0; index < 4; index += 1) {
    Object.assign(turned, accumulators[index])
    rotateLeft(turned, rotations[index] ?? 1)
    add(hash, turned.high, turned.low)
  }
  for (const accumulator of accumulators) {
    Object.assign(lane, accumulator)
    Object.assign(turned, { high: 0, low: 0 })
    round(turned, lane)
    hash.high = (hash.high ^ turned.high) >>> 0
    hash.low = (hash.low ^ turned.low) >>> 0
    multiply(hash, PRIME_1)
    add(hash, PRIME_4.high, PRIME_4.low)
  }
  return hash
}

/** The low 32 bits of XXH64 with seed 0: what the checksum of a Zstandard frame holds. */
export function xxh64Low(bytes: Uint8Array): number {
  const striped = bytes.length - (bytes.length % STRIPE_BYTES)
  const hash: Wide = striped > 0 ? foldStripes(bytes, striped) : { ...PRIME_5 }
  add(hash, 0, bytes.length)
  const lane: Wide = { high: 0, low: 0 }
  const turned: Wide = { high: 0, low: 0 }
  let at = striped
  for (; at + 8 <= bytes.length; at += 8) {
    readLane(lane, bytes, at)
    turned.high = 0
    turned.low = 0
    round(turned, lane)
    hash.high = (hash.high ^ turned.high) >>> 0
    hash.low = (hash.low ^ turned.low) >>> 0
    rotateLeft(hash, 27)
    multiply(hash, PRIME_1)
    add(hash, PRIME_4.high, PRIME_4.low)
  }
  if (at + 4 <= bytes.length) {
    lane.high = 0
    lane.low = read32(bytes, at)
    multiply(lane, PRIME_1)
    hash.high = (hash.high ^ lane.high) >>> 0
    hash.low = (hash.low ^ lane.low) >>> 0
    rotateLeft(hash, 23)
    multiply(hash, PRIME_2)
    add(hash, PRIME_3.high, PRIME_3.low)
    at += 4
  }
  for (; at < bytes.length; at += 1) {
    lane.high = 0
    lane.low = bytes[at] ?? 0
    multiply(lane, PRIME_5)
    hash.high = (hash.high ^ lane.high) >>> 0
    hash.low = (hash.low ^ lane.low) >>> 0
    rotateLeft(hash, 11)
    multiply(hash, PRIME_1)
  }
  xorShiftRight(hash, 33)
  multiply(hash, PRIME_2)
  xorShiftRight(hash, 29)
  multiply(hash, PRIME_3)
  xorShiftRight(hash, 32)
  return hash.low
}
