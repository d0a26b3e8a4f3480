/**
 * What of an output is compressed and what is not, with the real compressor: small pieces never grow, noise is not
 * tried for ever, and pieces leave in the order in which they were taken.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import t from 'tap'
import { createFrameReader } from '../../../src/client/link/zstd-frames.node.ts'
import { createOutputCoders } from '../../../src/edge/host/zstd.node.ts'
import { CHUNK_BYTES, CODED_FIRST_BYTES, CODED_MIN_BYTES, CODED_SKIP_BYTES } from '../../../src/limits.ts'
import type { OutputCoders } from '../../../src/ports.ts'
import {
  createOutputPacker,
  type PackedPiece,
  plainWithin,
} from '../../../src/session/executions/output-packer.ts'

function pack(content: Uint8Array, coders: OutputCoders = createOutputCoders()) {
  let ready: (() => void) | undefined
  const packer = createOutputPacker(coders, () => ready?.())
  /** How many bytes were taken, and the piece that they became. */
  const take = async (offset: number, left: number, credit: number) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ready = resolve
    const taken = packer.take(0, offset, left, credit, (from, target) =>
      target.set(content.subarray(from, from + target.length)),
    )
    if (taken === 0) return { taken, piece: undefined }
    t.equal(packer.isIdle, false)
    await promise
    const piece = packer.ready as PackedPiece
    packer.sent()
    return { taken, piece }
  }
  return { packer, take }
}

t.test('what is taken leaves as one frame, cut to the credit', async (t) => {
  const content = Buffer.from('the same line again and again\n'.repeat(10_000))
  const { packer, take } = pack(content)
  const reader = createFrameReader()
  const plain: Uint8Array[] = []
  for (let at = 0; at < content.length; ) {
    const { taken, piece } = await take(at, content.length - at, 4_096)
    if (piece === undefined) break
    t.equal(taken, Math.min(plainWithin(4_096), content.length - at))
    t.match(piece, { source: 0, offset: at, plainBytes: taken, encoding: 1 })
    plain.push(await reader.read(piece.data))
    at += taken
  }
  t.ok(Buffer.concat(plain).equals(content))
  t.equal(packer.isIdle, true)
  packer.close()
  reader.close()
})

t.test('small pieces and small credits go as they are, and cost no frame', async (t) => {
  const opened: string[] = []
  const { packer, take } = pack(Buffer.alloc(CHUNK_BYTES), {
    open() {
      opened.push('a frame')
      return undefined
    },
  })
  t.equal((await take(0, CODED_FIRST_BYTES - 1, CHUNK_BYTES)).taken, 0)
  t.equal((await take(0, CHUNK_BYTES, CODED_MIN_BYTES)).taken, 0)
  t.strictSame(opened, [])
  t.equal((await take(0, CHUNK_BYTES, CHUNK_BYTES)).taken, 0)
  t.equal((await take(0, CHUNK_BYTES, CHUNK_BYTES)).taken, 0)
  t.strictSame(opened, ['a frame'], 'whoever had no place asks once')
  packer.close()
})

t.test('once there is a frame shorter pieces are worth it', async (t) => {
  const { packer, take } = pack(
    Buffer.from('drwxr-xr-x 2 root root 4096 Jan  1 00:00 directory\n'.repeat(20)),
  )
  t.equal((await take(0, CODED_MIN_BYTES, CHUNK_BYTES)).taken, 0)
  t.equal((await take(0, CODED_FIRST_BYTES, CHUNK_BYTES)).taken, CODED_FIRST_BYTES)
  const { taken, piece } = await take(CODED_FIRST_BYTES, CODED_MIN_BYTES, CHUNK_BYTES)
  t.equal(taken, CODED_MIN_BYTES)
  t.ok((piece?.data.length ?? taken) < taken / 2)
  t.equal((await take(0, CODED_MIN_BYTES - 1, CHUNK_BYTES)).taken, 0)
  packer.close()
})

t.test('noise is tried less and less often, and text after it is compressed again', async (t) => {
  const content = Buffer.alloc(CHUNK_BYTES)
  const { packer, take } = pack(content)
  const until = async (isNoise = true) => {
    let passed = 0
    for (;;) {
      if (isNoise) randomFillSync(content)
      const { taken } = await take(0, 8_192, CHUNK_BYTES)
      if (taken > 0) return passed
      packer.passed(8_192)
      passed += 8_192
    }
  }
  const passed = [await until(), await until(), await until(), await until()]
  t.strictSame(passed, [0, CODED_SKIP_BYTES, CODED_SKIP_BYTES * 2, CODED_SKIP_BYTES * 4])
  content.fill('text ')
  t.equal(await until(false), CODED_SKIP_BYTES * 8)
  t.strictSame([await until(false), await until(false)], [0, 0])
  await until()
  t.equal(await until(), CODED_SKIP_BYTES, 'and noise after it is tried as before')
  packer.close()
})

t.test('a piece that cannot be coded leaves as it is, and so does all that follows', async (t) => {
  const content = Buffer.from('abc'.repeat(1_000))
  const closed: string[] = []
  const { take } = pack(content, {
    open: () => ({
      code: (_, done) => queueMicrotask(() => done(undefined)),
      close: () => closed.push('closed'),
    }),
  })
  const { taken, piece } = await take(0, content.length, CHUNK_BYTES)
  t.equal(taken, content.length)
  t.match(piece, { encoding: 0, plainBytes: content.length })
  t.ok(content.equals(piece?.data ?? new Uint8Array(0)))
  t.strictSame(closed, ['closed'])
  t.equal((await take(0, content.length, CHUNK_BYTES)).taken, 0)
})
