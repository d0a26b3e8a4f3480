/**
 * The check that every CBOR item passes before anything is built from it: one iterative walk, no recursion, no
 * allocation that grows with the input.
 * Accepts exactly one item in deterministic encoding (RFC 8949, 4.2.1): definite lengths, shortest heads, map
 * keys sorted bytewise and unique, valid UTF-8 without U+FEFF in front, no tags, no floats, no simple values but false, true and null.
 * Map keys are integers, text or bytes; the protocol has no others.
 * Rules: docs/protocol.md, section 2.
 * @module
 */
import { isUtf8 } from './utf8.ts'

export type CborLimits = {
  /** Arrays and maps inside each other; a scalar alone has depth 0. */
  readonly depth: number
  /** Heads in the whole item, so that building it stays cheap. */
  readonly items: number
}

/** U+FEFF in UTF-8: many readers drop it in front of a text, so two of them would not read the same. */
const MARK: readonly number[] = [0xef, 0xbb, 0xbf]

const UNSIGNED = 0
const BYTES = 2
const TEXT = 3
const ARRAY = 4
const MAP = 5
const TAG = 6
const SIMPLE = 7

/** Negative, zero or positive as the first range sorts before, with or after the second, bytewise. */
function compareRanges(bytes: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): number {
  for (let i = a, j = b; i < aEnd && j < bEnd; i++, j++) {
    const difference = (bytes[i] ?? 0) - (bytes[j] ?? 0)
    if (difference !== 0) return difference
  }
  return aEnd - a - (bEnd - b)
}

/**
 * What is wrong with `bytes` as one deterministic CBOR item, or undefined when nothing is.
 * The text is for logs and tests; it never contains bytes of the input.
 */
export function checkCbor(bytes: Uint8Array, limits: CborLimits): string | undefined {
  const end = bytes.length
  // One entry an open container: how many items it still wants (a map counts keys and values), whether it is a map,
  // and where its last key began and ended.
  const wanted: number[] = []
  const maps: boolean[] = []
  const keyStarts: number[] = []
  const keyEnds: number[] = []
  let items = 0
  let at = 0

  do {
    if (++items > limits.items) return 'more items than allowed'
    const start = at
    const initial = bytes[at]
    if (initial === undefined) return 'ends inside an item'
    at++
    const major = initial >> 5
    const additional = initial & 31

    let argument = additional
    if (additional >= 24) {
      if (major === SIMPLE) return additional === 31 ? 'a break without a start' : 'a float or a simple value'
      if (additional > 27) return additional === 31 ? 'an indefinite length' : 'a reserved head'
      const width = 1 << (additional - 24)
      if (end - at < width) return 'ends inside a head'
      argument = 0
      for (let i = 0; i < width; i++) argument = argument * 256 + (bytes[at + i] ?? 0)
      // Above 2^53 the sum is rounded, which cannot bring it below a bound of shortness: 2^32 is far under.
      const least = width === 1 ? 24 : width === 2 ? 0x100 : width === 4 ? 0x1_0000 : 0x1_0000_0000
      if (argument < least) return 'a head that is not the shortest'
      at += width
    }

    const top = wanted.length - 1
    const isKey = top >= 0 && maps[top] === true && (wanted[top] ?? 0) % 2 === 0
    let opened = 0
    switch (major) {
      case UNSIGNED:
      case UNSIGNED + 1:
        break
      case BYTES:
      case TEXT:
        if (argument > end - at) return 'a string longer than what follows'
        if (major === TEXT) {
          if (!isUtf8(bytes, at, at + argument)) return 'text that is not UTF-8'
          if (argument >= MARK.length && MARK.every((byte, i) => bytes[at + i] === byte))
            return 'text that begins with U+FEFF'
        }
        at += argument
        break
      case ARRAY:
      case MAP: {
        if (isKey) return 'a map key that is an array or a map'
        opened = major === MAP ? argument * 2 : argument
        // Each item takes a byte at least, so a lying length is refused from the head alone.
        if (opened > end - at) return 'a container longer than what follows'
        if (wanted.length >= limits.depth) return 'nested too deep'
        break
      }
      case TAG:
        return 'a tag'
      default:
        if (additional < 20 || additional > 22) return 'a simple value other than false, true or null'
        if (isKey) return 'a map key that is a simple value'
    }

    if (isKey) {
      const previousEnd = keyEnds[top] ?? 0
      if (previousEnd !== 0) {
        const order = compareRanges(bytes, keyStarts[top] ?? 0, previousEnd, start, at)
        if (order === 0) return 'a map key twice'
        if (order > 0) return 'map keys out of order'
      }
      keyStarts[top] = start
      keyEnds[top] = at
    }
    if (top >= 0) wanted[top] = (wanted[top] ?? 0) - 1
    if (opened > 0) {
      wanted.push(opened)
      maps.push(major === MAP)
      keyStarts.push(0)
      keyEnds.push(0)
    }
    while (wanted.length > 0 && wanted[wanted.length - 1] === 0) {
      wanted.pop()
      maps.pop()
      keyStarts.pop()
      keyEnds.pop()
    }
  } while (wanted.length > 0)

  return at === end ? undefined : 'bytes after the item'
}
