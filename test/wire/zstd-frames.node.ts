/** Zstandard frames for the tests of the gate: put together by hand (RFC 8878), or compressed by the host. */
import { constants, zstdCompressSync } from 'node:zlib'

export const MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd]

export const littleEndian = (value: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** index) % 256)

/** Single segment, four bytes of content size, no checksum. */
export const head = (contentBytes: number): number[] => [...MAGIC, 0xa0, ...littleEndian(contentBytes, 4)]

export function blockOf(
  kind: number,
  content: readonly number[],
  isLast: boolean,
  size = content.length,
): number[] {
  return [...littleEndian((size << 3) | (kind << 1) | (isLast ? 1 : 0), 3), ...content]
}

export const frame = (...parts: readonly (readonly number[])[]): Uint8Array => Uint8Array.from(parts.flat())

export function compress(plain: Uint8Array, level = 3, checksum = 0): Uint8Array {
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: checksum }
  return new Uint8Array(zstdCompressSync(plain, { params }))
}

/** Text with repeats near and far, and some bytes without. */
export function somePlain(length: number, seed: number): Uint8Array {
  let state = seed >>> 0
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 16
  }
  const words = Array.from({ length: 64 }, () => `${next().toString(36)} `)
  const plain = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const kind = next() % 16
    if (kind === 0) {
      plain[at] = next()
      at += 1
    } else if (kind === 1 && at > 100) at += plain.copy(plain, at, at - (next() % 100) - 1, at - (next() % 4))
    else at += plain.write(words[next() % 64] ?? '', at)
  }
  return new Uint8Array(plain)
}

/** Packed Huffman weights whose states take no bits: a reader that counts bits alone goes on for ever. */
export function endless(): Uint8Array {
  const packed = [4, 0xf0, 0x03, 0x00, 0x80, 0x80, 0x80]
  const sizes = littleEndian(2 | (4 << 4) | (packed.length << 14), 3)
  return frame(head(4_096), blockOf(2, [...sizes, ...packed, 0], true))
}

/** A sound frame of some 500 bytes: 39 blocks of 43,690 sequences of three bytes each, none of which takes a bit. */
export function busy(): { readonly bytes: Uint8Array; readonly plainBytes: number } {
  const sequences = 43_690
  const blocks = 39
  const plainBytes = 8 + blocks * sequences * 3
  const one = [0, 255, ...littleEndian(sequences - 0x7f00, 2), 0x54, 0, 0, 0, 1]
  const parts = Array.from({ length: blocks }, (_, index) => blockOf(2, one, index === blocks - 1))
  return { bytes: frame(head(plainBytes), blockOf(0, [1, 2, 3, 4, 5, 6, 7, 8], false), ...parts), plainBytes }
}
