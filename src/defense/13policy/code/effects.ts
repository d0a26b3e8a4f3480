/**
 * What a call in code does: it runs a command, evaluates text, loads a module, or uses a file. By the tables of
 * calls.ts; what is run and not known is `eval`.
 * @module
 */

import { isApart, isInclude, isMode, isNumberOfMode, isText } from './argument-kinds.ts'
import { moduleAt } from './bindings.ts'
import {
  CODE_TAKERS,
  COPIES,
  changesPlace,
  fileUse,
  isAddress,
  isArgvCall,
  isCallback,
  isEvaluator,
  isLoader,
  isSender,
  isShellCall,
  isStarter,
  OPENERS,
  PATH_READS,
  PATH_TARGETS,
  PATH_WRITES,
  SAVERS,
  SPAWN_CALLS,
  soundsLikeWriting,
} from './calls.ts'
import { noteCode } from './code-in-calls.ts'
import { opensDatabase } from './databases.ts'
import { beneath, parentOf } from './joins.ts'
import { indirectProgram } from './perl-forms.ts'
import {
  addCall,
  addInner,
  addPath,
  goTo,
  looksAbsolute,
  mark,
  nameAt,
  type Reading,
  UNKNOWN,
  type Value,
  wordOf,
} from './reading.ts'
import { noteBody } from './requests.ts'
import { EXEC_OF_C, execWords, noteMode, noteSettings } from './starts.ts'
import { followFile, noteAdded, noteObjects, notePlace, runsFile } from './taken-in.ts'
import { isOwnFile, noteModule } from './unknown-uses.ts'
import { makesPath } from './value-calls.ts'
import { type Argument, argumentsOf, closing, resolve } from './values.ts'
import { noteWritten } from './written-paths.ts'

/** Paths that are given by name: `rmtree(path=x)`, `copy(src=x, dst=y)`. */
const PATH_KEYWORDS: ReadonlySet<string> = new Set(['path', 'src', 'dst', 'base_name', 'root_dir'])

/** What a call does that begins with the mark at `open`, or without one behind the name there. */
export function call(reading: Reading, given: string, open: number): void {
  const from = reading.inner.length
  readCall(reading, given, open)
  if (reading.inner.length > from && (isStarter(given) || reading.language === 'ruby'))
    noteSettings(reading, open, from)
}

function readCall(reading: Reading, given: string, open: number): void {
  const { language } = reading
  if (runsFile(reading, given, open)) return
  if (language === 'other') noteApplied(reading, given, open)
  const name = starred(reading, given)
  noteAdded(reading, name, open)
  if (changesPlace(name, language)) goTo(reading, argumentsOf(reading, open).list[0]?.value)
  const loads = isLoader(name)
  const use = fileUse(name, language)
  const isPath = makesPath(name, language)
  const isFileCall = use !== undefined || COPIES.has(name)
  const isMember = name === 'getattr'
  const isTable = name === 'vars' && language === 'python'
  const isKnown =
    loads ||
    isMember ||
    isTable ||
    isCallback(name, language) ||
    isInclude(name, language) ||
    isSender(name, language) ||
    isPath ||
    isFileCall ||
    isShellCall(name, language) ||
    isArgvCall(name, language) ||
    SPAWN_CALLS.has(name) ||
    isEvaluator(name, language) ||
    OPENERS.has(name) ||
    REWRITERS.has(name) ||
    SAVERS.has(name) ||
    CODE_TAKERS.has(name) ||
    opensDatabase(name)
  if (!isKnown) {
    noteBody(reading, name, open)
    noteCode(reading, name, open)
    noteWritten(reading, name, open)
    notePlace(reading, name, open)
    noteObjects(reading, name, open)
    if (name === 'module.createRequire') reading.results.set(closing(reading, open), { name: 'require' })
    if (name.endsWith('constructor.constructor')) reading.opaque.add('eval')
    return
  }
  noteMode(reading, name, open)
  const { list, close, isCut } = argumentsOf(reading, open)
  const values = list.flatMap(({ keyword, value }) =>
    keyword === undefined || (isFileCall && PATH_KEYWORDS.has(keyword)) ? [value] : [],
  )
  for (const { at, value } of list) if (value.kind === 'text') reading.used.add(at)
  const [first, second] = values
  if (isCut) reading.opaque.add('limit')
  if (loads) {
    if (first?.kind === 'text' && !first.isOpaque) {
      const module = first.text.replace('node:', '')
      addCall(reading, `import:${module}`)
      if (isAddress(module)) reading.opaque.add('eval')
      noteModule(reading, module)
      reading.results.set(close, { name: module })
      if (module.startsWith('/')) addCall(reading, 'load:file')
      if (isOwnFile(module)) followFile(reading, name === 'require_relative' ? `./${module}` : module)
    } else if (language !== 'perl' && language !== 'ruby' && language !== 'php') reading.opaque.add('eval')
  } else if (isInclude(name, language)) {
    if (first?.kind !== 'text' || first.isOpaque || first.text.includes(':')) reading.opaque.add('eval')
    else addPath(reading, first, 'read')
  } else if (isTable) {
    const module = moduleAt(reading, open + 1) ?? resolve(reading, nameAt(reading, open + 1))
    if (module !== '') reading.results.set(close, { name: module })
  } else if (isMember) {
    const object = resolve(reading, nameAt(reading, open + 1))
    const loaded = object !== '' && mark(reading, open + 2) === ',' ? object : moduleAt(reading, open + 1)
    const member = values.at(1)
    if (member?.kind === 'text' && !member.isOpaque) {
      if (loaded !== undefined) {
        const full = resolve(reading, `${loaded}.${member.text}`)
        addCall(reading, full)
        reading.results.set(close, { name: full })
      }
    } else reading.opaque.add('eval')
  } else if (isCallback(name, language) || isSender(name, language)) {
    callByName(reading, first, values.slice(1))
  } else if (isPath) {
    if (first !== undefined) {
      const path = placeBeneath(first, list.slice(1))
      reading.results.set(close, { path })
      if (path.kind === 'text') addPath(reading, path, 'mention')
    }
  } else if (CODE_TAKERS.has(name)) {
    // Beside the code stands the file that what was measured is put into.
    for (const { value } of list)
      if (value.kind === 'text' && looksAbsolute(value.text)) addPath(reading, value, 'write')
      else if (value.kind === 'text')
        addInner(reading, { kind: 'code', language, word: wordOf(value), via: reading.via })
  } else if (opensDatabase(name)) {
    if (first !== undefined) reading.databases.push(first)
  } else if (SAVERS.has(name)) {
    const file = list.find(({ keyword }) => keyword === 'file' || keyword === 'con')?.value ?? second
    if (file !== undefined) addPath(reading, file, 'write')
  } else if (isEvaluator(name, language)) evaluate(reading, name, first, open)
  else if (isArgvCall(name, language) && language === 'other') {
    runProgram(reading, name, EXEC_OF_C.test(name) ? execWords(reading, open, values) : values, undefined)
  } else if (isShellCall(name, language)) {
    if (language === 'perl' && mark(reading, open + 1) === '{') {
      // `exec {"/bin/sh"} "name"`: the program stands in the brackets.
      if (name === 'exec' || name === 'system') runWords(reading, indirectProgram(reading, open + 1))
      return
    }
    if (language === 'other' && second?.kind === 'list') runProgram(reading, name, values, undefined)
    else if (values.length > 1 && isApart(name, language) && second?.kind === 'text' && !isMode(second.text))
      runWords(reading, values)
    else {
      const { place } = reading
      // Of what PHP starts, the directory stands behind the pipes.
      if (name === 'proc_open') goTo(reading, values[3])
      runText(reading, first ?? list[0]?.value ?? UNKNOWN)
      reading.place = place
    }
  } else if (isArgvCall(name, language)) {
    const options = list.find(({ keyword }) => keyword === 'args')?.value
    runProgram(reading, name, values, options)
  } else if (SPAWN_CALLS.has(name)) runProgram(reading, name, values.slice(1), undefined)
  else if (COPIES.has(name)) {
    const [from, to] = name === 'shutil.make_archive' ? [values[2], first] : [first, second]
    if (from !== undefined) addPath(reading, from, 'read')
    if (to !== undefined) addPath(reading, to, 'write')
  } else if (REWRITERS.has(name)) {
    const writes = list.some(({ keyword }) => keyword === 'inplace')
    for (const item of first?.kind === 'list' ? first.items : first === undefined ? [] : [first])
      addPath(reading, item, writes ? 'write' : 'read')
  } else if (name === 'sysopen' && language === 'perl') {
    const isRead = values[2]?.kind === 'text' && values[2].text === '0'
    addCall(reading, isRead ? 'open:r' : 'open:w')
    if (second !== undefined) addPath(reading, second, isRead ? 'read' : 'write')
  } else if (OPENERS.has(name)) openFile(reading, name, list, open, close)
  else if (use !== undefined) {
    for (const value of values.length === 0 ? [UNKNOWN] : values) {
      if (value.kind === 'list') for (const item of value.items) addPath(reading, item, use)
      else if (value.kind === 'text' && !isText(name, value, values)) addPath(reading, value, use)
      else if (value === first || (first !== undefined && isNumberOfMode(first))) addPath(reading, value, use)
    }
  }
}

/** `apply(os, cmd, ["x"])` of Erlang, `apply(System, :cmd, ["x"])` of Elixir, `pipe("x")` of R. */
function noteApplied(reading: Reading, name: string, open: number): void {
  if (name === 'pipe' && reading.tokens[open + 1]?.kind === 'string')
    runText(reading, argumentsOf(reading, open).list[0]?.value ?? UNKNOWN)
  if (name.slice(name.lastIndexOf('.') + 1) !== 'apply' || mark(reading, open + 2) !== ',') return
  const at = mark(reading, open + 3) === ':' ? open + 4 : open + 3
  const full = `${nameAt(reading, open + 1)}.${nameAt(reading, at)}`
  const isKnown = isShellCall(full, 'other') || isArgvCall(full, 'other') || soundsLikeWriting(full, 'other')
  if (isKnown) reading.opaque.add('eval')
}

const PARENT = '.parent.'
/** They give a path that lies beside. */
const BESIDE: ReadonlySet<string> = new Set(['.with_suffix', '.with_name', '.with_stem'])

const BENEATH: ReadonlySet<string> = new Set(['.joinpath', '.join', '.child', '.subdir', '.file'])
/** They list what lies beneath. */
const LISTING: ReadonlySet<string> = new Set(['.glob', '.rglob', '.children', '.each_child'])

/** A method of a path object: `Path("/x").unlink()`, `.open("w")`, `.joinpath("y")`; `open` is the mark behind it. */
export function usePath(reading: Reading, path: Value, method: string, open: number): void {
  if (method.startsWith(PARENT)) {
    usePath(reading, parentOf(path), `.${method.slice(PARENT.length)}`, open)
    return
  }
  if (BESIDE.has(method)) {
    reading.results.set(argumentsOf(reading, open).close, { path: beneath(parentOf(path), UNKNOWN) })
    return
  }
  if (
    mark(reading, open) === '(' &&
    (method === '.open' || BENEATH.has(method) || method === '.expanduser')
  ) {
    const { list, close } = argumentsOf(reading, open)
    if (method === '.open')
      openFile(reading, method, [{ value: path, at: open, keyword: undefined }, ...list], open, close)
    else reading.results.set(close, { path: BENEATH.has(method) ? placeBeneath(path, list) : path })
    return
  }
  if (LISTING.has(method)) {
    addPath(reading, placeBeneath(path, argumentsOf(reading, open).list), 'read')
    return
  }
  noteAdded(reading, method, open)
  // `new File("/x").text = "y"` of Groovy.
  const isSet = mark(reading, open) === '=' && reading.language === 'other'
  const writes = isSet || PATH_WRITES.has(method) || soundsLikeWriting(method, reading.language)
  if (!writes && !PATH_READS.has(method)) return
  addCall(reading, `Path${method}`)
  addPath(reading, path, writes ? 'write' : 'read')
  if (!PATH_TARGETS.has(method)) return
  for (const { value } of argumentsOf(reading, open).list) addPath(reading, value, 'write')
}

function placeBeneath(path: Value, list: readonly Argument[]): Value {
  return list.map(({ value }) => value).reduce(beneath, path)
}

/** A function that is called by its name: `call_user_func("system", "x")`, `Kernel.send(:system, "x")`. */
function callByName(reading: Reading, name: Value | undefined, values: readonly Value[]): void {
  if (name?.kind !== 'text') return
  const { language } = reading
  if (name.isOpaque) {
    reading.opaque.add('eval')
    return
  }
  addCall(reading, name.text)
  const given = values.flatMap((value) => (value.kind === 'list' ? value.items : [value]))
  const use = fileUse(name.text, language)
  if (isShellCall(name.text, language)) {
    if (given.length > 1 && isApart(name.text, language)) runWords(reading, given)
    else runText(reading, given[0] ?? UNKNOWN)
  } else if (isEvaluator(name.text, language)) reading.opaque.add('eval')
  else if (use !== undefined)
    for (const value of given.length === 0 ? [UNKNOWN] : given) addPath(reading, value, use)
}

/** As `callByName`, with the arguments behind the mark at `open`. */
export function callNamed(reading: Reading, name: Value, open: number): void {
  const { list } = argumentsOf(reading, open)
  callByName(
    reading,
    name,
    list.map(({ value }) => value),
  )
}

/** A bare name that may come from a module of which everything was taken in. */
function starred(reading: Reading, name: string): string {
  if (name.includes('.')) return name
  for (const module of reading.stars) {
    const full = `${module}.${name}`
    if (
      isShellCall(full, reading.language) ||
      isArgvCall(full, reading.language) ||
      fileUse(full, reading.language) !== undefined ||
      COPIES.has(full)
    ) {
      addCall(reading, full)
      return full
    }
  }
  return name
}

export function runText(reading: Reading, value: Value): void {
  if (value.kind === 'list') {
    runWords(reading, value.items)
    return
  }
  if (value.kind === 'unknown' || (value.isOpaque && value.text.trim() === '')) {
    reading.opaque.add('eval')
    return
  }
  if (value.isOpaque) reading.opaque.add('eval')
  addInner(reading, { kind: 'shell', word: wordOf(value), via: reading.via })
}

function runWords(reading: Reading, values: readonly Value[]): void {
  const [only] = values
  if (values.length === 0) return
  if (only?.kind === 'unknown') reading.opaque.add('eval')
  if (values.length === 1 && only?.kind === 'text' && only.text.includes(' ')) runText(reading, only)
  else addInner(reading, { kind: 'argv', words: values.map(wordOf), via: reading.via })
}

function runProgram(
  reading: Reading,
  name: string,
  values: readonly Value[],
  options: Value | undefined,
): void {
  const [program, ...rest] = values
  if (program === undefined || program.kind === 'unknown') {
    reading.opaque.add('eval')
    return
  }
  if (program.kind === 'list') {
    runWords(reading, program.items)
    return
  }
  const list = rest.find((value) => value.kind === 'list') ?? options
  if (rest.length === 0 && list === undefined && program.text.includes(' ')) return runText(reading, program)
  const [only] = rest
  if (list === undefined && rest.length === 1 && only?.kind === 'text' && only.text.includes(' ')) {
    // The arguments as one text: `Process.Start("rm", "-rf /")`.
    if (program.kind === 'text')
      runText(reading, { ...only, text: `${program.text} ${only.text}`, isOpaque: only.isOpaque })
    return
  }
  let words = list?.kind === 'list' ? list.items : rest
  // The arguments of exec and its kin begin with the name of the program.
  if (name.startsWith('os.') || name.startsWith('posix.')) words = words.slice(1)
  addInner(reading, { kind: 'argv', words: [program, ...words].map(wordOf), via: reading.via })
}

function evaluate(reading: Reading, name: string, value: Value | undefined, open: number): void {
  if (reading.language === 'perl' && (mark(reading, open + 1) === '{' || value === undefined)) return
  if (value?.kind === 'text' && !value.isOpaque) {
    addInner(reading, { kind: 'code', language: reading.language, word: wordOf(value), via: reading.via })
  } else if (value !== undefined || name !== 'eval') reading.opaque.add('eval')
}

/** They read the lines of files, or take the files' place with what is printed. */
const REWRITERS: ReadonlySet<string> = new Set(['fileinput.input', 'fileinput.FileInput'])

const WRITING_FLAGS: readonly string[] = ['WRONLY', 'RDWR', 'CREAT', 'TRUNC', 'APPEND']
/** The same as a number. */
const WRITING_NUMBER = /^0?[ox]?[1-9]/
/** Openers whose mode is a number. */
const OPENS_BY_FLAGS: ReadonlySet<string> = new Set(['os.open', 'fs.open', 'fs.openSync', 'IO.sysopen'])

/** An opened file: `open:w` or `open:r` among the calls; in Perl and Ruby a pipe as well. */
function openFile(
  reading: Reading,
  name: string,
  list: readonly Argument[],
  open: number,
  close: number,
): void {
  const values = list.map(({ value }) => value)
  // `open(F, MODE, PATH)` has its handle first; `IO::File->new(PATH, MODE)` has none.
  const isBuiltIn = reading.language === 'perl' && !name.includes('.')
  let [path, mode] = values.slice(isBuiltIn ? 1 : 0)
  if (reading.language === 'perl' && path?.kind === 'text' && (isBuiltIn || mode === undefined)) {
    const text = path.text.trim()
    if (values.length > 2 && (text === '-|' || text === '|-')) {
      runWords(reading, values.slice(2))
      return
    }
    if (text.startsWith('|') || text.endsWith('|')) {
      runText(reading, { ...path, text: text.startsWith('|') ? text.slice(1) : text.slice(0, -1) })
      return
    }
    const marks = /^\+?[<>]{0,2}(?::[a-z0-9()-]+)?/.exec(text)?.[0] ?? ''
    if (values.length > 2) [path, mode] = [values[2], path]
    else
      [path, mode] = [
        { ...path, text: text.slice(marks.length).trim() },
        { kind: 'text', text: marks, isOpaque: false },
      ]
  } else if (path?.kind === 'text' && path.text.startsWith('|') && reading.language === 'ruby') {
    runText(reading, { ...path, text: path.text.slice(1) })
    return
  }
  const given = list.find(({ keyword }) => keyword === 'mode')?.value ?? mode
  // A number is one of flags: 0 reads alone.
  const writing = reading.language === 'other' ? /[wax+>]|^0{0,8}[1-9]/ : /[wax+>]/
  let writes = given?.kind === 'text' && writing.test(given.text) && given.text.length <= 16
  if (given?.kind === 'text' && OPENS_BY_FLAGS.has(name)) writes ||= WRITING_NUMBER.test(given.text)
  if (given?.kind === 'unknown') {
    writes = false
    for (let at = open; at < close; at++)
      if (WRITING_FLAGS.some((flag) => nameAt(reading, at).includes(flag))) writes = true
  }
  addCall(reading, writes ? 'open:w' : 'open:r')
  if (path !== undefined) addPath(reading, path, writes ? 'write' : 'read')
}
