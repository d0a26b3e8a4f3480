import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { createZstdDecoder } from '../../src/edge/host/zstd-decoder.node.ts'
import { PAYLOAD_PLAIN_BYTES } from '../../src/limits.ts'
import { openZstd } from '../../src/wire/zstd-open.ts'
import { blockOf, compress, frame, head, littleEndian, MAGIC, somePlain } from './zstd-frames.node.ts'

const VECTORS = join(import.meta.dirname, '../../../shared/vectors/zstd/tests')
const LIMIT = PAYLOAD_PLAIN_BYTES
const decoder = createZstdDecoder()
const decompress = (frame: Uint8Array) => openZstd(frame, LIMIT, decoder)
const COMPRESSED = 2

/** The same frame with its content size written into the head, as the wire asks for it. */
function withContentSize(bytes: Uint8Array, contentBytes: number): Uint8Array {
  // Descriptor 0 in the cases that need this: a window byte follows, and no size.
  return frame([...MAGIC, 0x80, bytes[5] ?? 0, ...littleEndian(contentBytes, 4)], [...bytes.subarray(6)])
}

t.test('decodes the frames of golden-decompression to the bytes that libzstd gives', async (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/zstd is not here')
    t.pass()
    return
  }
  const folder = join(VECTORS, 'golden-decompression')
  const names = readdirSync(folder).filter((name) => name.endsWith('.zst'))
  for (const name of names) {
    const bytes = new Uint8Array(readFileSync(join(folder, name)))
    const expected = zstdDecompressSync(bytes)
    // Three of the four do not say their size: refused on the wire, taken once they do.
    const sized = bytes[4] === 0 ? withContentSize(bytes, expected.length) : bytes
    t.equal((await decompress(bytes)).ok, bytes[4] !== 0, `${name} as it is`)
    const onWire = await decompress(sized)
    t.ok(onWire.ok && expected.equals(onWire.plain), `${name} with its size`)
  }
  t.equal(names.length, 4)
})

t.test(
  'refuses the frames of golden-decompression-errors, without a content size and with any',
  async (t) => {
    if (!existsSync(VECTORS)) {
      t.comment('skipped: ../shared/vectors/zstd is not here')
      t.pass()
      return
    }
    const folder = join(VECTORS, 'golden-decompression-errors')
    const names = readdirSync(folder).filter((name) => name.endsWith('.zst'))
    for (const name of names) {
      const bytes = new Uint8Array(readFileSync(join(folder, name)))
      t.match(
        await decompress(bytes),
        { ok: false, problem: 'it does not say the size of its content' },
        name,
      )
      for (let size = 0; size <= 1_024; size += 1) {
        if ((await decompress(withContentSize(bytes, size))).ok) t.fail(`${name} passed with size ${size}`)
      }
    }
    t.equal(names.length, 3)
  },
)

t.test('decodes what libzstd compresses, at every level, with and without a checksum', async (t) => {
  const wrong: string[] = []
  for (const length of [
    0, 1, 2, 255, 256, 257, 5_000, 65_535, 65_536, 65_792, 131_071, 131_072, 131_073, 400_000,
  ]) {
    const plain = somePlain(length, length + 1)
    for (const level of [-7, 1, 3, 9, length > 100_000 ? 12 : 19]) {
      const result = await decompress(compress(plain, level, level & 1))
      if (!result.ok || Buffer.compare(result.plain, plain) !== 0)
        wrong.push(`${length} bytes at level ${level}`)
    }
  }
  t.same(wrong, [])
})

t.test('refuses a second frame and any byte behind the first, and all that is cut', async (t) => {
  for (const checksum of [0, 1]) {
    const whole = compress(somePlain(3_000, 4), 3, checksum)
    t.ok((await decompress(whole)).ok)
    t.match(await decompress(frame([...whole], [...whole])), {
      ok: false,
      problem: 'something follows the frame',
    })
    t.match(await decompress(frame([...whole], [0])), {
      ok: false,
      problem: 'something follows the frame',
    })
    for (let end = 0; end < whole.length; end += 1) {
      if ((await decompress(whole.subarray(0, end))).ok) t.fail(`passed with ${end} of ${whole.length} bytes`)
    }
  }
})

t.test('refuses a content that does not match the checksum', async (t) => {
  const whole = compress(somePlain(3_000, 5), 3, 1)
  for (let back = 1; back <= 4; back += 1) {
    const changed = Uint8Array.from(whole)
    changed[whole.length - back] = (changed[whole.length - back] ?? 0) ^ 1
    t.match(await decompress(changed), { ok: false, code: 'FRAME_MALFORMED' })
  }
})

t.test(
  'a frame with bytes changed is refused, or all of it is the one frame that libzstd reads',
  async (t) => {
    const seeds = [20, 100, 700, 3_000, 9_000].flatMap((length) =>
      [1, 3, 19].map((level) => compress(somePlain(length, level), level)),
    )
    let taken = 0
    const wrong: string[] = []
    const change = fc.record({ place: fc.nat(), value: fc.nat(255) })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...seeds),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        async (seed, changes) => {
          const bytes = Uint8Array.from(seed)
          for (const { place, value } of changes) bytes[place % bytes.length] = value
          const result = await decompress(bytes)
          if (!result.ok) return
          taken += 1
          try {
            if (zstdDecompressSync(bytes).equals(result.plain)) return
          } catch {
            // Falls through: libzstd refuses it.
          }
          wrong.push(Buffer.from(bytes).toString('hex'))
        },
      ),
      { numRuns: 2_000 },
    )
    t.same(wrong, [])
    t.ok(taken > 100, `${taken} changed frames taken by both`)
  },
)

t.test('takes or refuses any bytes behind a sound head without throwing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(70_000), fc.uint8Array({ maxLength: 60 }), async (size, content) => {
      const bytes = frame(head(size), blockOf(COMPRESSED, [...content], true))
      const result = await decompress(bytes)
      return result.ok ? result.plain.length === size : result.problem.length > 0
    }),
    { numRuns: 2_000 },
  )
})
