/**
 * Sets of numbers below a bound that is known, one bit each: made, joined and asked without hashing.
 * @module
 */

export type BitSet = readonly number[]

const WORD_SHIFT = 5
const WORD_BITS = 1 << WORD_SHIFT

function wordOf(number: number): number {
  return number >>> WORD_SHIFT
}

/** A shift takes the last five bits of its number alone. */
function bitOf(number: number): number {
  return 1 << number
}

export function emptyBits(bound: number): number[] {
  return new Array<number>(Math.ceil(bound / WORD_BITS)).fill(0)
}

export function addBits(bits: number[], numbers: readonly number[]): void {
  for (const number of numbers) bits[wordOf(number)] = (bits[wordOf(number)] ?? 0) | bitOf(number)
}

export function joinBits(bits: number[], others: BitSet): void {
  for (let at = 0; at < others.length; at++) bits[at] = (bits[at] ?? 0) | (others[at] ?? 0)
}

export function hasBit(bits: BitSet, number: number): boolean {
  return ((bits[wordOf(number)] ?? 0) & bitOf(number)) !== 0
}

export function isEmpty(bits: BitSet): boolean {
  for (const word of bits) if (word !== 0) return false
  return true
}

/** The least number in the set from `from` on, or -1. */
export function nextBit(bits: BitSet, from: number): number {
  for (let at = wordOf(from); at < bits.length; at++) {
    const word = bits[at] ?? 0
    const rest = at === wordOf(from) ? word & (-1 << from) : word
    if (rest !== 0) return at * WORD_BITS + WORD_BITS - 1 - Math.clz32(rest & -rest)
  }
  return -1
}
