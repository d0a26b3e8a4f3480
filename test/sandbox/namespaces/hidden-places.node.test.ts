/**
 * Which paths are hidden, found in real directories.
 * @module
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HIDDEN_PLACES_MAX } from '../../../src/sandbox/limits.ts'
import { createHiddenPlaces } from '../../../src/sandbox/namespaces/hidden-places.node.ts'

t.test('names with * stand for what is there, and for no leading dot', async (t) => {
  const directory = t.testdir({
    'a.key': '',
    '.b.key': '',
    'c.keys': '',
    one: { 'x.pem': '' },
    two: { 'y.pem': '' },
    'a+(b).txt': '',
    'aab.txt': '',
  })
  const find = (...hidden: string[]) =>
    createHiddenPlaces()
      .find({ hidden: hidden.map((path) => join(directory, path)), hidesSecrets: false }, [directory], [])
      .map((path) => path.slice(directory.length + 1))
      .sort()
  t.strictSame(find('*.key'), ['a.key'])
  t.strictSame(find('.*.key'), ['.b.key'])
  t.strictSame(find('*/*.pem'), ['one/x.pem', 'two/y.pem'])
  t.strictSame(find('a+(b)*'), ['a+(b).txt'], 'no other character means anything')
  t.strictSame(find('*.nothing'), [])
})

t.test('a name that is no text fits as any other does', async (t) => {
  const directory = t.testdir()
  const raw = (name: string): Buffer =>
    Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')])
  mkdirSync(raw('d\xff'))
  for (const name of ['x\xff.key', 'x\xfe.txt', 'd\xff/\xc3\xa4.key']) writeFileSync(raw(name), '')
  const find = (pattern: string) =>
    createHiddenPlaces()
      .find({ hidden: [`${directory}/${pattern}`], hidesSecrets: false }, [directory], [])
      .map((path) => path.slice(directory.length + 1))
  t.strictSame(find('*.key'), ['x\udcff.key'])
  t.strictSame(find('*/*.key'), ['d\udcff/ä.key'])
})

t.test('a path without * is hidden before it is made, where its directory is there', async (t) => {
  const directory = t.testdir({ one: {} })
  const find = (path: string) =>
    createHiddenPlaces().find({ hidden: [join(directory, path)], hidesSecrets: false }, [directory], [])
  t.strictSame(find('one/later'), [join(directory, 'one/later')])
  t.strictSame(find('two/later'), [])
})

t.test('each is found once, the outer one only, and none that cannot be read anyway', async (t) => {
  const directory = t.testdir({ a: { b: { c: '' } }, d: '' })
  const hidden = ['/a/b/c', '/a/b', '/a/*', '/d', '/d'].map((path) => `${directory}${path}`)
  const places = createHiddenPlaces()
  t.strictSame(places.find({ hidden, hidesSecrets: false }, [directory], []), [
    `${directory}/d`,
    `${directory}/a/b`,
  ])
  t.strictSame(places.find({ hidden, hidesSecrets: false }, [`${directory}/a`], []), [`${directory}/a/b`])
  t.strictSame(places.find({ hidden, hidesSecrets: false }, [], []), [])
})

t.test('more than the bound is refused, not left out', async (t) => {
  const directory = t.testdir()
  for (let at = 0; at <= HIDDEN_PLACES_MAX; at++) writeFileSync(join(directory, `${at}`), '')
  t.throws(
    () => createHiddenPlaces().find({ hidden: [`${directory}/*`], hidesSecrets: false }, [directory], []),
    /so many hidden places/,
  )
})

t.test('the known places of a home are hidden where something of it can be read', async (t) => {
  const home = t.testdir({ '.ssh': {}, '.aws': {}, '.cargo': { 'credentials.toml': '' }, work: {} })
  const find = (read: string[], hidesSecrets = true) =>
    createHiddenPlaces().find({ hidden: [], hidesSecrets }, read, [home])
  const all = find([home])
  for (const name of ['.ssh', '.aws', '.netrc', '.cargo/credentials.toml'])
    t.ok(all.includes(join(home, name)), name)
  t.notOk(all.includes(join(home, '.config/gh')), 'its directory is not there')
  t.strictSame(find([join(home, 'work')]), [])
  t.strictSame(find([join(home, '.ssh')]), [join(home, '.ssh')])
  t.strictSame(find([home], false), [])
})

t.test('/etc is looked through for what is a key by its name, also one that came later', async (t) => {
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root writes to /etc')
  const directory = `/etc/sass-edge-it-hidden-${process.pid}`
  mkdirSync(join(directory, 'deep'), { recursive: true })
  t.teardown(() => rmSync(directory, { recursive: true }))
  for (const name of ['x.key', 'x.txt', 'deep/privkey1.pem', '.htpasswd', 'key.pem.d'])
    writeFileSync(join(directory, name), '')
  const places = createHiddenPlaces()
  const find = () =>
    places.find({ hidden: [], hidesSecrets: true }, ['/etc'], []).filter((path) => path.startsWith(directory))
  t.strictSame(
    find().sort(),
    ['.htpasswd', 'deep/privkey1.pem', 'x.key'].map((name) => join(directory, name)),
  )
  t.ok(places.find({ hidden: [], hidesSecrets: true }, ['/etc'], []).includes('/etc/shadow'))
  writeFileSync(join(directory, 'deep/id_rsa'), '')
  t.ok(find().includes(join(directory, 'deep/id_rsa')), 'made later')
  rmSync(join(directory, 'x.key'))
  t.notOk(find().includes(join(directory, 'x.key')), 'gone since')
  mkdirSync(Buffer.from(`${directory}/d\xff`, 'latin1'))
  writeFileSync(Buffer.from(`${directory}/d\xff/x\xfe.key`, 'latin1'), '')
  t.ok(find().includes(join(directory, 'd\udcff/x\udcfe.key')), 'though neither name is text')
  t.strictSame(places.find({ hidden: [], hidesSecrets: true }, ['/usr'], []), [], 'only where /etc is read')
})
