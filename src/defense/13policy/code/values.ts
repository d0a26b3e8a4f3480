/**
 * The values in code: a literal, literals joined, a list, a name that such was given to. What is anything else is
 * unknown. No more of a call is looked at than its first tokens, so that reading stays linear.
 * @module
 */

import type { Language } from '../unwrap/inner.ts'
import { withHoles } from './holes.ts'
import { beneath, EMPTY, filled, join, joined, SEPARATOR } from './joins.ts'
import type { Token } from './lexer.ts'
import { ARGUMENT_TOKENS, mark, nameAt, type Reading, UNKNOWN, type Value } from './reading.ts'
import { CONCATENATORS, JOINERS, LISTERS, makesPath, PLACES } from './value-calls.ts'

/** `A.m.system` of a class with `m = os` in it. */
function memberAlias({ aliases }: Reading, name: string, dot: number): string {
  const end = dot < 0 ? -1 : name.indexOf('.', dot + 1)
  const alias = end < 0 ? undefined : aliases.get(name.slice(dot + 1, end))
  return alias === undefined ? name : alias + name.slice(end)
}

/** The full name of what `name` stands for. */
export function resolve(reading: Reading, name: string): string {
  const dot = name.indexOf('.')
  const first = dot < 0 ? name : name.slice(0, dot)
  const alias = reading.aliases.get(first)
  let full =
    alias === undefined ? memberAlias(reading, name, dot) : dot < 0 ? alias : `${alias}${name.slice(dot)}`
  if (full.startsWith('FileUtils.Verbose.')) full = full.replace('.Verbose', '')
  // The table of a module's names is the module.
  if (full.includes('.__dict__')) full = full.replaceAll('.__dict__', '')
  for (const prefix of [
    'node:',
    'builtins.',
    '__builtins__.',
    'globalThis.',
    'global.',
    'window.',
    'CORE.GLOBAL.',
    'CORE.',
    'self.',
    '_G.',
    '_ENV.',
    'Object.',
    'java.lang.',
    'Packages.java.lang.',
  ]) {
    if (full.startsWith(prefix)) full = full.slice(prefix.length)
  }
  return full
}

export type Argument = { readonly value: Value; readonly at: number; readonly keyword: string | undefined }

/** The arguments from the mark at `open` on, or for `open` a name, those that follow it to the end of the statement. */
export function argumentsOf(
  reading: Reading,
  open: number,
  nesting = 0,
): { readonly list: readonly Argument[]; readonly close: number; readonly isCut: boolean } {
  const list: Argument[] = []
  const isBracketed = mark(reading, open) === '('
  let at = open + 1
  const limit = open + ARGUMENT_TOKENS
  while (at < reading.tokens.length && at < limit) {
    const text = mark(reading, at)
    if (text === ')' || (!isBracketed && (text === ';' || text === '\n' || text === '}')))
      return { list, close: at, isCut: false }
    if (text === ',' || text === '\n' || (text === '=>' && reading.language === 'perl')) {
      at += 1
      continue
    }
    let keyword: string | undefined
    const isSpaced = !isBracketed && reading.language === 'other'
    if (reading.tokens[at]?.kind === 'name' && ['=', ':'].includes(mark(reading, at + 1))) {
      keyword = nameAt(reading, at)
      at += 2
    }
    const { value, next } = readValue(reading, at, nesting)
    list.push({ value, at, keyword })
    at = Math.max(next, at + 1)
    // Lisp has nothing but blanks between arguments.
    const follows = reading.tokens[at]
    if (isSpaced && (follows?.kind === 'string' || mark(reading, at) === '(' || mark(reading, at) === '['))
      continue
    // What is not understood is passed over, to the next argument.
    let depth = 0
    while (at < reading.tokens.length && at < limit) {
      const here = mark(reading, at)
      if (
        depth === 0 &&
        (here === ',' ||
          here === ')' ||
          (here === '=>' && reading.language === 'perl') ||
          (!isBracketed && (here === ';' || here === '\n' || here === '}')))
      )
        break
      if ('([{'.includes(here) && here !== '') depth += 1
      else if (')]}'.includes(here) && here !== '') depth -= 1
      if (depth < 0) break
      at += 1
    }
  }
  return { list, close: at, isCut: at >= limit }
}

const JOINTS: Readonly<Record<Language, readonly string[]>> = Object.freeze({
  python: ['+'],
  javascript: ['+'],
  ruby: ['+', '<<'],
  other: ['+', '++', '<>', '&'],
  perl: ['.'],
  php: ['.'],
  lua: ['..'],
  awk: [],
  tcl: [],
  sed: [],
})

/** The value that begins at `index`, with what is joined to it; and where it ends. */
export function readValue(
  reading: Reading,
  index: number,
  depth = 0,
): { readonly value: Value; readonly next: number } {
  let { value, next } = readOperand(reading, index, depth)
  for (let count = 0; count < ARGUMENT_TOKENS; count++) {
    const joint = mark(reading, next)
    const isQuotient = value.kind !== 'text' && reading.tokens[next + 1]?.kind !== 'string'
    if (joint === '/' && !isQuotient && DIVIDED_PATHS.includes(reading.language)) {
      // Of a text, and by one, there is no quotient: it is a path.
      const part = readSingle(reading, next + 1, depth)
      value = beneath(value, part.value)
      next = part.next
      continue
    }
    if (joint === '+' && reading.language === 'ruby' && nameAt(reading, index).startsWith('Pathname')) {
      // What is added to a path lies beneath it.
      const part = readSingle(reading, next + 1, depth)
      value = beneath(value, part.value)
      next = part.next
      continue
    }
    const isJoined = joint !== '' && JOINTS[reading.language].includes(joint)
    const isAdjacent =
      !isJoined &&
      (reading.language === 'python' || reading.language === 'ruby' || reading.language === 'awk') &&
      (reading.tokens[next]?.kind === 'string' ||
        (reading.language === 'awk' &&
          reading.tokens[next]?.kind === 'name' &&
          nameAt(reading, next) !== 'getline'))
    if (!isJoined && !isAdjacent) break
    const after = readOperand(reading, isJoined ? next + 1 : next, depth)
    value = join(value, after.value)
    if (after.next <= next) break
    next = after.next
  }
  if (methodAt(reading, next) !== '') value = UNKNOWN
  if (mark(reading, next) === '%' && value.kind === 'text' && reading.language === 'python' && depth < 4) {
    const given = readSingle(reading, next + 1, depth)
    value = filled(
      value,
      given.value.kind === 'list' ? given.value.items : [given.value],
      /%(?:\(\w{1,32}\))?[sdr]/,
    )
    next = given.next
  } else if (mark(reading, next) === '%' || mark(reading, next) === '*')
    value = value.kind === 'text' ? { ...value, text: '', isOpaque: true } : UNKNOWN
  return { value, next }
}

type Read = { readonly value: Value; readonly next: number }

/** One of the values that are joined, with what is called on it. */
function readOperand(reading: Reading, index: number, depth: number): Read {
  let { value, next } = subscripted(reading, readSingle(reading, index, depth))
  // A call or a member of the value makes another one of it.
  for (let count = 0; count < METHODS_MAX; count++) {
    const method = methodAt(reading, next)
    if (method === '') break
    if (mark(reading, next + 1) !== '(') {
      // A member of it, and one of its items: what is joined to that still tells the end.
      value = UNKNOWN
      next = mark(reading, next + 1) === '[' ? closing(reading, next + 1) + 1 : next + 1
      continue
    }
    value = methodOf(reading, value, method, next + 1, depth)
    next = closing(reading, next + 1) + 1
  }
  return { value, next }
}

/** Methods that give a path as it is, or as what it stands for. */
const KEEPING: ReadonlySet<string> = new Set(['.expanduser', '.resolve', '.absolute', '.strip', '.as_posix'])

/** `sprintf("/proc/%d/x", p)`, `fmt.Sprintf`, `format!("/proc/{}/x", p)`: what is put in may be anything. */
const FORMATTERS = /(?:^|\.)(?:[Ss]printf|format|asprintf)$/

function formatted(
  reading: Reading,
  open: number,
  depth: number,
): { readonly value: Value; readonly close: number } {
  const { list, close } = argumentsOf(reading, open, depth + 1)
  const at = list.findIndex(({ value }) => value.kind === 'text')
  const first = list[at]?.value
  if (first?.kind !== 'text' || first.isOpaque) return { value: first ?? UNKNOWN, close }
  const given = list.slice(at + 1).map(({ value }) => value)
  return { value: filled(first, given, first.text.includes('%') ? PERCENT : BRACED), close }
}

const PERCENT = /%[-+0#]?\d{0,4}(?:\.\d{1,4})?[a-zA-Z]/
const BRACED = /\{[\w:?]{0,16}\}/

/** `join("/", "etc", $x)` of Perl and `implode("/", [...])` of PHP have the separator first, `table.concat` of Lua last. */
function isListJoin(name: string, language: Language): boolean {
  return (
    (name === 'join' && (language === 'perl' || language === 'php')) ||
    name === 'implode' ||
    name === 'table.concat' ||
    (language === 'other' && (name === 'join' || name === 'String.join'))
  )
}

/** What the call of `called` with the mark at `open` gives, where that is a path. */
function resultOf(
  reading: Reading,
  called: string,
  open: number,
  depth: number,
): { readonly value: Value; readonly close: number } {
  const name = resolve(reading, called)
  const place = PLACES.get(name)
  if (place !== undefined) return { value: place, close: closing(reading, open) }
  if (FORMATTERS.test(name) && depth < 4) return formatted(reading, open, depth)
  if (name.endsWith('.sep.join') && depth < 4) {
    const { list, close } = argumentsOf(reading, open, depth + 1)
    return { value: joined(SEPARATOR, list[0]?.value ?? UNKNOWN), close }
  }
  if (LISTERS.has(name) && reading.language === 'other' && depth < 4) {
    const { list, close } = argumentsOf(reading, open, depth + 1)
    return { value: { kind: 'list', items: list.map(({ value }) => value) }, close }
  }
  const isConcatenation = CONCATENATORS.has(name)
  if ((isConcatenation || isListJoin(name, reading.language)) && depth < 4) {
    const { list, close } = argumentsOf(reading, open, depth + 1)
    const parts = list.flatMap(({ value, keyword }) => (keyword === undefined ? [value] : []))
    if (isConcatenation) return { value: parts.reduce(join, EMPTY), close }
    const [separator = UNKNOWN, ...others] = parts
    const [only = EMPTY] = others
    const isPair = only.kind === 'list' || separator.kind === 'list'
    return { value: joined(separator, isPair ? only : { kind: 'list', items: others }), close }
  }
  if ((!JOINERS.has(name) && !makesPath(name, reading.language)) || depth >= 4)
    return { value: UNKNOWN, close: closing(reading, open) }
  const { list, close } = argumentsOf(reading, open, depth + 1)
  const [first = UNKNOWN, ...others] = list.flatMap(({ value }) =>
    value.kind === 'list' ? value.items : [value],
  )
  return { value: others.reduce(beneath, first), close }
}

/** Methods of a path of Rust, Java, Kotlin and Swift that give one beneath it. */
const BELOW: ReadonlySet<string> = new Set([
  '.join',
  '.resolve',
  '.appendingPathComponent',
  '.resolveSibling',
])

const TEXT_METHODS: ReadonlySet<string> = new Set(['.format', '.joinpath', '.concat'])

/** Methods in a row that are followed. */
const METHODS_MAX = 4

function methodAt(reading: Reading, at: number): string {
  const name = nameAt(reading, at)
  return name.startsWith('.') ? name : ''
}

/** What a method of `value` gives, with the mark at `open`, where that is known to be a text. */
function methodOf(reading: Reading, value: Value, method: string, open: number, depth: number): Value {
  const isBelow = reading.language === 'other' && BELOW.has(method) && mark(reading, open + 1) !== ')'
  if (isBelow && value.kind === 'text' && /^[/~]/.test(value.text) && depth < 4)
    return argumentsOf(reading, open, depth + 1)
      .list.map((given) => given.value)
      .reduce(beneath, value)
  if (KEEPING.has(method)) return value
  if (depth >= 4) return UNKNOWN
  if (method === '.join') return joined(value, readValue(reading, open + 1, depth + 1).value)
  if (value.kind !== 'text' || !TEXT_METHODS.has(method)) return UNKNOWN
  const given = argumentsOf(reading, open, depth + 1).list.map((argument) => argument.value)
  if (method === '.concat') return given.reduce(join, value)
  if (method === '.format' && reading.language === 'lua') return filled(value, given, /%[sdq]/)
  return method === '.format' ? filled(value, given, /\{\w*\}/) : given.reduce(beneath, value)
}

/** A part of a value, `"mr"[::-1]`, is another one. */
function subscripted(
  reading: Reading,
  found: { readonly value: Value; readonly next: number },
): { readonly value: Value; readonly next: number } {
  const isPart = mark(reading, found.next) === '[' && SUBSCRIPTS.includes(reading.language)
  if (!isPart || found.value.kind === 'unknown') return found
  const value: Value = found.value.kind === 'text' ? { kind: 'text', text: '', isOpaque: true } : UNKNOWN
  return { value, next: closing(reading, found.next) + 1 }
}

/** A slash behind a path of theirs makes one beneath it. */
const DIVIDED_PATHS: readonly Language[] = Object.freeze(['python', 'ruby', 'other'])

const SUBSCRIPTS: readonly Language[] = Object.freeze(['python', 'javascript', 'ruby', 'php'])

/** As `readValue`, without what is joined to it or done with it. */
export function readSingle(
  reading: Reading,
  index: number,
  depth = 0,
): { readonly value: Value; readonly next: number } {
  const token = reading.tokens[index]
  if (token === undefined) return { value: UNKNOWN, next: index }
  if (token.kind === 'string')
    return {
      value: token.isOpaque
        ? {
            kind: 'text',
            text: knownPart(token, reading.language),
            isOpaque: true,
            pattern: withHoles(token.text),
          }
        : { kind: 'text', text: token.text, isOpaque: false },
      next: index + 1,
    }
  if (token.kind === 'number')
    return { value: { kind: 'text', text: token.text, isOpaque: false }, next: index + 1 }
  if (token.kind === 'name') {
    if (token.text === 'new' && reading.language === 'javascript')
      return readSingle(reading, index + 1, depth)
    // `require("path").resolve("/", "x")`
    const loaded = reading.tokens[index + 2]
    const method = methodAt(reading, index + 4)
    if (
      token.text === 'require' &&
      loaded?.kind === 'string' &&
      method !== '' &&
      mark(reading, index + 5) === '('
    ) {
      const { value, close } = resultOf(reading, loaded.text.replace('node:', '') + method, index + 5, depth)
      return { value, next: close + 1 }
    }
    const known = reading.values.get(token.text)
    if (mark(reading, index + 1) !== '(' && token.text === 'join' && reading.language === 'perl') {
      // A list operator, whose arguments go on to the end of the statement.
      const { value, close } = resultOf(reading, token.text, index, depth)
      return { value, next: close }
    }
    if (mark(reading, index + 1) !== '(')
      return {
        value: PLACES.get(reading.aliases.get(token.text) ?? token.text) ?? known ?? UNKNOWN,
        next: index + 1,
      }
    const { value, close } = resultOf(reading, token.text, index + 1, depth)
    return { value, next: close + 1 }
  }
  if (token.text === ':' && (reading.language === 'ruby' || reading.language === 'other')) {
    // A symbol.
    const name = nameAt(reading, index + 1)
    if (name !== '') return { value: { kind: 'text', text: name, isOpaque: false }, next: index + 2 }
  }
  const isTable = token.text === '{' && reading.language === 'lua'
  if (token.text === '{' && !isTable) {
    const close = closing(reading, index)
    // Of an object, the arguments of a program are what counts.
    for (let at = index; at < close; at++) {
      if (nameAt(reading, at) === 'args' && mark(reading, at + 1) === ':' && depth < 4) {
        return { value: readValue(reading, at + 2, depth + 1).value, next: close + 1 }
      }
    }
    return { value: UNKNOWN, next: close + 1 }
  }
  if ((token.text === '[' || token.text === '(' || isTable) && depth < 4) {
    const items: Value[] = []
    let at = index + 1
    const limit = index + ARGUMENT_TOKENS
    while (at < reading.tokens.length && at < limit) {
      const text = mark(reading, at)
      if (text === ']' || text === ')' || text === '}') break
      if (text === ',' || text === '\n') {
        at += 1
        continue
      }
      const item = readValue(reading, at, depth + 1)
      // `(list "a" "b")`: the name at the beginning is no item.
      const isHead = reading.language === 'other' && token.text === '(' && item.value.kind === 'unknown'
      if (!isHead || at > index + 1) items.push(item.value)
      at = Math.max(item.next, at + 1)
    }
    if (at >= limit) return { value: UNKNOWN, next: at }
    const [only] = items
    return {
      value: token.text === '(' && items.length === 1 && only !== undefined ? only : { kind: 'list', items },
      next: at + 1,
    }
  }
  return { value: UNKNOWN, next: index + 1 }
}

/** The part of a string before what is put in. */
function knownPart(token: Token, language: Language): string {
  if (!token.isOpaque) return token.text
  const at = language === 'python' ? token.text.indexOf('{') : token.text.search(/[$@#]/)
  return at < 0 ? '' : token.text.slice(0, at)
}

/** Where the bracket at `open` closes, not further than an argument is read. */
export function closing(reading: Reading, open: number): number {
  let depth = 0
  const limit = Math.min(reading.tokens.length, open + ARGUMENT_TOKENS)
  for (let at = open; at < limit; at++) {
    const text = mark(reading, at)
    if (text === '(' || text === '[' || text === '{') depth += 1
    else if (text === ')' || text === ']' || text === '}') {
      depth -= 1
      if (depth <= 0) return at
    }
  }
  return limit
}
