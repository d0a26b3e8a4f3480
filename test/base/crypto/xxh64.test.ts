import { constants, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { xxh64Low } from '../../../src/base/crypto/xxh64.ts'

/** The specification word for word, on BigInt: slow, and nothing shared with the code under test. */
function reference(bytes: Uint8Array): number {
  const mask = (1n << 64n) - 1n
  const [p1, p2, p3, p4, p5] = [
    0x9e3779b185ebca87n,
    0xc2b2ae3d27d4eb4fn,
    0x165667b19e3779f9n,
    0x85ebca77c2b2ae63n,
    0x27d4eb2f165667c5n,
  ] as [bigint, bigint, bigint, bigint, bigint]
  const rotate = (value: bigint, count: bigint) => ((value << count) | (value >> (64n - count))) & mask
  const round = (accumulator: bigint, lane: bigint) =>
    (rotate((accumulator + lane * p2) & mask, 31n) * p1) & mask
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  let hash = p5
  if (bytes.length >= 32) {
    const sums = [p1 + p2, p2, 0n, -p1].map((sum) => sum & mask)
    for (; at + 32 <= bytes.length; at += 32) {
      for (let lane = 0; lane < 4; lane += 1)
        sums[lane] = round(sums[lane] ?? 0n, view.getBigUint64(at + lane * 8, true))
    }
    const [a, b, c, d] = sums as [bigint, bigint, bigint, bigint]
    hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & mask
    for (const sum of sums) hash = ((hash ^ round(0n, sum)) * p1 + p4) & mask
  }
  hash = (hash + BigInt(bytes.length)) & mask
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * p1 + p4) & mask
  }
  if (at + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(view.getUint32(at, true)) * p1) & mask), 23n) * p2 + p3) & mask
    at += 4
  }
  for (; at < bytes.length; at += 1)
    hash = (rotate(hash ^ ((BigInt(view.getUint8(at)) * p5) & mask), 11n) * p1) & mask
  hash = ((hash ^ (hash >> 33n)) * p2) & mask
  hash = ((hash ^ (hash >> 29n)) * p3) & mask
  return Number((hash ^ (hash >> 32n)) & 0xffff_ffffn)
}

/** Bytes that follow from `seed`, with all bits in use. */
function someBytes(length: number, seed: number): Uint8Array {
  let state = seed
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

t.test('gives the published value of nothing', async (t) => {
  t.equal(xxh64Low(new Uint8Array(0)), 0x51d8e999)
})

t.test(
  'agrees with the specification at every length from 0 to 300, and on bytes that are all ones',
  async (t) => {
    const wrong: number[] = []
    for (let length = 0; length <= 300; length += 1) {
      if (xxh64Low(someBytes(length, length + 1)) !== reference(someBytes(length, length + 1)))
        wrong.push(length)
      const ones = new Uint8Array(length).fill(0xff)
      if (xxh64Low(ones) !== reference(ones)) wrong.push(length)
    }
    t.same(wrong, [])
  },
)

t.test('agrees with the checksums that libzstd writes', async (t) => {
  for (const length of [0, 1, 31, 32, 33, 1_000, 70_001]) {
    const bytes = someBytes(length, 99)
    const frame = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    t.equal(xxh64Low(bytes), frame.readUInt32LE(frame.length - 4), `${length} bytes`)
  }
})

t.test('reads a view in the middle of a buffer', async (t) => {
  const bytes = someBytes(200, 5)
  t.equal(xxh64Low(bytes.subarray(3, 120)), xxh64Low(bytes.slice(3, 120)))
})
