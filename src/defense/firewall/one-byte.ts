/**
 * Many bytes that are all one, as in images of disks and sparse files: nothing to be read, and looked at four at a time,
 * where looking each one up takes ten times as long.
 * @module
 */

/** Fewer are looked up one by one. */
const LEAST_BYTES = 256

/** Whether the bytes from `from` to `end` are many, and all of them the same. */
export function isOneByte(bytes: Uint8Array, from: number, end: number): boolean {
  const byte = bytes[from] as number
  if (end - from < LEAST_BYTES || bytes[from + 1] !== byte || bytes[end - 1] !== byte) return false
  const aligned = from + (-(bytes.byteOffset + from) & 3)
  const fours = (end - aligned) >>> 2
  for (let at = from; at < aligned; at++) if (bytes[at] !== byte) return false
  for (let at = aligned + 4 * fours; at < end; at++) if (bytes[at] !== byte) return false
  const four = new Uint32Array(bytes.buffer, bytes.byteOffset + aligned, fours)
  const same = Math.imul(byte, 0x01_01_01_01) >>> 0
  for (let index = 0; index < fours; index++) if (four[index] !== same) return false
  return true
}
