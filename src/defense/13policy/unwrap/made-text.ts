/**
 * Whether a shell text puts together text of its own in a way that no reader of it can follow: fetched, decoded, worked
 * out by a program, or read from what another of its commands prints. What such a text then gives to a script is
 * taken for a program, where the content of a file or the name of a branch is taken for data.
 * @module
 */
import { baseName } from '../../../base/lexical-path.ts'
import type { ShellCommand, ShellWord } from '../shell/shell.ts'
import { goesBy, namesOf } from './names.ts'
import { isDecoder } from './pipeline.ts'

const FETCHERS: ReadonlySet<string> = new Set(
  (
    'curl wget wget2 fetch aria2c axel lynx w3m links nc netcat ncat socat telnet ftp lftp tftp scp sftp ssh rsync dig ' +
    'drill kdig nslookup host getent http https xh websocat mosquitto_sub redis-cli openssl s_client gh glab rclone ' +
    'aws gsutil az smbclient ldapsearch psql mysql nmap snmpget busybox toybox'
  ).split(' '),
)
/** They write what they are given to the files that are their operands. */
const COPIERS: ReadonlySet<string> = new Set('tee cp mv ln dd install sponge patch truncate'.split(' '))
/** They give a variable what they read. */
const READERS: ReadonlySet<string> = new Set(['read', 'mapfile', 'readarray', 'select'])
/** Programs that print what files or the system hold, and nothing that their arguments spell. */
const SOURCES: ReadonlySet<string> = new Set(
  (
    'cat head tail grep egrep fgrep cut wc sort uniq nproc hostname uname whoami id arch pwd basename dirname realpath ' +
    'readlink ls test [ [[ true : cd seq md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum du df uuidgen ' +
    'mktemp lsb_release getconf tput'
  ).split(' '),
)

/** Text that can spell no command: words, numbers, blanks. */
const PLAIN = /^[\w.%+ -]*$/

function whole({ text, opaque, stands }: ShellWord): string {
  return opaque === undefined ? text : (stands ?? text).replaceAll(/<[a-z]+>/g, '')
}

/** A format without text of its own: directives, and what stands between them. */
function isFormat(text: string): boolean {
  return /^[-_.,:/ TZ+]*$/.test(text.replaceAll(/%[-_^#0]?[A-Za-z]{1,2}/g, ''))
}

/** A replacement of what stands in a line, or a choice of lines. */
const PICKING =
  /^(?:\/[^/]*\/|[0-9$,]+)?(?:s([/|,#])(?:(?!\1)[^\\]|\\.)*\1(?:\\[0-9]|[&. -])*\1[gpI0-9]*|[pqd!]+)$/s

function prints(name: string, words: readonly ShellWord[], isPiped: boolean): boolean {
  const texts = words.slice(1).map(whole)
  switch (name) {
    case 'echo':
    case 'printf':
      // Of known words it is known what they print, unless another command changes that.
      if (words.every(({ opaque }) => opaque === undefined)) return !isPiped
      return texts.every((text) => PLAIN.test(text.endsWith('\\n') ? text.slice(0, -2) : text))
    case 'date':
      return texts.every((text) => !text.startsWith('+') || isFormat(text))
    case 'git':
      return texts.every((text) => {
        const format = /^--(?:format|pretty)=(?:format:)?(.*)$/s.exec(text)?.[1]
        return format === undefined || isFormat(format)
      })
    case 'awk':
    case 'gawk':
    case 'mawk':
      return texts.every((text) => !text.includes('BEGIN') && !/"[^"]*[^"\s][^"]*"/.test(text))
    case 'sed': {
      const script = texts.find((text) => !text.startsWith('-'))
      return script !== undefined && PICKING.test(script) && !texts.some((text) => text.startsWith('-e'))
    }
    case 'jq':
    case 'yq':
      return texts.every((text) => !text.includes('"') && !text.startsWith('--arg'))
    case 'node':
      return texts.length === 2 && /^require\((?:'[^']*'|"[^"]*")\)[.\w]*$/.test(texts[1] ?? '')
    default:
      return SOURCES.has(name)
  }
}

/** The files that the text itself writes, as it calls them; undefined where one of them is not known. */
function writtenFiles(commands: readonly ShellCommand[]): Set<string> | undefined {
  const written = new Set<string>()
  for (const { words, redirects } of commands) {
    const targets = redirects
      .filter(({ kind }) => kind === 'write' || kind === 'readwrite')
      .map(({ target }) => target)
    const program = namesOf(words[0]?.text ?? '', undefined)
    if (program.some((name) => COPIERS.has(name))) targets.push(...words.slice(1))
    for (const { text, opaque } of targets) {
      if (opaque !== undefined) return undefined
      written.add(baseName(text))
    }
  }
  return written
}

/** Whether a substitution reads a file that the text writes. */
function readsBack(commands: readonly ShellCommand[]): boolean {
  const isRead = ({ isSubstitution, words, redirects }: ShellCommand) =>
    isSubstitution
      ? [...words.slice(1), ...redirects.filter(({ kind }) => kind === 'read').map(({ target }) => target)]
      : []
  const read = commands.flatMap(isRead)
  if (read.length === 0) return false
  const written = writtenFiles(commands)
  if (written === undefined) return true
  written.delete('null')
  return (
    written.size > 0 &&
    read.some(({ text, opaque, isGlob }) => opaque !== undefined || isGlob || written.has(baseName(text)))
  )
}

export function makesText(commands: readonly ShellCommand[], hasInput: boolean): boolean {
  const called = commands.map(({ words }) => namesOf(words[0]?.text ?? '', undefined))
  if (called.some((names) => goesBy(names, FETCHERS))) return true
  const reads = called.some((names) => goesBy(names, READERS))
  if (reads && hasInput) return true
  if (!reads && !commands.some(({ isSubstitution }) => isSubstitution)) return false
  if (readsBack(commands)) return true
  const counts = new Map<number, number>()
  for (const { pipeline } of commands) counts.set(pipeline, (counts.get(pipeline) ?? 0) + 1)
  return commands.some((command, index) => {
    const { words, redirects, isSubstitution, pipeline } = command
    const name = called[index]?.[0] ?? ''
    const isPiped = (counts.get(pipeline) ?? 0) > 1
    const given = redirects.some(({ kind, target }) => kind === 'text' && !PLAIN.test(whole(target).trim()))
    if (reads && (given || isDecoder(command))) return true
    if (reads && isPiped && (name === 'echo' || name === 'printf')) return !prints(name, words, true)
    if (!isSubstitution || words.length === 0) return false
    return given || words[0]?.opaque !== undefined || !prints(name, words, isPiped)
  })
}
