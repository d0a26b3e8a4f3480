/**
 * Frames of payloads through libzstd: what they say is what comes of them, one after the other, and none takes longer
 * than it may.
 * @module
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { createZstdDecoder } from '../../../src/edge/host/zstd-decoder.node.ts'
import { PAYLOAD_PLAIN_BYTES } from '../../../src/limits.ts'
import { checkZstdFrame } from '../../../src/wire/zstd-gate.ts'
import { blockOf, busy, compress, frame, MAGIC, somePlain } from '../../wire/zstd-frames.node.ts'

t.test('gives back what was packed, whatever its size', async (t) => {
  const decoder = createZstdDecoder()
  for (const size of [0, 1, 63, 64, 131_071, 131_072, 131_073, PAYLOAD_PLAIN_BYTES]) {
    const plain = somePlain(size, 7)
    const decoded = await decoder.decode(compress(plain, 1), size)
    t.ok(typeof decoded !== 'string' && Buffer.compare(decoded, plain) === 0, `${size} bytes`)
  }
})

t.test('one that the machine has no memory for is no end of those that follow', async (t) => {
  const decoder = createZstdDecoder()
  await t.rejects(decoder.decode(compress(somePlain(300, 2)), Number.MAX_SAFE_INTEGER))
  t.equal((await decoder.decode(compress(somePlain(300, 2)), 300)).length, 300)
})

t.test('another size than the one that was measured is no sound frame', async (t) => {
  const decoder = createZstdDecoder()
  for (const size of [299, 301, 0, 100_000])
    t.equal(await decoder.decode(compress(somePlain(300, 2)), size), 'corrupt', `${size}`)
  // Two sound blocks of 5 MiB that its head declares: libzstd, asked for all at once, gives them without a word.
  const short = Buffer.from('28b52ffd8058000050005400001000010100fbff39c00202001000010000', 'hex')
  t.match(checkZstdFrame(short, PAYLOAD_PLAIN_BYTES), { ok: true, plainBytes: 5_242_880 })
  t.equal(await decoder.decode(short, 5_242_880), 'corrupt')
  // A frame that does not say its size is nothing that the gate passes: here what it gives is bounded all the same.
  const unsized = frame(
    [...MAGIC, 0, 0x40],
    ...Array.from({ length: 400 }, (_, index) => blockOf(1, [0x41], index === 399, 131_072)),
  )
  const before = process.memoryUsage().arrayBuffers
  t.equal(await decoder.decode(unsized, 1_000_000), 'corrupt')
  t.ok(process.memoryUsage().arrayBuffers - before < 4_000_000, 'of 50 MB no more than what was due was held')
})

t.test(
  'a sound frame that keeps libzstd busy is given up, and others are served meanwhile (SS-23)',
  async (t) => {
    const { bytes, plainBytes } = busy()
    t.ok(bytes.length < 600 && checkZstdFrame(bytes, PAYLOAD_PLAIN_BYTES).ok)
    t.equal(zstdDecompressSync(bytes).length, plainBytes, 'libzstd alone takes it')
    const decoder = createZstdDecoder(10)
    // Of the processor, of all threads here: what else the machine does is not measured.
    const tookMs: number[] = []
    for (let run = 0; run < 3; run += 1) {
      const began = process.cpuUsage()
      t.equal(await decoder.decode(bytes, plainBytes), 'slow')
      const { user, system } = process.cpuUsage(began)
      tookMs.push((user + system) / 1_000)
    }
    t.ok(Math.min(...tookMs) < 50, `${Math.min(...tookMs).toFixed(1)} ms of 10`)
    const plain = somePlain(3_000, 3)
    t.ok(
      Buffer.from(plain).equals((await decoder.decode(compress(plain), 3_000)) as Uint8Array),
      'the next one is served',
    )
  },
)

t.test('what the machine does meanwhile is not counted against a frame', async (t) => {
  const plain = somePlain(100_000, 4)
  const decoding = createZstdDecoder(50).decode(compress(plain), plain.length)
  // Nothing of this thread runs for longer than the frame may take.
  const until = performance.now() + 200
  while (performance.now() < until);
  t.ok(Buffer.from(plain).equals((await decoding) as Uint8Array))
})

t.test('they are decoded one after the other, and the thread of the daemon goes on', async (t) => {
  const decoder = createZstdDecoder()
  const plain = somePlain(PAYLOAD_PLAIN_BYTES, 5)
  const packed = compress(plain, 1)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const decoded = await decoder.decode(packed, plain.length)
      t.equal(decoded.length, plain.length)
      order.push(index)
    }),
  )
  delay.disable()
  t.strictSame(order, [0, 1, 2, 3, 4, 5, 6, 7])
  t.ok(delay.percentile(50) / 1e6 < 20, `${(delay.percentile(50) / 1e6).toFixed(1)} ms between turns`)
})
