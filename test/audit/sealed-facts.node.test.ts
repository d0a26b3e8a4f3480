/**
 * Sealed facts on real files: readable with the key of their session alone, never by halves, and never behind a hole.
 * What is sealed with the C library's cipher is opened with another implementation.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { factsPairs, pairPaths, readFacts } from '../../src/audit/facts-files.node.ts'
import { openSealedFacts } from '../../src/audit/sealed-facts.node.ts'

const [ONE, TWO] = ['ab'.repeat(16), 'cd'.repeat(16)]

const open = (directory: string, segmentBytes = 1e9) =>
  openSealedFacts({ directory, nextSequence: () => 7, segmentBytes })
const contents = (directory: string) =>
  [...readFacts(directory)].map(({ content }) =>
    typeof content === 'string' ? content : JSON.parse(Buffer.from(content).toString('utf8')),
  )

t.test('what is sealed is opened again, in order, and named by its digest', async (t) => {
  const directory = t.testdir()
  const facts = open(directory)
  const digests = [
    facts.seal(ONE, { a: 1 }),
    facts.seal(undefined, { b: 'ü\n"' }),
    facts.seal(TWO, { c: [null] }),
    facts.seal(ONE, { a: 2 }),
  ]
  facts.close()
  t.same(contents(directory), [{ a: 1 }, { b: 'ü\n"' }, { c: [null] }, { a: 2 }])
  const frames = [...readFacts(directory)]
  t.same(
    frames.map(({ digest }) => digest),
    digests,
  )
  for (const { body, digest } of frames) t.equal(createHash('sha256').update(body).digest('hex'), digest)
  const paths = pairPaths(directory, 7)
  t.equal(statSync(paths.frames).mode & 0o777, 0o600)
  t.equal(statSync(paths.keys).size, 3 * 64, 'a key for each session, and one for nobody’s')
  t.notMatch(readFileSync(paths.frames, 'latin1'), /"a"/)
  t.not(frames[0]?.digest, frames[3]?.digest, 'nothing is sealed twice alike')
})

t.test('what is erased is a session’s, and never what stands for nobody’s', async (t) => {
  const directory = t.testdir()
  const facts = open(directory)
  for (const session of [ONE, undefined]) facts.seal(session, { of: session ?? null })
  t.equal(facts.purge(ONE), 1)
  t.equal(facts.purge('0'.repeat(32)), 0)
  facts.close()
  t.same(contents(directory), ['purged', { of: null }])
})

t.test('a pair that is large enough, and each start, begins another', async (t) => {
  const directory = t.testdir()
  const facts = open(directory, 300)
  for (let index = 0; index < 9; index++) facts.seal(ONE, { index, text: 'x'.repeat(60) })
  facts.close()
  const before = factsPairs(directory).length
  t.ok(before > 2, `${before}`)
  const again = open(directory)
  again.seal(ONE, { index: 9 })
  again.close()
  t.equal(factsPairs(directory).length, before + 1)
  t.same(
    contents(directory).map(({ index }) => index),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
})

t.test('what is sealed while it is read is read as well', async (t) => {
  const directory = t.testdir()
  const facts = open(directory, 200)
  facts.seal(ONE, { index: 0 })
  const reading = readFacts(directory)
  const read = [reading.next().value]
  for (let index = 1; index < 9; index++) facts.seal(index % 2 === 0 ? ONE : TWO, { index })
  read.push(...reading)
  facts.close()
  t.ok(factsPairs(directory).length > 2)
  t.strictSame(
    read.map((frame) =>
      frame?.content instanceof Uint8Array ? Buffer.from(frame.content).toString() : frame,
    ),
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => JSON.stringify({ index })),
  )
})

t.test('a crash between the two files of a pair keeps nothing from being read or erased', async (t) => {
  const directory = t.testdir()
  writeFileSync(pairPaths(directory, 3).frames, '')
  const facts = open(directory)
  facts.seal(ONE, { index: 0 })
  facts.seal(TWO, { index: 1 })
  t.equal(facts.purge(ONE), 1)
  facts.close()
  t.same(contents(directory), ['purged', { index: 1 }])
})

t.test('a torn end is left out, and hides nothing', async (t) => {
  const directory = t.testdir()
  const facts = open(directory)
  for (let index = 0; index < 3; index++) facts.seal(ONE, { index })
  facts.close()
  const { frames } = pairPaths(directory, 7)
  truncateSync(frames, statSync(frames).size - 5)
  t.same(contents(directory), [{ index: 0 }, { index: 1 }])
  const again = open(directory)
  again.seal(ONE, { index: 3 })
  again.close()
  t.same(contents(directory), [{ index: 0 }, { index: 1 }, { index: 3 }])
})

t.test('on a full disk a frame is there whole or not at all, and with room it goes on', async (t) => {
  const directory = join(t.testdir(), 'small')
  mkdirSync(directory)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    t.comment('skipped: a small file system cannot be mounted here')
    return
  }
  try {
    const facts = open(directory)
    const kept: number[] = []
    const full = {
      code: 'STATE_UNWRITABLE',
      message: /since the disk is full, so nothing was done; make room/,
    }
    const seal = (index: number) => {
      facts.seal(ONE, { index, text: 'y'.repeat(700) })
      kept.push(index)
    }
    t.throws(() => {
      for (let index = 0; index < 100; index++) seal(index)
    }, full)
    t.throws(() => seal(100), full)
    execFileSync('mount', ['-o', 'remount,size=64k', directory])
    for (let index = 200; index < 203; index++) seal(index)
    facts.close()
    t.ok(kept.length > 10, `${kept.length}`)
    t.same(
      contents(directory).map(({ index }) => index),
      kept,
    )
    t.ok(readdirSync(directory).length === 2)
  } finally {
    execFileSync('umount', ['-l', directory])
  }
})
