/**
 * Finding a program on real files, as execvp does, and saying which one it was.
 * @module
 */
import { chmodSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { createProgramFinder } from '../../../src/sandbox/places/program-finder.node.ts'

const finder = createProgramFinder()

function tree(t: Test): string {
  const root = realpathSync(t.testdir({ one: {}, two: {}, work: {} }))
  for (const [path, mode] of [
    ['one/tool', 0o755],
    ['two/tool', 0o755],
    ['one/plain', 0o644],
    ['two/plain', 0o755],
    ['work/local', 0o755],
    ['work/script', 0o644],
  ] as const) {
    writeFileSync(join(root, path), '')
    chmodSync(join(root, path), mode)
  }
  mkdirSync(join(root, 'one/directory'))
  symlinkSync('../two/tool', join(root, 'one/alias'))
  symlinkSync('loop', join(root, 'one/loop'))
  symlinkSync('nowhere', join(root, 'one/dangling'))
  symlinkSync('../two', join(root, 'work/link'))
  return root
}

t.test('a bare name is the first executable file of the search path', (t) => {
  const root = tree(t)
  const find = (name: string, path = `${root}/one:${root}/two`) => finder.find(name, join(root, 'work'), path)
  const { dev, ino } = statSync(join(root, 'one/tool'), { bigint: true })
  t.strictSame(find('tool'), {
    path: join(root, 'one/tool'),
    realPath: join(root, 'one/tool'),
    device: String(dev),
    inode: String(ino),
  })
  t.equal(find('tool', `${root}/two:${root}/one`)?.path, join(root, 'two/tool'))
  t.equal(find('plain')?.path, join(root, 'two/plain'), 'what may not be executed is passed over')
  t.equal(find('directory'), undefined)
  t.equal(find('absent'), undefined)
  t.equal(find('local'), undefined, 'the working directory is not searched')
  t.equal(find(''), undefined)
  t.end()
})

t.test('an empty or relative entry of the search path is no directory', (t) => {
  const root = tree(t)
  const fromHere = relative(process.cwd(), join(root, 'work'))
  for (const path of ['', ':', '.', `.:work:`, 'work', '../work', fromHere, `./${fromHere}`])
    t.equal(finder.find('local', join(root, 'work'), path), undefined, JSON.stringify(path))
  t.end()
})

t.test('a link is what it leads to', (t) => {
  const root = tree(t)
  const found = finder.find('alias', root, `${root}/one`)
  t.match(found, { path: join(root, 'one/alias'), realPath: join(root, 'two/tool') })
  t.equal(found?.inode, String(statSync(join(root, 'two/tool')).ino))
  for (const name of ['loop', 'dangling']) t.equal(finder.find(name, root, `${root}/one`), undefined, name)
  t.end()
})

t.test('a name with a slash is a path from the working directory, and the search path means nothing', (t) => {
  const root = tree(t)
  const find = (path: string) => finder.find(path, join(root, 'work'), `${root}/one`)
  t.equal(find('./local')?.path, join(root, 'work/local'))
  t.equal(find('../one/tool')?.path, join(root, 'one/tool'))
  t.equal(find(join(root, 'two/tool'))?.path, join(root, 'two/tool'))
  t.match(find('link/tool'), { path: join(root, 'work/link/tool'), realPath: join(root, 'two/tool') })
  t.ok(find('./script'), 'whether it may be executed is for the kernel to say')
  t.equal(find('./tool'), undefined)
  t.equal(find('../one'), undefined, 'a directory is no program')
  t.end()
})

t.test('a name with a NUL, and one that no file can have, are not found', (t) => {
  const root = tree(t)
  t.equal(finder.find('tool\0x', root, `${root}/one`), undefined)
  t.equal(finder.find(`${root}/one/tool\0x`, root, ''), undefined)
  t.equal(finder.find('x'.repeat(5_000), root, `${root}/one`), undefined)
  t.equal(finder.find(`./${'x'.repeat(5_000)}`, root, ''), undefined)
  t.end()
})

t.test('a directory is given with its links resolved, and as it is where there is none', (t) => {
  const root = tree(t)
  t.equal(finder.realDirectory(join(root, 'work/link')), join(root, 'two'))
  t.equal(finder.realDirectory(join(root, 'work')), join(root, 'work'))
  t.equal(finder.realDirectory(join(root, 'absent')), join(root, 'absent'))
  t.equal(finder.realDirectory(join(root, 'one/loop')), join(root, 'one/loop'))
  t.end()
})

t.test('a path comes out where it really lies, as far as it exists', (t) => {
  const root = tree(t)
  const real = (path: string) => finder.realPath(join(root, path))
  t.equal(real('work/link/tool'), join(root, 'two/tool'))
  t.equal(real('work/link/new/deep'), join(root, 'two/new/deep'), 'of what does not exist, its directory')
  t.equal(real('one/tool/x'), join(root, 'one/tool/x'), 'a file is no directory')
  t.equal(finder.realPath('/'), '/')
  t.equal(finder.realPath('/none-here'), '/none-here')
  t.equal(finder.realPath('/a\0b'), '/a\0b')
  t.equal(finder.realPath('relative'), 'relative')
  t.end()
})

t.test('a link to what does not exist yet is followed: whoever writes there makes it', (t) => {
  const root = tree(t)
  const real = (path: string) => finder.realPath(join(root, path))
  t.equal(real('one/dangling'), join(root, 'one/nowhere'))
  symlinkSync('../work/link/made', join(root, 'one/far'))
  t.equal(real('one/far'), join(root, 'two/made'), 'through another link')
  t.equal(real('one/far/below'), join(root, 'two/made/below'))
  symlinkSync('/none-here/x', join(root, 'one/out'))
  t.equal(real('one/out'), '/none-here/x')
  symlinkSync('one/out', join(root, 'first'))
  t.equal(real('first'), '/none-here/x', 'a link to a link')
  t.equal(real('one/loop'), join(root, 'one/loop'), 'one that leads to itself leads nowhere')
  for (let count = 0; count < 100; count++) symlinkSync(`chain${count + 1}`, join(root, `chain${count}`))
  t.match(real('chain0'), /\/chain\d+$/, 'and no chain without an end is followed')
  t.end()
})

t.test('a directory is resolved, and stays as given where there is none', (t) => {
  const root = tree(t)
  t.equal(finder.realDirectory(join(root, 'work/link')), join(root, 'two'))
  t.equal(finder.realDirectory(join(root, 'none')), join(root, 'none'))
  t.end()
})

t.test('the digest of a file is asked of the file as it is', (t) => {
  const root = tree(t)
  t.equal(finder.pin(join(root, 'none')), undefined)
  t.equal(
    finder.pin(join(root, 'one/tool'))?.sha256,
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  )
  t.end()
})
