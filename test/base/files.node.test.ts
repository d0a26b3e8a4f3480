import { execFileSync } from 'node:child_process'
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  createFile,
  errnoOf,
  errnoText,
  makeDirectories,
  makePrivateDirectory,
  readBounded,
  replaceFile,
  whyNotMade,
} from '../../src/base/files.node.ts'

t.test('reads a file up to its bound and refuses one byte more', async (t) => {
  const directory = t.testdir({ five: '12345', empty: '' })
  const whole = readBounded(join(directory, 'five'), 5)
  t.ok(whole.ok && whole.bytes.toString() === '12345')
  t.match(readBounded(join(directory, 'five'), 4), { ok: false, reason: 'too-large' })
  const empty = readBounded(join(directory, 'empty'), 0)
  t.ok(empty.ok && empty.bytes.length === 0)
})

t.test('refuses directories, devices and FIFOs without waiting for a writer', async (t) => {
  const directory = t.testdir({})
  execFileSync('mkfifo', [join(directory, 'fifo')])
  t.match(readBounded(join(directory, 'fifo'), 10), { ok: false, reason: 'not-a-file' })
  t.match(readBounded(directory, 10), { ok: false, reason: 'not-a-file' })
  t.match(readBounded('/dev/zero', 10), { ok: false, reason: 'not-a-file' })
  t.match(
    readBounded('/proc/self/status', 1_000_000),
    { ok: false, reason: 'too-large' },
    'longer than its size says',
  )
})

t.test('follows a link only where that is allowed', async (t) => {
  const directory = t.testdir({ file: 'x' })
  symlinkSync('file', join(directory, 'link'))
  t.equal(readBounded(join(directory, 'link'), 1).ok, true)
  t.throws(() => readBounded(join(directory, 'link'), 1, true), { code: 'ELOOP' })
})

t.test('creates a file whole with its mode and never replaces one, nor what a link points to', async (t) => {
  const directory = t.testdir({ there: 'old' })
  const path = join(directory, 'new')
  createFile(path, Buffer.from('data'), 0o600)
  t.equal(readFileSync(path, 'utf8'), 'data')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.throws(() => createFile(join(directory, 'there'), Buffer.from('x'), 0o600), { code: 'EEXIST' })
  t.equal(readFileSync(join(directory, 'there'), 'utf8'), 'old')
  symlinkSync('nowhere', join(directory, 'dangling'))
  t.throws(() => createFile(join(directory, 'dangling'), Buffer.from('x'), 0o600), { code: 'EEXIST' })
  t.same(readdirSync(directory).sort(), ['dangling', 'new', 'there'], 'no temporary file is left')
})

t.test('replaces a file whole and leaves nothing behind where it cannot', async (t) => {
  const directory = t.testdir({ file: 'old', target: 'kept' })
  replaceFile(join(directory, 'file'), Buffer.from('new'), 0o640)
  t.equal(readFileSync(join(directory, 'file'), 'utf8'), 'new')
  t.equal(statSync(join(directory, 'file')).mode & 0o777, 0o640)
  symlinkSync('target', join(directory, 'link'))
  replaceFile(join(directory, 'link'), Buffer.from('new'), 0o600)
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), 'kept', 'a link itself is replaced')
  t.ok(lstatSync(join(directory, 'link')).isFile())
  mkdirSync(join(directory, 'full'))
  writeFileSync(join(directory, 'full', 'x'), '')
  t.throws(() => replaceFile(join(directory, 'full'), Buffer.from('x'), 0o600), { code: 'EISDIR' })
  t.same(readdirSync(directory).sort(), ['file', 'full', 'link', 'target'])
})

t.test('keeps the owner of a replaced file where asked to', async (t) => {
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root can give files away')
  const directory = t.testdir({ file: 'old' })
  chownSync(join(directory, 'file'), 65_534, 65_534)
  replaceFile(join(directory, 'file'), Buffer.from('new'), 0o600, { uid: 65_534, gid: 65_534 })
  t.match(statSync(join(directory, 'file')), { uid: 65_534, gid: 65_534 })
})

t.test('tells system errors from others and says what they mean', async (t) => {
  try {
    readBounded('/dev/null/x', 1)
    t.fail('must throw')
  } catch (error) {
    t.equal(errnoOf(error), 'ENOTDIR')
    t.equal(errnoText(errnoOf(error)), 'a part of its path is not a directory')
  }
  t.equal(errnoOf(new Error('x')), undefined)
  t.equal(errnoOf('ENOENT'), undefined)
  t.equal(errnoText('ESTALE'), 'the system says ESTALE')
})

t.test('directories are made one by one, and the error says where that ends', (t) => {
  const directory = t.testdir({ file: '', there: {} })
  const at = (path: string) => join(directory, path)
  t.equal(makeDirectories(at('there')), undefined)
  t.equal(makeDirectories(at('there/a/b/c'), 0o700), at('there/a'))
  for (const path of ['there/a', 'there/a/b/c']) t.equal(statSync(at(path)).mode & 0o777, 0o700, path)
  const why = (path: string) => {
    try {
      makeDirectories(path)
    } catch (error) {
      return whyNotMade(error, path)
    }
    return 'made'
  }
  t.equal(why(at('file')), 'a file is there already')
  t.equal(why(at('file/below')), 'a part of its path is not a directory')
  symlinkSync('nowhere', at('dangling'))
  t.equal(why(at('dangling/below')), 'it exists already')
  // The system says ENOENT there, though the parent is there.
  for (const path of ['/proc/x', '/proc/x/y']) t.equal(why(path), 'nothing can be made in /proc')
  try {
    writeFileSync(at('none/file'), '')
  } catch (error) {
    t.equal(whyNotMade(error, at('none/file')), `${at('none')} does not exist`)
  }
  t.end()
})

t.test('what root makes in a directory of somebody else is for that one', (t) => {
  if (process.geteuid?.() !== 0) {
    t.comment('skipped: this is about root')
    t.end()
    return
  }
  const directory = t.testdir({ theirs: {}, ours: {} })
  const [theirs, ours] = [join(directory, 'theirs'), join(directory, 'ours')]
  chownSync(theirs, 1_234, 2_345)
  for (const [place, uid, gid] of [
    [theirs, 1_234, 2_345],
    [ours, 0, 0],
  ] as const) {
    createFile(join(place, 'made'), new Uint8Array(1), 0o600)
    replaceFile(join(place, 'replaced'), new Uint8Array(1), 0o600)
    makePrivateDirectory(join(place, 'a/b'))
    for (const name of ['made', 'replaced', 'a', 'a/b'])
      t.match(statSync(join(place, name)), { uid, gid }, `${name} in ${place}`)
    replaceFile(join(place, 'given'), new Uint8Array(1), 0o600, { uid: 3_456, gid: 4_567 })
    t.match(statSync(join(place, 'given')), { uid: 3_456, gid: 4_567 })
  }
  makePrivateDirectory(theirs)
  t.match(statSync(theirs), { uid: 1_234 }, 'one that is there stays as it is')
  t.end()
})
