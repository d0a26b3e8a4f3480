/**
 * The paths that a program is given in its arguments, and what it does with them: by the table of programs, and here
 * where an option or the form of an operand decides.
 * From the manual pages of the programs named.
 * @module
 */
import { isWithin } from '../../../base/text/lexical-path.ts'
import type { PathUse, UsedPath } from '../effective.ts'
import { goesBy } from '../programs/names.ts'
import type { OperandUse, OptionUse, ProgramForm } from '../programs/programs.ts'
import { operandUse } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { diskUse } from './disk-uses.ts'
import { has } from './inner.ts'
import { addLater, media, SUBCOMMANDED } from './later-paths.ts'
import { type ParsedArguments, partOf } from './options.ts'
import { created, rewrites } from './rewriters.ts'
import { looksLikePath, type Place, pathsOf } from './used-paths.ts'

type Add = (word: ShellWord, use: PathUse) => void

function part(word: ShellWord, from: number): ShellWord {
  return partOf(word, word.text.slice(from))
}

/** Programs whose first operand is a filter, unless it is left out. */
const FILTERS: ReadonlySet<string> = new Set(['jq', 'yq'])

/** The paths among the arguments of a program that goes by `names`. */
export function argumentPaths(
  names: readonly string[],
  form: ProgramForm,
  parsed: ParsedArguments,
  place: Place,
): readonly UsedPath[] {
  if (parsed.operands.length === 0 && parsed.values.length === 0 && parsed.options.length === 0) return []
  const name = names.find((known) => EXTRA.has(known) || SPECIAL.has(known)) ?? names[0] ?? ''
  const paths: UsedPath[] = []
  const add: Add = (word, use) => {
    paths.push(...pathsOf(word, use, place))
    const from = innerPath(name, word.text)
    if (from > 0) paths.push(...pathsOf(part(word, from), word.text.startsWith('@') ? 'read' : use, place))
  }
  const looks = name === 'ssh-keygen' && has(parsed, '-l', '-y', '-e', '-B', '-L', '-F')
  for (const { option, word, use } of parsed.values)
    addValue(name, option, word, looks && option === '-f' ? 'read' : use, add)
  // What is read is changed as well.
  const isRewritten = parsed.operands.length > 0 && rewrites(names, parsed)
  if (form.operands !== undefined) {
    addKnown(name, form, form.operands, parsed, isRewritten ? (word) => add(word, 'write') : add)
    if (parsed.operands.length === 0 && form.given.length === 0) addTaken(form.operands, parsed, add)
  }
  // `deno fmt /x`, `deno test --coverage=/x`: what stands behind the word that says what is done, or behind a script.
  const isLater = form.stops && parsed.operands.length > 1 && goesBy(names, SUBCOMMANDED)
  if (isLater) addLater(parsed, isRewritten, add)
  // Elsewhere than where the request runs, whatever could be a name is one.
  const isAway = place.cwd === undefined || !isWithin(place.root, place.cwd)
  if (form.operands === undefined && !form.stops) {
    // A program that is not known is taken to read what it is given.
    for (const word of parsed.operands) {
      if (isRewritten) add(word, 'write')
      else if (
        word.opaque !== undefined ||
        isAway ||
        looksLikePath(word.text) ||
        word.text.startsWith('file:///')
      )
        add(word, 'read')
      addAssigned(word, add)
    }
  }
  EXTRA.get(name)?.(parsed, add)
  const made = created(names[0] ?? '', parsed)
  if (made !== undefined && (isAway || made.opaque !== undefined || looksLikePath(made.text)))
    add(made, 'write')
  // No filter begins so; without one, the file stands in its place.
  if (FILTERS.has(name) && parsed.operands[0]?.text.startsWith('/') === true) add(parsed.operands[0], 'read')
  return paths
}

/** Where a path begins within a word: `@/file` of options, `text:/file` and `concat:/file` of a format; 0 for nowhere. */
function innerPath(name: string, text: string): number {
  const first = text.charAt(1)
  if (text.startsWith('@') && (first === '/' || first === '~' || first === '.')) return 1
  if (REMOTE.has(name) || HOSTED.has(name)) return 0
  const colon = text.indexOf(':')
  if (colon < 2 || colon > 64 || text.charAt(colon + 1) !== '/' || text.charAt(colon + 2) === '/') return 0
  const slash = text.indexOf('/')
  return slash > colon ? colon + 1 : 0
}

/** Programs to which the word before a colon is a host or a container. */
const HOSTED: ReadonlySet<string> = new Set(
  'docker podman nerdctl kubectl oc lxc mount sshfs adb borg restic git rclone duplicity nfsmount'.split(' '),
)

/** `name=/path`, as an unknown program may take it. */
function addAssigned(word: ShellWord, add: Add): void {
  const equals = word.text.indexOf('=')
  const after = equals < 0 ? ' ' : word.text.charAt(equals + 1)
  if (after === '/' || after === '~' || after === '.') add(part(word, equals + 1), 'read')
  // `key=@/x`, `key=:/x`, `key=%/x`: what the file holds.
  else if ('@:%'.includes(after) && word.text.charAt(equals + 2) === '/') add(part(word, equals + 2), 'read')
}

function addValue(name: string, option: string, word: ShellWord, use: OptionUse, add: Add): void {
  switch (use) {
    case 'read':
    case 'write':
      if (name === 'curl' || name === 'wget') {
        if (word.text !== '-') add(word, use)
      } else add(word, use)
      return
    case 'mention':
      if (name !== 'tar') add(word, use)
      return
    case 'program':
      if (word.text.includes('/')) add(word, 'read')
      return
    case 'unknown':
      if (looksLikePath(word.text)) add(word, 'read')
      return
    case 'text':
      if (name === 'curl') addUpload(option, word, add)
      return
    case 'shell':
    case 'code':
      return
  }
}

const UPLOADS: ReadonlySet<string> = new Set([
  '-d',
  '--data',
  '--data-ascii',
  '--data-binary',
  '--data-urlencode',
  '--json',
  '-F',
  '--form',
  '-H',
  '--header',
  '-w',
  '--write-out',
  '-b',
  '--cookie',
  '--variable',
  '--url',
])

/** The files that curl sends or reads because a value says so: `@FILE`, `name=@FILE`, `name=<FILE`. */
function addUpload(option: string, word: ShellWord, add: Add): void {
  if (!UPLOADS.has(option)) return
  const { text } = word
  const output = /%output\{(?:>>)?([^}]{1,4096})/.exec(text)?.[1]
  if (output !== undefined) add({ ...word, text: output }, 'write')
  if (option === '-b' || option === '--cookie') {
    if (!text.includes('=')) add(word, 'read')
    return
  }
  if (text.startsWith('file://')) add(word, 'read')
  if (text.startsWith('@')) add(part(word, 1), 'read')
  else {
    const mark = text.search(/=[@<]|@/)
    if (mark < 0) return
    const from = mark + (text.charAt(mark) === '=' ? 2 : 1)
    if (option === '--data-urlencode' || text.charAt(mark) === '=') {
      const end = text.indexOf(';', from)
      add({ ...word, text: end < 0 ? text.slice(from) : text.slice(from, end) }, 'read')
    }
  }
}

/** Programs whose name decides above, beside those of EXTRA. */
const SPECIAL: ReadonlySet<string> = new Set(['tar', 'install', 'scp', 'rsync'])
const REMOTE: ReadonlySet<string> = new Set(['scp', 'rsync'])
/** The options by which the target is named, so that all operands are sources. */
const TARGETS: readonly string[] = ['-t', '--target-directory']

function addKnown(
  name: string,
  form: ProgramForm,
  operands: NonNullable<ProgramForm['operands']>,
  parsed: ParsedArguments,
  add: Add,
): void {
  const given = form.given.some((option) => parsed.options.includes(option)) ? 1 : 0
  const hasTarget = operands.last.length > 0 && parsed.values.some(({ option }) => TARGETS.includes(option))
  const makesDirectories = name === 'install' && has(parsed, '-d', '--directory')
  const removesSources = name === 'rsync' && has(parsed, '--remove-source-files')
  const count = parsed.operands.length + given + (hasTarget ? 1 : 0)
  parsed.operands.forEach((word, index) => {
    let use: OperandUse = operandUse(operands, index + given, count)
    if (use === 'text') return
    if (use === 'unknown') {
      if (word.opaque !== undefined || looksLikePath(word.text)) add(word, 'mention')
      return
    }
    use = makesDirectories || removesSources ? 'write' : diskUse(name, parsed, use)
    // A host's files are not this host's.
    if (REMOTE.has(name) && isRemote(word.text)) return
    if (word.text === '-' && word.opaque === undefined) return
    for (const meant of name === 'ln' && use === 'read' ? leadsTo(word, parsed) : [word]) add(meant, use)
  })
}

/**
 * Where a symbolic link leads: a relative target counts from where the link lies, which is the last operand or, where
 * that is a directory, in it.
 */
function leadsTo(target: ShellWord, parsed: ParsedArguments): readonly ShellWord[] {
  const place =
    parsed.values.find(({ option }) => TARGETS.includes(option))?.word ??
    (parsed.operands.length > 1 ? parsed.operands.at(-1) : undefined)
  const isRelative = has(parsed, '-s', '--symbolic') && !has(parsed, '-r', '--relative')
  if (!isRelative || place === undefined || place.opaque !== undefined || target.opaque !== undefined)
    return [target]
  if (/^[/~]/.test(target.text) || place.isGlob) return [target]
  const beside = place.text.lastIndexOf('/') + 1
  return [place.text.slice(0, beside), `${place.text}/`].map((from) => ({
    ...target,
    text: from + target.text,
  }))
}

/**
 * Without an operand, an option may have been taken to have the value that is one: its letter is a switch to this
 * program or to a version of it (`wc -c /etc/x`).
 */
function addTaken(operands: NonNullable<ProgramForm['operands']>, parsed: ParsedArguments, add: Add): void {
  const use = operandUse(operands, 0, 1)
  if (use === 'text' || use === 'unknown') return
  for (const { option, word, use: given } of parsed.values) {
    const isLetter = option.length === 2 && given === 'text'
    if (isLetter && /^(?:\/|~\/)[\w.@%+/-]*$/.test(word.text) && word.text.length > 1) add(word, use)
  }
}

function isRemote(text: string): boolean {
  const colon = text.indexOf(':')
  if (colon <= 0) return false
  const slash = text.indexOf('/')
  return slash < 0 || colon < slash
}

type Extra = (parsed: ParsedArguments, add: Add) => void

const dd: Extra = (parsed, add) => {
  for (const word of parsed.operands) {
    if (word.text.startsWith('of=')) add(part(word, 3), 'write')
    else if (word.text.startsWith('if=')) add(part(word, 3), 'read')
  }
}

/** The files of `sed`: those behind the script, written with `-i`. */
const sed: Extra = (parsed, add) => {
  const hasScript = has(parsed, '-e', '-f', '--expression', '--file')
  const use = has(parsed, '-i', '--in-place', '-I') ? 'write' : 'read'
  for (const word of parsed.operands.slice(hasScript ? 0 : 1)) add(word, use)
}

const perl: Extra = (parsed, add) => {
  const hasCode = has(parsed, '-e', '-E')
  const use = has(parsed, '-i') ? 'write' : has(parsed, '-n', '-p') ? 'read' : 'mention'
  if (!hasCode) return
  for (const word of parsed.operands) if (use !== 'mention' || looksLikePath(word.text)) add(word, use)
}

const find: Extra = (parsed, add) => {
  if (!has(parsed, '-delete')) return
  for (const word of parsed.operands) {
    if (['(', ')', '!', ',', '\\(', '\\)', ';', '+', '{}'].includes(word.text)) continue
    add(word, 'write')
  }
  if (parsed.operands.length === 0) add({ text: '.', isGlob: false, opaque: undefined }, 'write')
}

/** What is downloaded without a name goes to the working directory. */
const curl: Extra = (parsed, add) => {
  for (const word of parsed.operands) if (word.text.startsWith('file://')) add(word, 'read')
  if (has(parsed, '-O', '--remote-name', '--remote-name-all', '-J'))
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
}

const wget: Extra = (parsed, add) => {
  if (!has(parsed, '-O', '-P', '--output-document', '--directory-prefix', '--spider')) {
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
  }
}

const unzip: Extra = (parsed, add) => {
  if (!has(parsed, '-d', '-l', '-t', '-p', '-v', '-Z'))
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
}

const cpio: Extra = (parsed, add) => {
  if (has(parsed, '-o', '--create'))
    for (const { option, word } of parsed.values)
      if (option === '-F' || option === '-O' || option === '--file') add(word, 'write')
  if (has(parsed, '-i', '--extract') && !has(parsed, '-D'))
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
  if (has(parsed, '-p', '--pass-through')) for (const word of parsed.operands) add(word, 'write')
}

/** `pax -rw FILE... DIRECTORY` copies; `pax -r` unpacks where it runs. */
const pax: Extra = (parsed, add) => {
  if (!has(parsed, '-r')) return
  const last = has(parsed, '-w') ? parsed.operands.at(-1) : undefined
  add(last ?? { text: '.', isGlob: false, opaque: undefined }, 'write')
}

/** Keys are also paths beneath /proc/sys, and out of it. */
const kernelKeys: Extra = (parsed, add) => {
  for (const word of parsed.operands)
    if (word.text.includes('..')) add({ ...word, text: `/proc/sys/${word.text}` }, 'read')
}

/** Files that an `openssl` or another program of many words is given without an option. */
const mentions: Extra = (parsed, add) => {
  for (const word of parsed.operands)
    if (word.text.startsWith('/') || word.text.startsWith('~/')) add(word, 'mention')
}

/** `gawk -i inplace` writes the files behind its program. */
const awk: Extra = (parsed, add) => {
  // `-v f=/x '{ print > f }'`
  if (parsed.operands[0]?.text.includes('>') === true)
    for (const { option, word } of parsed.values) {
      const equals = option === '-v' ? word.text.indexOf('=') : -1
      if (equals > 0 && looksLikePath(word.text.slice(equals + 1))) add(part(word, equals + 1), 'write')
    }
  if (
    !parsed.values.some(
      ({ option, word }) => (option === '-i' || option === '--include') && word.text === 'inplace',
    )
  )
    return
  for (const word of parsed.operands) if (looksLikePath(word.text)) add(word, 'write')
}

const SAVES: readonly string[] = Object.freeze(['save', 'export', 'image'])

/** `perf record -o FILE`, `dotnet publish -o DIRECTORY`: an option behind the words of the program. */
const laterOutput: Extra = (parsed, add) => {
  const at = parsed.operands.findIndex(({ text }) => text === '-o' || text === '--output')
  const word = at === -1 ? undefined : parsed.operands[at + 1]
  if (word !== undefined) add(word, 'write')
}

/** `docker cp FILE CONTAINER:FILE`: the side without a colon is of this machine, and the last one is written. */
const container: Extra = (parsed, add) => {
  const [subcommand, second, ...others] = parsed.operands
  for (const { option, word } of parsed.values)
    if (SAVES.includes(subcommand?.text ?? '') && (option === '-o' || option === '--output'))
      add(word, 'write')
  const isGrouped = subcommand?.text === 'container' && second?.text === 'cp'
  const isCopied = subcommand?.text === 'cp' || subcommand?.text === 'copy'
  if (subcommand === undefined || second === undefined || !(isGrouped || isCopied)) return
  const words = isGrouped ? others : [second, ...others]
  words.forEach((word, index) => {
    if (word.text === '-' || isRemote(word.text)) return
    add(word, index === words.length - 1 ? 'write' : 'read')
  })
}

/** `jar xf FILE`: into the working directory, where no other is given. */
const jar: Extra = (parsed, add) => {
  const mode = parsed.operands[0]?.text ?? ''
  const made = /^[a-z0]*[cu][a-z0]*$/.test(mode) ? parsed.operands[1] : undefined
  if (made !== undefined) add(made, 'write')
  if (/^[a-z0]*x[a-z0]*$/.test(mode) || has(parsed, '-x', '--extract'))
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
}

/** `ar x FILE`, without `--output`. */
const ar: Extra = (parsed, add) => {
  const mode = parsed.operands[0]?.text ?? ''
  if (/^-?[a-zA-Z]*x/.test(mode) && !has(parsed, '--output'))
    add({ text: '.', isGlob: false, opaque: undefined }, 'write')
}

/** `make DESTDIR=/x install`, `make O=/x`. */
const make: Extra = (parsed, add) => {
  mentions(parsed, add)
  for (const word of parsed.operands) {
    const name = MADE_INTO.exec(word.text)?.[0]
    if (name !== undefined) add(part(word, name.length), 'write')
  }
}

const MADE_INTO = /^(?:DESTDIR|INSTALL_?\w{0,16}|O|OUT\w{0,16}|BUILD\w{0,16})=/

/** `dpkg -x PACKAGE DIRECTORY`. */
const unpacked: Extra = (parsed, add) => {
  const last = parsed.operands.at(-1)
  if (last !== undefined && has(parsed, '-x', '-X', '-e', '-R', '-b', '--extract', '--vextract', '--build'))
    add(last, 'write')
}

const EXTRA: ReadonlyMap<string, Extra> = new Map<string, Extra>([
  ['dd', dd],
  ['docker', container],
  ['ffmpeg', media],
  ['podman', container],
  ['kubectl', container],
  ['oc', container],
  ['perf', laterOutput],
  ['dotnet', laterOutput],
  ['jar', jar],
  ['ar', ar],
  ['sysctl', kernelKeys],
  ['awk', awk],
  ['sed', sed],
  ['perl', perl],
  ['ruby', perl],
  ['find', find],
  ['curl', curl],
  ['wget', wget],
  ['unzip', unzip],
  ['cpio', cpio],
  ['pax', pax],
  ['openssl', mentions],
  ['systemctl', mentions],
  ['ssh-keygen', mentions],
  ['make', make],
  ['gmake', make],
  ['dpkg', unpacked],
  ['dpkg-deb', unpacked],
])
