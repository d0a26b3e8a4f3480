/**
 * Heads of CBOR items in their shortest form (RFC 8949, 4.2.1), for what is written without an encoder: the length in
 * front of a frame, the frames that carry data, and what is signed.
 * @module
 */

/** Bytes of the shortest head for this argument. */
export function headBytes(argument: number): number {
  if (argument < 24) return 1
  if (argument < 0x100) return 2
  if (argument < 0x1_0000) return 3
  return argument < 0x1_0000_0000 ? 5 : 9
}

/** Writes the shortest head at `at` and returns the position after it. `argument` is an integer from 0 to 2^53 - 1. */
export function writeHead(target: Uint8Array, at: number, major: number, argument: number): number {
  const type = major << 5
  const width = headBytes(argument) - 1
  if (width === 0) {
    target[at] = type | argument
    return at + 1
  }
  target[at] = type | (width === 1 ? 24 : width === 2 ? 25 : width === 4 ? 26 : 27)
  let rest = argument
  for (let i = width; i > 0; i--) {
    target[at + i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return at + 1 + width
}
