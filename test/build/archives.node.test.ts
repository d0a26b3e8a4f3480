/**
 * What our own writers make is what tar and dpkg read.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ar, type Entry, readTar, tar } from '../../build/archives.ts'

const SECONDS = 1_767_225_600
const file = (path: string, text: string, mode = 0o644): Entry => ({
  kind: 'file',
  path,
  mode,
  bytes: Buffer.from(text),
})
const entries = [file('b/two', 'x'.repeat(513)), file('a', ''), file('b/one', 'first\n', 0o755)]

t.test('tar lists each directory once, before its files, of root and of one time', (t) => {
  const path = join(t.testdir(), 'a.tar')
  writeFileSync(path, tar(entries, './', SECONDS))
  const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
  const listed = execFileSync('tar', ['-tvf', path, '--numeric-owner', '--full-time'], {
    encoding: 'utf8',
    env,
  })
  const rows = listed.split('\n').filter(Boolean)
  t.strictSame(
    rows.map((row) => row.replace(/\s+/g, ' ')),
    [
      '-rw-r--r-- 0/0 0 2026-01-01 00:00:00 ./a',
      'drwxr-xr-x 0/0 0 2026-01-01 00:00:00 ./b/',
      '-rwxr-xr-x 0/0 6 2026-01-01 00:00:00 ./b/one',
      '-rw-r--r-- 0/0 513 2026-01-01 00:00:00 ./b/two',
    ],
  )
  t.equal(execFileSync('tar', ['-xOf', path, './b/two'], { encoding: 'utf8' }), 'x'.repeat(513))
  t.end()
})

t.test('our reader takes what tar writes, and no entry that is longer than the file', (t) => {
  const directory = t.testdir({ d: { one: '1', two: 'x'.repeat(2_000) } })
  const archive = execFileSync('tar', ['-c', '--format=ustar', '-C', directory, 'd'])
  const files = readTar(archive)
  t.equal(Buffer.from(files.get('d/two') ?? []).toString(), 'x'.repeat(2_000))
  t.strictSame([...files.keys()].sort(), ['d/one', 'd/two'])
  t.throws(() => readTar(archive.subarray(0, 2_560)), /longer than the file/)
  t.end()
})

t.test('the order in which entries are given does not matter, names that not every tar reads do', (t) => {
  t.same(tar(entries, '', SECONDS), tar([...entries].reverse(), '', SECONDS))
  t.throws(() => tar([file('x'.repeat(101), '')], '', 0), /no name that every tar can read/)
  t.throws(() => tar([file('two words', '')], '', 0), /no name/)
  t.throws(() => ar([{ name: 'a-name-of-sixteen', bytes: new Uint8Array(1) }], 0), /does not fit/)
  t.end()
})

t.test('ar reads its own form, odd lengths too', (t) => {
  if (spawnSync('ar', ['--version']).error !== undefined) {
    t.pass('no ar is here to read it', { skip: true })
    t.end()
    return
  }
  const path = join(t.testdir(), 'a.ar')
  const members = [
    { name: 'odd', bytes: Buffer.from('123') },
    { name: 'even', bytes: Buffer.from('1234') },
  ]
  writeFileSync(path, ar(members, SECONDS))
  t.equal(execFileSync('ar', ['t', path], { encoding: 'utf8' }), 'odd\neven\n')
  t.equal(execFileSync('ar', ['p', path, 'even'], { encoding: 'utf8' }), '1234')
  t.end()
})
