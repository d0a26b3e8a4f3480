/**
 * Which paths hold secrets, by name and by place: private keys, credentials, environment files, password databases.
 * A name with wild characters is one where it could become one. Public halves and examples are none.
 * Rules: docs/responses.md, section 1 (specifics); docs/security.md has the list for people.
 * @module
 */
import { baseName, isWithin } from '../base/lexical-path.ts'
import { alwaysFits, compileGlob, couldFit } from './13policy/rules/glob-part.ts'
import { compileWords, fitsOneOf } from './13policy/rules/word-pattern.ts'

/** Base names; `*` stands for any characters. */
const NAMES: readonly string[] = Object.freeze([
  '.env',
  '.env.*',
  '*.env',
  'credentials',
  'credentials.*',
  'secrets.json',
  'secrets.yaml',
  'secrets.yml',
  '*.key',
  '*.pem',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  'id_rsa*',
  'id_dsa*',
  'id_ecdsa*',
  'id_ed25519*',
  '.netrc',
  '.pgpass',
  '.my.cnf',
  '.git-credentials',
  '.htpasswd',
])

/** Base names that look like one of those and are public. */
const PUBLIC_NAMES: readonly string[] = Object.freeze([
  '*.pub',
  '.env.example',
  '.env.sample',
  '.env.template',
  '.env.dist',
  '.env.defaults',
  '.env.test',
  'example.env',
  'sample.env',
  'template.env',
])

/** Certificates, and what else of a pair is for everybody; not where a program keeps what it logs in with. */
const CERTIFICATE_NAMES: readonly string[] = Object.freeze([
  'ca.pem',
  'cacert.pem',
  'ca-cert*.pem',
  'ca-bundle*.pem',
  '*-ca.pem',
  '*_ca.pem',
  'cert.pem',
  '*-cert.pem',
  '*_cert.pem',
  '*.cert.pem',
  '*.crt.pem',
  'chain.pem',
  'fullchain.pem',
  '*-chain.pem',
  'pub.pem',
  'public.pem',
  'pubkey.pem',
  '*-pub.pem',
  '*_pub.pem',
  '*.pub.pem',
  '*-public.pem',
  '*_public.pem',
  'csr.pem',
  'dhparam.pem',
  'dhparams.pem',
])

/** Below the home of whoever runs the commands; everything in them, or that very file. */
const HOME_PLACES: readonly string[] = Object.freeze([
  '.ssh',
  '.aws',
  '.gnupg',
  '.azure',
  '.kube',
  '.password-store',
  '.mozilla',
  '.config/gcloud',
  '.config/google-chrome',
  '.config/chromium',
  '.config/gh',
  '.local/share/keyrings',
  '.docker/config.json',
  '.npmrc',
  '.pypirc',
  '.cargo/credentials.toml',
])
const PUBLIC_HOME_PLACES: readonly string[] = Object.freeze(['.ssh/known_hosts', '.ssh/config'])

const PLACES: readonly string[] = Object.freeze([
  '/etc/passwd',
  '/etc/passwd-',
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssl/private',
  '/etc/krb5.keytab',
  '/etc/wireguard',
  '/etc/NetworkManager/system-connections',
  '/etc/wpa_supplicant',
])
/** They have nothing beneath them. */
const FILES: readonly string[] = Object.freeze(['/proc/kcore', '/dev/mem', '/dev/kmem'])

/** The environment and the memory of a process: /proc/PID/environ and its kin. */
const PROCESS_FILES: readonly string[] = Object.freeze(['environ', 'mem', 'auxv', 'maps'])

function isOfProcess(path: string): boolean {
  if (!path.startsWith('/proc/')) return false
  const parts = path.split('/')
  return parts.length >= 4 && PROCESS_FILES.includes(parts.at(-1) ?? '')
}

const SECRET_WORDS = compileWords(NAMES)
const PUBLIC_WORDS = compileWords(PUBLIC_NAMES)
const CERTIFICATE_WORDS = compileWords(CERTIFICATE_NAMES)
/** A glob that begins with less than this is meant for other files: `cat s*` is not about secrets.json. */
const GLOB_HEAD_CHARS = 2

function isSecretName(name: string, isGlob: boolean): boolean {
  if (!isGlob) return fitsOneOf(SECRET_WORDS, name)
  const glob = compileGlob(name)
  return NAMES.some(
    (pattern) =>
      alwaysFits(pattern, name) ||
      (glob.head.length >= GLOB_HEAD_CHARS && !pattern.startsWith('*') && couldFit(pattern, glob, false)),
  )
}

function inPlace(place: string, path: string, isGlob: boolean): boolean {
  if (isWithin(place, path)) return true
  if (!isGlob) return false
  // `/etc/sh*` or `/etc/*/private/x`: part by part, as far as the place goes.
  const parts = path.split('/')
  const placeParts = place.split('/')
  return (
    parts.length >= placeParts.length &&
    placeParts.every((part, index) => couldFit(part, compileGlob(parts[index] ?? ''), false))
  )
}

/** The home of whoever runs the commands, and of whoever else the path may belong to. */
function homesFor(path: string, home: string): readonly string[] {
  const [, top, name = ''] = path.split('/')
  const homes = top === 'home' ? [home, '/root', `/home/${name}`] : [home, '/root']
  return homes.filter((directory) => directory !== '/')
}

/** `path` is absolute and normalised; with `isGlob` a shell would expand its wild characters. */
export function isSensitive(path: string, home: string, isGlob = false): boolean {
  const name = baseName(path)
  if (isGlob ? PUBLIC_NAMES.some((pattern) => alwaysFits(pattern, name)) : fitsOneOf(PUBLIC_WORDS, name))
    return false
  if (!isGlob && !path.includes('/.') && fitsOneOf(CERTIFICATE_WORDS, name)) return false
  const homes = homesFor(path, home)
  if (
    !isGlob &&
    homes.some((directory) => PUBLIC_HOME_PLACES.some((place) => path === `${directory}/${place}`))
  )
    return false
  if (isSecretName(name, isGlob)) return true
  if (PLACES.some((place) => inPlace(place, path, isGlob)) || isOfProcess(path)) return true
  const depth = path.split('/').length
  if (FILES.some((file) => file.split('/').length === depth && inPlace(file, path, isGlob))) return true
  return homes.some((directory) =>
    HOME_PLACES.some((place) => inPlace(`${directory}/${place}`, path, isGlob)),
  )
}
