/**
 * What the code of an interpreter does, as far as its text tells: the names that it calls, the commands that it gives
 * to a shell, the files that it uses. A string is known where it is a literal, literals joined, or a name that such
 * was given to. What is worked out otherwise and then run is opaque. No code is evaluated.
 * @module
 */

import type { Opaque } from '../effective.ts'
import type { Inner, Language } from '../unwrap/inner.ts'
import { readRedirection } from './awk-redirections.ts'
import { bindMembers, readAddition, readAssignment, readImport } from './bindings.ts'
import {
  fileUse,
  isArgvCall,
  isDecoder,
  isEvaluator,
  isIntrospection,
  isLoader,
  isSender,
  isShellCall,
  isStarter,
  OPENERS,
  POWERFUL,
  runsItsText,
  runsOnAnything,
  SAVERS,
} from './calls.ts'
import { noteCode } from './code-in-calls.ts'
import { settleDatabases } from './databases.ts'
import { call, callNamed, runText, usePath } from './effects.ts'
import { growsWithoutEnd } from './endless.ts'
import { moduleAsked, readsSecretVariable, SECRET_READ, setsLoaderVariable } from './environment-reads.ts'
import { isHandedOn, isModuleHandedOn, isNamedStarter, isRunner, openBracket } from './handed-on.ts'
import { isHoledPath, withHoles } from './holes.ts'
import { beneath } from './joins.ts'
import { tokensOf } from './lexer.ts'
import { bracketedWrites, builtTexts, namedTexts, secretPlaces } from './named-texts.ts'
import { noteGuarded, noteOpened, writesWhatItOpens } from './other-files.ts'
import { evaluatesTopic, hasIndirectProgram, removesTopic } from './perl-forms.ts'
import { evaluatesPattern } from './php-forms.ts'
import { plainOf } from './plain-code.ts'
import { reachesSystem } from './raw-system.ts'
import {
  ARGUMENT_TOKENS,
  addCall,
  addHoledPath,
  addPath,
  looksAbsolute,
  mark,
  nameAt,
  type Reading,
  UNKNOWN,
  type Value,
} from './reading.ts'
import { noteRemovers } from './removers.ts'
import { noteSending } from './requests.ts'
import { GAP } from './script-parts.ts'
import { readSed, readTcl } from './scripts.ts'
import { noteServed } from './served-places.ts'
import { noteAdded } from './taken-in.ts'
import { settleUnknownPaths } from './unknown-paths.ts'
import { noteUse, UNKNOWN_USE } from './unknown-uses.ts'
import { closing, readSingle, readValue, resolve } from './values.ts'
import { takesWholeEnvironment } from './whole-environment.ts'
import { isOutput, noteWritten } from './written-paths.ts'

export type CodeReading = {
  readonly calls: readonly string[]
  readonly inner: readonly Inner[]
  readonly opaque: readonly Opaque[]
}

export function readCode(text: string, language: Language, via: string): CodeReading {
  if (language === 'sed') return readSed(text, via)
  if (language === 'tcl') {
    const read = readTcl(text, via)
    return takesSecrets(text) ? { ...read, calls: [...read.calls, SECRET_READ] } : read
  }
  // A part that is not known is a value.
  const plain = plainOf(text, language, via)
  const { tokens, isCut } = tokensOf(plain.replaceAll(GAP, '0'), language)
  const reading: Reading = {
    tokens,
    language,
    via,
    calls: new Set(),
    inner: [],
    opaque: new Set(),
    aliases: new Map(),
    values: new Map(),
    stars: [],
    results: new Map(),
    used: new Set(),
    databases: [],
    unknownUses: new Set(),
    ends: new Set(),
    modules: new Map(),
    followed: new Set(),
    place: undefined,
    defined: undefined,
  }
  for (let index = 0; index < tokens.length; index++) index = Math.max(index, step(reading, index))
  if (language === 'other') {
    const writes = writesWhatItOpens(text)
    tokens.forEach((token, index) => {
      if (token.kind === 'name') noteOpened(reading, token.text, index + 1, writes)
    })
    noteGuarded(reading)
  }
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]
    if (token?.kind !== 'string') continue
    if (!reading.used.has(index) && looksAbsolute(token.text))
      addPath(
        reading,
        { kind: 'text', text: token.text, isOpaque: token.isOpaque },
        isOutput(reading, index) ? 'write' : 'mention',
      )
    const pattern = withHoles(token.text)
    if (pattern !== token.text && isHoledPath(pattern)) addHoledPath(reading, pattern, 'mention')
  }
  // Whatever is read then takes the place of the files that it comes from.
  if (text.includes(language === 'ruby' ? '$-i' : '$^I') && (language === 'perl' || language === 'ruby'))
    reading.unknownUses.add('write')
  if (language === 'lua') noteLuaPlaces(reading, text)
  settleDatabases(reading)
  const texts = tokens.flatMap((token) => (token.kind === 'string' ? token.text : []))
  for (const place of secretPlaces(text, texts))
    addPath(reading, { kind: 'text', text: place, isOpaque: false }, 'read')
  noteRemovers(reading)
  settleUnknownPaths(reading)
  if (isCut || growsWithoutEnd(text)) reading.opaque.add('limit')
  if (language === 'other') {
    const isFound = reading.inner.some(({ kind }) => kind !== 'path')
    for (const named of [...(isFound ? [] : namedTexts(text)), ...builtTexts(text)])
      runText(reading, { kind: 'text', text: named, isOpaque: false })
    const reached = reachesSystem(text)
    if (reached !== undefined) addCall(reading, UNKNOWN_USE + reached)
    for (const file of bracketedWrites(text))
      addPath(reading, { kind: 'text', text: file, isOpaque: false }, 'write')
  }
  // A pattern of Perl may hold code.
  if (language === 'perl' && (text.includes('(?{') || text.includes('(??{'))) reading.opaque.add('eval')
  if (language === 'php' && evaluatesPattern(text)) reading.opaque.add('eval')
  // A text of YAML that makes objects of its own choice.
  if (language === 'python' && text.includes('!!python/')) reading.opaque.add('eval')
  if (takesSecrets(text)) reading.calls.add(SECRET_READ)
  if (setsLoaderVariable(text)) addCall(reading, `${UNKNOWN_USE}environment`)
  const asked = language === 'python' ? moduleAsked(text) : undefined
  if (asked !== undefined) reading.calls.clear()
  const isDecoded = [...reading.calls].some(isDecoder)
  if (isDecoded && reading.opaque.has('eval')) reading.opaque.add('decoded')
  return { calls: [...reading.calls], inner: reading.inner, opaque: [...reading.opaque] }
}

/** Places from which Lua takes its modules. */
function noteLuaPlaces(reading: Reading, text: string): void {
  if (text.includes('package.cpath')) addCall(reading, `${UNKNOWN_USE}package.cpath`)
  if (/\bpackage\.path\s{0,4}=/.test(text)) addCall(reading, 'package.path')
}

function takesSecrets(text: string): boolean {
  return readsSecretVariable(text) || takesWholeEnvironment(text)
}

/** As `readCode`, of a text that may be code: what it clearly does, and that it runs what it has decoded. */
export function readGuess(text: string, language: Language, via: string): Omit<CodeReading, 'calls'> {
  const { inner, opaque } = readCode(text, language, via)
  return { inner: inner.filter(isClear), opaque: opaque.filter((one) => one === 'decoded') }
}

/** More than a mention, or a program of which nothing is known. */
function isClear(inner: Inner): boolean {
  if (inner.kind === 'path') return inner.use !== 'mention'
  return inner.kind !== 'argv' || inner.words[0]?.opaque === undefined
}

/** Looks at the token at `index`; gives the last index that needs no second look. */
function step(reading: Reading, index: number): number {
  const token = reading.tokens[index]
  if (token === undefined) return index
  if (token.kind === 'string' && isNamedStarter(reading, index)) reading.opaque.add('eval')
  if (token.kind === 'command') {
    reading.calls.add('backticks')
    // `` eval `x` ``: what a command prints is run.
    if (isRunner(reading, index - 1)) reading.opaque.add('eval')
    runText(reading, { kind: 'text', text: token.text, isOpaque: token.isOpaque })
    return index
  }
  if (reading.language === 'awk') readRedirection(reading, index)
  if (token.kind === 'mark') {
    // What a call without brackets gives ends with its statement.
    const isNext = ![';', '\n'].includes(mark(reading, index - 1))
    const before = isNext ? reading.results.get(index - 1) : undefined
    if (before !== undefined && 'name' in before) {
      if (token.text === '(') {
        noteUse(reading, before.name, true)
        call(reading, before.name, index)
      } else if (token.text === '[') readMember(reading, before.name, index)
    } else if (token.text === '(' && ['python', 'ruby'].includes(reading.language))
      readBracketed(reading, index)
    // `new File("/x") << "y"` of Groovy.
    if (before !== undefined && 'path' in before && token.text === '<<')
      addPath(reading, before.path, 'write')
    if (token.text === '=' && mark(reading, index - 1) === '}') bindMembers(reading, index)
    readMarkedCall(reading, index)
    return index
  }
  if (token.kind !== 'name') return index
  const imported = readImport(reading, index)
  if (imported > index) return imported
  if (readAssignment(reading, index)) return index
  readAddition(reading, index)
  return readUse(reading, index)
}

/** `(Path.home() / ".ssh" / "x").open("a")`: what stands in brackets is a path to the methods behind them. */
function readBracketed(reading: Reading, index: number): void {
  const before = reading.tokens[index - 1]
  // What stands behind a value is what a call is given.
  if (before?.kind === 'name' || before?.text === ']' || before?.text === ')') return
  const { value, next } = readSingle(reading, index)
  if (value.kind === 'text' && nameAt(reading, next).startsWith('.'))
    reading.results.set(next - 1, { path: value })
}

/** Marks that call: `"cmd".!` of Scala, `&{...}` and `&$x` of Perl, `"cmd" system` of Forth. */
function readMarkedCall(reading: Reading, index: number): void {
  const { language, tokens } = reading
  const text = mark(reading, index)
  if (language === 'javascript' && text === '$' && tokens[index + 1]?.kind === 'string')
    runText(reading, readSingle(reading, index + 1).value)
  if (language === 'other' && text === '!') {
    const at = mark(reading, index - 1) === '.' ? index - 2 : index - 1
    const before = tokens[at]
    if (before?.kind === 'string' && mark(reading, index + 1) !== '=')
      runText(reading, { kind: 'text', text: before.text, isOpaque: before.isOpaque })
  }
  if (language === 'php' && text === '(' && tokens[index - 1]?.kind === 'string')
    callNamed(reading, readSingle(reading, index - 1).value, index)
  if (language === 'php' && text === '(' && mark(reading, index - 1) === ')') {
    // `("sys" . "tem")("x")`: what stands in the brackets is called.
    for (let at = index - 2; at >= 0 && index - at < ARGUMENT_TOKENS; at--) {
      if (mark(reading, at) !== '(') continue
      const { value } = readValue(reading, at)
      if (value.kind === 'text') callNamed(reading, value, index)
      return
    }
  }
  if (language === 'perl' && text === '&') {
    const next = tokens[index + 1]
    const isRunner =
      mark(reading, index - 1) === '\\' && isShellCall(resolve(reading, next?.text ?? ''), 'perl')
    if (mark(reading, index + 1) === '{' || next?.text.startsWith('$') || isRunner) reading.opaque.add('eval')
  }
}

/** A name that is called or used; members given in brackets belong to it. */
function readUse(reading: Reading, index: number): number {
  const token = reading.tokens[index]
  let name = token?.text ?? ''
  let end = index
  if (isIntrospection(name)) reading.opaque.add('eval')
  if (name.startsWith('.')) {
    if (mark(reading, index + 1) === '(') noteAdded(reading, name, index + 1)
    const before = reading.results.get(index - 1)
    if (before === undefined) {
      const previous = reading.tokens[index - 1]
      if (reading.language === 'other' && runsItsText(name)) {
        if (previous?.kind === 'string') runText(reading, readSingle(reading, index - 1).value)
        else runText(reading, listBefore(reading, index - 1))
        return index
      }
      if (runsOnAnything(name) && mark(reading, index + 1) === '(') {
        const { value } = readValue(reading, index + 2)
        if (value.kind !== 'unknown') runText(reading, value)
      }
      // A method of some value: what it is called is all that is known.
      if (mark(reading, index + 1) === '(') {
        addCall(reading, name.slice(1))
        if (name.endsWith('constructor.constructor')) reading.opaque.add('eval')
        // `main(_)->os:cmd("x")` of Erlang.
        const plain = name.slice(1)
        if (reading.language === 'other' && plain.includes('.') && isStarter(plain))
          call(reading, plain, index + 1)
        if (name === '.can') call(reading, 'can', index + 1)
        noteSending(reading, name, index + 1)
        noteWritten(reading, name.slice(1), index + 1)
        noteCode(reading, name, index + 1)
        noteServed(reading, name, index + 1)
        if (reading.language === 'other' && GOES_BENEATH.has(name)) noteEnd(reading, index + 2)
      }
      return index
    }
    if ('path' in before) {
      usePath(reading, before.path, name, end + 1)
      return index
    }
    name = before.name + name
  } else {
    const dot = name.lastIndexOf('.')
    const path = dot > 0 && reading.language === 'python' ? reading.values.get(name.slice(0, dot)) : undefined
    if (path?.kind === 'text') usePath(reading, path, name.slice(dot), end + 1)
    const held = reading.language === 'php' ? reading.values.get(name) : undefined
    name = held?.kind === 'text' && mark(reading, end + 1) === '(' ? held.text : resolve(reading, name)
    // A function by a name that is worked out.
    if (name.startsWith('$') && reading.language === 'php' && mark(reading, end + 1) === '(')
      reading.opaque.add('eval')
  }
  while (mark(reading, end + 1) === '[') {
    const member = readValue(reading, end + 2)
    if (mark(reading, member.next) !== ']') break
    if (
      member.value.kind === 'text' &&
      !member.value.isOpaque &&
      /^[A-Za-z_]\w{0,63}$/.test(member.value.text)
    )
      name = `${name}.${member.value.text}`
    else if (POWERFUL.has(name) && (reading.language === 'lua' || mark(reading, member.next + 1) === '('))
      reading.opaque.add('eval')
    else break
    end = member.next
    name = resolve(reading, name)
  }
  const isCall = mark(reading, end + 1) === '('
  if (!isCall && isBracketed(reading, end)) reading.results.set(end + 1, { name })
  // A statement of Python 2.
  if (name === 'exec' && reading.language === 'python' && reading.tokens[end + 1]?.kind === 'name')
    reading.opaque.add('eval')
  // `@f(x)` of gawk calls the function that is named by `f`.
  if (reading.language === 'awk' && name.startsWith('@') && isCall) reading.opaque.add('eval')
  const isFirst =
    reading.language === 'other' && reading.tokens[0]?.text === '(' && mark(reading, index - 1) === '('
  noteUse(reading, name, isCall || isFirst)
  if (reading.language === 'other' && name === 'system' && reading.tokens[index - 1]?.kind === 'string') {
    // Forth has the word behind its text.
    runText(reading, readSingle(reading, index - 1).value)
    return end
  }
  // Perl, Ruby, PHP and awk call without parentheses; Lisp puts the name first.
  const next = reading.tokens[end + 1]
  const isBare =
    !isCall &&
    next !== undefined &&
    reading.language !== 'python' &&
    reading.language !== 'javascript' &&
    (next.kind === 'string' ||
      next.kind === 'name' ||
      next.text === '[' ||
      hasIndirectProgram(reading, name, end) ||
      (reading.language === 'perl' && next.text === '<' && isShellCall(name, 'perl')) ||
      takesSymbol(reading, name, end) ||
      (reading.language === 'perl' && SAVERS.has(name) && ['{', '\\'].includes(next.text)) ||
      (next.kind === 'number' &&
        (fileUse(name, reading.language) !== undefined || isShellCall(name, reading.language))))
  if (removesTopic(reading, name, end)) {
    addCall(reading, name)
    reading.unknownUses.add('write')
  }
  if (evaluatesTopic(reading, name, end)) reading.opaque.add('eval')
  if (isCall) {
    noteSending(reading, name, end + 1)
    noteServed(reading, name, end + 1)
  }
  if (isCall || isBare) {
    if (isCall || isInteresting(name, reading.language)) addCall(reading, name)
    call(reading, name, isCall ? end + 1 : end)
    noteLoaded(reading, index, isCall ? closing(reading, end + 1) : end + 1)
  } else if (isModuleHandedOn(reading, name, index, end)) {
    addCall(reading, name)
    reading.opaque.add('eval')
  } else if (isHandedOn(reading, name, index, end)) {
    addCall(reading, name)
    reading.opaque.add('eval')
  } else if (name.includes('.') && !name.startsWith('$')) addCall(reading, name)
  else if (name.startsWith('__')) addCall(reading, name)
  return end
}

/** `system :x.to_s`, `__send__ :system, "x"`: the name at `index` is called with a symbol of Ruby. */
function takesSymbol(reading: Reading, name: string, index: number): boolean {
  const { language } = reading
  return (
    language === 'ruby' &&
    mark(reading, index + 1) === ':' &&
    reading.tokens[index + 2]?.kind === 'name' &&
    mark(reading, index - 1) !== '?' &&
    (isShellCall(name, language) || isSender(name, language) || name === 'autoload')
  )
}

/** `(require('m').f)(x)`: a member in brackets of its own that is called. */
function isBracketed(reading: Reading, end: number): boolean {
  if (mark(reading, end + 1) !== ')' || mark(reading, end + 2) !== '(') return false
  const before = reading.tokens[openBracket(reading, end) - 1]
  return before?.kind !== 'name' || before.text === 'new' || before.text === 'return'
}

/** Methods of a path that give one beneath it. */
const GOES_BENEATH: ReadonlySet<string> = new Set(['.join', '.resolve', '.appendingPathComponent', '.child'])

/** `p.path().join("environ")`: of the path only the end is known. */
function noteEnd(reading: Reading, index: number): void {
  const { value } = readValue(reading, index)
  if (value.kind === 'text') addPath(reading, beneath(UNKNOWN, value), 'mention')
}

/** What a loader called at `index` gives, where that is handed on: `f(require('fs'))`. */
function noteLoaded(reading: Reading, index: number, close: number): void {
  const loaded = reading.results.get(close)
  if (loaded !== undefined && 'name' in loaded && isModuleHandedOn(reading, loaded.name, index, close))
    reading.opaque.add('eval')
}

/** The list that ends at the closing mark at `index`: `["rm", "x"].execute()`. */
function listBefore(reading: Reading, index: number): Value {
  if (mark(reading, index) !== ']') return UNKNOWN
  for (let at = index - 1; at >= 0 && index - at < ARGUMENT_TOKENS; at--)
    if (mark(reading, at) === '[') return readSingle(reading, at, 3).value
  return UNKNOWN
}

/** `require('m')['name']`. */
function readMember(reading: Reading, module: string, index: number): void {
  const { value, next: end } = readValue(reading, index + 1)
  const isWhole = mark(reading, end) === ']'
  const next = isWhole ? end : closing(reading, index)
  if (!isWhole || value.kind !== 'text' || value.isOpaque) {
    if (POWERFUL.has(module)) reading.opaque.add('eval')
    return
  }
  const name = `${module}.${value.text}`
  addCall(reading, name)
  noteUse(reading, name, false)
  reading.results.set(next, { name })
}

function isInteresting(name: string, language: Language): boolean {
  return (
    name.includes('.') ||
    (language === 'php' && name.startsWith('include')) ||
    isShellCall(name, language) ||
    isArgvCall(name, language) ||
    isEvaluator(name, language) ||
    fileUse(name, language) !== undefined ||
    OPENERS.has(name) ||
    isLoader(name)
  )
}
