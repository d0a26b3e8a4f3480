import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCbor } from '../../../src/base/encoding/cbor.ts'
import { SassError } from '../../../src/errors.ts'
import type { FileWork, ReceivePlan } from '../../../src/ports.ts'
import { createFileWork } from '../../../src/sandbox/files/file-work.node.ts'
import { isPartialName, partialName } from '../../../src/sandbox/files/partial-name.ts'
import { type StagedView, stageView } from './view.node.ts'

const KEY = 'ab'.repeat(16)
const work: FileWork = createFileWork()

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function planOf(real: string, bytes: Uint8Array, change: Partial<ReceivePlan> = {}): ReceivePlan {
  return { real, size: bytes.length, mode: 0o640, sha256: digest(bytes), offset: 0, key: KEY, ...change }
}

async function put(staged: StagedView, real: string, bytes: Uint8Array, change: Partial<ReceivePlan> = {}) {
  const receiver = await work.receive(staged.view, planOf(real, bytes, change))
  try {
    for (let at = receiver.offset; at < bytes.length; at += 65_536)
      await receiver.write(bytes.slice(at, at + 65_536))
    return await receiver.finish(staged.view)
  } finally {
    await receiver.stop(true)
  }
}

async function refused(t: Test, what: Promise<unknown>, code: string, says: string) {
  const error = await what.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  t.ok(error instanceof SassError, says)
  t.equal(error instanceof SassError ? error.code : error, code, says)
}

function names(directory: string): string[] {
  return readdirSync(directory).sort()
}

t.test('a file is in its place with its mode, and nothing is left beside it', async (t) => {
  const staged = stageView(t)
  const bytes = randomBytes(200_000)
  const sha256 = await put(staged, '/work/f', bytes)
  t.equal(Buffer.from(sha256).toString('hex'), digest(bytes))
  t.ok(readFileSync(join(staged.work, 'f')).equals(bytes))
  t.equal(statSync(join(staged.work, 'f')).mode & 0o7777, 0o640)
  t.strictSame(names(staged.work), ['f'])
})

t.test('hidden names are ours alone where they have our form', (t) => {
  t.ok(isPartialName(partialName(KEY)))
  for (const name of [
    '.sass-edge-.part',
    '.sass-edge-zz.part',
    'a.part',
    `${partialName(KEY)}x`,
    '.sass-edge-',
  ])
    t.notOk(isPartialName(name), name)
  t.end()
})

t.test('empty, sparse and zero-ended files arrive as they are', async (t) => {
  const staged = stageView(t)
  await put(staged, '/work/empty', new Uint8Array(0))
  t.equal(statSync(join(staged.work, 'empty')).size, 0)
  const sparse = Buffer.alloc(4_194_304)
  sparse.write('middle', 2_000_000)
  await put(staged, '/work/sparse', sparse)
  const stats = statSync(join(staged.work, 'sparse'))
  t.ok(readFileSync(join(staged.work, 'sparse')).equals(sparse))
  t.ok(stats.blocks * 512 < 1_000_000, `${stats.blocks} blocks`)
})

t.test('bits that give rights of another user are never set', async (t) => {
  const staged = stageView(t)
  await put(staged, '/work/f', Buffer.from('x'), { mode: 0o7755 })
  t.equal(statSync(join(staged.work, 'f')).mode & 0o7777, 0o755)
  chmodSync(join(staged.work, 'f'), 0o600)
  await put(staged, '/work/f', Buffer.from('y'), { mode: undefined })
  t.equal(statSync(join(staged.work, 'f')).mode & 0o7777, 0o600, 'without a mode: that of the file before')
})

t.test('what was cut off is gone on with, after it has been digested again', async (t) => {
  const staged = stageView(t)
  const bytes = randomBytes(300_000)
  const first = await work.receive(staged.view, planOf('/work/f', bytes))
  await first.write(bytes.slice(0, 100_000))
  await first.stop(true)
  t.strictSame(names(staged.work), [partialName(KEY)])
  const second = await work.receive(staged.view, planOf('/work/f', bytes, { offset: bytes.length }))
  t.equal(second.offset, 100_000)
  t.equal(Buffer.from(second.sha256).toString('hex'), digest(bytes.subarray(0, 100_000)))
  await second.stop(true)
  await put(staged, '/work/f', bytes, { offset: 50_000 })
  t.ok(readFileSync(join(staged.work, 'f')).equals(bytes))
  t.strictSame(names(staged.work), ['f'])

  const third = await work.receive(staged.view, planOf('/work/g', bytes))
  await third.write(bytes.slice(0, 10))
  await third.stop(false)
  t.strictSame(names(staged.work), ['f'], 'whoever takes it back leaves nothing')
})

t.test('a wrong digest, too few and too many bytes never reach the place', async (t) => {
  const staged = stageView(t)
  writeFileSync(join(staged.work, 'f'), 'before')
  const bytes = randomBytes(1_000)
  await refused(
    t,
    put(staged, '/work/f', bytes, { sha256: '00'.repeat(32) }),
    'FILE_DIGEST_MISMATCH',
    'digest',
  )
  t.strictSame(names(staged.work), ['f'])
  await refused(t, put(staged, '/work/f', bytes, { size: 2_000 }), 'FILE_IO', 'too few')
  await refused(t, put(staged, '/work/f', bytes, { size: 10, key: 'cd' }), 'FILE_IO', 'too many')
  t.equal(readFileSync(join(staged.work, 'f'), 'utf8'), 'before')
})

t.test('what would be replaced must be a file, and its other names keep what they hold', async (t) => {
  const staged = stageView(t)
  const at = (name: string) => join(staged.work, name)
  mkdirSync(at('directory'))
  execFileSync('mkfifo', [at('fifo')])
  execFileSync('mknod', [at('device'), 'c', '1', '3'])
  symlinkSync('/nowhere', at('dangling'))
  for (const name of ['directory', 'fifo', 'device'])
    await refused(t, put(staged, `/work/${name}`, Buffer.from('x')), 'FILE_IO', name)
  await refused(t, put(staged, '/work/dangling', Buffer.from('x')), 'FILE_PATH_DENIED', 'dangling')
  writeFileSync(at('one'), 'shared')
  linkSync(at('one'), join(staged.outside, 'other'))
  await put(staged, '/work/one', Buffer.from('new'))
  t.equal(readFileSync(join(staged.outside, 'other'), 'utf8'), 'shared')
  t.equal(readFileSync(at('one'), 'utf8'), 'new')
})

t.test('what has filled the disk is not left on it', async (t) => {
  const staged = stageView(t)
  const small = join(staged.work, 'small')
  mkdirSync(small)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', small]).status !== 0)
    return void t.comment('skipped: nothing can be mounted here')
  try {
    const error = await put(staged, '/work/small/f', Buffer.alloc(2_000_000, 1)).catch((cause) => cause)
    t.match(error, {
      code: 'FILE_IO',
      message: /disk of the device is full, .*; make room there and send it/,
    })
    t.strictSame(names(small), [])
  } finally {
    spawnSync('umount', [small])
  }
})

t.test('what was put under the hidden name is not written through', async (t) => {
  const staged = stageView(t)
  const hidden = join(staged.work, partialName(KEY))
  const victim = join(staged.outside, 'secret')
  const bytes = Buffer.from('new')
  symlinkSync(victim, hidden)
  await put(staged, '/work/a', bytes)
  linkSync(victim, hidden)
  await put(staged, '/work/b', bytes, { offset: 3 })
  execFileSync('mkfifo', [hidden])
  await put(staged, '/work/c', bytes)
  t.equal(readFileSync(victim, 'utf8'), 'of the host')
  t.strictSame(names(staged.work), ['a', 'b', 'c'])
})

t.test('nothing is written outside of what may be (SS-20, SA-56)', async (t) => {
  const staged = stageView(t)
  symlinkSync(staged.outside, join(staged.work, 'out'))
  symlinkSync('../etc', join(staged.work, 'etc'))
  for (const real of ['/etc/f', '/work', '/', '/work/out/f', '/work/etc/f', '/proc/self/fd/3'])
    await refused(t, put(staged, real, Buffer.from('x')), 'FILE_PATH_DENIED', real)
  await refused(t, put(staged, '/work/no/f', Buffer.from('x')), 'FILE_CREATE_DIR_FAILED', 'no directory')
  await refused(t, put(staged, '/work/../../outside/f', Buffer.from('x')), 'FILE_PATH_DENIED', '..')
  t.strictSame(names(staged.outside), ['secret'])
  t.strictSame(names(join(staged.root, 'etc')), ['motd'])
})

t.test('a look says where it leads, as the session sees it (SA-56)', (t) => {
  const staged = stageView(t)
  const { view } = staged
  mkdirSync(join(staged.work, 'd'))
  symlinkSync('/etc', join(staged.work, 'etc'))
  symlinkSync('../../../../../etc/motd', join(staged.work, 'up'))
  symlinkSync('loop', join(staged.work, 'loop'))
  symlinkSync(join(staged.outside, 'secret'), join(staged.work, 'out'))
  t.strictSame(work.look(view, '/work/etc/motd'), { real: '/etc/motd', kind: 'file', size: 5 })
  t.strictSame(work.look(view, '/work/up'), { real: '/etc/motd', kind: 'file', size: 5 })
  t.match(work.look(view, '/work/d'), { real: '/work/d', kind: 'directory' })
  t.match(work.look(view, '/work/etc/new'), { real: '/etc/new', kind: 'missing' })
  t.match(work.look(view, '/work/a/b/c'), { real: '/work/a/b/c', kind: 'orphan' })
  t.match(work.look(view, '/work/loop'), { real: '/work/loop', kind: 'other' })
  t.match(work.look(view, '/work/out'), { real: '/work/out', kind: 'other' }, 'outside is nowhere')
  t.match(work.look(view, '/'), { real: '/', kind: 'directory' })
  t.end()
})

t.test('a file is read from where the other side goes on, where that is its beginning', async (t) => {
  const staged = stageView(t)
  const bytes = randomBytes(150_000)
  writeFileSync(join(staged.work, 'f'), bytes)
  const get = async (offset: number, prefix?: Uint8Array) => {
    const reader = await work.read(staged.view, '/work/f', offset, prefix, 1_000_000)
    const parts: Buffer[] = []
    for (;;) {
      const target = Buffer.alloc(65_536)
      const count = await reader.read(target)
      if (count === 0) break
      parts.push(target.subarray(0, count))
    }
    const sha256 = Buffer.from(await reader.finish()).toString('hex')
    reader.close()
    t.equal(sha256, digest(bytes))
    return { offset: reader.offset, bytes: Buffer.concat(parts) }
  }
  t.ok((await get(0)).bytes.equals(bytes))
  t.ok((await get(100_000)).bytes.equals(bytes.subarray(100_000)))
  const prefix = createHash('sha256').update(bytes.subarray(0, 100_000)).digest()
  t.equal((await get(100_000, prefix)).offset, 100_000)
  t.equal((await get(100_001, prefix)).offset, 0, 'another beginning: all of it')
  t.equal((await get(900_000, prefix)).offset, 0)
  await refused(
    t,
    work.read(staged.view, '/work/f', 150_001, undefined, 1e6),
    'FILE_SEEK_FAILED',
    'beyond the end',
  )
  await refused(t, work.read(staged.view, '/work/f', 0, undefined, 149_999), 'FILE_TOO_LARGE', 'too large')
})

t.test('what changes while it is read is said, and what is no file is not read', async (t) => {
  const staged = stageView(t)
  const path = join(staged.work, 'f')
  writeFileSync(path, randomBytes(1_000))
  const open = () => work.read(staged.view, '/work/f', 0, undefined, 1e6)
  let reader = await open()
  await reader.read(Buffer.alloc(500))
  writeFileSync(path, randomBytes(1_000))
  await reader.read(Buffer.alloc(500))
  await refused(t, reader.finish(), 'FILE_IO', 'changed')
  reader.close()
  reader = await open()
  truncateSync(path, 10)
  await reader.read(Buffer.alloc(10))
  await refused(t, reader.read(Buffer.alloc(10)), 'FILE_IO', 'shorter')
  reader.close()
  execFileSync('mkfifo', [join(staged.work, 'fifo')])
  await refused(t, work.read(staged.view, '/work/fifo', 0, undefined, 1e6), 'FILE_IO', 'fifo')
  symlinkSync(join(staged.outside, 'secret'), join(staged.work, 'out'))
  await refused(t, work.read(staged.view, '/work/out', 0, undefined, 1e6), 'FILE_PATH_DENIED', 'a link')
  await refused(t, work.read(staged.view, '/work/no', 0, undefined, 1e6), 'FILE_NOT_FOUND', 'missing')
})

t.test('directories and links are made, and a directory is read as its list', async (t) => {
  const staged = stageView(t)
  const { view } = staged
  await work.makeDirectory(view, '/work/a/b/c', 0o750)
  await work.makeLink(view, '/work/a/link', 'b/c')
  await work.makeLink(view, '/work/a/link', 'b')
  await refused(t, work.makeLink(view, '/work/a/b', 'x'), 'FILE_IO', 'a directory is not replaced')
  t.equal(lstatSync(join(staged.work, 'a/b/c')).mode & 0o777, 0o750)
  t.equal(readlinkSync(join(staged.work, 'a/link')), 'b')
  symlinkSync(staged.outside, join(staged.work, 'out'))
  await refused(t, work.makeDirectory(view, '/work/out/x', undefined), 'FILE_NOT_FOUND', 'through a link')
  t.notOk(existsSync(join(staged.outside, 'x')))
  writeFileSync(Buffer.concat([Buffer.from(`${staged.work}/a/`), Buffer.from([0xff, 0x61])]), 'x')
  writeFileSync(`${staged.work}/a/\ufeffmark`, 'x')
  writeFileSync(join(staged.work, 'a', partialName(KEY)), 'x')
  const reader = await work.read(view, '/work/a', 0, undefined, 1e6)
  const bytes = Buffer.alloc(reader.size)
  await reader.read(bytes)
  reader.close()
  const opened = openCbor(bytes, { depth: 3, items: 100 })
  t.strictSame(opened.ok && opened.value, [
    ['b', 1, 0o755, (opened.ok ? (opened.value as number[][])[0] : [])?.[3]],
    ['link', 2, 0o777, 1, 'b'],
    [Buffer.from('\ufeffmark'), 0, 0o644, 1],
    [Buffer.from([0xff, 0x61]), 0, 0o644, 1],
  ])
})

t.test('a list of hundreds is whole, and one that is too long is refused', async (t) => {
  const staged = stageView(t)
  for (let file = 0; file < 300; file++) writeFileSync(join(staged.work, `f${file}`), '')
  const reader = await work.read(staged.view, '/work', 0, undefined, 1e6)
  const bytes = Buffer.alloc(reader.size)
  await reader.read(bytes)
  reader.close()
  const opened = openCbor(bytes, { depth: 3, items: 10_000 })
  t.equal(opened.ok && (opened.value as unknown[]).length, 300)
  await refused(t, work.read(staged.view, '/work', 0, undefined, 1_000), 'FILE_TOO_LARGE', 'too long a list')
})

t.test('what is in its place already need not be sent', async (t) => {
  const staged = stageView(t)
  const bytes = randomBytes(5_000)
  await put(staged, '/work/f', bytes)
  const { ino } = statSync(join(staged.work, 'f'))
  const again = await work.receive(staged.view, planOf('/work/f', bytes, { offset: 5_000, mode: 0o600 }))
  t.equal(again.offset, 5_000)
  t.equal(Buffer.from(again.sha256).toString('hex'), digest(bytes))
  await refused(t, again.write(Buffer.from('x')), 'FILE_IO', 'nothing more')
  await again.finish(staged.view)
  await again.stop(true)
  t.match(statSync(join(staged.work, 'f')), { ino, mode: 0o100600 })
  for (const change of [{ sha256: '00'.repeat(32) }, { offset: 0 }, { offset: 4_999 }, { size: 4_999 }]) {
    const plan = planOf('/work/f', bytes, { offset: 5_000, ...change })
    const other = await work.receive(staged.view, plan)
    t.equal(other.offset, 0, JSON.stringify(change))
    await other.stop(false)
  }
  t.strictSame(names(staged.work), ['f'])
})
