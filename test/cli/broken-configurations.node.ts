/**
 * Broken configurations, each broken in a way of its own: what check must name, and in which words. Used by
 * check-broken.node.test.ts, which also follows every remedy that can be followed to the letter.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeBase64, encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { ensureCertificate } from '../../src/edge/sockets/certificate.node.ts'
import { generateKeyPair } from '../../src/edge/state/key-file.node.ts'

export type Value = Record<string, unknown>
export type Broken = {
  readonly name: string
  /** The file as it is, or what is put over the sound one, by path. */
  readonly text?: string | Buffer
  readonly set?: Readonly<Record<string, unknown>>
  readonly prepare?: (directory: string) => void | Promise<void>
  /** The path that must be named, and what must be said of it, problem and remedy. */
  readonly path: string
  readonly says: RegExp
  /** What this machine or this user must have for it. */
  readonly needs?: 'root' | 'openssl'
  /** Set where what is advised cannot be followed by a test, or is a choice. */
  readonly isAdvice?: true
}

export const pairs = Array.from({ length: 3 }, () => generateKeyPair())
export const [one = '', two = ''] = pairs.map(({ publicKey }) => encodeBase64Url(publicKey))
const raw = pairs[0]?.publicKey ?? new Uint8Array(32)
const agent = (more: Value = {}) => ({ name: 'ci', public_key: one, ...more })

const pipe = { stdio: 'pipe' } as const
function openssl(...words: readonly string[]): void {
  execFileSync('openssl', words, pipe)
}

async function pair(directory: string): Promise<{ key: string; certificate: string }> {
  mkdirSync(join(directory, 'state'), { recursive: true, mode: 0o700 })
  const place = { key: join(directory, 'state/tls.key'), certificate: join(directory, 'state/tls.crt') }
  await ensureCertificate(place.key, place.certificate, { commonName: 'test' })
  return place
}

/** With dates of its own, which `req` cannot give it before OpenSSL 3.4. */
function datedPair(directory: string, from: string, to: string): void {
  const at = (name: string) => join(directory, name)
  mkdirSync(at('state'), { recursive: true, mode: 0o700 })
  const lines = ['[ca]', 'default_ca=d', '[d]', `new_certs_dir=${directory}`, `database=${at('index')}`]
  const more = [`serial=${at('serial')}`, 'default_md=default', 'policy=p', '[p]', 'commonName=supplied', '']
  writeFileSync(at('ca.conf'), [...lines, ...more].join('\n'))
  writeFileSync(at('index'), '')
  writeFileSync(at('serial'), '01')
  openssl(
    'req',
    '-new',
    '-nodes',
    '-newkey',
    'ed25519',
    '-subj',
    '/CN=t',
    '-keyout',
    at('state/tls.key'),
    '-out',
    at('csr'),
  )
  const dates = ['-startdate', from, '-enddate', to]
  openssl(
    'ca',
    '-batch',
    '-notext',
    '-selfsign',
    '-config',
    at('ca.conf'),
    '-keyfile',
    at('state/tls.key'),
    '-in',
    at('csr'),
    '-out',
    at('state/tls.crt'),
    ...dates,
  )
  chmodSync(at('state/tls.key'), 0o600)
}

/** A pair as openssl makes it; `words` say of which kind and for how long. */
function foreignPair(directory: string, ...words: readonly string[]): void {
  mkdirSync(join(directory, 'state'), { recursive: true, mode: 0o700 })
  const [key, certificate] = ['state/tls.key', 'state/tls.crt'].map((name) => join(directory, name))
  openssl(
    'req',
    '-x509',
    '-nodes',
    '-subj',
    '/CN=test',
    '-keyout',
    key ?? '',
    '-out',
    certificate ?? '',
    ...words,
  )
  chmodSync(key ?? '', 0o600)
}

/** Texts that are no JSON, or not the one that is meant. */
const TEXTS: readonly Broken[] = [
  {
    name: 'comma too many',
    text: '{\n  "log": {"level": "info",}\n}',
    path: '',
    says: /line 2, column 26.*comma stands before.*take the comma out/,
  },
  {
    name: 'comment of a line',
    text: '{\n  // here\n  "log": {}\n}',
    path: '',
    says: /line 2, column 3.*no comments.*take it out/,
  },
  { name: 'comment of C', text: '{ /* here */ "log": {} }', path: '', says: /line 1, column 3.*no comments/ },
  { name: 'comment of a shell', text: '# here\n{}', path: '', says: /line 1, column 1.*no comments/ },
  { name: 'byte order mark', text: '\uFEFF{}', path: '', says: /byte order mark.*UTF-8/ },
  { name: 'cut off', text: '{"log": {"level": "in', path: '', says: /cut off/ },
  { name: 'nothing', text: '', path: '', says: /empty.*write \{\}/ },
  { name: 'only blanks', text: ' \n\n', path: '', says: /empty.*write \{\}/ },
  { name: 'a list', text: '[]', path: '', says: /must be an object, not a list.*write \{\}/ },
  { name: 'a text', text: '"sass"', path: '', says: /must be an object, not a string/ },
  { name: 'null', text: 'null', path: '', says: /must be an object, not null/ },
  {
    name: 'a key twice',
    text: '{"log": {},\n "listen": {}, "log": {}}',
    path: '',
    says: /line 2, column 16.*twice.*"log".*keep one/,
  },
  { name: 'a key twice by its escape', text: '{"log": {}, "\\u006cog": {}}', path: '', says: /twice/ },
  { name: 'NUL', text: '{"log": {"level": "in\0fo"}}', path: '', says: /column 22.*control character/ },
  { name: 'tail', text: '{}\n{}', path: '', says: /line 2, column 1: something follows.*take out/ },
  {
    name: 'bytes that are no UTF-8',
    text: Buffer.from([0x7b, 0x0a, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
    path: '',
    says: /line 2, column 2.*not valid UTF-8/,
  },
  {
    name: 'UTF-16',
    text: Buffer.from('\uFEFF{}', 'utf16le'),
    path: '',
    says: /not valid UTF-8.*another encoding/,
  },
  {
    name: 'deep nesting',
    text: `{"log": ${'['.repeat(100)}${']'.repeat(100)}}`,
    path: '',
    says: /nested deeper.*take it out/,
  },
  { name: 'single quotes', text: "{'log': {}}", path: '', says: /single quotes.*double quotes/ },
  { name: 'a key without quotes', text: '{log: {}}', path: '', says: /write "log"/ },
  { name: 'a word without quotes', text: '{"log": {"level": debug}}', path: '', says: /write "debug"/ },
  {
    name: 'true of Python',
    text: '{"policy": {"default_rules": True}}',
    path: '',
    says: /True is not a JSON value.*write true/,
  },
  { name: 'NaN', text: '{"listen": {"port": NaN}}', path: '', says: /NaN is not a JSON value/ },
  { name: 'hexadecimal', text: '{"listen": {"port": 0x10}}', path: '', says: /write 16/ },
  { name: 'leading zero', text: '{"listen": {"port": 0080}}', path: '', says: /./, isAdvice: true },
  {
    name: 'a number beyond doubles',
    text: '{"listen": {"port": 1e999}}',
    path: '',
    says: /larger than a double.*smaller/,
  },
  {
    name: 'an integer that is not exact',
    text: '{"audit": {"keep_bytes": 9007199254740993}}',
    path: '',
    says: /2\^53/,
  },
  { name: 'no comma', text: '{"log": {}\n "listen": {}}', path: '', says: /line 1, column 11.*comma/ },
  { name: 'an equals sign', text: '{"log" = {}}', path: '', says: /write :/ },
]

/** Values that a field cannot have. */
const VALUES: readonly Broken[] = [
  { name: 'unknown key', set: { listne: {} }, path: 'listne', says: /did you mean listen\?/ },
  {
    name: 'unknown key one level down',
    set: { 'session.max_sesions': 5 },
    path: 'session.max_sesions',
    says: /did you mean max_sessions\?/,
  },
  {
    name: 'unknown key two levels down',
    set: { 'sandbox.limits.memory_byte': 5e8 },
    path: 'sandbox.limits.memory_byte',
    says: /did you mean memory_bytes\?/,
  },
  {
    name: 'unknown key of an agent',
    set: { agents: [agent({ rol: 'agent' })] },
    path: 'agents[0].rol',
    says: /did you mean role\?/,
  },
  {
    name: 'unknown key of a capability',
    set: { 'capabilities.default': { allow_commands: ['ls'] } },
    path: 'capabilities.default.allow_commands',
    says: /did you mean allowed_commands\?/,
  },
  { name: 'a key in another case', set: { Session: {} }, path: 'Session', says: /did you mean session\?/ },
  {
    name: 'a key of another place',
    set: { workspace_root: '/srv' },
    path: 'workspace_root',
    says: /did you mean security\.workspace_root\?/,
  },
  { name: 'a key of nowhere', set: { frobnicate: 1 }, path: 'frobnicate', says: /take it out; known here/ },
  {
    name: 'a comment as a key',
    set: { '//': 'here' },
    path: '["//"]',
    says: /take it out: there are no comments/,
  },
  { name: 'a secret', set: { private_key: 'AAAA' }, path: 'private_key', says: /take it out: .*secret/ },
  {
    name: 'text for a number',
    set: { 'session.max_sessions': '5' },
    path: 'session.max_sessions',
    says: /must be a whole number, not a string.*write 5/,
  },
  {
    name: 'a unit',
    set: { 'session.keepalive_seconds': '60s' },
    path: 'session.keepalive_seconds',
    says: /not a string.*write 60/,
  },
  {
    name: 'a fraction',
    set: { 'session.max_sessions': 1.5 },
    path: 'session.max_sessions',
    says: /not a fraction.*write 2/,
  },
  {
    name: 'negative',
    set: { 'session.max_sessions': -1 },
    path: 'session.max_sessions',
    says: /is -1, which is not between 1 and 1024.*write 10/,
  },
  {
    name: 'zero',
    set: { 'quota.tokens_per_session': 0 },
    path: 'quota.tokens_per_session',
    says: /is 0, .*write null/,
  },
  {
    name: 'too large',
    set: { 'execution.max_concurrent': 1_000_000 },
    path: 'execution.max_concurrent',
    says: /between 1 and 256/,
  },
  {
    name: 'a port beyond ports',
    set: { 'listen.port': 65_536 },
    path: 'listen.port',
    says: /between 0 and 65535/,
  },
  {
    name: 'a word for a switch',
    set: { 'policy.default_rules': 'yes' },
    path: 'policy.default_rules',
    says: /must be true or false.*write true/,
  },
  {
    name: 'a number for a switch',
    set: { 'session.bind_ip': 0 },
    path: 'session.bind_ip',
    says: /write false/,
  },
  {
    name: 'null where there is none',
    set: { 'session.bind_ip': null },
    path: 'session.bind_ip',
    says: /not null/,
  },
  {
    name: 'text for a list',
    set: { 'acl.allow': '192.0.2.0/24' },
    path: 'acl.allow',
    says: /must be a list.*write \["192\.0\.2\.0\/24"\]/,
    isAdvice: true,
  },
  {
    name: 'a list for text',
    set: { 'listen.address': ['::1'] },
    path: 'listen.address',
    says: /must be text, not a list.*write "::1"/,
  },
  {
    name: 'a number for a path',
    set: { 'tls.key': 5 },
    path: 'tls.key',
    says: /must be a path, not a number/,
  },
  {
    name: 'a list for an object',
    set: { session: [] },
    path: 'session',
    says: /must be an object, not a list.*write \{\}/,
  },
  {
    name: 'an object for a list',
    set: { agents: { ci: one } },
    path: 'agents',
    says: /must be a list.*\[\{\.\.\.\}\]/,
    isAdvice: true,
  },
  {
    name: 'a choice mistyped',
    set: { 'log.level': 'inof' },
    path: 'log.level',
    says: /did you mean "info"\?/,
  },
  {
    name: 'a choice of nowhere',
    set: { 'audit.fsync': 'sometimes' },
    path: 'audit.fsync',
    says: /must be "always".*write "interval"/,
  },
  {
    name: 'a role mistyped',
    set: { agents: [agent({ role: 'operater' })] },
    path: 'agents[0].role',
    says: /did you mean "operator"\?/,
  },
  {
    name: 'a tier of nowhere',
    set: { agents: [agent({ tier: 'T9' })] },
    path: 'agents[0].tier',
    says: /did you mean "T/,
  },
  {
    name: 'a host name to listen on',
    set: { 'listen.address': 'localhost' },
    path: 'listen.address',
    says: /not an IP address.*write "127\.0\.0\.1"/,
  },
  {
    name: 'a zone',
    set: { 'listen.address': 'fe80::1%eth0' },
    path: 'listen.address',
    says: /write "fe80::1"/,
    isAdvice: true,
  },
  {
    name: 'address and port',
    set: { 'listen.address': '127.0.0.1:19284' },
    path: 'listen.address',
    says: /write "127\.0\.0\.1"/,
  },
  { name: 'brackets', set: { 'listen.address': '[::1]' }, path: 'listen.address', says: /write "::1"/ },
  {
    name: 'octal',
    set: { 'listen.address': '127.0.0.010' },
    path: 'listen.address',
    says: /write "127\.0\.0\.10"/,
  },
  {
    name: 'bits of the host',
    set: { 'acl.allow': ['127.0.0.1/8'] },
    path: 'acl.allow[0]',
    says: /beyond its prefix.*127\.0\.0\.0\/8/,
  },
  {
    name: 'a prefix too long',
    set: { 'acl.allow': ['127.0.0.0/33'] },
    path: 'acl.allow[0]',
    says: /no valid prefix length.*like 192\.0\.2\.0\/24/,
  },
  {
    name: 'a mask',
    set: { 'acl.allow': ['127.0.0.0/255.0.0.0'] },
    path: 'acl.allow[0]',
    says: /write "127\.0\.0\.0\/8"/,
  },
  {
    name: 'a host name to allow',
    set: { 'acl.allow': ['localhost'] },
    path: 'acl.allow[0]',
    says: /write "127\.0\.0\.1"/,
  },
  {
    name: 'a name that is none',
    set: { agents: [agent({ name: 'c i' })] },
    path: 'agents[0].name',
    says: /not a valid name.*A-Z/,
  },
  {
    name: 'a name like a directory',
    set: { agents: [agent({ name: '..' })] },
    path: 'agents[0].name',
    says: /begin it with a letter/,
  },
  {
    name: 'a name like an option',
    set: { agents: [agent({ name: '-rf' })] },
    path: 'agents[0].name',
    says: /begin it with a letter/,
  },
  {
    name: 'no name',
    set: { agents: [{ public_key: one }] },
    path: 'agents[0].name',
    says: /is required.*characters/,
  },
  {
    name: 'no key',
    set: { agents: [{ name: 'ci' }] },
    path: 'agents[0].public_key',
    says: /is required.*sass-edge keygen/,
  },
  {
    name: 'a key in padded base64',
    set: { agents: [agent({ public_key: encodeBase64(raw) })] },
    path: 'agents[0].public_key',
    says: /not a public key.*write "/,
  },
  {
    name: 'a key in hexadecimal',
    set: { agents: [agent({ public_key: encodeHex(raw) })] },
    path: 'agents[0].public_key',
    says: /write "/,
  },
  {
    name: 'a key of ssh',
    set: {
      agents: [
        agent({
          public_key: `ssh-ed25519 ${encodeBase64(Buffer.concat([Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0 '), raw]))} me@here`,
        }),
      ],
    },
    path: 'agents[0].public_key',
    says: /write "/,
  },
  {
    name: 'a key in PEM',
    set: {
      agents: [
        agent({
          public_key: `-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA${encodeBase64(raw)}\n-----END PUBLIC KEY-----\n`,
        }),
      ],
    },
    path: 'agents[0].public_key',
    says: /write "/,
  },
  {
    name: 'a private key in PEM',
    set: {
      agents: [
        agent({
          public_key: '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----',
        }),
      ],
    },
    path: 'agents[0].public_key',
    says: /take it out and make a new pair/,
  },
  {
    name: 'a file for a key',
    set: { agents: [agent({ public_key: '/etc/sass-edge/keys/ci.pub' })] },
    path: 'agents[0].public_key',
    says: /sass-edge agent add NAME --key FILE/,
  },
  {
    name: 'a key that is no point',
    set: { agents: [agent({ public_key: encodeBase64Url(new Uint8Array(32).fill(2)) })] },
    path: 'agents[0].public_key',
    says: /not a usable Ed25519 public key.*sass-edge keygen/,
  },
  {
    name: 'a weak key',
    set: { agents: [agent({ public_key: encodeBase64Url(new Uint8Array(32).fill(0)) })] },
    path: 'agents[0].public_key',
    says: /not a usable/,
  },
  {
    name: 'a tool mistyped',
    set: { agents: [agent({ tools: ['Bahs'] })] },
    path: 'agents[0].tools[0]',
    says: /did you mean "Bash"\?/,
  },
  {
    name: 'a command by a relative path',
    set: { 'capabilities.default.allowed_commands': ['./run.sh'] },
    path: 'capabilities.default.allowed_commands[0]',
    says: /relative path.*absolute path/,
  },
  {
    name: 'a command with a blank at its end',
    set: { 'capabilities.default.allowed_commands': ['ls '] },
    path: 'capabilities.default.allowed_commands[0]',
    says: /blanks at an end/,
  },
  {
    name: 'a star within a path',
    set: { 'capabilities.default.allowed_paths': ['/srv/*'] },
    path: 'capabilities.default.allowed_paths[0]',
    says: /never match.*name a directory/,
  },
  {
    name: 'a tilde',
    set: { 'capabilities.default.allowed_paths': ['~/work'] },
    path: 'capabilities.default.allowed_paths[0]',
    says: /begins with ~.*whole path/,
  },
  {
    name: 'a variable',
    set: { state_directory: '$HOME/state' },
    path: 'state_directory',
    says: /begins with a variable/,
  },
  {
    name: 'a variable that is none',
    set: { 'capabilities.default.allowed_env': ['MY-VAR'] },
    path: 'capabilities.default.allowed_env[0]',
    says: /not the name of an environment variable/,
  },
  {
    name: 'a digest that is none',
    set: { 'policy.rules_sha256': 'sha256:abc' },
    path: 'policy.rules_sha256',
    says: /not a SHA-256.*sha256sum/,
  },
  {
    name: 'an address of no web service',
    set: { 'audit.anchor.url': 'ftp://tsa' },
    path: 'audit.anchor.url',
    says: /web service.*https/,
  },
  {
    name: 'an address with a password',
    set: { 'audit.anchor.url': 'https://me:secret@tsa.example.org/' },
    path: 'audit.anchor.url',
    says: /holds a user.*take out/,
  },
  {
    name: 'an address with a port beyond ports',
    set: { 'audit.anchor.url': 'https://tsa.example.org:99999/' },
    path: 'audit.anchor.url',
    says: /web service/,
  },
  {
    name: 'a path of no length',
    set: { state_directory: '' },
    path: 'state_directory',
    says: /is empty.*absolute path/,
  },
  {
    name: 'a path without an end',
    set: { 'policy.rules_file': `/${'a'.repeat(5_000)}` },
    path: 'policy.rules_file',
    says: /longer than .*shorter/,
  },
  { name: 'a schema that is no text', set: { $schema: 1 }, path: '$schema', says: /must be text/ },
  {
    name: 'too many entries',
    set: { 'acl.allow': Array.from({ length: 5_000 }, () => '::1') },
    path: 'acl.allow',
    says: /more than [0-9]+ entries.*keep/,
    isAdvice: true,
  },
  {
    name: 'a capability with a name that is none',
    set: { capabilities: { 'a b': {} } },
    path: 'capabilities["a b"]',
    says: /not a valid name/,
  },
]

/** Values that are fine, and not together. */
const COMBINATIONS: readonly Broken[] = [
  {
    name: 'one name for two',
    set: { agents: [agent(), agent({ public_key: two })] },
    path: 'agents[1].name',
    says: /also the name of agents\[0\]/,
  },
  {
    name: 'one key for two',
    set: { agents: [agent(), agent({ name: 'cd' })] },
    path: 'agents[1].public_key',
    says: /also the key of agents\[0\]/,
  },
  {
    name: 'the name of the admin socket',
    set: { agents: [agent({ name: 'admin' })] },
    path: 'agents[0].name',
    says: /admin socket.*choose another/,
  },
  {
    name: 'a capability of nowhere',
    set: { agents: [agent({ capability: 'defualt' })] },
    path: 'agents[0].capability',
    says: /did you mean "default"\?/,
  },
  {
    name: 'an agent without any capability set',
    set: { agents: [agent()], capabilities: {} },
    path: 'agents[0].capability',
    says: /add capabilities\.default/,
  },
  {
    name: 'acting for nobody',
    set: { agents: [agent({ delegated_by: 'boss' })] },
    path: 'agents[0].delegated_by',
    says: /agents does not have/,
  },
  {
    name: 'acting for itself',
    set: { agents: [agent({ delegated_by: 'ci' })] },
    path: 'agents[0].delegated_by',
    says: /the agent itself.*write null/,
  },
  {
    name: 'an operator that acts for another',
    set: { agents: [agent(), agent({ name: 'cd', public_key: two, role: 'operator', delegated_by: 'ci' })] },
    path: 'agents[1].role',
    says: /make it an agent/,
  },
  {
    name: 'port 22',
    set: { 'listen.port': 22 },
    path: 'listen.port',
    says: /is 22.*use 19284/,
    isAdvice: true,
  },
  {
    name: 'the network, for nobody in particular',
    set: { 'listen.address': '0.0.0.0' },
    path: 'acl.allow',
    says: /is absent.*list the sources/,
  },
  {
    name: 'loopback, for the network alone',
    set: { 'acl.allow': ['192.0.2.0/24'] },
    path: 'acl.allow',
    says: /lets nobody in.*add "127\.0\.0\.1"/,
  },
  {
    name: 'IPv4, for IPv6 alone',
    set: { 'listen.address': '0.0.0.0', 'acl.allow': ['2001:db8::/32'] },
    path: 'acl.allow',
    says: /lets nobody in.*IPv4/,
  },
  {
    name: 'a socket path too long',
    set: { 'listen.admin_socket': `/tmp/${'a'.repeat(120)}` },
    path: 'listen.admin_socket',
    says: /a Unix socket can have 107.*shorter/,
  },
  {
    name: 'one file as key and certificate',
    set: { 'tls.key': 'state/pem', 'tls.certificate': 'state/pem' },
    path: 'tls.key',
    says: /same file/,
  },
  {
    name: 'one file as key and CA',
    set: { 'tls.key': 'state/pem', 'tls.client_ca': 'state/pem' },
    path: 'tls.client_ca',
    says: /and so is tls\.key/,
    isAdvice: true,
  },
  {
    name: 'penalties that end before they begin',
    set: { 'acl.penalties.min_seconds': 700 },
    path: 'acl.penalties.max_seconds',
    says: /less than min_seconds/,
  },
  {
    name: 'less noise than a piece of it',
    set: { 'defense.tarpit.total_bytes': 10 },
    path: 'defense.tarpit.total_bytes',
    says: /less than chunk_bytes/,
  },
  {
    name: 'more noise for one than a day has',
    set: { 'defense.tarpit.total_bytes': 1_000_000, 'defense.tarpit.daily_bytes': 100_000 },
    path: 'defense.tarpit.total_bytes',
    says: /daily_bytes is 100000.*write 100000/,
  },
  {
    name: 'rings beyond the pool',
    set: { 'session.ring_bytes': 67_108_864 },
    path: 'session.ring_bytes',
    says: /is the most.*lower/,
  },
  {
    name: 'more sessions for one than for all',
    set: { 'session.max_per_agent': 20, 'session.max_sessions': 10 },
    path: 'session.max_per_agent',
    says: /write 10 at most/,
  },
  {
    name: 'commands longer than sessions',
    set: { 'quota.tool_timeout_seconds': 7200, 'session.max_duration_seconds': 3600 },
    path: 'quota.tool_timeout_seconds',
    says: /write 3600 at most/,
  },
  {
    name: 'silence longer than life',
    set: { 'sandbox.limits.silence_seconds': 60, 'quota.tool_timeout_seconds': 60 },
    path: 'sandbox.limits.silence_seconds',
    says: /write 59 at most/,
  },
  {
    name: 'more in memory than memory',
    set: { 'sandbox.memory_directory_bytes': 200_000_000, 'sandbox.limits.memory_bytes': 100_000_000 },
    path: 'sandbox.memory_directory_bytes',
    says: /write 100000000 at most/,
  },
  {
    name: 'a record that holds no file',
    set: { 'audit.keep_bytes': 1_048_576 },
    path: 'audit.keep_bytes',
    says: /not even the file that is written/,
    isAdvice: true,
  },
  {
    name: 'everything allowed is denied',
    set: {
      'capabilities.default': {
        allowed_commands: ['git status', '/bin/ls'],
        denied_commands: ['git', 'ls'],
        allowed_paths: ['$WORKSPACE'],
      },
    },
    path: 'capabilities.default.denied_commands',
    says: /no command may run.*deny less/,
  },
  {
    name: 'everything is denied by a star',
    set: {
      'capabilities.default': { allowed_commands: ['*'], denied_commands: ['*'], allowed_paths: ['*'] },
    },
    path: 'capabilities.default.denied_commands',
    says: /no command may run/,
  },
  {
    name: 'every path is denied',
    set: {
      'capabilities.default': {
        allowed_commands: ['ls'],
        allowed_paths: ['/srv/a', '/srv/b'],
        denied_paths: ['/srv'],
      },
    },
    path: 'capabilities.default.denied_paths',
    says: /no path may be used/,
  },
  {
    name: 'allowed and blocked',
    set: {
      'capabilities.default': { allowed_commands: ['ls'], allowed_paths: ['*'] },
      'security.blocked_commands': ['ls'],
    },
    path: 'capabilities.default.allowed_commands',
    says: /blocked_commands blocks/,
  },
  {
    name: 'a shell where none may run',
    set: {
      'capabilities.default': { allowed_commands: ['ls', '/bin/bash'], allowed_paths: ['*'] },
      'security.allow_shell': false,
    },
    path: 'capabilities.default.allowed_commands[1]',
    says: /allow_shell is false.*take it out/,
  },
  {
    name: 'a variable that never passes',
    set: { 'capabilities.default.allowed_env': ['LANG', 'LD_PRELOAD'] },
    path: 'capabilities.default.allowed_env[1]',
    says: /never passes; take it out/,
  },
  {
    name: 'a tool that the tier does not give',
    set: { agents: [agent({ tier: 'T1', tools: ['Bash'] })] },
    path: 'agents[0].tools[0]',
    says: /tier T1 does not give; .*set tier to "T2"/,
  },
  {
    name: 'only pinned programs, and none',
    set: { 'security.pinned_only': true },
    path: 'security.pinned_only',
    says: /names none/,
  },
  {
    name: 'a star among the blocked',
    set: { 'security.blocked_commands': ['*'] },
    path: 'security.blocked_commands[0]',
    says: /no wildcard.*empty security\.allowed_commands/,
  },
  {
    name: 'a star among the known',
    set: { 'security.known_programs': ['*'] },
    path: 'security.known_programs[0]',
    says: /opaque to "allow"/,
  },
  {
    name: 'a star among the reachable',
    set: { 'security.reachable_addresses': ['*'] },
    path: 'security.reachable_addresses[0]',
    says: /internal_addresses to "allow"/,
  },
  {
    name: 'questions that nobody may ask',
    set: { 'confirm.max_pending': 0, 'security.confirm_dangerous_actions': true },
    path: 'confirm.max_pending',
    says: /confirm_dangerous_actions asks.*write 1/,
  },
  {
    name: 'a pin without a file',
    set: { 'policy.rules_sha256': '0'.repeat(64) },
    path: 'policy.rules_sha256',
    says: /does not name.*name the file/,
  },
  {
    name: 'a path with ..',
    set: { 'capabilities.default.allowed_paths': ['$WORKSPACE', '/srv/../etc'] },
    path: 'capabilities.default.allowed_paths[1]',
    says: /means \/etc; write "\/etc"/,
  },
  {
    name: 'a relative path',
    set: { 'capabilities.default.allowed_paths': ['$WORKSPACE', 'src'] },
    path: 'capabilities.default.allowed_paths[1]',
    says: /is relative.*write "/,
  },
  {
    name: 'a program pinned twice',
    set: { 'security.executables': [1, 2].map(() => ({ path: '/bin/sh', sha256: '0'.repeat(64) })) },
    path: 'security.executables[1].path',
    says: /is pinned by/,
  },
  {
    name: 'branches within each other',
    set: { 'sandbox.branch_roots': ['/srv', '/srv/data'] },
    path: 'sandbox.branch_roots[1]',
    says: /branched already; take it out/,
  },
  {
    name: 'a branch twice',
    set: { 'sandbox.branch_roots': ['/srv', '/srv'] },
    path: 'sandbox.branch_roots[1]',
    says: /same as sandbox\.branch_roots\[0\]/,
  },
  {
    name: 'a branch of the kernel',
    set: { 'sandbox.branch_roots': ['/proc'] },
    path: 'sandbox.branch_roots[0]',
    says: /no place for files/,
  },
  {
    name: 'a branch of the state',
    set: { 'sandbox.branch_roots': ['$WORKSPACE', 'state'] },
    path: 'sandbox.branch_roots[1]',
    says: /state directory/,
  },
  {
    name: 'memory outside of every branch',
    set: { 'sandbox.volatile': ['/opt/cache'] },
    path: 'sandbox.volatile[0]',
    says: /beneath no directory of sandbox\.branch_roots/,
  },
  {
    name: 'every device',
    set: { 'sandbox.devices': ['/dev'] },
    path: 'sandbox.devices[0]',
    says: /name each/,
  },
  {
    name: 'a device elsewhere',
    set: { 'sandbox.devices': ['/etc/passwd'] },
    path: 'sandbox.devices[0]',
    says: /does not lie in \/dev/,
  },
  {
    name: 'a copy of nothing',
    set: { 'sandbox.require': 'copy', 'sandbox.copy_bytes': 0 },
    path: 'sandbox.copy_bytes',
    says: /nothing can be copied.*write 268435456/,
  },
  {
    name: 'one directory for state and work',
    set: { 'security.workspace_root': 'state' },
    path: 'security.workspace_root',
    says: /and so is state_directory/,
    isAdvice: true,
  },
  {
    name: 'work among the evidence',
    set: { 'security.workspace_root': 'state/audit/work' },
    path: 'security.workspace_root',
    says: /keeps its own files/,
  },
  {
    name: 'state among the work',
    set: { state_directory: 'work/state', 'security.workspace_root': 'work' },
    path: 'state_directory',
    says: /outside of the workspace/,
  },
]

/** What only the machine can tell. */
const MACHINE: readonly Broken[] = [
  {
    name: 'a port of nobody',
    set: { 'listen.address': '192.0.2.77', 'listen.port': 19_284, 'acl.allow': ['*'] },
    path: 'listen.address',
    says: /not an address of this machine.*ip addr/,
  },
  {
    name: 'an address of nobody with any port',
    set: { 'listen.address': '192.0.2.77', 'acl.allow': ['*'] },
    path: 'listen.address',
    says: /not an address of this machine/,
  },
  {
    name: 'a file for the state',
    set: { state_directory: 'file' },
    prepare: (at) => writeFileSync(join(at, 'file'), ''),
    path: 'state_directory',
    says: /not a directory/,
  },
  {
    name: 'state that leads nowhere',
    set: { state_directory: 'link' },
    prepare: (at) => symlinkSync('/nonexistent/there', join(at, 'link')),
    path: 'state_directory',
    says: /symbolic link.*run rm/,
  },
  {
    name: 'state that everybody writes',
    prepare: (at) => {
      mkdirSync(join(at, 'state'))
      chmodSync(join(at, 'state'), 0o777)
    },
    path: 'state_directory',
    says: /mode 0777.*run chmod 700/,
  },
  {
    name: 'an audit on a file system that is read-only',
    set: { 'audit.directory': '/proc/audit' },
    path: 'audit.directory',
    says: /cannot be written/,
  },
  {
    name: 'a file for the workspace',
    set: { 'security.workspace_root': 'file' },
    prepare: (at) => writeFileSync(join(at, 'file'), ''),
    path: 'security.workspace_root',
    says: /not a directory; name a directory/,
  },
  {
    name: 'a workspace of everybody',
    prepare: (at) => chmodSync(join(at, 'work'), 0o777),
    path: 'security.workspace_root',
    says: /mode 0777.*run chmod o-w/,
  },
  {
    name: 'a file for the socket',
    set: { 'listen.admin_socket': '/etc/passwd' },
    path: 'listen.admin_socket',
    says: /not a socket/,
  },
  {
    name: 'a configuration of everybody',
    prepare: (at) => chmodSync(join(at, 'c.json'), 0o666),
    path: '',
    says: /mode 0666.*run chmod go-w/,
  },
  {
    name: 'a configuration of a group',
    prepare: (at) => chmodSync(join(at, 'c.json'), 0o664),
    path: '',
    says: /mode 0664.*run chmod go-w/,
  },
  {
    name: 'a configuration of somebody else',
    prepare: (at) => chownSync(join(at, 'c.json'), 65_534, 65_534),
    path: '',
    says: /another user \(uid 65534\).*run chown/,
    needs: 'root',
  },
  {
    name: 'a directory in which everybody can replace it',
    prepare: (at) => chmodSync(at, 0o777),
    path: '',
    says: /everybody can replace it.*run chmod o-w/,
  },
  {
    name: 'a private key in it',
    set: { 'tls.key': '-----BEGIN PRIVATE KEY-----' },
    path: '',
    says: /holds a private key/,
  },
  {
    name: 'a key of TLS that others read',
    prepare: async (at) => chmodSync((await pair(at)).key, 0o640),
    path: 'tls.key',
    says: /mode 0640 in place of 0600; run chmod 600/,
  },
  {
    name: 'a key of TLS of somebody else',
    prepare: async (at) => chownSync((await pair(at)).key, 65_534, 65_534),
    path: 'tls.key',
    says: /uid 65534.*run chown/,
    needs: 'root',
  },
  {
    name: 'a key of TLS that is none',
    prepare: async (at) => writeFileSync((await pair(at)).key, 'not a key'),
    path: 'tls.key',
    says: /not an unencrypted private key in PEM.*openssl genpkey/,
  },
  {
    name: 'a key of TLS that is a directory',
    set: { 'tls.key': 'work' },
    path: 'tls.key',
    says: /not a regular file/,
  },
  {
    name: 'a key of TLS that leads nowhere',
    set: { 'tls.key': 'link' },
    prepare: (at) => symlinkSync('/nonexistent/key', join(at, 'link')),
    path: 'tls.key',
    says: /leads to no file.*run rm/,
  },
  {
    name: 'a certificate without its key',
    prepare: async (at) => {
      const { key } = await pair(at)
      execFileSync('rm', [key])
    },
    path: 'tls.key',
    says: /put the key back/,
  },
  {
    name: 'a certificate of another key',
    prepare: async (at) => {
      const { key } = await pair(at)
      execFileSync('rm', [key])
      mkdirSync(join(at, 'other'))
      await ensureCertificate(key, join(at, 'other/c'), { commonName: 'x' })
    },
    path: 'tls.certificate',
    says: /does not belong to the key/,
  },
  {
    name: 'a certificate that is none',
    prepare: async (at) => writeFileSync((await pair(at)).certificate, 'hello'),
    path: 'tls.certificate',
    says: /not PEM/,
  },
  {
    name: 'a certificate that is broken',
    prepare: async (at) =>
      writeFileSync(
        (await pair(at)).certificate,
        '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      ),
    path: 'tls.certificate',
    says: /cannot be parsed/,
  },
  {
    name: 'a certificate that has ended',
    needs: 'openssl',
    prepare: (at) => datedPair(at, '20240101000000Z', '20240201000000Z'),
    path: 'tls.certificate',
    says: /valid until 2024-02-01 only; run rm/,
  },
  {
    name: 'a certificate that has not begun',
    needs: 'openssl',
    prepare: (at) => datedPair(at, '20900101000000Z', '20910201000000Z'),
    path: 'tls.certificate',
    says: /not valid before 2090-01-01T00:00:00Z/,
    isAdvice: true,
  },
  {
    name: 'a weak key of TLS',
    needs: 'openssl',
    prepare: (at) => foreignPair(at, '-newkey', 'rsa:1024'),
    path: 'tls.key',
    says: /RSA key of 1024 bits.*Ed25519/,
  },
  {
    name: 'a certificate with a broken digest',
    needs: 'openssl',
    prepare: (at) => foreignPair(at, '-newkey', 'rsa:2048', '-sha1'),
    path: 'tls.certificate',
    says: /signed with sha1/,
  },
  {
    name: 'a curve that TLS 1.3 does not have',
    needs: 'openssl',
    prepare: (at) => foreignPair(at, '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'),
    path: 'tls.key',
    says: /secp256k1/,
  },
  {
    name: 'a CA that is not there',
    set: { 'tls.client_ca': 'ca.pem' },
    path: 'tls.client_ca',
    says: /does not exist.*set tls\.client_ca to null/,
  },
  {
    name: 'a CA that is no CA',
    needs: 'openssl',
    set: { 'tls.client_ca': 'other/tls.crt' },
    prepare: (at) => {
      mkdirSync(join(at, 'other'))
      openssl(
        'req',
        '-x509',
        '-nodes',
        '-newkey',
        'ed25519',
        '-subj',
        '/CN=leaf',
        '-addext',
        'basicConstraints=critical,CA:FALSE',
        '-keyout',
        '/dev/null',
        '-out',
        join(at, 'other/tls.crt'),
      )
    },
    path: 'tls.client_ca',
    says: /is no CA \(CN leaf\)/,
  },
  {
    name: 'a CA that is a key',
    needs: 'openssl',
    set: { 'tls.client_ca': 'ca.key' },
    prepare: (at) => openssl('genpkey', '-algorithm', 'ed25519', '-out', join(at, 'ca.key')),
    path: 'tls.client_ca',
    says: /holds no certificate/,
  },
  {
    name: 'time stamps of somebody unknown',
    set: { 'audit.anchor.url': 'https://tsa.example.org/tsr' },
    path: 'audit.anchor.certificate',
    says: /could not be verified.*set audit\.anchor\.url to null/,
  },
  {
    name: 'an authority that is not there',
    set: { 'audit.anchor.url': 'https://tsa.example.org/tsr', 'audit.anchor.certificate': 'tsa.pem' },
    path: 'audit.anchor.certificate',
    says: /does not exist/,
  },
  {
    name: 'rules that are not there',
    set: { 'policy.rules_file': 'rules.json' },
    path: 'policy.rules_file',
    says: /does not exist.*name another file/,
  },
  {
    name: 'rules that are no JSON',
    set: { 'policy.rules_file': 'rules.json' },
    prepare: (at) => writeFileSync(join(at, 'rules.json'), '{"rules": ['),
    path: 'policy.rules_file',
    says: /rules\.json/,
  },
  {
    name: 'a rule with an answer of nowhere',
    set: { 'policy.rules_file': 'rules.json' },
    prepare: (at) => writeFileSync(join(at, 'rules.json'), '{"rules": [{"id": "own.x", "action": "denny"}]}'),
    path: 'policy.rules_file',
    says: /rules\[0\]\.action is "denny"/,
  },
  {
    name: 'rules of everybody',
    set: { 'policy.rules_file': 'rules.json' },
    prepare: (at) => {
      writeFileSync(join(at, 'rules.json'), '{"rules": []}')
      chmodSync(join(at, 'rules.json'), 0o666)
    },
    path: 'policy.rules_file',
    says: /mode 0666.*run chmod go-w/,
  },
  {
    name: 'rules that were not pinned',
    set: { 'policy.rules_file': 'rules.json', 'policy.rules_sha256': '0'.repeat(64) },
    prepare: (at) => writeFileSync(join(at, 'rules.json'), '{"rules": []}'),
    path: 'policy.rules_sha256',
    says: /the daemon halts; .*write "[0-9a-f]{64}"/,
  },
  {
    name: 'a rule to disable of nowhere',
    set: { 'policy.disabled_rules': ['disk.overwritten'] },
    path: 'policy.disabled_rules',
    says: /is no rule here/,
    isAdvice: true,
  },
  {
    name: 'a pinned program that is not there',
    set: { 'security.executables': [{ path: '/bin/none-such', sha256: '0'.repeat(64) }] },
    path: 'security.executables[0]',
    says: /is not there/,
  },
  {
    name: 'a user of nowhere',
    set: { 'capabilities.default.run_as': 'nobody-such' },
    path: 'capabilities.default.run_as',
    says: /no user of this device; .*write null/,
  },
  {
    name: 'more memory than there is',
    set: { 'sandbox.limits.memory_bytes': 2 ** 50 },
    path: 'sandbox.limits.memory_bytes',
    says: /bounds nothing; write null/,
  },
  {
    name: 'a private key for a public one',
    set: {
      agents: [
        agent({ name: 'a', public_key: encodeBase64Url(pairs[1]?.seed ?? raw) }),
        agent({ name: 'b', public_key: two }),
      ],
    },
    path: 'agents[0].public_key',
    says: /private key of agents\[1\]|not a usable/,
  },
  {
    name: 'a key file that others read',
    set: { agents: [agent()] },
    prepare: (at) => keyFile(at, 'ci', pairs[0]?.seed ?? raw, 0o644),
    path: 'agents[0].public_key',
    says: /mode 0644 in place of 0600.*run chmod 600/,
  },
  {
    name: 'a key file of another length',
    set: { agents: [agent()] },
    prepare: (at) => keyFile(at, 'ci', new Uint8Array(31), 0o600),
    path: 'agents[0].public_key',
    says: /31 bytes long.*sass-edge keygen/,
  },
  {
    name: 'a key file in base64',
    set: { agents: [agent()] },
    prepare: (at) => keyFile(at, 'ci', Buffer.from(encodeBase64(raw)), 0o600),
    path: 'agents[0].public_key',
    says: /44 bytes long/,
  },
  {
    name: 'a key file that is a link',
    set: { agents: [agent()] },
    prepare: (at) => {
      keyFile(at, 'other', pairs[0]?.seed ?? raw, 0o600)
      symlinkSync('other.key', join(at, 'keys/ci.key'))
    },
    path: 'agents[0].public_key',
    says: /symbolic link/,
  },
  {
    name: 'a key file of another key',
    set: { agents: [agent()] },
    prepare: (at) => keyFile(at, 'ci', pairs[2]?.seed ?? raw, 0o600),
    path: 'agents[0].public_key',
    says: /not the public half.*write "/,
  },
]

function keyFile(directory: string, name: string, bytes: Uint8Array, mode: number): void {
  mkdirSync(join(directory, 'keys'), { recursive: true })
  writeFileSync(join(directory, `keys/${name}.key`), bytes)
  chmodSync(join(directory, `keys/${name}.key`), mode)
}

export const BROKEN: readonly Broken[] = [...TEXTS, ...VALUES, ...COMBINATIONS, ...MACHINE]
