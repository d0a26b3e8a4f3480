/**
 * Which paths hold secrets: names, places, what a shell may expand, and what lies behind a link.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SECRET_HOME_PLACES, SECRET_PLACES } from '../../src/base/secret-places.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { isSensitive } from '../../src/defense/sensitive-file.ts'
import { executing, FACTS, HOME, LEDGER, policyWith } from './staged-facts.ts'

const SECRET = [
  ...[
    '.env',
    '.env.local',
    '.env.production',
    'prod.env',
    'credentials',
    'credentials.json',
    'credentials.xml',
  ],
  ...[
    'secrets.json',
    'secrets.yaml',
    'secrets.yml',
    'server.key',
    'a.pem',
    'a.p12',
    'a.pfx',
    'a.jks',
    'a.keystore',
  ],
  ...[
    'a.kdbx',
    'id_rsa',
    'id_dsa',
    'id_ecdsa',
    'id_ed25519',
    'id_rsa.bak',
    'id_ecdsa_sk',
    '.netrc',
    '.pgpass',
  ],
  ...['.my.cnf', '.git-credentials', '.htpasswd'],
].map((name) => `/srv/work/${name}`)

const PLACES = [
  ...['/etc/passwd', '/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d/x'],
  ...[
    '/etc/ssl/private/a',
    '/etc/krb5.keytab',
    '/etc/wireguard/wg0.conf',
    '/proc/kcore',
    '/dev/mem',
    '/dev/kmem',
  ],
  ...['/etc/NetworkManager/system-connections/home', '/etc/wpa_supplicant/wpa_supplicant.conf'],
  ...['/proc/1/environ', '/proc/self/environ', '/proc/self/mem', '/proc/1/task/2/environ', '/proc/self/auxv'],
  ...['/proc/thread-self/maps'],
  ...[HOME, '/root', '/home/other'].flatMap((home) =>
    [
      ...['.ssh', '.ssh/config.d/x', '.ssh/work', '.aws/config', '.gnupg/x', '.azure/x', '.kube/config'],
      ...[
        '.password-store/x.gpg',
        '.mozilla/firefox/x/logins.json',
        '.config/gcloud/x',
        '.config/gh/hosts.yml',
      ],
      ...[
        '.config/google-chrome/Default/Cookies',
        '.config/chromium/x',
        '.local/share/keyrings/login.keyring',
      ],
      ...['.docker/config.json', '.npmrc', '.pypirc', '.cargo/credentials.toml'],
    ].map((place) => `${home}/${place}`),
  ),
]

const HARMLESS = [
  ...['.env.example', '.env.sample', '.env.template', '.env.dist', 'example.env', 'id_ed25519.pub', 'a.pub'],
  ...[
    'environment',
    'env',
    '.environment',
    'key',
    'keys.txt',
    'keyboard',
    'a.keys',
    'a.pemx',
    'pem',
    'README.md',
  ],
  ...[
    'credential',
    'credentials-doc',
    'secrets.txt',
    'my_id_rsa_notes',
    'monkey',
    '.netrc.md',
    'passwd',
    'shadow',
  ],
].map((name) => `/srv/work/${name}`)

const HARMLESS_PLACES = [
  ...[
    '/etc',
    '/etc/hosts',
    '/etc/passwd.d',
    '/etc/passwords',
    '/etc/ssl/certs/a',
    '/etc/ssl',
    '/proc/1/status',
  ],
  ...['/proc/environ', '/proc/cpuinfo', '/proc/meminfo', '/environ', '/dev/null', '/dev/memory'],
  ...[`${HOME}/.ssh/known_hosts`, `${HOME}/.ssh/config`, `${HOME}/.ssh/id_rsa.pub`, '/root/.ssh/known_hosts'],
  ...[HOME, `${HOME}/.sshx`, `${HOME}/.config`, `${HOME}/.docker`, `${HOME}/.npm/x`, '/srv/.ssh/x', '/home'],
]

t.test('secrets are known by their names and their places, and what only looks like one is none', (t) => {
  for (const path of [...SECRET, ...PLACES]) t.ok(isSensitive(path, HOME), path)
  for (const path of [...HARMLESS, ...HARMLESS_PLACES]) t.notOk(isSensitive(path, HOME), path)
  t.notOk(isSensitive('/srv/daemon/.aws/config', HOME))
  t.ok(isSensitive('/srv/daemon/.aws/config', '/srv/daemon'), 'the home is whose commands run')
  t.notOk(isSensitive('/.aws/config', '/'), 'the root is nobody’s home')
  t.end()
})

t.test('what most devices have and what is hidden in a home is asked about too', (t) => {
  for (const place of [...SECRET_PLACES, ...SECRET_HOME_PLACES.map((name) => `/home/other/${name}`)]) {
    t.ok(isSensitive(place.replace('*', ''), HOME), place)
    t.ok(isSensitive(place.replace('*', 'x'), HOME), place)
    t.ok(isSensitive(`${place.replace('*', 'x')}/y`, HOME), place)
    t.notOk(isSensitive(`${place.replace('*', 'x')}/y.pub`, HOME), place)
    t.ok(isSensitive(place, HOME, true), `${place} as a shell expands it`)
  }
  t.end()
})

t.test('a name with wild characters is one where it could become one', (t) => {
  for (const glob of [
    ...[
      '/srv/work/.e*',
      '/srv/work/.en?',
      '/srv/work/.env*',
      '/srv/work/*.pem',
      '/srv/work/*.key',
      '/srv/work/id_*',
    ],
    ...[
      '/srv/work/cred*',
      '/srv/work/secrets.*',
      '/etc/shado?',
      '/etc/s[h]adow',
      '/e*/shadow',
      '/etc/sudoers.d/*',
      '/etc/shadow.?ak',
    ],
    ...['/proc/*/environ', '/proc/[0-9]*/mem', `${HOME}/.ss?/x`, '/home/*/.ssh/id_rsa', `${HOME}/.aws/*`],
    ...['/srv/work/.env.*'],
  ])
    t.ok(isSensitive(glob, HOME, true), glob)
  for (const glob of [
    ...[
      '/srv/work/*',
      '/srv/work/*.txt',
      '/srv/work/s*',
      '/srv/work/?',
      '/srv/work/src/**',
      '/etc/*.conf',
      '/etc/ho*',
    ],
    ...[`${HOME}/*`, '/srv/work/*.md', '/proc/*/status', '/var/log/*.log'],
  ])
    t.notOk(isSensitive(glob, HOME, true), glob)
  t.end()
})

t.test('a command that uses such a file is asked about, however it names it (JF-F15)', (t) => {
  const rule = (argv: readonly string[], realPaths: { path: string; real: string }[] = []) =>
    adjudicate({ ...FACTS, action: executing(argv), realPaths }, policyWith({}), LEDGER).rule
  for (const line of [
    'cat .env',
    'cat ./x/../.env',
    'cat < .env',
    'grep KEY= .env',
    'cp server.key /tmp/x',
    'tar c ~/.ssh',
    'cat $HOME/.aws/credentials',
    'cat /etc/shado*',
    'base64 id_ed25519',
    'cat /proc/self/environ',
    'source .env',
    'cat -- .env',
    'dd if=server.key',
    'echo x > .env',
  ])
    t.equal(rule(['sh', '-c', line]), 'sensitive_files', line)
  for (const line of [
    'cat .env.example',
    'echo .env',
    'ls',
    'cat id_rsa.pub',
    'git commit -m "about .env"',
    'env',
  ])
    t.equal(rule(['sh', '-c', line]), 'all_passed', line)
  t.equal(
    rule(['cat', 'notes'], [{ path: '/srv/work/notes', real: '/etc/shadow' }]),
    'sensitive_files',
    'a link',
  )
  t.equal(rule(['cat', 'notes'], [{ path: '/srv/work/notes', real: '/srv/other' }]), 'all_passed')
  t.end()
})

t.test('docs/security.md has every name and place, and docs/egress.md every range', (t) => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
  const page = `${read('docs/security.md')}${read('docs/egress.md')}`
  const files = ['src/base/secret-places.ts', 'src/defense/sensitive-file.ts', 'src/base/internal-range.ts']
  const lists = files.flatMap((path) => {
    const code = read(path)
    return [...code.matchAll(/^ {2}'([^']+)',$/gm)].map(([, entry = '']) => entry)
  })
  t.ok(lists.length > 150, `${lists.length} of them`)
  // The other names of this host are told in words.
  const inWords = /local(host|domain)|^ip6-|^metadata\.|docker\.internal$/
  t.strictSame(
    lists.filter((entry) => !page.includes(`\`${entry}\``) && !inWords.test(entry)),
    [],
  )
  t.end()
})
