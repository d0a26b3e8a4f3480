import fc from 'fast-check'
import t from 'tap'
import { asSassError } from '../../src/errors.ts'
import {
  buildFse,
  decodeHuffman,
  openBackward,
  readBits,
  readFse,
  readHuffman,
  singleSymbolFse,
} from '../../src/wire/zstd-entropy.ts'

/** The clause of the refusal that `act` throws, or what it gave. */
function problemOf(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    const refusal = asSassError(error)
    if (refusal?.code !== 'FRAME_MALFORMED') throw error
    return refusal.details['problem']
  }
}

t.test('reads bits from the last to the first, below the end mark, and zeros below the start', async (t) => {
  // 1011 0010, 0000 0101: the mark is bit 2 of the last byte, ten bits are left: 01 1011 0010.
  const stream = openBackward(Uint8Array.of(0b1011_0010, 0b0000_0101), 0, 2)
  t.equal(stream.left, 10)
  t.equal(readBits(stream, 2), 0b01)
  t.equal(readBits(stream, 0), 0)
  t.equal(readBits(stream, 5), 0b1_0110)
  t.equal(readBits(stream, 5), 0b0_1000, 'the last three bits and two zeros')
  t.equal(stream.left, -2)
  t.equal(readBits(stream, 7), 0)
  const wide = openBackward(Uint8Array.of(1, 2, 3, 4, 0x80), 1, 5)
  // 31 bits: 0x0004_0302.
  t.equal(readBits(wide, 25), 0x4_0302 >> 6)
  t.equal(readBits(wide, 6), 0x02)
  t.equal(wide.left, 0)
})

t.test('reads any numbers back that were written as such a stream', async () => {
  const field = fc
    .integer({ min: 1, max: 25 })
    .chain((width) => fc.tuple(fc.constant(width), fc.nat(2 ** width - 1)))
  fc.assert(
    fc.property(fc.array(field, { maxLength: 30 }), (fields) => {
      // The last number is written first; the mark goes on top.
      const bits = `1${fields.map(([width, value]) => value.toString(2).padStart(width, '0')).join('')}`
      const padded = bits.padStart(Math.ceil(bits.length / 8) * 8, '0')
      const bytes = Uint8Array.from(padded.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2)).reverse()
      const stream = openBackward(bytes, 0, bytes.length)
      return fields.every(([width, value]) => readBits(stream, width) === value) && stream.left === 0
    }),
    { numRuns: 300 },
  )
})

t.test('refuses a stream without an end mark', async (t) => {
  t.match(
    problemOf(() => openBackward(new Uint8Array(0), 0, 0)),
    /no end mark/,
  )
  t.match(
    problemOf(() => openBackward(Uint8Array.of(1, 0), 0, 2)),
    /no end mark/,
  )
  t.match(
    problemOf(() => openBackward(Uint8Array.of(1, 1), 1, 1)),
    /no end mark/,
  )
})

t.test('builds the default table of literals lengths as RFC 8878, appendix A, prints it', async (t) => {
  const table = buildFse(
    [
      4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
      -1, -1,
    ],
    6,
  )
  const rows = [0, 1, 2, 3, 4, 5, 10, 60, 63].map((state) => [
    table.symbols[state],
    table.bits[state],
    table.bases[state],
  ])
  t.same(rows, [
    [0, 4, 0],
    [0, 4, 16],
    [1, 5, 32],
    [3, 5, 0],
    [4, 5, 0],
    [6, 5, 0],
    [14, 6, 0],
    [35, 6, 0],
    [32, 6, 0],
  ])
  const counts = new Map<number, number>()
  for (const symbol of table.symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  t.equal(counts.get(0), 4)
  t.equal(counts.get(25), 3)
  t.equal(counts.get(35), 1)
})

t.test('every table leads from every state only to states of the table', async () => {
  const distribution = fc
    .array(fc.integer({ min: -1, max: 9 }), { minLength: 1, maxLength: 20 })
    .map((given) => {
      const used = given.reduce((sum, each) => sum + Math.abs(each), 0)
      const log = Math.max(5, Math.ceil(Math.log2(used + 1)))
      return { probabilities: [...given, 2 ** log - used], log }
    })
  fc.assert(
    fc.property(distribution, ({ probabilities, log }) => {
      const table = buildFse(probabilities, log)
      return table.symbols.every((symbol, state) => {
        const width = table.bits[state] ?? 0
        return (table.bases[state] ?? 0) + 2 ** width <= 2 ** log && probabilities[symbol] !== 0
      })
    }),
    { numRuns: 300 },
  )
})

t.test('makes a table of one symbol that takes no bits', async (t) => {
  t.same(singleSymbolFse(7), { accuracyLog: 0, symbols: [7], bits: [0], bases: [0] })
})

t.test('reads a table that gives everything to one symbol', async (t) => {
  // Log 5: four zero bits; then the six bits 111111 stand for 33 - 1 = 32.
  const { table, next } = readFse(Uint8Array.of(0xf0, 0x03), 0, 2, 6, 12)
  t.equal(next, 2)
  t.equal(table.accuracyLog, 5)
  t.ok(table.symbols.every((symbol) => symbol === 0))
  t.ok(table.bits.every((width) => width === 0))
})

t.test(
  'refuses tables that are too large, cut, or have too many symbols, whatever the bytes, and always comes back',
  async (t) => {
    t.match(
      problemOf(() => readFse(Uint8Array.of(0x02, 0xff, 0xff), 0, 3, 6, 12)),
      /larger than the format/,
    )
    t.match(
      problemOf(() => readFse(Uint8Array.of(0xf0), 0, 1, 6, 12)),
      /cut/,
    )
    t.match(
      problemOf(() => readFse(new Uint8Array(0), 0, 0, 6, 12)),
      /cut|symbol/,
    )
    // A zero probability and then repeats of three without end.
    t.match(
      problemOf(() => readFse(Uint8Array.of(0x10, 0xfe, ...new Array(39).fill(0xff)), 0, 41, 6, 12)),
      /a symbol that the format does not have/,
    )
    const outcomes = new Set<string>()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const result = problemOf(() => readFse(bytes, 0, bytes.length, 9, 52))
        outcomes.add(typeof result)
        if (typeof result === 'string') return true
        const { table, next } = result as ReturnType<typeof readFse>
        return next <= bytes.length && table.symbols.length === 1 << table.accuracyLog
      }),
      { numRuns: 3_000 },
    )
    t.same([...outcomes].sort(), ['object', 'string'])
  },
)

t.test(
  'builds the Huffman table of the example in RFC 8878, section 4.2.1, and decodes with it',
  async (t) => {
    // Weights 4, 3, 2, 0, 1 and the implied 1 for symbol 5.
    const { table, next } = readHuffman(Uint8Array.of(127 + 5, 0x43, 0x20, 0x10), 0, 4)
    t.equal(next, 4)
    t.equal(table.maxBits, 4)
    t.same([...table.symbols], [4, 5, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    t.same([...table.bits], [4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    // The mark, then 0: 1, 1: 01, 2: 001, 4: 0000, 5: 0001.
    const bits = ['1', '1', '01', '001', '0000', '0001'].join('')
    const padded = bits.padStart(16, '0')
    const stream = Uint8Array.of(Number.parseInt(padded.slice(8), 2), Number.parseInt(padded.slice(0, 8), 2))
    const output = new Uint8Array(7)
    decodeHuffman(table, stream, 0, 2, output, 1, 5)
    t.same([...output], [0, 0, 1, 2, 4, 5, 0])
    t.match(
      problemOf(() => decodeHuffman(table, stream, 0, 2, output, 0, 4)),
      /longer/,
    )
    t.match(
      problemOf(() => decodeHuffman(table, stream, 0, 2, output, 0, 6)),
      /cut/,
    )
  },
)

t.test('refuses weights that make no full tree', async (t) => {
  const refused: [number[], RegExp][] = [
    [[], /cut/],
    [[128], /cut/],
    [[127 + 2, 0x00], /no codes/],
    [[127 + 4, 0xcc, 0xcc], /longer than the format/],
    [[127 + 4, 0xbb, 0xb1], /longer than the format/],
    [[127 + 3, 0x41, 0x10], /add up/],
    [[127 + 2, 0x22], /full tree/],
    [[5, 1, 2, 3], /cut/],
  ]
  for (const [bytes, problem] of refused) {
    t.match(
      problemOf(() => readHuffman(Uint8Array.from(bytes), 0, bytes.length)),
      problem,
      JSON.stringify(bytes),
    )
  }
})

t.test('stops at the number of symbols where the states of packed weights take no bits at all', async (t) => {
  // One symbol has all of the table, so each state takes 0 bits and the stream never runs dry.
  const bytes = Uint8Array.of(4, 0xf0, 0x03, 0x00, 0x80)
  t.match(
    problemOf(() => readHuffman(bytes, 0, 5)),
    /more weights than there are symbols/,
  )
})

t.test(
  'takes or refuses any bytes as a Huffman table, and every table that it takes is complete',
  async (t) => {
    let taken = 0
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 24 }), (bytes) => {
        const result = problemOf(() => readHuffman(bytes, 0, bytes.length))
        if (typeof result === 'string') return true
        taken += 1
        const { table, next } = result as ReturnType<typeof readHuffman>
        return (
          next <= bytes.length &&
          table.maxBits <= 11 &&
          table.bits.every((width) => width >= 1 && width <= table.maxBits)
        )
      }),
      { numRuns: 5_000 },
    )
    t.ok(taken > 0, `${taken} tables taken`)
  },
)
