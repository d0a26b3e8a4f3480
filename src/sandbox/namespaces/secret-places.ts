/**
 * Where devices keep what opens them: password databases, private keys, credentials of networks and services. Nothing of
 * it is there for a session; `$SECRETS` in `sandbox.hidden` stands for all of it.
 * A `*` stands for any characters of a name. What else looks like a key by its name is found by walking /etc
 * (hidden-places.node.ts).
 * Rules: docs/security.md (what is hidden).
 * @module
 */

/** Of the system. */
export const SECRET_PLACES: readonly string[] = Object.freeze([
  '/etc/shadow*',
  '/etc/gshadow*',
  '/etc/.pwd.lock',
  '/etc/passwd-',
  '/etc/group-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/security/opasswd',
  '/etc/ssl/private',
  '/etc/pki/tls/private',
  '/etc/ssh/ssh_host_*_key',
  '/etc/dropbear',
  '/etc/letsencrypt/accounts',
  '/etc/letsencrypt/archive',
  '/etc/letsencrypt/live',
  '/etc/krb5.keytab',
  '/etc/ipsec.secrets',
  '/etc/ipsec.d/private',
  '/etc/swanctl/private',
  '/etc/wireguard',
  '/etc/openvpn',
  '/etc/ppp/*-secrets',
  '/etc/NetworkManager/system-connections',
  '/etc/wpa_supplicant',
  '/etc/wpa_supplicant.conf',
  '/etc/netplan',
  '/etc/hostapd',
  '/etc/config/wireless',
  '/etc/iwd',
  '/etc/apt/auth.conf',
  '/etc/apt/auth.conf.d',
  '/etc/docker/key.json',
  '/etc/mosquitto/passwd*',
  '/etc/mysql/debian.cnf',
  '/etc/samba/*.tdb',
  '/etc/samba/credentials*',
  '/etc/cifs-credentials*',
  '/etc/salt/pki',
  '/etc/puppetlabs/puppet/ssl/private_keys',
  '/etc/kubernetes',
  '/etc/rancher',
  '/var/log/installer',
])

/** Files of /etc that are keys by their names, wherever they lie there. */
export const KEY_NAMES: readonly string[] = Object.freeze([
  '*.key',
  '*-key.pem',
  '*_key.pem',
  'key.pem',
  'privkey*.pem',
  'private*.pem',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  '*.kdb',
  'id_rsa',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  'credentials',
  'credentials.json',
  'secrets.*',
  '.env',
  '.netrc',
  '.htpasswd',
  '.pgpass',
  '.my.cnf',
])

/** Below each home that is listed, or lies in what is. */
export const SECRET_HOME_PLACES: readonly string[] = Object.freeze([
  '.ssh',
  '.aws',
  '.gnupg',
  '.azure',
  '.kube',
  '.password-store',
  '.mozilla',
  '.thunderbird',
  '.config/gcloud',
  '.config/google-chrome',
  '.config/chromium',
  '.config/gh',
  '.config/sass-edge',
  '.config/age',
  '.config/sops',
  '.config/rclone',
  '.local/share/keyrings',
  '.docker/config.json',
  '.npmrc',
  '.pypirc',
  '.netrc',
  '.pgpass',
  '.my.cnf',
  '.git-credentials',
  '.vault-token',
  '.cargo/credentials*',
  '.gem/credentials',
  '.terraform.d/credentials*',
  '.bash_history',
  '.zsh_history',
  '.python_history',
  '.node_repl_history',
  '.mysql_history',
  '.psql_history',
  '.lesshst',
  '.viminfo',
])

/** They show the system's users without a person's fields: passwd(5), group(5). */
export const USER_LISTS = Object.freeze({ users: '/etc/passwd', groups: '/etc/group' })
/** login.defs(5): below are those of the system; nobody is one too. */
const PERSONS_FROM = 1_000
const NOBODY = 65_534

/**
 * passwd(5) without persons, but for `kept` user numbers, and without what it says of anybody beside name, numbers, home
 * and shell.
 */
export function systemUsers(
  text: string,
  kept: readonly number[],
): { text: string; dropped: ReadonlySet<string> } {
  const dropped = new Set<string>()
  const lines = text.split('\n').flatMap((line) => {
    const [name = '', , user = '', group = '', , home = '', shell = ''] = line.split(':')
    const number = Number(user)
    if (name === '' || user === '' || !Number.isInteger(number)) return []
    if (number >= PERSONS_FROM && number !== NOBODY && !kept.includes(number)) {
      dropped.add(name)
      return []
    }
    return [[name, 'x', user, group, '', home, shell].join(':')]
  })
  return { text: `${lines.join('\n')}\n`, dropped }
}

/** group(5) without the groups of persons, and without them as members. */
export function systemGroups(text: string, dropped: ReadonlySet<string>): string {
  const lines = text.split('\n').flatMap((line) => {
    const [name = '', , group = '', members = ''] = line.split(':')
    if (name === '' || group === '' || dropped.has(name)) return []
    const kept = members.split(',').filter((member) => member !== '' && !dropped.has(member))
    return [[name, 'x', group, kept.join(',')].join(':')]
  })
  return `${lines.join('\n')}\n`
}
