import fc from 'fast-check'
import t from 'tap'
import {
  clockText,
  joinRemote,
  lastName,
  readCopyPlace,
  sizeText,
  staysInside,
} from '../../../src/cli/words/copy-place.ts'

t.test('a side is on a device where a colon comes before any slash', (t) => {
  const remote = (target: string | undefined, path: string) => ({ kind: 'remote', target, path })
  const local = (path: string) => ({ kind: 'local', path })
  t.strictSame(readCopyPlace('edge7:/srv/a:b'), remote('edge7', '/srv/a:b'))
  t.strictSame(readCopyPlace('ci@edge7:'), remote('ci@edge7', ''))
  t.strictSame(readCopyPlace(':a'), remote(undefined, 'a'))
  t.strictSame(readCopyPlace('[2001:db8::1]:a'), remote('[2001:db8::1]', 'a'))
  t.strictSame(readCopyPlace('ci@[::1]:/a'), remote('ci@[::1]', '/a'))
  t.strictSame(readCopyPlace('./a:b'), local('./a:b'))
  t.strictSame(readCopyPlace('/a/b:c'), local('/a/b:c'))
  t.strictSame(readCopyPlace('a'), local('a'))
  t.end()
})

t.test('names are put to directories as people mean it', (t) => {
  t.equal(lastName('/a/b/'), 'b')
  t.equal(lastName('b'), 'b')
  for (const path of ['', '/', '.', '..', 'a/..', './']) t.equal(lastName(path), '', path)
  t.equal(joinRemote('', 'a'), 'a')
  t.equal(joinRemote('/', 'a'), '/a')
  t.equal(joinRemote('d/', 'a'), 'd/a')
  t.equal(joinRemote('d', 'a/b'), 'd/a/b')
  t.equal(joinRemote('d', ''), 'd')
  t.equal(joinRemote('', ''), '.')
  t.end()
})

t.test('a link stays inside where no step of it leaves the tree', (t) => {
  for (const [link, target] of [
    ['l', 'a'],
    ['l', './a/../b'],
    ['a/b/l', '../../c'],
    ['a/l', '..'],
  ] as const)
    t.ok(staysInside(link, target), `${link} -> ${target}`)
  for (const [link, target] of [
    ['l', '/etc/passwd'],
    ['l', '..'],
    ['l', 'a/../../b'],
    ['a/l', '../../a/x'],
    ['l', ''],
  ] as const)
    t.notOk(staysInside(link, target), `${link} -> ${target}`)
  fc.assert(
    fc.property(fc.array(fc.constantFrom('..', '.', 'a', '', 'b')), (parts) => {
      const target = parts.join('/')
      // Resolved against the root, whatever leaves the tree loses a part of where it was put.
      const inside = new URL(`file:///root/here/${target}`).pathname.startsWith('/root/here')
      return !staysInside('l', target) || inside
    }),
  )
  t.end()
})

t.test('sizes and times are short', (t) => {
  t.strictSame([0, 999, 1_000, 12_345, 123_456_789, 5e15].map(sizeText), [
    '0 B',
    '999 B',
    '1.00 kB',
    '12.3 kB',
    '123 MB',
    '5000 TB',
  ])
  t.strictSame([0, 7.4, 75, 3_605].map(clockText), ['0:00', '0:07', '1:15', '1:00:05'])
  t.end()
})
