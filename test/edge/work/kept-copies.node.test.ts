import { createHash } from 'node:crypto'
import { linkSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKeptCopies } from '../../../src/edge/work/kept-copies.node.ts'

const BYTES = Buffer.from('what was sent')

t.test('a copy is private, digested, and read from any place of it', async (t) => {
  const directory = join(t.testdir({}), 'handoffs/files')
  const copies = createKeptCopies(directory)
  const writer = copies.create('a-0')
  await writer.write(BYTES.subarray(0, 5))
  await writer.write(BYTES.subarray(5))
  t.equal(await writer.finish(), createHash('sha256').update(BYTES).digest('hex'))
  writer.close()
  t.equal(statSync(join(directory, 'a-0')).mode & 0o777, 0o600)
  t.equal(statSync(directory).mode & 0o777, 0o700)
  const prefix = createHash('sha256').update(BYTES.subarray(0, 5)).digest()
  const reader = await copies.open('a-0', 5, prefix)
  t.match(reader, { kind: 'file', size: BYTES.length, offset: 5 })
  const target = Buffer.alloc(BYTES.length)
  t.equal(await reader.read(target), BYTES.length - 5)
  t.ok(target.subarray(0, BYTES.length - 5).equals(BYTES.subarray(5)))
  t.ok(Buffer.from(await reader.finish()).equals(createHash('sha256').update(BYTES).digest()))
  reader.close()
  t.throws(() => copies.create('a-0'), { code: 'STATE_UNWRITABLE' }, 'nothing is written over')
  await t.rejects(copies.open('a-1', 0, undefined), { code: 'FILE_IO' })
})

t.test('what is removed is gone, what is erased is zeros, and no link is followed', async (t) => {
  const directory = t.testdir({ a: 'secret', b: 'left', c: 'kept' })
  const elsewhere = join(t.testdirName, '../elsewhere-of-copies')
  writeFileSync(elsewhere, 'not ours')
  t.teardown(() => rmSync(elsewhere))
  symlinkSync(elsewhere, join(directory, 'd'))
  linkSync(join(directory, 'a'), join(directory, 'c-too'))
  const copies = createKeptCopies(directory)
  copies.remove(['a', 'missing', 'd'], true)
  t.equal(readFileSync(join(directory, 'c-too'), 'latin1'), '\0'.repeat(6), 'it was overwritten first')
  t.equal(readFileSync(elsewhere, 'utf8'), 'not ours')
  await t.rejects(copies.open('d', 0, undefined), 'nor read through a link')
  copies.keepOnly((name) => name === 'c')
  t.strictSame(readdirSync(directory).sort(), ['c', 'd'])
  t.doesNotThrow(() => createKeptCopies(join(directory, 'never-made')).keepOnly(() => false))
})

t.test('where nothing can be written it is said, without anything being kept', async (t) => {
  const directory = t.testdir({ file: '' })
  t.throws(() => createKeptCopies(join(directory, 'file')).create('a-0'), {
    code: 'STATE_UNWRITABLE',
    message: /was not sent/,
  })
})
