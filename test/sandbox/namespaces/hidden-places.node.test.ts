/**
 * Which paths are hidden, found in real directories.
 * @module
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
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
      .find(
        { hidden: hidden.map((path) => join(directory, path)), hidesSecrets: false, roots: [], read: [] },
        [directory],
        [],
      )
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
      .find(
        { hidden: [`${directory}/${pattern}`], hidesSecrets: false, roots: [], read: [] },
        [directory],
        [],
      )
      .map((path) => path.slice(directory.length + 1))
  t.strictSame(find('*.key'), ['x\udcff.key'])
  t.strictSame(find('*/*.key'), ['d\udcff/ä.key'])
})

t.test('a path without * is hidden before it is made, where its directory is there', async (t) => {
  const directory = t.testdir({ one: {} })
  const find = (path: string) =>
    createHiddenPlaces().find(
      { hidden: [join(directory, path)], hidesSecrets: false, roots: [], read: [] },
      [directory],
      [],
    )
  t.strictSame(find('one/later'), [join(directory, 'one/later')])
  t.strictSame(find('two/later'), [])
})

t.test('each is found once, the outer one only, and none that cannot be read anyway', async (t) => {
  const directory = t.testdir({ a: { b: { c: '' } }, d: '' })
  const hidden = ['/a/b/c', '/a/b', '/a/*', '/d', '/d'].map((path) => `${directory}${path}`)
  const places = createHiddenPlaces()
  t.strictSame(places.find({ hidden, hidesSecrets: false, roots: [], read: [] }, [directory], []), [
    `${directory}/d`,
    `${directory}/a/b`,
  ])
  t.strictSame(places.find({ hidden, hidesSecrets: false, roots: [], read: [] }, [`${directory}/a`], []), [
    `${directory}/a/b`,
  ])
  t.strictSame(places.find({ hidden, hidesSecrets: false, roots: [], read: [] }, [], []), [])
})

t.test('more than the bound is refused, not left out', async (t) => {
  const directory = t.testdir()
  for (let at = 0; at <= HIDDEN_PLACES_MAX; at++) writeFileSync(join(directory, `${at}`), '')
  t.throws(
    () =>
      createHiddenPlaces().find(
        { hidden: [`${directory}/*`], hidesSecrets: false, roots: [], read: [] },
        [directory],
        [],
      ),
    /so many hidden places/,
  )
})

t.test('the known places of a home are hidden where something of it can be read', async (t) => {
  const home = t.testdir({ '.ssh': {}, '.aws': {}, '.cargo': { 'credentials.toml': '' }, work: {} })
  const find = (read: string[], hidesSecrets = true) =>
    createHiddenPlaces().find({ hidden: [], hidesSecrets, roots: [], read: [] }, read, [home])
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
    places
      .find({ hidden: [], hidesSecrets: true, roots: [], read: [] }, ['/etc'], [])
      .filter((path) => path.startsWith(directory))
  t.strictSame(
    find().sort(),
    ['.htpasswd', 'deep/privkey1.pem', 'x.key'].map((name) => join(directory, name)),
  )
  t.ok(
    places
      .find({ hidden: [], hidesSecrets: true, roots: [], read: [] }, ['/etc'], [])
      .includes('/etc/shadow'),
  )
  writeFileSync(join(directory, 'deep/id_rsa'), '')
  t.ok(find().includes(join(directory, 'deep/id_rsa')), 'made later')
  rmSync(join(directory, 'x.key'))
  t.notOk(find().includes(join(directory, 'x.key')), 'gone since')
  mkdirSync(Buffer.from(`${directory}/d\xff`, 'latin1'))
  writeFileSync(Buffer.from(`${directory}/d\xff/x\xfe.key`, 'latin1'), '')
  t.ok(find().includes(join(directory, 'd\udcff/x\udcfe.key')), 'though neither name is text')
  t.strictSame(
    places.find({ hidden: [], hidesSecrets: true, roots: [], read: [] }, ['/usr'], []),
    [],
    'only where /etc is read',
  )
})

t.test('in branched directories the names of secrets are, where that is wanted', async (t) => {
  const directory = t.testdir({
    '.env': '',
    '.env.example': '',
    'listed.key': '',
    credentials: { inner: '' },
    deep: { er: { 'server.key': '', 'credentials.json': '', 'key.txt': '' } },
  })
  const roots = [{ kind: 'bind', path: directory, source: '' }] as const
  const places = createHiddenPlaces()
  const find = (hidden: string[]) =>
    places
      .find({ hidden, hidesSecrets: false, roots, read: [join(directory, 'listed.key')] }, [directory], [])
      .map((path) => path.slice(directory.length + 1))
      .sort()
  const named = ['.env', 'deep/er/credentials.json', 'deep/er/server.key']
  t.strictSame(find([]), [])
  t.strictSame(find(['$WORKSPACE_SECRETS']), named, 'files alone, no examples, nothing that is listed')
  writeFileSync(join(directory, 'deep/later.pem'), '')
  t.strictSame(find(['$WORKSPACE_SECRETS']), ['.env', ...named.slice(1), 'deep/later.pem'].sort())
})

t.test('what comes in the moment after a look is there at the next one', async (t) => {
  const directory = t.testdir({ branch: {}, listed: {} })
  const [branch, listed] = [join(directory, 'branch'), join(directory, 'listed')]
  symlinkSync(listed, join(directory, 'link'))
  const root = { kind: 'bind', path: branch, source: '' } as const
  const wish = {
    hidden: [`${listed}/*.pw`, `${directory}/link/*.pw`, '$WORKSPACE_SECRETS'],
    hidesSecrets: false,
    roots: [root],
    read: [],
  }
  const places = createHiddenPlaces()
  for (let turn = 0; turn < 50; turn++) {
    const missing = [
      join(branch, `${turn}.key`),
      join(listed, `${turn}.pw`),
      join(directory, 'link', `${turn}.pw`),
    ]
    for (const path of missing.slice(0, 2)) writeFileSync(path, '')
    const found = places.find(wish, [directory], [])
    t.strictSame(
      missing.filter((path) => !found.includes(path)),
      [],
    )
  }
  const link = join(directory, 'link', 'later.pw')
  await sleep(50)
  places.find(wish, [directory], [])
  writeFileSync(join(listed, 'later.pw'), '')
  t.ok(places.find(wish, [directory], []).includes(link), 'through a link, long after it was made')
})

t.test('more names than can be looked at are refused, since one of them could be a secret', async (t) => {
  const directory = t.testdir({ one: { a: '', b: '' }, two: { c: '' } })
  const roots = [{ kind: 'bind', path: directory, source: '' }] as const
  const wanted = { hidden: ['$WORKSPACE_SECRETS'], hidesSecrets: false, roots, read: [] }
  const find = (most: number) => createHiddenPlaces(most).find(wanted, [directory], [])
  t.strictSame(find(5), [])
  t.throws(() => find(4), /so many names in/)
})
