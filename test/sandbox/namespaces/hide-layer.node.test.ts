/**
 * The layer that hides, as the kernel understands it.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { makeHideLayer } from '../../../src/sandbox/namespaces/hide-layer.node.ts'
import { createKernel } from '../../../src/sandbox/namespaces/kernel.node.ts'

const isRoot = process.geteuid?.() === 0
const kernel = createKernel(loadSyscalls(), -1)

t.test('hidden paths are whiteouts, and the way to them looks like the real one', async (t) => {
  if (!isRoot) return t.comment('skipped: only root, or a namespace, makes whiteouts')
  const directory = t.testdir({
    real: { a: { b: { key: 'x', open: 'y' } }, top: '', list: 'real' },
    layer: {},
  })
  const [real, layer] = [join(directory, 'real'), join(directory, 'layer')]
  chmodSync(join(real, 'a'), 0o2751)
  chownSync(join(real, 'a/b'), 12, 34)
  chmodSync(join(real, 'a/b'), 0o700)
  const hidden = ['a/b/key', 'a/b/later', 'top'].map((path) => ({ path: join(real, path), ways: [] }))
  makeHideLayer(kernel, layer, real, hidden, [{ path: join(real, 'list'), text: 'another\n' }])
  for (const path of ['a/b/key', 'a/b/later', 'top']) {
    const found = lstatSync(join(layer, path))
    t.ok(found.isCharacterDevice() && found.rdev === 0, path)
  }
  t.equal(lstatSync(join(layer, 'a')).mode & 0o7777, 0o2751)
  const { uid, gid, mode } = lstatSync(join(layer, 'a/b'))
  t.strictSame([uid, gid, mode & 0o7777], [12, 34, 0o700])
  t.strictSame(readdirSync(join(layer, 'a/b')).sort(), ['key', 'later'], 'nothing else')

  const script = `mount -t overlay overlay -o lowerdir=${layer}:${real} ${join(directory, 'seen')} && cd ${join(directory, 'seen')} && find . -type f | sort && cat list`
  mkdirSync(join(directory, 'seen'))
  const shown = execFileSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' })
  t.equal(shown, './a/b/open\n./list\nanother\n', 'what an overlay shows')
})

t.test('around a place of its own everything is hidden, also what is made later', async (t) => {
  if (!isRoot) return t.comment('skipped: only root, or a namespace, makes such marks')
  const directory = t.testdir({
    real: { own: { key: 'x', way: { work: { inner: 'y' }, beside: '' } }, open: '' },
    layer: {},
    seen: {},
  })
  const [real, layer] = [join(directory, 'real'), join(directory, 'layer')]
  const own = { path: join(real, 'own'), ways: [join(real, 'own/way/work')] }
  makeHideLayer(kernel, layer, real, [own], [])
  const seen = join(directory, 'seen')
  const script = `mount -t overlay overlay -o lowerdir=${layer}:${real} ${seen} && echo later > ${real}/own/later && cd ${seen} && find . | sort`
  const shown = execFileSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' })
  t.equal(shown, '.\n./open\n./own\n./own/way\n./own/way/work\n')
})

t.test('names that are no text are hidden by their bytes', async (t) => {
  if (!isRoot) return t.comment('skipped: only root, or a namespace, makes whiteouts')
  const directory = t.testdir({ real: {}, layer: {}, seen: {} })
  const raw = (name: string): Buffer => Buffer.from(`${directory}/real/${name}`, 'latin1')
  mkdirSync(raw('d\xff'))
  for (const name of ['x\xff.key', 'x\xfe.key', 'd\xff/y\xff', 'd\xff/z']) writeFileSync(raw(name), '')
  const [real, layer, seen] = ['real', 'layer', 'seen'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  const absent = ['x\udcff.key', 'd\udcff/y\udcff'].map((name) => ({ path: `${real}/${name}`, ways: [] }))
  makeHideLayer(kernel, layer, real, absent, [])
  const script = `mount -t overlay overlay -o lowerdir=${layer}:${real} ${seen} && cd ${seen} && find . -type f | sort`
  const shown = execFileSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'latin1' })
  t.equal(shown, './d\xff/z\n./x\xfe.key\n')
})

t.test('what lies above the whole device hides in it by its own path', async (t) => {
  if (!isRoot) return t.comment('skipped: only root, or a namespace, makes whiteouts')
  const layer = t.testdir()
  const gone = { path: '/etc/sass-edge-was-never-here/key', ways: [] }
  makeHideLayer(kernel, layer, '/', [{ path: '/etc/shadow', ways: [] }, gone], [])
  t.strictSame(readdirSync(join(layer, 'etc')), ['shadow'], 'and of what has gone nothing')
  t.ok(lstatSync(join(layer, 'etc/shadow')).isCharacterDevice())
  t.equal(lstatSync(join(layer, 'etc')).mode, lstatSync('/etc').mode)
})

t.test('where the kernel refuses a whiteout, nothing is shown instead', async (t) => {
  const directory = t.testdir({ real: { a: '' }, layer: { a: 'in the way' } })
  const real = join(directory, 'real')
  t.throws(
    () => makeHideLayer(kernel, join(directory, 'layer'), real, [{ path: join(real, 'a'), ways: [] }], []),
    /whiteout .*: errno (?:17|1)$/,
  )
})
