/**
 * The packed texts of threads: none where the sources run, and the very program where the bundler has put them in.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import t from 'tap'
import { branchText, keeperText } from '../../../src/edge/host/thread-texts.node.ts'
import { runProgram } from '../../integration/daemon.node.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'src/edge/host/thread-texts.node.ts')

t.test('where the sources run each thread has its file, and no text', async (t) => {
  t.equal(keeperText(), undefined)
  t.equal(branchText(), undefined)
  for (const file of ['namespaces/keeper-thread.node.ts', 'branch/threads/branch-thread.node.ts'])
    t.ok(existsSync(join(ROOT, 'src/sandbox', file)), file)
})

t.test(
  'what was packed at the build is unpacked when it is asked for, whole and as often as it is',
  async (t) => {
    const text = 'postMessage("grüße")\n'.repeat(2_000)
    const packed = brotliCompressSync(text).toString('base64')
    // As the bundler does: the names stand for the packed text when the module is read.
    const code = `globalThis.KEEPER_SOURCE = ${JSON.stringify(packed)}
const { branchText, keeperText } = await import(${JSON.stringify(FILE)})
const unpack = keeperText()
process.stdout.write(JSON.stringify([unpack(), unpack() === unpack(), branchText() === undefined]))`
    const {
      code: status,
      stdout,
      stderr,
    } = await runProgram(process.execPath, ['--input-type=module', '-e', code])
    t.equal(status, 0, stderr)
    t.strictSame(JSON.parse(stdout.toString()), [text, true, true])
  },
)
