/** Bytes of a remote program on their way to whoever reads them: a real pipe, fast, full, and without a reader. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSink } from '../../../src/cli/common/stdio.node.ts'
import { until } from '../../integration/daemon.node.ts'

const CHUNK_BYTES = 65_536
const CHUNKS = 40

/** Both ends of one; the writing one waits, as a shell makes it. */
function namedPipe(t: Test): { readonly reader: number; readonly writer: number } {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-sink-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader, writer: openSync(path, constants.O_WRONLY) }
}

const isWaiting = (descriptor: number): boolean => {
  const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1]
  return (Number.parseInt(flags ?? '', 8) & constants.O_NONBLOCK) === 0
}

function readSome(descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EAGAIN') throw cause
    return 0
  }
}

t.test('a full pipe keeps nobody waiting, and what is behind it comes in order', async (t) => {
  const { reader, writer } = namedPipe(t)
  const sink = createSink(writer, () => t.fail('nothing is broken'))
  const chunks = Array.from({ length: CHUNKS }, (_, index) => Buffer.alloc(CHUNK_BYTES, index + 1))
  let written = 0
  for (const chunk of chunks) {
    const copy = Buffer.from(chunk)
    void sink.write(copy).then(() => written++)
    // It is lent.
    copy.fill(0)
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.ok(written < CHUNKS, `${written} are written where nobody reads`)
  t.ok(isWaiting(writer), 'the description that was given is as it was')
  const parts: Buffer[] = []
  const into = Buffer.alloc(10_000)
  let bytes = 0
  await until('all of it', () => {
    for (let some = readSome(reader, into); some > 0; some = readSome(reader, into)) {
      parts.push(Buffer.from(into.subarray(0, some)))
      bytes += some
    }
    return bytes === CHUNKS * CHUNK_BYTES
  })
  await sink.flushed()
  t.equal(written, CHUNKS)
  t.ok(Buffer.concat(parts).equals(Buffer.concat(chunks)))
  closeSync(reader)
  closeSync(writer)
})

t.test('a reader that goes is told once, whether the pipe is full or not', async (t) => {
  for (const count of [1, 4]) {
    const { reader, writer } = namedPipe(t)
    const told: (string | undefined)[] = []
    const sink = createSink(writer, ({ code }) => told.push(code))
    const chunk = Buffer.alloc(CHUNK_BYTES, 'x')
    for (let index = 0; index < count; index++) void sink.write(chunk)
    closeSync(reader)
    await sink.write(chunk)
    await sink.flushed()
    t.strictSame(told, ['EPIPE'])
    t.ok(sink.isBroken)
    await sink.write(chunk)
    t.strictSame(told, ['EPIPE'])
    closeSync(writer)
  }
})
