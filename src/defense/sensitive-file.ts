/**
 * Which paths hold secrets, by name and by place: private keys, credentials, environment files, password databases.
 * A name with wild characters is one where it could become one. Public halves and examples are none.
 * Rules: docs/responses.md, section 1 (specifics); docs/security.md has the list for people.
 * @module
 */

import { SECRET_HOME_PLACES, SECRET_PLACES } from '../base/secret-places.ts'
import { baseName, isWithin } from '../base/text/lexical-path.ts'
import {
  alwaysFits,
  compileGlob,
  couldFit,
  type GlobPart,
  hasWild,
  headOf,
  isAlwaysFitting,
  isFarFetched,
} from './13policy/rules/glob-part.ts'
import {
  compileWord,
  compileWords,
  fitsOneOf,
  fitsWord,
  type WordPattern,
} from './13policy/rules/word-pattern.ts'

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

const PUBLIC_HOME_PLACES: readonly string[] = Object.freeze(['.ssh/known_hosts', '.ssh/config'])

/** Every place of the system lies below it. */
const ETC = '/etc/'
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

/** A place, read once: what a path in it begins with, and the pattern of its last name where that has a star. */
type Place = { readonly head: string; readonly last: WordPattern | undefined; readonly parts: Parts }
/** The parts of a path; the first one of an absolute path is empty. */
type Parts = readonly string[]
const partsOf = (path: string): Parts => path.split('/')
const placeOf = (place: string): Place => {
  const name = baseName(place)
  const isWild = name.includes('*')
  return {
    head: isWild ? place.slice(0, -name.length) : place,
    last: isWild ? compileWord(name) : undefined,
    parts: partsOf(place),
  }
}
/** The users are for everybody to read, and for nobody to send or to change unasked. */
const ETC_PLACES = ['/etc/passwd', ...SECRET_PLACES].map(placeOf)
const HOME_PLACES = SECRET_HOME_PLACES.map(placeOf)
const PUBLIC_PLACES = PUBLIC_HOME_PLACES.map(placeOf)
const FILE_PARTS = FILES.map(partsOf)

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
    if (!hasWild(part)) return name.includes('*') && alwaysFits(name, part)
    const glob = this.#globs[index] ?? compileGlob(part)
    this.#globs[index] = glob
    return couldFit(name, glob, false) && !isFarFetched(name, glob)
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
  if (ETC_PLACES.some(({ parts }) => sought.liesIn(parts))) return true
  if (FILE_PARTS.some((file) => file.length === length && sought.liesIn(file))) return true
  // Every such place has a hidden name, which no wild character stands for.
  if (!path.includes('/.')) return false
  return homesFor(sought, home).some(
    (directory) =>
      sought.liesIn(directory) && HOME_PLACES.some(({ parts }) => sought.liesIn(parts, directory.length)),
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

/** Whether the path, from there on, is the place or, unless it must be that itself, lies beneath it. */
function liesAt(path: string, from: number, { head, last }: Place, isWhole: boolean): boolean {
  if (!path.startsWith(head, from)) return false
  const at = from + head.length
  if (last === undefined) return path.length === at || (!isWhole && path[at] === '/')
  const end = path.indexOf('/', at)
  return fitsWord(last, end === -1 ? path.slice(at) : path.slice(at, end))
}

function liesBelow(path: string, from: number, places: readonly Place[], isWhole: boolean): boolean {
  // Every such place has a hidden name; most of what lies in a home has none.
  if (from === -1 || path[from] !== '.') return false
  return places.some((place) => liesAt(path, from, place, isWhole))
}

function isAtHome(path: string, home: string, places: readonly Place[], isWhole: boolean): boolean {
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
    (path.startsWith(ETC) && ETC_PLACES.some((place) => liesAt(path, 0, place, false))) ||
    isOfProcess(path) ||
    FILES.includes(path) ||
    isAtHome(path, home, HOME_PLACES, false)
  if (!couldBe || fitsOneOf(PUBLIC_WORDS, name)) return false
  if (!path.includes('/.') && fitsOneOf(CERTIFICATE_WORDS, name)) return false
  return !isAtHome(path, home, PUBLIC_PLACES, true)
}
