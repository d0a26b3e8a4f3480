/**
 * Files by descriptor, on real files: what is resolved and what is refused, with openat2 and with the walk in its place.
 * @module
 */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  AT_FDCWD,
  type At,
  createAt,
  descriptorPath,
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_PATH,
  O_RDONLY,
  O_WRONLY,
  RENAME_EXCHANGE,
  RENAME_NOREPLACE,
  RESOLVE_BENEATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_SYMLINKS,
} from '../../../src/sandbox/kernel/at.node.ts'
import { ERRNO, loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'

const syscalls = loadSyscalls()
const at = createAt(syscalls)
/** As on a kernel before 5.6. */
const withoutOpenat2 = createAt({
  ...syscalls,
  byNumber: (name, ...args) => (name === 'openat2' ? -ERRNO.ENOSYS : syscalls.byNumber(name, ...args)),
})
const bytes = (text: string): Buffer => Buffer.from(text)

function opened(directory: string): number {
  const descriptor = at.openPath(AT_FDCWD, bytes(directory), O_PATH | O_DIRECTORY, 0)
  if (descriptor < 0) throw new Error(`errno ${-descriptor}`)
  return descriptor
}

/** 0 for what could be opened, else the errno. */
function outcome(calls: At, directory: number, path: string, resolve: number): number {
  const result = calls.openPath(directory, bytes(path), O_RDONLY, resolve)
  if (result >= 0) calls.close(result)
  return result < 0 ? -result : 0
}

t.test('a path stays beneath its directory, whatever it is made of', (t) => {
  const directory = t.testdir({ in: { file: 'x' }, secret: 'y' })
  symlinkSync('/etc', join(directory, 'in/away'))
  symlinkSync('file', join(directory, 'in/near'))
  const root = opened(join(directory, 'in'))
  const strict = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS
  const cases: [path: string, errno: number, errnoOfWalk: number][] = [
    ['file', 0, 0],
    ['./file', 0, 0],
    ['../secret', ERRNO.EXDEV, ERRNO.EXDEV],
    ['away/passwd', ERRNO.ELOOP, ERRNO.ENOTDIR],
    ['near', ERRNO.ELOOP, ERRNO.ELOOP],
    ['/etc/passwd', ERRNO.EXDEV, ERRNO.EXDEV],
    ['missing', ERRNO.ENOENT, ERRNO.ENOENT],
    ['file/below', ERRNO.ENOTDIR, ERRNO.ENOTDIR],
  ]
  for (const [path, errno, errnoOfWalk] of cases) {
    t.equal(outcome(at, root, path, strict), errno, path)
    t.equal(outcome(withoutOpenat2, root, path, strict), errnoOfWalk, `${path}, walked`)
  }
  t.equal(
    outcome(at, root, 'near', RESOLVE_BENEATH),
    0,
    'a link that stays is followed where that is allowed',
  )
  t.equal(outcome(at, root, '/file', RESOLVE_IN_ROOT), 0, 'a root of its own')
  t.equal(outcome(at, root, '../../file', RESOLVE_IN_ROOT), 0, 'above which there is nothing')
  at.close(root)
  t.end()
})

t.test('one name is never followed, and is made only where nothing is', (t) => {
  const directory = t.testdir({ file: 'x' })
  symlinkSync('file', join(directory, 'link'))
  const root = opened(directory)
  t.equal(at.open(root, bytes('link'), O_RDONLY), -ERRNO.ELOOP)
  t.equal(at.open(root, bytes('file'), O_WRONLY | O_CREAT | O_EXCL, 0o600), -ERRNO.EEXIST)
  const made = at.open(root, bytes('new'), O_WRONLY | O_CREAT | O_EXCL, 0o600)
  t.ok(made > 2)
  t.equal(at.setMode(made, 0o751), 0)
  at.close(made)
  t.equal(lstatSync(join(directory, 'new')).mode & 0o7777, 0o751)
  at.close(root)
  t.end()
})

t.test('renaming replaces, refuses to replace, or exchanges', (t) => {
  const directory = t.testdir({ a: 'a', b: 'b', c: 'c' })
  const root = opened(directory)
  t.equal(at.rename(root, bytes('a'), root, bytes('b'), RENAME_NOREPLACE), -ERRNO.EEXIST)
  t.equal(at.rename(root, bytes('a'), root, bytes('b'), RENAME_EXCHANGE), 0)
  t.same([readFileSync(join(directory, 'a'), 'utf8'), readFileSync(join(directory, 'b'), 'utf8')], ['b', 'a'])
  t.equal(at.rename(root, bytes('a'), root, bytes('c')), 0)
  t.same(readdirSync(directory).sort(), ['b', 'c'])
  at.close(root)
  t.end()
})

t.test('times to the nanosecond, owners, links and nodes, of the name itself', (t) => {
  const directory = t.testdir({ file: 'x' })
  const root = opened(directory)
  const odd = Buffer.from([0x66, 0xff, 0xfe])
  t.equal(at.symlink(bytes('nowhere'), root, odd), 0)
  t.equal(readlinkSync(descriptorPath(root, odd)), 'nowhere')
  const times = { accessedNs: undefined, modifiedNs: 1_234_567_890_123_456_789n }
  t.equal(at.setTimes(root, odd, times), 0)
  t.equal(lstatSync(descriptorPath(root, odd), { bigint: true }).mtimeNs, times.modifiedNs)
  t.equal(at.link(root, bytes('file'), root, bytes('again')), 0)
  t.equal(lstatSync(join(directory, 'file')).nlink, 2)
  t.equal(at.makeNode(root, bytes('pipe'), 0o010600, 0), 0)
  t.ok(lstatSync(join(directory, 'pipe')).isFIFO())
  t.equal(at.makeDirectory(root, bytes('d'), 0o700), 0)
  t.equal(at.unlink(root, bytes('d')), -ERRNO.EISDIR)
  t.equal(at.removeDirectory(root, bytes('d')), 0)
  t.equal(at.setOwner(root, odd, process.getuid?.() ?? 0, process.getgid?.() ?? 0), 0)
  at.close(root)
  t.end()
})

t.test('extended attributes by name, of any length, and none', (t) => {
  const directory = t.testdir({ file: 'x' })
  const root = opened(directory)
  const path = descriptorPath(root, bytes('file'))
  const long = Buffer.alloc(900, 7)
  const set = at.setAttribute(path, bytes('user.long'), long)
  if (set === -ERRNO.EOPNOTSUPP) t.comment('skipped: this file system has no attributes of users')
  else {
    t.equal(set, 0)
    t.same(at.getAttribute(path, bytes('user.long')), new Uint8Array(long))
    const names = at.listAttributes(path)
    t.same(typeof names === 'number' ? names : names.map((name) => Buffer.from(name).toString()), [
      'user.long',
    ])
    t.equal(at.removeAttribute(path, bytes('user.long')), 0)
    t.same(at.listAttributes(path), [])
    t.equal(at.getAttribute(path, bytes('user.long')), -ERRNO.ENODATA)
  }
  at.close(root)
  t.end()
})

t.test('what was written is synced, and descriptors are not left', (t) => {
  const directory = t.testdir({})
  mkdirSync(join(directory, 'd'))
  writeFileSync(join(directory, 'd/f'), 'x')
  const before = readdirSync('/proc/self/fd').length
  const root = opened(directory)
  const file = withoutOpenat2.openPath(root, bytes('d/f'), O_RDONLY, RESOLVE_BENEATH)
  t.equal(at.sync(file), 0)
  t.equal(at.syncAll(file), 0)
  at.close(file)
  at.close(root)
  t.equal(readdirSync('/proc/self/fd').length, before)
  t.end()
})
