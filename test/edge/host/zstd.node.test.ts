/**
 * Compressed output: what one side makes the other one reads, in pieces that are complete as they come; and what is no
 * such thing is refused before it is held.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { createFrameReader } from '../../../src/client/link/zstd-frames.node.ts'
import { createOutputCoders } from '../../../src/edge/host/zstd.node.ts'
import { CHUNK_BYTES, OUTPUT_CODERS } from '../../../src/limits.ts'
import type { OutputCoder } from '../../../src/ports.ts'
import { plainWithin } from '../../../src/session/executions/output-packer.ts'

const code = (coder: OutputCoder, plain: Uint8Array) =>
  new Promise<Uint8Array>((resolve, reject) =>
    coder.code(plain, (coded) => (coded === undefined ? reject(new Error('not coded')) : resolve(coded))),
  )

function open(): OutputCoder {
  const coder = createOutputCoders().open()
  if (coder === undefined) throw new Error('no coder')
  return coder
}

/** Lines as `ls -l` writes them. */
function listing(lines: number): Buffer {
  return Buffer.from(
    Array.from(
      { length: lines },
      (_, index) => `-rw-r--r-- 1 root root ${(index * 7919) % 99_991} Jan  1 12:00 file-${index}.so\n`,
    ).join(''),
  )
}

t.test('every piece can be read as soon as it is there, whatever its size', async (t) => {
  const coder = open()
  const reader = createFrameReader()
  t.teardown(() => {
    coder.close()
    reader.close()
  })
  const text = listing(20_000)
  let at = 0
  for (const size of [1, 64, 3, 1_024, 60_000, 10, CHUNK_BYTES, 5, 40_000, CHUNK_BYTES, CHUNK_BYTES]) {
    const plain = text.subarray(at, at + size)
    at += size
    t.ok(plain.equals(await reader.read(await code(coder, plain))), `${size} bytes`)
  }
  const noise = randomBytes(CHUNK_BYTES)
  t.ok(noise.equals(await reader.read(await code(coder, noise))), 'noise')
})

t.test('later pieces profit from earlier ones', async (t) => {
  const coder = open()
  t.teardown(() => coder.close())
  const first = await code(coder, listing(20))
  const second = await code(coder, listing(20))
  t.ok(second.length < first.length / 4, `${first.length} and then ${second.length} bytes`)
})

t.test('what cannot be compressed fits the credit that it was cut for', async (t) => {
  for (const room of [128, 129, 1_000, 4_096, 16_385, 65_000, CHUNK_BYTES, 1_048_576]) {
    const coder = open()
    const plain = randomBytes(plainWithin(room))
    for (let piece = 0; piece < 3; piece++) {
      const coded = await code(coder, plain)
      t.ok(coded.length <= Math.min(room, CHUNK_BYTES), `${plain.length} became ${coded.length} of ${room}`)
    }
    coder.close()
  }
})

t.test('as many frames at once as there is memory for', (t) => {
  const coders = createOutputCoders()
  const made = Array.from({ length: OUTPUT_CODERS }, () => coders.open())
  t.notOk(made.includes(undefined))
  t.equal(coders.open(), undefined)
  made[0]?.close()
  made[0]?.close()
  t.not(coders.open(), undefined, 'one that is given back can be had again')
  t.equal(coders.open(), undefined, 'once')
  t.end()
})

t.test('one that is closed while it works tells nobody', async (t) => {
  const coder = open()
  coder.code(listing(500), () => t.fail('it was told'))
  coder.close()
  await code(open(), listing(500))
})

t.test('what is no such frame is refused', async (t) => {
  const refused = async (coded: Uint8Array, name: string) => {
    const reader = createFrameReader()
    await t.rejects(reader.read(coded), name)
    reader.close()
  }
  await refused(Buffer.from('this is no Zstandard frame at all'), 'noise')
  const large = listing(30_000)
  const window = { params: { [constants.ZSTD_c_windowLog]: 20 } }
  t.ok(zstdDecompressSync(zstdCompressSync(large, window)).equals(large))
  await refused(zstdCompressSync(large, window), 'a window of 1 MiB')
  const bomb = createZstdCompress({
    flush: constants.ZSTD_e_flush,
    params: { [constants.ZSTD_c_windowLog]: 16 },
  })
  const written = Buffer.alloc(CHUNK_BYTES + 1)
  await new Promise((resolve) => bomb.write(written, resolve))
  await refused(bomb.read(), 'one byte more than a chunk')
  bomb.destroy()
  const coder = open()
  const coded = Buffer.from(await code(coder, listing(100)))
  coder.close()
  coded.fill(0xff, 20, 60)
  await refused(coded, 'bytes changed on the way')
})
