/**
 * Compressed output where Node knows no Zstandard: the thread reads what the daemon's own coder makes, piece by piece,
 * and one that never comes to an end is ended.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { createThreadReader } from '../../../src/client/link/zstd-thread-reader.node.ts'
import { createOutputCoders } from '../../../src/edge/host/zstd.node.ts'
import { CHUNK_BYTES } from '../../../src/limits.ts'
import type { OutputCoder } from '../../../src/ports.ts'
import { createPieceCheck } from '../../../src/wire/zstd-gate.ts'
import { endless } from '../../wire/zstd-frames.node.ts'

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
function listing(from: number, lines: number): Buffer {
  const line = (at: number) => `-rw-r--r-- 1 root root ${(at * 7919) % 99_991} Jan  1 12:00 file-${at}.so\n`
  return Buffer.from(Array.from({ length: lines }, (_, index) => line(from + index)).join(''))
}

t.test('every piece can be read as soon as it is there, the shortest first ones too', async (t) => {
  for (const first of [Buffer.from('a'), Buffer.alloc(128, 'a'), listing(0, 100), randomBytes(CHUNK_BYTES)]) {
    const coder = open()
    const reader = createThreadReader()
    const problemOf = createPieceCheck()
    const lengths = [1, 64, 3, 1_024, 60_000, 10, CHUNK_BYTES, 5]
    const pieces = [
      first,
      ...lengths.map((length) => listing(length, 2_000).subarray(0, length)),
      Buffer.alloc(CHUNK_BYTES),
      randomBytes(CHUNK_BYTES),
      listing(7, 900),
    ]
    for (const plain of pieces) {
      const coded = await code(coder, plain)
      t.equal(problemOf(coded), undefined, 'it passes the gate')
      t.ok(plain.equals(await reader.read(coded)), `${plain.length} bytes`)
    }
    coder.close()
    reader.close()
  }
})

t.test('long output holds no more memory than short output', async (t) => {
  const coder = open()
  const reader = createThreadReader()
  t.teardown(() => {
    coder.close()
    reader.close()
  })
  let before = 0
  for (let piece = 0; piece < 1_500; piece++) {
    if (piece === 300) before = process.memoryUsage().rss
    const plain = randomBytes(CHUNK_BYTES)
    if (!plain.equals(await reader.read(await code(coder, plain)))) t.fail(`piece ${piece}`)
  }
  const grown = process.memoryUsage().rss - before
  t.ok(grown < 40_000_000, `${grown} bytes for 79 MB`)
})

t.test('what is read for ever is ended, and this thread goes on meanwhile', async (t) => {
  const reader = createThreadReader(1_000)
  t.teardown(reader.close)
  // As the piece of an output: a head with a window, and a block that is not the last.
  const block = endless().subarray(9)
  block[0] = (block[0] ?? 0) & 0xfe
  const piece = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x30, ...block)
  t.equal(createPieceCheck()(piece), undefined, 'no head tells it')
  let turns = 0
  const turning = setInterval(() => turns++, 10)
  await t.rejects(reader.read(piece), /not read within 1000 ms/)
  clearInterval(turning)
  t.ok(turns > 20, `${turns} turns`)
  await t.rejects(reader.read(piece), /not read within/, 'nor is it asked again')
})

t.test('what is no sound piece, or holds more than one may, is refused', async (t) => {
  const refused = async (piece: Uint8Array, why: RegExp) => {
    const reader = createThreadReader()
    await t.rejects(reader.read(piece), { message: why })
    reader.close()
  }
  // Two repeated bytes of 64 KiB each.
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]
  await refused(Uint8Array.of(...head, 2, 0, 8, 65, 2, 0, 8, 65), /more than a chunk/)
  await refused(Buffer.from('this is no Zstandard frame at all'), /invalid zstd data/)
})

t.test('a program that has nothing else to do ends, and one that waits for a piece does not', async (t) => {
  const path = join(import.meta.dirname, '../../../src/client/link/zstd-thread-reader.node.ts')
  const begin = `import { createThreadReader } from ${JSON.stringify(path)}; const reader = createThreadReader()\n`
  const run = (text: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', begin + text], {
      encoding: 'utf8',
      timeout: 30_000,
    })
  const coder = open()
  const hex = Buffer.from(await code(coder, Buffer.from('read'))).toString('hex')
  coder.close()
  const idle = run('')
  t.strictSame([idle.status, idle.stdout, idle.stderr], [0, '', ''])
  const busy = run(
    `reader.read(Buffer.from('${hex}', 'hex')).then((plain) => console.log(String(Buffer.from(plain))))`,
  )
  t.strictSame([busy.status, busy.stdout, busy.stderr], [0, 'read\n', ''])
})
