/** What the device knows to be secret: read from real files, and nothing else. */
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type KnownPlaces, knownMark, readKnownSecrets } from '../../../src/edge/work/known-secrets.node.ts'
import { TABLES } from '../../defense/firewall/secrets/screened.ts'

function places(t: Test, change: Partial<KnownPlaces> = {}): KnownPlaces {
  const root = t.testdir({ state: {}, work: {} })
  const base = {
    secretsFile: null,
    canariesFile: null,
    stateDirectory: join(root, 'state'),
    workspaceRoot: join(root, 'work'),
    environment: {},
  }
  return { ...base, ...change }
}
/** Without the daemon's own canary, which is another one each time. */
const known = (where: KnownPlaces): string[] =>
  readKnownSecrets(where, () => TABLES)
    .map(({ kind, bytes }) => `${kind === 'canary' ? 'canary: ' : ''}${Buffer.from(bytes)}`)
    .filter((text) => !text.startsWith('canary: sass-edge-canary-'))

t.test('the operator\u2019s file, own keys, secrets of the environment, and files of settings', (t) => {
  const where = places(t, {
    environment: {
      DB_PASSWORD: 'of the environment',
      PATH: '/usr/bin',
      PWD: '/srv/a place',
      TLS_KEY: '/srv/tls.key',
      API_TOKEN: undefined,
    },
  })
  writeFileSync(
    join(where.stateDirectory, 'tls.key'),
    '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50\n-----END PRIVATE KEY-----\n',
  )
  writeFileSync(join(where.workspaceRoot, '.env'), 'NAME=thing\nexport DB_PASSWORD="hunter22"\n')
  writeFileSync(join(where.workspaceRoot, '.env.local'), 'MAIL_TOKEN=9f86d081884c7d659a2feaa0c55ad015\n')
  writeFileSync(join(where.workspaceRoot, 'notes.txt'), 'password=hunter33\n')
  const secretsFile = join(where.stateDirectory, 'secrets')
  writeFileSync(secretsFile, 'the first of all\n\nsecond one\n')
  t.strictSame(known({ ...where, secretsFile }), [
    ...['the first of all', 'second one'],
    ...[
      'MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50',
      'of the environment',
      'hunter22',
      '9f86d081884c7d659a2feaa0c55ad015',
    ],
  ])
  t.end()
})

t.test(
  'nothing where nothing can be read: no directory, a link, a directory of that name, too large a file',
  (t) => {
    const where = places(t)
    t.strictSame(
      known({ ...where, workspaceRoot: join(where.workspaceRoot, 'gone'), secretsFile: '/nowhere' }),
      [],
    )
    const target = join(where.stateDirectory, 'target')
    writeFileSync(target, 'password=hunter22\n')
    symlinkSync(target, join(where.workspaceRoot, '.env'))
    mkdirSync(join(where.workspaceRoot, 'a.env'))
    writeFileSync(join(where.workspaceRoot, 'b.env'), `password=hunter33\n${'#'.repeat(70_000)}`)
    t.strictSame(known(where), [])
    t.end()
  },
)

t.test(
  'the keys of every epoch of the record, also of one that begins, and of the device as a sender',
  (t) => {
    const where = places(t)
    mkdirSync(join(where.stateDirectory, 'intent'))
    const key = (letter: string) => `${letter.repeat(4)}0123456789abcdef0123456789ab`
    const add = (name: string, letter: string) => writeFileSync(join(where.stateDirectory, name), key(letter))
    add('audit-0.key', 'p')
    add('intent/device.key', 'q')
    const before = knownMark(where)
    t.strictSame(known(where), [key('p'), key('q')])
    add('audit-1.key', 'r')
    t.not(knownMark(where), before, 'it is looked at again')
    t.strictSame(known(where), [key('p'), key('r'), key('q')])
    t.end()
  },
)

t.test('the mark changes when a file does', (t) => {
  const where = places(t)
  const before = knownMark(where)
  writeFileSync(join(where.workspaceRoot, '.env'), 'A=1\n')
  const then = knownMark(where)
  writeFileSync(join(where.workspaceRoot, '.env'), 'A=12\n')
  t.equal(new Set([before, then, knownMark(where)]).size, 3)
  t.equal(knownMark({ ...where, secretsFile: '/nowhere' }).split('\n').length, 2)
  t.end()
})

t.test('canaries come first: the daemon’s own, which stays, and those of the operator (JF-044)', (t) => {
  const where = places(t)
  const canariesFile = join(where.stateDirectory, 'planted')
  writeFileSync(canariesFile, 'nobody prints this\n')
  const first = readKnownSecrets({ ...where, canariesFile }, () => TABLES)
  t.strictSame(
    first.map(({ kind, bytes }) => [
      kind,
      Buffer.from(bytes)
        .toString()
        .replace(/[0-9a-f]{32}$/, ''),
    ]),
    [
      ['canary', 'sass-edge-canary-'],
      ['canary', 'nobody prints this'],
    ],
  )
  t.strictSame(
    readKnownSecrets({ ...where, canariesFile }, () => TABLES),
    first,
  )
  t.equal(statSync(join(where.stateDirectory, 'canary')).mode & 0o777, 0o600)
  t.strictSame(
    readKnownSecrets({ ...where, stateDirectory: '/nowhere' }, () => TABLES),
    [],
  )
  t.end()
})

t.test('a raw key of the daemon is known in hexadecimal and in Base64', (t) => {
  const where = places(t)
  const key = Buffer.from(Array.from({ length: 32 }, (_, at) => (at * 37 + 200) & 0xff))
  writeFileSync(join(where.stateDirectory, 'operator.key'), key)
  const values = readKnownSecrets(where, () => TABLES)
  t.ok(values.some(({ kind, bytes }) => kind === 'known-secret' && key.equals(bytes)))
  t.end()
})
