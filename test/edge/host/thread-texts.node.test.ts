/**
 * The packed texts of threads: none where the sources run, and the very program where the bundler has put them in.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import t from 'tap'
import { threadTexts } from '../../../src/edge/host/thread-texts.node.ts'
import { runProgram } from '../../integration/daemon.node.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'src/edge/host/thread-texts.node.ts')

t.test('where the sources run each thread has its file, and no text', async (t) => {
  t.equal(threadTexts(), undefined)
  for (const file of ['namespaces/keeper-thread.node.ts', 'branch/threads/branch-thread.node.ts'])
    t.ok(existsSync(join(ROOT, 'src/sandbox', file)), file)
})

t.test(
  'what was packed at the build is unpacked when it is asked for, whole and as often as it is',
  async (t) => {
    const text = 'postMessage("grüße")\n'.repeat(2_000)
    const texts = { keeper: text, branch: `${text}//`, relay: '' }
    const packed = brotliCompressSync(JSON.stringify(texts)).toString('base64')
    // As the bundler does: the names stand for the packed text when the module is read.
    const code = `globalThis.PACKED_THREADS = ${JSON.stringify(packed)}
const { threadTexts } = await import(${JSON.stringify(FILE)})
const { keeper, branch, relay } = threadTexts()
process.stdout.write(JSON.stringify([keeper(), keeper() === keeper(), branch(), relay()]))`
    const {
      code: status,
      stdout,
      stderr,
    } = await runProgram(process.execPath, ['--input-type=module', '-e', code])
    t.equal(status, 0, stderr)
    t.strictSame(JSON.parse(stdout.toString()), [text, true, texts.branch, ''])
  },
)
