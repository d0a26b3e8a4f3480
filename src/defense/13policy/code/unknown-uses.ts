/**
 * What code uses that is not known to be harmless: a member of a module, a function of the language, a name that
 * leads to the insides of the interpreter. Each becomes a call `unknown:NAME`. What other tables judge by path, by
 * command or by address is known here.
 * Rules: docs/policy.md, "Effective commands".
 * @module
 */
import { type Language, PROJECT } from '../unwrap/inner.ts'
import {
  CODE_TAKERS,
  COPIES,
  fileUse,
  isArgvCall,
  isDecoder,
  isEvaluator,
  isLoader,
  isShellCall,
  isStarter,
  OPENERS,
  POWERFUL,
  SAVERS,
  SPAWN_CALLS,
} from './calls.ts'
import { HARMLESS_MODULES, type Members } from './harmless-modules.ts'
import {
  OTHER_NAMES,
  PHP_FAMILIES,
  PHP_NAMES,
  REACHING,
  REACHING_METHODS,
  REACHING_UNCALLED,
  SYSTEM_CALLS,
} from './harmless-names.ts'
import { addCall, addInner, mark, type Reading } from './reading.ts'
import { closing } from './values.ts'

/** Said of what code uses and nobody knows to be harmless, with its name behind. */
export const UNKNOWN_USE = 'unknown:'

/** Modules of Node.js that its one-liners find without asking for them. */
export const GIVEN: ReadonlySet<string> = new Set(
  'imports process child_process cluster dgram fs http http2 https inspector module net os repl tls v8 vm wasi worker_threads Deno Bun'.split(
    ' ',
  ),
)

/** Names of constants, which do nothing. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$/

/** What a module gives of itself, and of a loaded module is not the doing. */
const SELF = /^__\w{1,32}__$|^(?:VERSION|version)$/

function isJudged(name: string, language: Language): boolean {
  return (
    fileUse(name, language) !== undefined ||
    OPENERS.has(name) ||
    COPIES.has(name) ||
    SAVERS.has(name) ||
    CODE_TAKERS.has(name) ||
    SPAWN_CALLS.has(name) ||
    isShellCall(name, language) ||
    isArgvCall(name, language) ||
    isEvaluator(name, language) ||
    isLoader(name) ||
    isDecoder(name)
  )
}

type Found = { readonly members: Members; readonly rest: readonly string[] }

/** The innermost module of `name` that is known, and what stands behind it. */
function found(name: string, language: Language): Found | undefined {
  const modules = HARMLESS_MODULES[language]
  let best: Found | undefined
  const parts = name.replaceAll('/', '.').split('.', 16)
  let prefix = ''
  for (let at = 0; at < parts.length; at++) {
    prefix = at === 0 ? (parts[0] ?? '') : `${prefix}.${parts[at]}`
    const members = modules.get(prefix)
    if (members !== undefined) best = { members, rest: parts.slice(at + 1) }
  }
  return best
}

function isHarmless({ members, rest }: Found): boolean {
  const [next] = rest
  if (next === undefined || CONSTANT.test(next)) return true
  if (!members.isAllBut) return members.names.has(next) && !rest.slice(1).some(isPowerful)
  return !rest.some((part) => isPowerful(part) || members.names.has(part))
}

/** A module of power, or one under the name by which another keeps it for itself: `random._os`. */
function isPowerful(part: string): boolean {
  return POWERFUL.has(part.startsWith('_') && !part.startsWith('__') ? part.slice(1) : part)
}

/** Names that the code itself gives something to: behind `def` and its kin, or before `=`. */
function definedIn(reading: Reading): ReadonlySet<string> {
  const names = new Set<string>()
  reading.tokens.forEach((token, index) => {
    if (token.kind !== 'name') return
    const before = reading.tokens[index - 1]
    const after = mark(reading, index + 1)
    // `f(x) = x^2`
    const isFormula = after === '(' && (before === undefined || before.text === ';' || before.text === '\n')
    if (isFormula && mark(reading, closing(reading, index + 1) + 1) === '=') names.add(token.text)
    if (after === '=' || after === '=>' || (before?.kind === 'name' && DEFINERS.has(before.text)))
      names.add(token.text)
  })
  return names
}

const DEFINERS: ReadonlySet<string> = new Set(
  'def defn defun define fun func fn function sub class module package struct interface trait enum record object const let var val my local int double long float void String static val mutable type data'.split(
    ' ',
  ),
)

function isDefined(reading: Reading, name: string): boolean {
  reading.defined ??= definedIn(reading)
  return reading.defined.has(name)
}

/** In the place of a module: a file of the project. */
const OWN = './'

function rootOf(name: string): string {
  const end = name.search(/[./]/)
  return end < 0 ? name : name.slice(0, end)
}

/** Takes down that code brings in a module. */
export function noteModule(reading: Reading, module: string): void {
  const { language } = reading
  if (isOwnFile(module)) reading.modules.set(OWN, module)
  else reading.modules.set(rootOf(module), module)
  if (module === 'builtins') addUnknown(reading, module)
  if (language !== 'perl' && language !== 'ruby') return
  // Their modules put names among those of the code.
  if (found(module, language) === undefined && !isOwnFile(module)) addUnknown(reading, module)
}

/** Everything of a module is taken in: whatever is called may be its. */
export function noteAll(reading: Reading, module: string): void {
  const own = found(module, reading.language)
  if (own === undefined) addUnknownModule(reading, module)
  else if (!own.members.isAllBut) addUnknown(reading, `${module}.*`)
}

/** Whether what a loader is given is the path of a file. */
export function isOwnFile(module: string): boolean {
  return module.startsWith('.') || module.startsWith('/')
}

function addUnknown(reading: Reading, name: string): void {
  addCall(reading, UNKNOWN_USE + name)
}

/** A module that nobody knows is a file of the project, where the same line has made it. */
function addUnknownModule(reading: Reading, name: string): void {
  const module = reading.modules.get(rootOf(name)) ?? name
  const call = UNKNOWN_USE + module
  if (reading.language !== 'python') addUnknown(reading, module)
  else if (!reading.followed.has(call)) {
    reading.followed.add(call)
    const text = `${module.replaceAll('.', '/')}.py`
    const word = { text, isGlob: false, opaque: undefined }
    addInner(reading, { kind: 'script', word, language: 'python', via: reading.via, otherwise: call })
  }
}

const TO_FUNCTION = '.to_proc'

/** Takes down the use of `name`, of which every alias is resolved. */
export function noteUse(reading: Reading, name: string, isCall: boolean): void {
  const { language } = reading
  if (REACHING[language].has(name)) {
    if (isCall || language === 'perl' || REACHING_UNCALLED.has(name)) addUnknown(reading, name)
    return
  }
  // `:system.to_proc`, `method(:exec).to_proc`
  const made = language === 'ruby' ? name.indexOf(TO_FUNCTION) : -1
  if (made > 0 && isShellCall(name.slice(0, made), language)) addUnknown(reading, name)
  if (isCall && REACHING_METHODS.has(name.slice(name.lastIndexOf('.')))) addUnknown(reading, name)
  if (language === 'php') notePhp(reading, name, isCall)
  else if (language === 'other') noteOther(reading, name, isCall)
  else if (name.includes('.')) noteMember(reading, name, isCall)
  else if (isCall && language === 'javascript' && reading.modules.has(name) && !found(name, language))
    addUnknown(reading, name)
}

function noteMember(reading: Reading, name: string, isCall: boolean): void {
  const { language } = reading
  const root = rootOf(name)
  if (!isModule(reading, root)) return
  const own = found(name, language)
  // `exec.bind(...)`: what starts programs is no thing to work on.
  if (isStarter(name.slice(0, name.lastIndexOf('.')))) addUnknown(reading, name)
  else if (own !== undefined) {
    if (!isHarmless(own) && !isJudged(name, language)) addUnknown(reading, name)
    return
  }
  const last = name.slice(name.lastIndexOf('.') + 1)
  // In Perl and Ruby, brackets are no part of a call.
  const calls = isCall || ((language === 'perl' || language === 'ruby') && /^[a-z]/.test(last))
  if (calls && !isJudged(name, language) && !SELF.test(last)) addUnknownModule(reading, name)
}

function isModule(reading: Reading, root: string): boolean {
  if (reading.modules.has(root)) return root !== ''
  switch (reading.language) {
    case 'javascript':
      return GIVEN.has(root) && !isDefined(reading, root)
    case 'perl':
    case 'ruby':
      // What is written large is a class or a module; of the project, where a file of it is taken in.
      if (!/^[A-Z]/.test(root) || isDefined(reading, root)) return false
      return !reading.modules.has(OWN) || HARMLESS_MODULES[reading.language].has(root)
    case 'lua':
      return HARMLESS_MODULES.lua.has(root) && !isDefined(reading, root)
    default:
      return false
  }
}

function notePhp(reading: Reading, name: string, isCall: boolean): void {
  if (!isCall || name.startsWith('$') || name.includes('.')) return
  const isKnown = PHP_NAMES.has(name) || PHP_FAMILIES.test(name) || isJudged(name, 'php')
  if (!isKnown && !isDefined(reading, name)) addUnknown(reading, name)
}

/** Modules of Go, Rust and Zig with the calls of the system. */
const SYSTEM_MODULES: ReadonlySet<string> = new Set(['syscall', 'unix', 'libc', 'nix', 'rustix', 'linux'])

/** Of languages that are not told apart: what is called, and in Lisp what stands first in brackets. */
function noteOther(reading: Reading, name: string, isCall: boolean): void {
  if (!isCall) return
  if (reading.via === PROJECT) {
    // What is built first and run then is a program of the project; its commands and paths are judged.
    const isSystem = !name.includes('.') || SYSTEM_MODULES.has(rootOf(name))
    if (isSystem && SYSTEM_CALLS.has(name.slice(name.lastIndexOf('.') + 1).toLowerCase()))
      addUnknown(reading, name)
    return
  }
  const own = name.includes('.') ? found(name, 'other') : undefined
  if (own !== undefined) {
    if (!isHarmless(own) && !isJudged(name, 'other')) addUnknown(reading, name)
    return
  }
  const last = name.slice(name.lastIndexOf('.') + 1)
  const small = last.toLowerCase()
  const isKnown = OTHER_NAMES.has(small) || OTHER_NAMES.has(name.toLowerCase()) || isJudged(name, 'other')
  if (!isKnown && !isDefined(reading, last)) addUnknown(reading, name)
}
