/**
 * The paths that `mktemp`, `pwd`, `realpath`, `git rev-parse --show-toplevel`, `dirname`, `basename`, `which` and `python -m site` put out. Nobody has a name that `mktemp`
 * makes, so it lies where it is asked for and is nothing that is there; each place in a text has a name of its own.
 * Rules: mktemp(1) of coreutils and of BusyBox; POSIX.1-2024, pwd, dirname and basename; Python, site.
 * @module
 */
import { joinPath } from './join-path.ts'
import { type State, variableOf } from './state.ts'
import type { ShellWord, Simple, WordPart } from './syntax.ts'
import type { Walk } from './walk.ts'

const PYTHONS: readonly string[] = Object.freeze(['python3', 'python', '/usr/bin/python3'])

/** Programs whose output is a path, as they are called; in another directory they may be any program. */
export const NAMING: readonly string[] = Object.freeze([
  ...['mktemp', '/bin/mktemp', '/usr/bin/mktemp', 'pwd', 'dirname', 'basename', ...PYTHONS],
  ...['which', 'command', 'type', 'git', 'realpath', 'readlink'],
])

/** Of these options of `readlink` the first makes it print a whole path, as `realpath` does. */
const WHOLE_PATH = /^-[fem]$|^--canonicalize(?:-existing|-missing)?$/

const TEMPLATE = 'tmp.XXXXXXXXXX'
const FLAGS: readonly string[] = Object.freeze(['--directory', '--quiet', '--dry-run'])

/** What `words` print; undefined where it is not known. */
export function pathPrinted(
  walk: Walk,
  simple: Simple,
  words: readonly ShellWord[],
  state: State,
): string | undefined {
  // With a path of its own, the text may call any other program.
  if (state.variables.has('PATH') || state.isForgetful) return undefined
  // The text itself stands where the shell does.
  const isOwn = simple.words.map((word) => word.length === 1 && namesText(word[0]))
  if (words.some(({ opaque, isGlob }, index) => (opaque !== undefined && isOwn[index] !== true) || isGlob))
    return undefined
  const [program, first, second, ...more] = words.map(({ text }, index) =>
    isOwn[index] === true ? 'sh' : text,
  )
  if (PYTHONS.includes(program ?? '')) return packagesOfPython(words, walk.home)
  if (program === 'which' || program === 'command' || program === 'type')
    return placeOfProgram(program, words, state)
  if (program === 'pwd') return first === undefined ? workingDirectory(state) : undefined
  if (program === 'git')
    return first === 'rev-parse' && second === '--show-toplevel' ? workingDirectory(state) : undefined
  if (program === 'realpath' || program === 'readlink') {
    const given = WHOLE_PATH.test(first ?? '') ? second : program === 'realpath' ? first : undefined
    return given === undefined || given.startsWith('-') ? undefined : wholePath(state, given)
  }
  if (program === 'dirname' || program === 'basename') {
    if (first === undefined || first.startsWith('-') || more.length > 0) return undefined
    const path = partOfPath(program, first)
    // Of where the shell stands it is the climb from there, by which it is judged.
    const isHere =
      (state.directories.length === 1 && first === state.directories[0]) || /(?:^|\/)\.\.?\/?$/.test(first)
    if (program === 'dirname') return second === undefined ? `${isHere ? `${first}/..` : path}\n` : undefined
    const isSuffix = second !== undefined && path !== second && path.endsWith(second)
    return `${isSuffix ? path.slice(0, path.length - second.length) : path}\n`
  }
  const asked = readArguments(words)
  if (asked === undefined) return undefined
  const { inDirectory, directory, template, suffix } = asked
  const hasMarks = template.includes('XXX')
  if (!hasMarks && !inDirectory) return undefined
  let number = walk.temporary.indexOf(simple)
  if (number === -1) number = walk.temporary.push(simple) - 1
  const whole = hasMarks ? template : `${template}.XXXXXX`
  const last = whole.lastIndexOf('X')
  const name = `${whole.slice(0, last)}${number === 0 ? 'X' : number}${whole.slice(last + 1)}${suffix}`
  if (!inDirectory) return `${name}\n`
  const place = directory ?? temporaryDirectory(state)
  return place === undefined ? undefined : `${place.endsWith('/') ? place : `${place}/`}${name}\n`
}

/** Programs are found where those of the system are; a program of that name is what runs, wherever it is found. */
function placeOfProgram(program: string, words: readonly ShellWord[], state: State): string | undefined {
  const texts = words.slice(1).map(({ text }) => text)
  if (program !== 'which') {
    const option = texts.shift()
    if (option !== (program === 'command' ? '-v' : '-P')) return undefined
  }
  const [name = ''] = texts
  const isName = texts.length === 1 && /^[A-Za-z0-9][\w.+-]*$/.test(name)
  if (!isName || state.functions.has(name) || state.aliases.has(name)) return undefined
  return `/usr/bin/${name}\n`
}

/** Where Python looks for packages, and for the files that it runs whenever it starts. */
function packagesOfPython(words: readonly ShellWord[], home: string): string | undefined {
  const [, option, text = '', user] = words.map((word) => word.text)
  if (option === '-m' && text === 'site' && user === '--user-site') return `${home}${USER_PACKAGES}\n`
  if (option !== '-c' || words.length !== 3 || text.length > 256) return undefined
  if (/getusersitepackages\(\)|USER_SITE/.test(text)) return `${home}${USER_PACKAGES}\n`
  return /getsitepackages\(\)\[/.test(text) ? '/usr/lib/python3/dist-packages\n' : undefined
}

const USER_PACKAGES = '/.local/lib/python3/site-packages'

/** `$0` and `$BASH_SOURCE`, which are no more than the name of the shell in a text that it is given. */
function namesText(part: WordPart | undefined): boolean {
  return (
    part?.kind === 'parameter' &&
    part.parameter.operator === undefined &&
    OWN_NAMES.includes(part.parameter.name)
  )
}

const OWN_NAMES: readonly string[] = Object.freeze(['0', 'BASH_SOURCE'])

function wholePath({ directories }: State, path: string): string | undefined {
  const [directory] = directories
  if (path.startsWith('/')) return `${joinPath('/', path)}\n`
  return directory === undefined || directories.length > 1 ? undefined : `${joinPath(directory, path)}\n`
}

function workingDirectory({ directories }: State): string | undefined {
  const [directory] = directories
  return directory === undefined || directories.length > 1 ? undefined : `${directory}\n`
}

function partOfPath(program: 'dirname' | 'basename', path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end -= 1
  const slash = path.lastIndexOf('/', end - 1)
  if (path === '/' || (end === 1 && slash === 0)) return '/'
  if (program === 'basename') return path.slice(slash + 1, end)
  if (slash === -1) return '.'
  let stop = slash
  while (stop > 0 && path[stop - 1] === '/') stop -= 1
  return stop === 0 ? '/' : path.slice(0, stop)
}

type Asked = {
  /** The name is put in a directory: the one that is given, or that for temporary files. */
  readonly inDirectory: boolean
  readonly directory: string | undefined
  readonly template: string
  readonly suffix: string
}

function readArguments(words: readonly ShellWord[]): Asked | undefined {
  let template: string | undefined
  let directory: string | undefined
  let inDirectory = false
  let suffix = ''
  for (let at = 1; at < words.length; at += 1) {
    const text = words[at]?.text ?? ''
    if (text === '--tmpdir' || text === '--') inDirectory ||= text === '--tmpdir'
    else if (text.startsWith('--tmpdir=')) {
      inDirectory = true
      directory = text.slice('--tmpdir='.length)
    } else if (text.startsWith('--suffix=')) suffix = text.slice('--suffix='.length)
    else if (/^-[dqu]*p/.test(text)) {
      const value = text.slice(text.indexOf('p') + 1)
      inDirectory = true
      if (value === '') at += 1
      directory = value === '' ? words[at]?.text : value
    } else if (/^-[dqut]+$/.test(text)) inDirectory ||= text.includes('t')
    else if (FLAGS.includes(text)) continue
    else if (text.startsWith('-') || template !== undefined) return undefined
    else template = text
  }
  if (directory === '') directory = undefined
  if (template === undefined) return { inDirectory: true, directory, template: TEMPLATE, suffix }
  return { inDirectory, directory, template, suffix }
}

function temporaryDirectory(state: State): string | undefined {
  const value = variableOf(state, 'TMPDIR')
  if (value?.kind === 'unset') return '/tmp'
  if (value?.kind !== 'text' || value.word.opaque !== undefined || value.word.isGlob) return undefined
  return value.word.text === '' ? '/tmp' : value.word.text
}
