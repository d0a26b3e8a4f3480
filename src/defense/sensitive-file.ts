/**
 * Which paths hold secrets, by name and by place: private keys, credentials, environment files, password databases.
 * A name with wild characters is one where it could become one. Public halves and examples are none.
 * Rules: docs/responses.md, section 1 (specifics); docs/security.md has the list for people.
 * @module
 */
import { baseName, isWithin } from '../base/lexical-path.ts'
import {
  compileGlob,
  couldFit,
  type GlobPart,
  hasWild,
  headOf,
  isAlwaysFitting,
} from './13policy/rules/glob-part.ts'
import { compileWord, compileWords, fitsOneOf } from './13policy/rules/word-pattern.ts'

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

/** Below /etc. */
const ETC = '/etc/'
const PLACES: readonly string[] = Object.freeze(
  [
    ...['passwd', 'passwd-', 'shadow', 'shadow-', 'gshadow', 'gshadow-', 'sudoers', 'sudoers.d'],
    ...['ssl/private', 'krb5.keytab', 'wireguard', 'NetworkManager/system-connections', 'wpa_supplicant'],
  ].map((name) => `${ETC}${name}`),
)
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
type NamePattern = { readonly text: string; readonly word: ReturnType<typeof compileWord> }
const compileNames = (names: readonly string[]): readonly NamePattern[] =>
  names.map((text) => ({ text, word: compileWord(text) }))
/** The same once more, for names with wild characters. */
const SECRET_NAMES = compileNames(NAMES)
const OPEN_NAMES = compileNames(PUBLIC_NAMES)
/** A glob that begins with less than this is meant for other files: `cat s*` is not about secrets.json. */
const GLOB_HEAD_CHARS = 2

/** The parts of a path; the first one of an absolute path is empty. */
type Parts = readonly string[]
const partsOf = (path: string): Parts => path.split('/')
const PLACE_PARTS = PLACES.map(partsOf)
const FILE_PARTS = FILES.map(partsOf)
const HOME_PLACE_PARTS = HOME_PLACES.map(partsOf)

function couldBeSecretName(name: string): boolean {
  const glob = headOf(name).length >= GLOB_HEAD_CHARS ? compileGlob(name) : undefined
  return SECRET_NAMES.some(
    ({ text, word }) =>
      isAlwaysFitting(text, word, name) ||
      (glob !== undefined && !text.startsWith('*') && couldFit(text, glob, false)),
  )
}

/** A path that is looked for in many places: each of its parts is compiled once, and only where that is asked for. */
class SoughtPath {
  readonly parts: Parts
  readonly #globs: (GlobPart | undefined)[] = []

  constructor(path: string) {
    this.parts = partsOf(path)
  }

  /** `/etc/sh*` or `/etc/*\/private/x`: part by part, as far as the place goes. */
  liesIn(place: Parts, from = 0): boolean {
    if (this.parts.length < from + place.length) return false
    for (let index = 0; index < place.length; index++)
      if (!this.#couldBe(from + index, place[index] ?? '')) return false
    return true
  }

  #couldBe(index: number, name: string): boolean {
    const part = this.parts[index] ?? ''
    if (part === name) return true
    if (!hasWild(part)) return false
    this.#globs[index] ??= compileGlob(part)
    return couldFit(name, this.#globs[index], false)
  }
}

/** The home of whoever runs the commands, and of whoever else the path may belong to. */
function homesFor({ parts }: SoughtPath, home: string): readonly Parts[] {
  const [, top, name = ''] = parts
  const homes = [partsOf(home), ['', 'root'], ...(top === 'home' ? [['', 'home', name]] : [])]
  return homes.filter((directory) => directory.length > 1 && directory[1] !== '')
}

/** For what a shell would expand, part by part. */
function couldBeSensitive(path: string, home: string): boolean {
  const name = baseName(path)
  if (OPEN_NAMES.some(({ text, word }) => isAlwaysFitting(text, word, name))) return false
  if (couldBeSecretName(name) || isOfProcess(path)) return true
  const sought = new SoughtPath(path)
  const { length } = sought.parts
  if (PLACE_PARTS.some((place) => sought.liesIn(place))) return true
  if (FILE_PARTS.some((file) => file.length === length && sought.liesIn(file))) return true
  // Every such place has a hidden name, which no wild character stands for.
  if (!path.includes('/.')) return false
  return homesFor(sought, home).some(
    (directory) =>
      sought.liesIn(directory) && HOME_PLACE_PARTS.some((place) => sought.liesIn(place, directory.length)),
  )
}

/** Where in `path` what lies below the home of that name begins; -1: it does not lie there. */
function belowHome(path: string, home: string): number {
  return home.length > 1 && path.length > home.length && isWithin(home, path) ? home.length + 1 : -1
}

/** The same below /home/NAME, whose ever it is. */
function belowAnyHome(path: string): number {
  if (!path.startsWith(HOMES)) return -1
  const end = path.indexOf('/', HOMES.length)
  return end > HOMES.length ? end + 1 : -1
}
const HOMES = '/home/'

function liesBelow(path: string, from: number, places: readonly string[], isWhole: boolean): boolean {
  // Every such place has a hidden name; most of what lies in a home has none.
  if (from === -1 || path[from] !== '.') return false
  return places.some(
    (place) =>
      path.startsWith(place, from) &&
      (path.length === from + place.length || (!isWhole && path[from + place.length] === '/')),
  )
}

function isAtHome(path: string, home: string, places: readonly string[], isWhole: boolean): boolean {
  return (
    liesBelow(path, belowHome(path, home), places, isWhole) ||
    liesBelow(path, belowHome(path, ROOT_HOME), places, isWhole) ||
    liesBelow(path, belowAnyHome(path), places, isWhole)
  )
}
const ROOT_HOME = '/root'

/** `path` is absolute and normalised; with `isGlob` a shell would expand its wild characters. */
export function isSensitive(path: string, home: string, isGlob = false): boolean {
  if (isGlob) return couldBeSensitive(path, home)
  // Asked of every path of every command, and nearly none is one: what makes none of a secret is looked at last.
  const name = baseName(path)
  const couldBe =
    fitsOneOf(SECRET_WORDS, name) ||
    (path.startsWith(ETC) && PLACES.some((place) => isWithin(place, path))) ||
    isOfProcess(path) ||
    FILES.includes(path) ||
    isAtHome(path, home, HOME_PLACES, false)
  if (!couldBe || fitsOneOf(PUBLIC_WORDS, name)) return false
  if (!path.includes('/.') && fitsOneOf(CERTIFICATE_WORDS, name)) return false
  return !isAtHome(path, home, PUBLIC_HOME_PLACES, true)
}
