/**
 * Paths that code uses and that its text does not tell: what a loop goes through, a parameter, a text that is put
 * together. Such a path is taken for each that the code names or lists. It could be any other only where the code
 * takes texts from outside itself (its arguments, its input, the environment, the network) or from a decoder, or
 * climbs; else it is made of names that lie where the code runs.
 * Rules: docs/policy.md, "Effective commands".
 * @module
 */
import { isDecoder } from './calls.ts'
import { HOLE, withHoles } from './holes.ts'
import { joinedPaths } from './joined-paths.ts'
import { addHoledPath, addPath, addUnknownPath, looksAbsolute, type Reading } from './reading.ts'

/** Parts of names by which a text comes from outside, or a path from above. */
const OUTSIDE: ReadonlySet<string> = new Set(
  'argv ARGV argc environ env ENV ENVIRON getenv stdin STDIN input raw_input gets readline fgets urlopen requests httpx fetch axios homedir home expanduser sep pardir parents root anchor getpwnam getpwuid getpwall to_bytes bytes bytearray urldecode rawurldecode strrev unquote chr fromCharCode commandArgs ARGS args argn strtr'.split(
    ' ',
  ),
)

/** What tells where an interpreter and its modules lie, which is not where the code runs. */
const INSTALLED: ReadonlySet<string> = new Set(
  'sys.executable sys.prefix sys.base_prefix sys.exec_prefix site.getusersitepackages site.getsitepackages site.USER_SITE site.USER_BASE sysconfig.get_path sysconfig.get_paths get_python_lib process.execPath execPath require.resolve import.meta.resolve RbConfig RbConfig::CONFIG RbConfig.CONFIG RbConfig.ruby Gem.dir Gem.default_dir Gem.user_dir Config INC X PHP_BINARY PHP_BINDIR PHP_LIBDIR PHP_EXTENSION_DIR PEAR_INSTALL_DIR php_ini_loaded_file php_ini_scanned_files R.home .libPaths'.split(
    ' ',
  ),
)

/** Texts that name the top, the home directory, or what lies above. */
const TOPS: ReadonlySet<string> = new Set(['/', '~', '..'])

/** `"stsoh".reverse`, `"stsoh".split("").reverse()`: another text is made of one, letter by letter. */
function isTurned({ tokens }: Reading, index: number): boolean {
  const method = tokens[index + 1]
  if (method?.kind !== 'name' || !TURNING.has(method.text)) return false
  return (
    !method.text.startsWith('.split') ||
    (tokens[index + 3]?.kind === 'string' && tokens[index + 3]?.text === '')
  )
}

const TURNING: ReadonlySet<string> = new Set([
  '.reverse',
  '.tr',
  '.swapcase',
  '.split',
  '.rot13',
  '.translate',
])

function takesFromOutside(reading: Reading): boolean {
  const { calls, tokens } = reading
  for (const call of calls)
    if (isDecoder(call) || INSTALLED.has(call) || call.split('.', 16).some((part) => OUTSIDE.has(part)))
      return true
  return tokens.some(({ kind, text }, index) => {
    if (kind === 'string') return text === '..' || isTurned(reading, index)
    if (kind !== 'name') return false
    const name = text.replace(/^[$@%.]+/, '')
    return OUTSIDE.has(name) || INSTALLED.has(name) || text.endsWith('.__file__')
  })
}

/** Programs whose output may hold any name. */
const SOURCES: ReadonlySet<string> = new Set(
  'curl wget nc ncat socat ssh base64 base32 xxd openssl gpg'.split(' '),
)

/** The words of the commands that the code starts, whose output it may read. */
function startedWords({ inner }: Reading): readonly string[] {
  return inner.flatMap((one) => {
    if (one.kind === 'shell') return one.word.text.split(/[\s"';|&()]+/, WORDS_MAX)
    return one.kind === 'argv' ? one.words.map(({ text }) => text) : []
  })
}

const WORDS_MAX = 64
const MENTIONED = Object.freeze(['mention'] as const)

/** `end`, of which the beginning is not known, where that is `place`, one of the names that it fits, or lies there. */
function placesUnder(place: string, end: string): readonly string[] {
  const rest = end.slice(end.indexOf(HOLE) + HOLE.length)
  if (place.endsWith(HOLE)) return [place + rest]
  const directory = place.endsWith('/') ? place : `${place}/`
  return [directory + end, ...(rest.startsWith('/') ? [directory + rest.slice(1)] : [])]
}

/** Adds what the unknown paths of `reading` could be; the strings that no call has taken are among them. */
export function settleUnknownPaths(reading: Reading): void {
  const uses = [...reading.unknownUses]
  if (uses.length === 0 && reading.ends.size === 0) return
  const named = new Set<string>()
  for (const { kind, text } of reading.tokens)
    if (kind === 'string' && looksAbsolute(text.trim())) named.add(withHoles(text.trim()))
  for (const path of joinedPaths(reading)) named.add(path)
  // As a string of its own, a slash mostly parts names.
  for (const inner of reading.inner)
    if (inner.kind === 'path' && TOPS.has(inner.word.text)) named.add(inner.word.text)
  const words = startedWords(reading)
  for (const word of words) if (looksAbsolute(word)) named.add(word)
  const isAnything = takesFromOutside(reading) || words.some((word) => SOURCES.has(word))
  const completed = [...reading.ends].flatMap((end) => [
    end,
    ...[...named].flatMap((place) => placesUnder(place, end)),
  ])
  for (const use of uses.length === 0 ? MENTIONED : uses) {
    for (const pattern of completed) addHoledPath(reading, pattern, use)
    for (const text of named) addPath(reading, { kind: 'text', text, isOpaque: false }, use)
    if (isAnything) addUnknownPath(reading, use)
  }
}
