/**
 * The paths that a program is given in its arguments, and what it does with them: by the table of programs, and here
 * where an option or the form of an operand decides.
 * From the manual pages of the programs named.
 * @module
 */
import { isWithin } from '../../../base/text/lexical-path.ts'
import type { PathUse, UsedPath } from '../effective.ts'
import type { OperandUse, OptionUse, ProgramForm } from '../programs/programs.ts'
import { operandUse } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { has } from './inner.ts'
import { type ParsedArguments, partOf } from './options.ts'
import { looksLikePath, type Place, pathsOf } from './used-paths.ts'

type Add = (word: ShellWord, use: PathUse) => void

function part(word: ShellWord, from: number): ShellWord {
  return partOf(word, word.text.slice(from))
}

/** Programs whose first operand is a filter, unless it is left out. */
const FILTERS: ReadonlySet<string> = new Set(['jq', 'yq'])

/** Whatever the program, it changes what it is given. */
const IN_PLACE = /^--(?:fix|write|in-?place|replace|overwrite|auto-?correct|auto-?fix|apply)$/

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
  const add: Add = (word, use) => void paths.push(...pathsOf(word, use, place))
  const looks = name === 'ssh-keygen' && has(parsed, '-l', '-y', '-e', '-B', '-L', '-F')
  for (const { option, word, use } of parsed.values)
    addValue(name, word, looks && option === '-f' ? 'read' : use, add)
  // What is read is changed as well.
  const isRewritten = parsed.operands.length > 0 && parsed.options.some((option) => IN_PLACE.test(option))
  if (form.operands !== undefined)
    addKnown(name, form, form.operands, parsed, isRewritten ? (word) => add(word, 'write') : add)
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
    }
  }
  EXTRA.get(name)?.(parsed, add)
  // No filter begins so; without one, the file stands in its place.
  if (FILTERS.has(name) && parsed.operands[0]?.text.startsWith('/') === true) add(parsed.operands[0], 'read')
  return paths
}

function addValue(name: string, word: ShellWord, use: OptionUse, add: Add): void {
  switch (use) {
    case 'read':
    case 'write':
      if ((name !== 'curl' && name !== 'wget') || word.text !== '-') add(word, use)
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
      // `-d @FILE` of curl and its kin, and `--url file:///FILE`.
      if (word.text.startsWith('@')) add(part(word, 1), 'read')
      else if (name === 'curl' && word.text.startsWith('file:')) add(word, 'read')
      return
    case 'shell':
    case 'code':
      return
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
    if (use === 'text' && !(name === 'curl' && word.text.startsWith('file:'))) return
    if (use === 'unknown') {
      if (word.opaque !== undefined || looksLikePath(word.text)) add(word, 'mention')
      return
    }
    use = makesDirectories || removesSources ? 'write' : use === 'text' ? 'read' : use
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

const EXTRA: ReadonlyMap<string, Extra> = new Map<string, Extra>([
  ['dd', dd],
  ['awk', awk],
  ['sed', sed],
  ['perl', perl],
  ['ruby', perl],
  ['find', find],
])
