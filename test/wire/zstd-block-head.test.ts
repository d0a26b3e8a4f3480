import fc from 'fast-check'
import t from 'tap'
import { asSassError } from '../../src/errors.ts'
import { LITERALS_RAW, LITERALS_RLE, readBlockHead, startFrame } from '../../src/wire/zstd-block-head.ts'

const BLOCK_BYTES = 131_072
const COMPRESSED = 2
const TREELESS = 3
/** All three codes as single symbols. */
const RLE_MODES = 0x54

const fresh = (blockBytes = BLOCK_BYTES) => startFrame(new Uint8Array(blockBytes), blockBytes, blockBytes)

function problemOf(bytes: Uint8Array, blockBytes = BLOCK_BYTES): unknown {
  try {
    return readBlockHead(fresh(blockBytes), bytes, 0, bytes.length)
  } catch (error) {
    const refusal = asSassError(error)
    if (refusal?.code !== 'FRAME_MALFORMED') throw error
    return refusal.details['problem']
  }
}

const littleEndian = (value: number, count: number) =>
  Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** index) % 256)

/** A head of raw or repeated literals with the size in 5, 12 or 20 bits. */
function plainHead(kind: number, size: number, width: 5 | 12 | 20): number[] {
  if (width === 5) return [kind | (size << 3)]
  return littleEndian(kind | (width === 12 ? 1 << 2 : 3 << 2) | (size << 4), width === 12 ? 2 : 3)
}

/** A head of packed literals with both sizes in 10 (one stream or four), 14 or 18 bits. */
function packedHead(kind: number, format: 0 | 1 | 2 | 3, size: number, packed: number): number[] {
  const width = format < 2 ? 10 : format === 2 ? 14 : 18
  return littleEndian(kind + format * 4 + size * 16 + packed * 2 ** (4 + width), format < 2 ? 3 : format + 2)
}

t.test('reads the sizes of raw and repeated literals in all three widths', async () => {
  const sizes = { 5: 31, 12: 4_095, 20: BLOCK_BYTES } as const
  const any = fc
    .constantFrom(5, 12, 20)
    .chain((width) => fc.tuple(fc.constant(width as 5 | 12 | 20), fc.nat(sizes[width as 5])))
  fc.assert(
    fc.property(any, fc.constantFrom(LITERALS_RAW, LITERALS_RLE), ([width, size], kind) => {
      const start = plainHead(kind, size, width)
      const packed = kind === LITERALS_RAW ? size : 1
      const bytes = new Uint8Array(start.length + packed + 1)
      bytes.set(start)
      const head = readBlockHead(fresh(), bytes, 0, bytes.length)
      return (
        head.literalsKind === kind &&
        head.literalsSize === size &&
        head.literalsStart === start.length &&
        head.literalsEnd === start.length + packed &&
        head.sequences === 0
      )
    }),
    { numRuns: 200 },
  )
})

t.test(
  'reads both sizes of packed literals in all four formats, and how many streams there are',
  async () => {
    const widest = [1_023, 1_023, 16_383, BLOCK_BYTES] as const
    const any = fc.constantFrom(0, 1, 2, 3).chain((format) => {
      const most = widest[format as 0]
      return fc.tuple(fc.constant(format as 0 | 1 | 2 | 3), fc.nat(most), fc.nat(most))
    })
    fc.assert(
      fc.property(any, ([format, size, packed]) => {
        const start = packedHead(TREELESS, format, size, packed)
        const bytes = new Uint8Array(start.length + packed + 1)
        bytes.set(start)
        const head = readBlockHead(fresh(), bytes, 0, bytes.length)
        return (
          head.literalsSize === size &&
          head.literalsEnd - head.literalsStart === packed &&
          head.literalsStart === start.length &&
          head.streams === (format === 0 ? 1 : 4)
        )
      }),
      { numRuns: 200 },
    )
  },
)

t.test(
  'takes the Huffman table off the front of packed literals and keeps it for the next block',
  async (t) => {
    const state = fresh()
    // The table of the example in RFC 8878, section 4.2.1, and one byte of stream.
    const tree = [127 + 5, 0x43, 0x20, 0x10]
    const bytes = Uint8Array.from([...packedHead(COMPRESSED, 0, 3, tree.length + 1), ...tree, 0x0f, 0])
    const head = readBlockHead(state, bytes, 0, bytes.length)
    t.equal(head.literalsStart, 3 + tree.length)
    t.equal(head.literalsEnd, 3 + tree.length + 1)
    t.equal(state.huffman?.maxBits, 4)
  },
)

t.test('reads the number of sequences in one, two and three bytes', async (t) => {
  const numbers: [number[], number][] = [
    [[1], 1],
    [[127], 127],
    [[128, 128], 128],
    [[254, 255], 0x7eff],
    [[128, 5], 5],
    [[255, 0, 0], 0x7f00],
    [[255, 0xaa, 0x2b], 0xaaaa],
  ]
  for (const [bytes, sequences] of numbers) {
    const head = problemOf(Uint8Array.of(0, ...bytes, RLE_MODES, 0, 0, 0, 1))
    t.match(head, { sequences, sequencesStart: 1 + bytes.length + 4 }, `${sequences}`)
  }
})

t.test('refuses more sequences than the size of a block has room for, before it decodes one', async (t) => {
  const many = (count: number) =>
    Uint8Array.of(0, 255, ...littleEndian(count - 0x7f00, 2), RLE_MODES, 0, 0, 0, 1)
  t.match(problemOf(many(43_690)), { sequences: 43_690 })
  t.match(problemOf(many(43_691)), /more sequences than its size allows/)
  t.match(problemOf(many(98_047)), /more sequences than its size allows/)
  t.match(problemOf(Uint8Array.of(0, 4, RLE_MODES, 0, 0, 0, 1), 12), { sequences: 4 })
  t.match(problemOf(Uint8Array.of(0, 5, RLE_MODES, 0, 0, 0, 1), 12), /more sequences than its size allows/)
})

t.test('refuses literals over the size of the block or cut by its end', async (t) => {
  const longest = Uint8Array.from([...plainHead(LITERALS_RLE, 1_001, 20), 0x61, 0])
  t.match(problemOf(longest, 1_001), { literalsSize: 1_001 })
  t.match(problemOf(longest, 1_000), /more literals than its size allows/)
  t.match(
    problemOf(Uint8Array.from([...plainHead(LITERALS_RAW, 9, 5), 1, 2, 3, 4, 5, 6, 7, 8])),
    /literals of a block are cut/,
  )
  t.match(problemOf(Uint8Array.from(plainHead(LITERALS_RLE, 9, 5))), /literals of a block are cut/)
  t.match(problemOf(Uint8Array.from([...packedHead(TREELESS, 3, 9, 100), 1])), /literals of a block are cut/)
})

t.test(
  'answers any bytes with a head that lies within them or with a refusal, and reads nothing outside',
  async () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.uint8Array({ minLength: 8, maxLength: 8 }),
        (bytes, around) => {
          const alone = problemOf(bytes)
          if (typeof alone !== 'string') {
            const { literalsStart, literalsEnd, sequencesStart } = alone as ReturnType<typeof readBlockHead>
            if (literalsStart > literalsEnd || literalsEnd >= sequencesStart || sequencesStart > bytes.length)
              return false
          }
          // The same bytes in the midst of others must give the same answer.
          const inside = Uint8Array.of(...around, ...bytes, ...around)
          let other: unknown
          try {
            other = readBlockHead(fresh(), inside, 8, 8 + bytes.length)
          } catch (error) {
            other = asSassError(error)?.details['problem']
          }
          return typeof other === typeof alone && (typeof other !== 'string' || other === alone)
        },
      ),
      { numRuns: 4_000 },
    )
  },
)
