/**
 * The record of what a branch could not see.
 * @module
 */
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readUnseen, rememberUnseen, unseenPaths } from '../../../../src/sandbox/branch/survey/unseen.node.ts'
import { UNSEEN_PLACES_MAX } from '../../../../src/sandbox/limits.ts'

t.test('what was hidden from any session is kept, and nothing is forgotten', async (t) => {
  const directory = t.testdir()
  t.strictSame(readUnseen(directory), [])
  rememberUnseen(directory, [])
  t.notOk(existsSync(join(directory, 'unseen.json')), 'nothing is written for nothing')
  rememberUnseen(directory, ['/etc/shadow', '/etc/ä'])
  rememberUnseen(directory, ['/etc/shadow', '/etc/x.key'])
  t.strictSame(readUnseen(directory), ['/etc/shadow', '/etc/ä', '/etc/x.key'])
  t.equal(unseenPaths(directory)[1], '/etc/\xc3\xa4', 'as bytes')
  t.equal(statSync(join(directory, 'unseen.json')).mode & 0o777, 0o600)
  const before = statSync(join(directory, 'unseen.json')).ino
  rememberUnseen(directory, ['/etc/x.key'])
  t.equal(statSync(join(directory, 'unseen.json')).ino, before, 'and not written again for the same')
})

t.test('a path that is no text is kept as its bytes', async (t) => {
  const directory = t.testdir()
  const path = '/etc/d\udcff/ä.key'
  rememberUnseen(directory, [path, '/etc/shadow'])
  rememberUnseen(directory, [path])
  t.strictSame(readUnseen(directory), [path, '/etc/shadow'])
  t.strictSame(unseenPaths(directory), ['/etc/d\xff/\xc3\xa4.key', '/etc/shadow'])
})

t.test('a record that cannot be understood is no empty one', async (t) => {
  const directory = t.testdir()
  for (const text of ['', '{}', '[1]', '["etc"]', '[{}]', '[{"bytes":1}]', '[{"bytes":"etc"}]', '["/a"']) {
    writeFileSync(join(directory, 'unseen.json'), text)
    t.throws(() => readUnseen(directory), { code: 'FILE_IO' }, text)
    t.throws(() => rememberUnseen(directory, ['/b']), { code: 'FILE_IO' })
  }
})

t.test('it has a bound, beyond which nobody is let in', async (t) => {
  const directory = t.testdir()
  const many = Array.from({ length: UNSEEN_PLACES_MAX }, (_, at) => `/etc/${at}`)
  rememberUnseen(directory, many)
  rememberUnseen(directory, many)
  t.throws(() => rememberUnseen(directory, ['/etc/more']), { code: 'SANDBOX_UNAVAILABLE' })
  t.equal(readUnseen(directory).length, UNSEEN_PLACES_MAX)
})
