import { zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { createZstdDecoder } from '../../src/edge/host/zstd-decoder.node.ts'
import { PAYLOAD_PLAIN_BYTES, ZSTD_BLOCKS } from '../../src/limits.ts'
import { checkZstdFrame } from '../../src/wire/zstd-gate.ts'
import { openZstd } from '../../src/wire/zstd-open.ts'
import {
  blockOf,
  compress,
  endless,
  frame,
  head,
  littleEndian,
  MAGIC,
  somePlain,
} from './zstd-frames.node.ts'

const LIMIT = PAYLOAD_PLAIN_BYTES
const decoder = createZstdDecoder()
const decompress = (bytes: Uint8Array) => openZstd(bytes, LIMIT, decoder)
const RAW = 0
const RLE = 1
const COMPRESSED = 2
const RESERVED = 3

t.test(
  'takes a payload of exactly 5 MiB and refuses one byte more from its head alone (SS-22)',
  async (t) => {
    const full = compress(somePlain(LIMIT, 3), 1, 1)
    const result = await decompress(full)
    t.ok(result.ok && result.plain.length === LIMIT)
    t.equal(checkZstdFrame(full, LIMIT).ok, true)
    const over = compress(new Uint8Array(LIMIT + 1))
    const refusal = { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED' }
    t.match(checkZstdFrame(over, LIMIT), refusal)
    t.match(await decompress(over), refusal)
    // A head alone is enough: nothing behind it is needed, so nothing behind it was looked at.
    t.match(checkZstdFrame(over.subarray(0, 10), LIMIT), refusal)
    t.match(checkZstdFrame(frame(MAGIC, [0xe0], littleEndian(2 ** 52, 8)), LIMIT), refusal)
    t.match(checkZstdFrame(frame(MAGIC, [0xe0], [255, 255, 255, 255, 255, 255, 255, 255]), LIMIT), refusal)
  },
)

t.test('refuses a bomb that says a small size, after no more than that size (SS-22)', async (t) => {
  const bomb = (declared: number) =>
    frame(
      head(declared),
      ...Array.from({ length: 400 }, (_, index) => blockOf(RLE, [0x41], index === 399, 131_072)),
    )
  t.match(await decompress(bomb(200_000)), { ok: false, code: 'FRAME_MALFORMED' })
  t.match(await decompress(bomb(52_428_800)), { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED' })
  t.ok(checkZstdFrame(bomb(52_428_800), 52_428_800).ok, 'the frame itself is sound')
  // What does not say its size is no bomb that could be measured.
  const unsized = frame(
    [...MAGIC, 0, 0x40],
    ...Array.from({ length: 400 }, (_, index) => blockOf(RLE, [0x41], index === 399, 131_072)),
  )
  t.equal(zstdDecompressSync(unsized).length, 52_428_800)
  t.match(checkZstdFrame(unsized, LIMIT), { ok: false, problem: 'it does not say the size of its content' })
})

t.test('refuses a window over the limit, a dictionary, reserved bits and other magic numbers', async (t) => {
  const last = blockOf(RAW, [], true)
  t.match(checkZstdFrame(frame(MAGIC, [0x80, 0x70], littleEndian(0, 4), last), LIMIT), {
    ok: false,
    code: 'DECOMPRESSION_LIMIT_EXCEEDED',
  })
  t.match(checkZstdFrame(frame(MAGIC, [0x80, 0xff], littleEndian(0, 4), last), LIMIT), {
    ok: false,
    code: 'DECOMPRESSION_LIMIT_EXCEEDED',
  })
  t.ok(checkZstdFrame(frame(MAGIC, [0x80, 0x60], littleEndian(0, 4), last), LIMIT).ok, 'a window of 4 MiB')
  for (const flag of [1, 2, 3]) {
    const bytes = frame(MAGIC, [0xa0 | flag], [0, 0, 0, 0], littleEndian(0, 4), last)
    t.match(checkZstdFrame(bytes, LIMIT), { ok: false, problem: 'it asks for a dictionary' })
  }
  t.match(checkZstdFrame(frame(MAGIC, [0xa8], littleEndian(0, 4), last), LIMIT), {
    ok: false,
    problem: 'a reserved bit is set',
  })
  for (const magic of [
    [0x50, 0x2a, 0x4d, 0x18],
    [0x5f, 0x2a, 0x4d, 0x18],
    [0x27, 0xb5, 0x2f, 0xfd],
    [0x1f, 0x8b, 8, 0],
  ]) {
    const bytes = frame(magic, littleEndian(4, 4), [1, 2, 3, 4])
    t.match(checkZstdFrame(bytes, LIMIT), {
      ok: false,
      problem: 'it does not begin as a Zstandard frame does',
    })
  }
})

t.test(
  'refuses reserved blocks, blocks over their maximum and more blocks than the limit (SS-22)',
  async (t) => {
    t.match(checkZstdFrame(frame(head(0), blockOf(RESERVED, [], true)), LIMIT), {
      ok: false,
      problem: 'a block is of the reserved type',
    })
    for (const kind of [RAW, RLE, COMPRESSED]) {
      const large = frame(head(200_000), blockOf(kind, new Array(131_073).fill(0), true))
      t.match(checkZstdFrame(large, LIMIT), { ok: false, problem: 'a block is larger than the frame allows' })
    }
    // In a small frame the window is the maximum.
    t.match(checkZstdFrame(frame(head(3), blockOf(RLE, [1], true, 4)), LIMIT), {
      ok: false,
      problem: 'a block is larger than the frame allows',
    })
    const tiny = (count: number) =>
      frame(
        head(count),
        ...Array.from({ length: count }, (_, index) => blockOf(RAW, [index % 256], index === count - 1)),
      )
    t.match(checkZstdFrame(tiny(ZSTD_BLOCKS), LIMIT), {
      ok: true,
      plainBytes: ZSTD_BLOCKS,
      blocks: ZSTD_BLOCKS,
    })
    t.ok((await decompress(tiny(ZSTD_BLOCKS))).ok)
    t.match(await decompress(tiny(ZSTD_BLOCKS + 1)), { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED' })
  },
)

t.test('holds the content to the size that the frame says, neither cut nor padded', async (t) => {
  const content = [1, 2, 3, 4, 5, 6]
  t.match(await decompress(frame(head(6), blockOf(RAW, content, true))), { ok: true })
  for (const size of [0, 1, 5, 7, 8, 300, LIMIT]) {
    t.match(
      await decompress(frame(head(size), blockOf(RAW, content, true))),
      { ok: false, code: 'FRAME_MALFORMED' },
      `${size}`,
    )
  }
  const packed = compress(somePlain(3_000, 8))
  t.equal(packed[4], 0x60, 'single segment, two bytes of size')
  for (const size of [2_744 - 1, 2_744 + 1]) {
    const changed = Uint8Array.from(packed)
    changed.set(littleEndian(size, 2), 5)
    t.match(await decompress(changed), { ok: false, code: 'FRAME_MALFORMED' })
  }
})

t.test('refuses what keeps JavaScript decoders busy for seconds or for ever (SS-23)', async (t) => {
  // One byte of literals and 4,000 to 98,047 sequences of 65,539 bytes each, none of which takes a bit.
  const greedy = (count: number) => {
    const number =
      count < 0x7f00 ? [(count >> 8) + 128, count & 255] : [255, ...littleEndian(count - 0x7f00, 2)]
    return frame(head(131_072), blockOf(COMPRESSED, [1 << 3, 0x41, ...number, 0x54, 0, 0, 52, 1], true))
  }
  for (const bytes of [greedy(4_000), greedy(43_690), greedy(98_047), endless()]) {
    // Of the processor, and the best of three: what else the machine does is not measured here.
    const tookMs: number[] = []
    for (let run = 0; run < 3; run += 1) {
      const began = process.cpuUsage()
      t.match(await decompress(bytes), { ok: false, code: 'FRAME_MALFORMED' })
      const { user, system } = process.cpuUsage(began)
      tookMs.push((user + system) / 1_000)
    }
    t.ok(Math.min(...tookMs) < 50, `${bytes.length} bytes: ${Math.min(...tookMs).toFixed(2)} ms`)
  }
})

t.test(
  'what follows a frame, or stands before it, is refused where libzstd takes it in silence',
  async (t) => {
    const whole = compress(somePlain(300, 1))
    const skippable = frame([0x50, 0x2a, 0x4d, 0x18], littleEndian(4, 4), [1, 2, 3, 4])
    for (const [name, bytes] of [
      ['a byte', frame([...whole], [0])],
      ['bytes that are no frame', frame([...whole], [...Buffer.from('; reboot')])],
      ['a skippable frame behind', frame([...whole], [...skippable])],
      ['a skippable frame in front', frame([...skippable], [...whole])],
      ['an empty frame behind', frame([...whole], [...compress(new Uint8Array(0))])],
    ] as const) {
      t.equal(zstdDecompressSync(bytes).length, 300, `libzstd takes ${name}`)
      t.match(await decompress(bytes), { ok: false, code: 'FRAME_MALFORMED' }, name)
    }
  },
)
