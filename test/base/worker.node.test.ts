import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { startThread, type ThreadOptions } from '../../src/base/worker.node.ts'

const LIMITS = { young: 4, old: 32, stack: 1 }
const TELLING = `
const { parentPort, resourceLimits, workerData } = require('node:worker_threads')
parentPort.postMessage({ env: process.env, argv: process.execArgv, resourceLimits, workerData })`

async function heard(options: Partial<ThreadOptions>): Promise<Record<string, unknown>> {
  const thread = startThread({
    name: 'test',
    file: () => new URL('file:///nowhere'),
    text: undefined,
    limits: LIMITS,
    ...options,
  })
  const [message] = await once(thread, 'message')
  await thread.terminate()
  return message
}

t.test('a thread from text has its data and its bounds, and nothing of this process', async (t) => {
  process.env['SASS_EDGE_TEST_SECRET'] = 'not to be seen'
  t.teardown(() => delete process.env['SASS_EDGE_TEST_SECRET'])
  const { env, argv, resourceLimits, workerData } = await heard({
    text: () => TELLING,
    workerData: { answer: 42 },
  })
  t.strictSame([env, argv, workerData], [{}, ['--no-warnings'], { answer: 42 }])
  t.match(resourceLimits, { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 32, stackSizeMb: 1 })
})

t.test('from its file it has more memory, since its types are stripped there', async (t) => {
  const path = join(t.testdir(), 'thread.cts')
  writeFileSync(path, `const typed: number = 1\n${TELLING}`)
  const { env, resourceLimits } = await heard({ file: () => pathToFileURL(path) })
  t.strictSame(env, {})
  t.match(resourceLimits, { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: 96, stackSizeMb: 4 })
})

t.test('one that takes more than its heap ends alone', async (t) => {
  const text = () => `const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()))`
  const thread = startThread({ name: 'test', file: () => new URL('file:///nowhere'), text, limits: LIMITS })
  const [error] = (await once(thread, 'error')) as [NodeJS.ErrnoException]
  t.equal(error.code, 'ERR_WORKER_OUT_OF_MEMORY')
})
