/**
 * The log in a file of its own: never larger than it may be, rotated by us or by somebody else, and never what
 * somebody else has put there.
 * @module
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openLogFile } from '../../../src/edge/host/log-file.node.ts'
import { temporary } from '../../integration/daemon.node.ts'

const LINE = `${'x'.repeat(99)}\n`

function open(t: Test, change: { path?: string; maxBytes?: number; keep?: number } = {}) {
  const path = change.path ?? join(temporary(t), 'log')
  const file = openLogFile({ path, maxBytes: 1_000, keep: 3, ...change })
  t.teardown(() => file.close())
  return { path, file }
}

t.test('it is made with its directory, for us and our group, and goes on where it ended', (t) => {
  const mask = process.umask(0o022)
  t.teardown(() => process.umask(mask))
  const path = join(temporary(t), 'a/log')
  const first = openLogFile({ path, maxBytes: 1_000, keep: 1 })
  t.equal(first.write('one\n'), true)
  first.close()
  t.equal(statSync(path).mode & 0o777, 0o640)
  const { file } = open(t, { path })
  file.write('two\n')
  t.equal(readFileSync(path, 'utf8'), 'one\ntwo\n')
  t.end()
})

t.test('no file is larger than it may be, the oldest goes, and no line is cut or lost before', (t) => {
  const { path, file } = open(t)
  for (let number = 0; number < 100; number++) t.equal(file.write(`${String(number).padStart(99)}\n`), true)
  const directory = join(path, '..')
  t.strictSame(readdirSync(directory).sort(), ['log', 'log.1', 'log.2', 'log.3'])
  const kept = ['log.3', 'log.2', 'log.1', 'log'].map((name) => readFileSync(join(directory, name), 'utf8'))
  for (const text of kept) t.ok(text.length <= 1_000)
  const numbers = kept.join('').trimEnd().split('\n').map(Number)
  t.strictSame(
    numbers,
    Array.from({ length: 40 }, (_, index) => 60 + index),
  )
  t.end()
})

t.test('a line that is longer than a file alone may be still goes into one', (t) => {
  const { path, file } = open(t)
  t.equal(file.write(`${'y'.repeat(5_000)}\n`), true)
  t.equal(file.write(LINE), true)
  t.equal(statSync(`${path}.1`).size, 5_001)
  t.equal(statSync(path).size, 100)
  t.end()
})

t.test('whoever rotates it by its name gets a new file at the next reload', (t) => {
  const { path, file } = open(t)
  file.write('old\n')
  renameSync(path, `${path}-20270101`)
  file.write('still old\n')
  t.equal(existsSync(path), false)
  t.equal(file.reopen(), undefined)
  file.write('new\n')
  t.equal(readFileSync(path, 'utf8'), 'new\n')
  t.equal(readFileSync(`${path}-20270101`, 'utf8'), 'old\nstill old\n')
  t.end()
})

t.test('what somebody put in its place meanwhile is not renamed', (t) => {
  const { path, file } = open(t)
  for (let count = 0; count < 9; count++) file.write(LINE)
  renameSync(path, `${path}-old`)
  writeFileSync(path, 'a new one\n', { mode: 0o640 })
  for (let count = 0; count < 3; count++) t.equal(file.write(LINE), true)
  t.equal(existsSync(`${path}.1`), false)
  t.match(readFileSync(path, 'utf8'), /^a new one\nx/)
  t.end()
})

t.test('a place that somebody else could have chosen is refused, at the start and later', (t) => {
  const directory = temporary(t)
  const victim = join(directory, 'victim')
  writeFileSync(victim, 'precious\n')
  const places: readonly [string, (path: string) => void, RegExp][] = [
    ['link', (path) => symlinkSync(victim, path), /cannot be opened, since it is a symbolic link/],
    ['dangling', (path) => symlinkSync('/nowhere', path), /it is a symbolic link/],
    ['hard', (path) => linkSync(victim, path), /has another name as well/],
    ['directory', (path) => mkdirSync(path), /it is a directory/],
    ['fifo', (path) => spawnSync('mkfifo', [path]), /cannot be opened|is no plain file/],
    [
      'shared',
      (path) => {
        writeFileSync(path, '')
        chmodSync(path, 0o666)
      },
      /can be written by others: run chmod 640/,
    ],
  ]
  for (const [name, make, said] of places) {
    const path = join(directory, name)
    make(path)
    t.throws(() => openLogFile({ path, maxBytes: 1_000, keep: 1 }), {
      code: 'STATE_UNWRITABLE',
      message: said,
    })
    const later = join(directory, `${name}-later`)
    const file = openLogFile({ path: later, maxBytes: 1_000, keep: 1 })
    file.write('before\n')
    renameSync(later, `${later}.old`)
    make(later)
    t.match(file.reopen(), said, name)
    t.equal(file.write('after\n'), true, 'it goes on in the file that it has')
    t.equal(readFileSync(`${later}.old`, 'utf8'), 'before\nafter\n')
    file.close()
  }
  t.equal(readFileSync(victim, 'utf8'), 'precious\n')
  t.end()
})

t.test('a full disk takes whole lines or none, and is written to again when there is room', async (t) => {
  const directory = temporary(t)
  const place = join(directory, 'small')
  mkdirSync(place)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place])
  if (mounted.status !== 0) return void t.comment('skipped: nothing can be mounted here')
  t.teardown(() => spawnSync('umount', ['-l', place]))
  const { path, file } = open(t, { path: join(place, 'log'), maxBytes: 1_000_000 })
  let taken = 0
  // Lines that end nowhere near the end of a page.
  while (file.write(`${'z'.repeat(776)}\n`)) taken++
  t.ok(taken > 50)
  t.equal(file.write('one more, which is too much as well\n'.repeat(40)), false)
  t.equal(statSync(path).size % 777, 0, 'no line is cut')
  spawnSync('mount', ['-o', 'remount,size=256k', place])
  t.equal(file.write('there is room\n'), true)
  t.match(readFileSync(path, 'utf8'), /z\nthere is room\n$/)
})

t.test('where nothing can be renamed the file still stays as small as it may be', (t) => {
  const { path, file } = open(t)
  // In the way of every rename.
  mkdirSync(`${path}.1`)
  writeFileSync(join(`${path}.1`, 'x'), '')
  t.teardown(() => rmSync(`${path}.1`, { recursive: true, force: true }))
  let taken = 0
  for (let count = 0; count < 50; count++) if (file.write(LINE)) taken++
  t.ok(statSync(path).size <= 1_000)
  t.equal(taken, 10)
  t.ok(statSync(`${path}.1`).isDirectory())
  t.end()
})
