import t from 'tap'
import { asSassError } from '../../src/errors.ts'
import { decodeBlock } from '../../src/wire/zstd-block.ts'
import { type FrameState, readBlockHead, startFrame } from '../../src/wire/zstd-block-head.ts'

const BLOCK_BYTES = 131_072
const PREDEFINED = 0
const RLE = 1
const REPEAT = 3

type Sequence = { literals: number; offsetCode: number; match: number; bits: readonly number[] }

/** A block of raw literals and `count` sequences that all have the same codes; `bits` is their bit stream. */
function block(literals: string, { literals: l, offsetCode, match, bits }: Sequence, count = 1): Uint8Array {
  const text = Buffer.from(literals)
  return Uint8Array.of(
    text.length << 3,
    ...text,
    count,
    (RLE << 6) | (RLE << 4) | (RLE << 2),
    l,
    offsetCode,
    match,
    ...bits,
  )
}

function decode(state: FrameState, bytes: Uint8Array): string {
  decodeBlock(state, readBlockHead(state, bytes, 0, bytes.length))
  return Buffer.from(state.output.subarray(0, state.produced)).toString('latin1')
}

const fresh = (bytes = 1_000, windowBytes = bytes) =>
  startFrame(new Uint8Array(bytes), windowBytes, Math.min(bytes, BLOCK_BYTES))

function problemOf(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    const refusal = asSassError(error)
    if (refusal?.code !== 'FRAME_MALFORMED') throw error
    return refusal.details['problem']
  }
}

t.test('copies literals alone, raw and repeated', async (t) => {
  t.equal(decode(fresh(), Uint8Array.of(5 << 3, ...Buffer.from('hello'), 0)), 'hello')
  t.equal(decode(fresh(), Uint8Array.of((7 << 3) | 1, 0x78, 0)), 'xxxxxxx')
  t.equal(decode(fresh(), Uint8Array.of(0, 0)), '')
  // Sizes of 12 and 20 bits.
  t.equal(decode(fresh(), Uint8Array.of(0x05 | ((300 & 15) << 4), 300 >> 4, 0x79, 0)), 'y'.repeat(300))
  t.equal(
    decode(
      fresh(70_000),
      Uint8Array.of(0x0d | ((70_000 & 15) << 4), (70_000 >> 4) & 255, 70_000 >> 12, 0x7a, 0),
    ).length,
    70_000,
  )
})

t.test('takes a number of sequences of 0 in two bytes as in one', async (t) => {
  t.equal(decode(fresh(), Uint8Array.of(2 << 3, 0x61, 0x62, 0x80, 0x00)), 'ab')
  t.match(
    problemOf(() => decode(fresh(), Uint8Array.of(2 << 3, 0x61, 0x62, 0, 0))),
    /without sequences goes on/,
  )
  t.match(
    problemOf(() => decode(fresh(), Uint8Array.of(2 << 3, 0x61, 0x62, 0x80))),
    /ends before its sequences/,
  )
  t.match(
    problemOf(() => decode(fresh(), Uint8Array.of(2 << 3, 0x61, 0x62))),
    /ends before its sequences/,
  )
})

t.test('repeats what it has just written where a match overlaps itself', async (t) => {
  // Offset code 2, bits 00: value 4, offset 1.
  t.equal(
    decode(fresh(), block('ab', { literals: 2, offsetCode: 2, match: 5, bits: [0b100] })),
    `ab${'b'.repeat(8)}`,
  )
  // Value 5, offset 2, and a literal left over for the end.
  t.equal(decode(fresh(), block('abc', { literals: 2, offsetCode: 2, match: 2, bits: [0b101] })), 'abababac')
})

t.test('finds the repeated offsets of RFC 8878, section 3.1.1.5, with and without literals', async (t) => {
  const before = 'abcdefghijklmnop'
  const run = (offsetCode: number, bit: number, hasLiterals: boolean) => {
    const state = fresh()
    decode(state, Uint8Array.of(before.length << 3, ...Buffer.from(before), 0))
    state.repeat1 = 3
    state.repeat2 = 5
    state.repeat3 = 7
    const bits = offsetCode === 0 ? [1] : [2 | bit]
    const text = decode(
      state,
      block(hasLiterals ? 'X' : '', { literals: hasLiterals ? 1 : 0, offsetCode, match: 0, bits }),
    )
    return [text.slice(before.length), state.repeat1, state.repeat2, state.repeat3]
  }
  t.same(run(0, 0, true), ['XopX', 3, 5, 7], 'the first')
  t.same(run(1, 0, true), ['Xmno', 5, 3, 7], 'the second')
  t.same(run(1, 1, true), ['Xklm', 7, 3, 5], 'the third')
  t.same(run(0, 0, false), ['lmn', 5, 3, 7], 'without literals the second')
  t.same(run(1, 0, false), ['jkl', 7, 3, 5], 'without literals the third')
  t.same(run(1, 1, false), ['opo', 2, 3, 5], 'without literals the first, less one')
})

t.test('refuses an offset of 0, one before the beginning and one outside of the window', async (t) => {
  // Without literals value 3 is the first offset less one, and a frame begins with 1.
  t.match(
    problemOf(() => decode(fresh(), block('', { literals: 0, offsetCode: 1, match: 0, bits: [3] }))),
    /an offset is 0/,
  )
  t.match(
    problemOf(() => decode(fresh(), block('abc', { literals: 3, offsetCode: 2, match: 0, bits: [0b111] }))),
    /points before the beginning/,
  )
  const narrow = fresh(1_000, 2)
  t.match(
    problemOf(() => decode(narrow, block('abcdef', { literals: 6, offsetCode: 2, match: 0, bits: [0b110] }))),
    /before the beginning/,
  )
  t.match(
    problemOf(() =>
      decode(fresh(), block('a', { literals: 1, offsetCode: 31, match: 0, bits: [255, 255, 255, 255] })),
    ),
    /before the beginning/,
  )
})

t.test(
  'refuses more literals than there are, and more output than block or frame allow, before copying',
  async (t) => {
    t.match(
      problemOf(() => decode(fresh(), block('ab', { literals: 3, offsetCode: 0, match: 0, bits: [1] }))),
      /more literals than there are/,
    )
    t.match(
      problemOf(() => decode(fresh(4), block('ab', { literals: 2, offsetCode: 0, match: 0, bits: [1] }))),
      /more than its size allows/,
    )
    t.equal(decode(fresh(5), block('ab', { literals: 2, offsetCode: 0, match: 0, bits: [1] })), 'abbbb')
    t.match(
      problemOf(() => decode(fresh(5), block('abc', { literals: 2, offsetCode: 0, match: 0, bits: [1] }))),
      /more than its size allows/,
    )
    t.match(
      problemOf(() => decode(fresh(4), Uint8Array.of(5 << 3, 1, 2, 3, 4, 5, 0))),
      /more literals than its size/,
    )
    // One sequence of 65,539 bytes and more is longer than the frame.
    t.match(
      problemOf(() =>
        decode(fresh(), block('a', { literals: 1, offsetCode: 0, match: 52, bits: [0, 0, 1] })),
      ),
      /more than its size allows/,
    )
  },
)

t.test(
  'refuses bits left over or missing, reserved modes, unknown codes and tables that were never given',
  async (t) => {
    const good = { literals: 2, offsetCode: 0, match: 0, bits: [1] }
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, bits: [2] }))),
      /longer than what they say/,
    )
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, offsetCode: 1 }))),
      /sequences of a block are cut/,
    )
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, bits: [] }))),
      /no end mark/,
    )
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, literals: 36 }))),
      /not one that the format has/,
    )
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, offsetCode: 32 }))),
      /not one that the format has/,
    )
    t.match(
      problemOf(() => decode(fresh(), block('ab', { ...good, match: 53 }))),
      /not one that the format has/,
    )
    const modes = (value: number) => Uint8Array.of(1 << 3, 0x61, 1, value, 0, 0, 0, 1)
    t.match(
      problemOf(() => decode(fresh(), modes(0b0101_0101))),
      /cut or reserved/,
    )
    t.match(
      problemOf(() => decode(fresh(), modes(REPEAT << 6))),
      /repeated that was never given/,
    )
    t.match(
      problemOf(() => decode(fresh(), Uint8Array.of(0x03 | (1 << 4), 0x40, 0, 1, 0))),
      /repeated that was never given/,
    )
    t.match(
      problemOf(() => decode(fresh(), new Uint8Array(0))),
      /empty/,
    )
  },
)

t.test(
  'repeats the tables of the block before, the single symbols and the predefined ones too',
  async (t) => {
    const state = fresh()
    decode(state, block('ab', { literals: 2, offsetCode: 0, match: 0, bits: [1] }))
    const repeated = (REPEAT << 6) | (REPEAT << 4) | (REPEAT << 2)
    t.equal(decode(state, Uint8Array.of(2 << 3, 0x63, 0x64, 1, repeated, 1)), 'abbbbcdddd')
    const other = fresh()
    // States 0 of the predefined tables: literals length 0, offset code 0, match length 3; without literals the second offset, 4.
    const start = [4 << 3, ...Buffer.from('wxyz')]
    const zeroStates = [0, 0, 2]
    const first = Uint8Array.of(...start, 1, (PREDEFINED << 6) | (PREDEFINED << 4), ...zeroStates)
    t.match(
      problemOf(() => decode(fresh(), first)),
      /before the beginning/,
      'nothing has been written yet',
    )
    decode(other, Uint8Array.of(...start, 0))
    t.equal(decode(other, Uint8Array.of(0, 1, 0, ...zeroStates)), 'wxyzwxy')
    // The history is now 4, 1, 8, so that the second offset is 1.
    t.equal(decode(other, Uint8Array.of(0, 1, repeated, ...zeroStates)), 'wxyzwxyyyy')
  },
)

t.test('refuses every beginning of a block that it takes as a whole', async (t) => {
  const whole = block('abcdef', { literals: 4, offsetCode: 2, match: 9, bits: [0b101] })
  t.equal(decode(fresh(), whole).length, 4 + 12 + 2)
  for (let end = 0; end < whole.length; end += 1) {
    t.type(
      problemOf(() => decode(fresh(), whole.subarray(0, end))),
      'string',
      `${end} bytes`,
    )
  }
})
