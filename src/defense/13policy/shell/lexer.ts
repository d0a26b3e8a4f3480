/**
 * The words of a shell text: quotes, `$'...'`, parameters, substitutions, arithmetic. A word becomes parts; nothing is
 * expanded here. What is not closed is a syntax failure.
 * Rules: POSIX.1-2024 XCU 2.2, 2.3 and 2.6; bash 5.2 for `$'...'`, `$[ ]`, `<( )`, `${ command; }` and patterns.
 * @module
 */
import { ansiEscape } from './escapes.ts'
import {
  closeInner,
  current,
  enter,
  fail,
  innerScan,
  isMeta,
  isMetaCode,
  leave,
  pay,
  type Scan,
  skipBlanks,
  take,
  takeName,
} from './scan.ts'
import type { List, Parameter, Word, WordPart } from './syntax.ts'

/**
 * Where a word ends: `word` at a metacharacter; `braced` at `}`; `replaced` also at `/`; `offset` also at `:`; `index`
 * at `]`; `quoted` at `"`; `text` at the end; `pattern` at a blank outside of parentheses.
 */
type Mode = 'word' | 'operand' | 'braced' | 'replaced' | 'offset' | 'index' | 'quoted' | 'text' | 'pattern'

/** A word of a command. `canGroup`: patterns such as `!(a|b)` may be in it (not in the first word). */
export function readWord(scan: Scan, canGroup: boolean): Word {
  return plainWord(scan) ?? readParts(scan, canGroup ? 'operand' : 'word', false)
}

/** A word without anything special, which most are, in one step. */
function plainWord(scan: Scan): Word | undefined {
  const { text, at } = scan
  let end = at
  while (end < text.length && isOrdinary(text.charCodeAt(end))) end += 1
  if (end === at) return undefined
  const next = end < text.length ? text.charCodeAt(end) : 32
  // A parenthesis or a bracket may belong to it.
  if (!isMetaCode(next) || next === 40 || next === 60 || next === 62) return undefined
  scan.at = end
  return [{ kind: 'text', text: text.slice(at, end), isQuoted: false }]
}

/** What stands for itself in a word outside of quotes and braces: also `%`, `+`, `,`, `-`, `.`, `/`, `:`, `=`, `@`, `_`. */
function isOrdinary(code: number): boolean {
  return (
    isPlain(code) ||
    (code >= 43 && code <= 47) ||
    code === 58 ||
    code === 61 ||
    code === 95 ||
    code === 37 ||
    code === 64
  )
}

/** The right side of `==` or `=~` in `[[ ]]`, in which parentheses belong to the pattern. */
export function readPattern(scan: Scan): Word {
  return readParts(scan, 'pattern', false)
}

/** The text of a here-document with expansions. */
export function readHeredoc(scan: Scan, text: string): Word {
  const inner = innerScan(scan, text)
  const word = readParts(inner, 'text', true)
  closeInner(scan, inner)
  return word
}

/** Arithmetic up to `end`, which is past none of its expansions. */
export function readArithmetic(scan: Scan, end: number): Word {
  const inner: Scan = { ...innerScan(scan, scan.text.slice(scan.at, end)), depth: scan.depth }
  const word = readParts(inner, 'text', true)
  closeInner(scan, inner)
  scan.at = end
  return word
}

/** What reading a word with quotes, and an expansion in it, costs beside its characters. */
const WORD_STEPS = 4
const PART_STEPS = 12

/** What a search for the end goes over at once, and pays for. */
const LOOKED_AT_ONCE = 64
const LOOKED_STEPS = 8

/**
 * Where the `))` is that closes arithmetic begun here, or -1 where the parentheses close as those of commands do.
 */
export function arithmeticEnd(scan: Scan): number {
  let depth = 0
  for (let at = scan.at, paid = at; at < scan.text.length; at += 1) {
    if (at >= paid) {
      pay(scan, LOOKED_STEPS)
      paid += LOOKED_AT_ONCE
    }
    const character = scan.text[at]
    if (character === '\\') at += 1
    else if (character === '(') depth += 1
    else if (character === ')') {
      if (depth === 0) return scan.text[at + 1] === ')' ? at : -1
      depth -= 1
    }
  }
  return -1
}

function isEnd(mode: Mode, character: string): boolean {
  switch (mode) {
    case 'word':
    case 'operand':
      return isMeta(character)
    case 'pattern':
      return character === ' ' || character === '\t' || character === '\n'
    case 'braced':
      return character === '}'
    case 'replaced':
      return character === '}' || character === '/'
    case 'offset':
      return character === '}' || character === ':'
    case 'index':
      return character === ']'
    case 'quoted':
      return character === '"'
    case 'text':
      return false
  }
}

/** `isQuoted`: by the rules of double quotes; single quotes mean nothing, a backslash quotes only some characters. */
function readParts(scan: Scan, mode: Mode, isQuoted: boolean): Word {
  const parts: WordPart[] = []
  pay(scan, WORD_STEPS)
  let pending = ''
  let groups = 0
  const flush = () => {
    if (pending !== '') parts.push({ kind: 'text', text: pending, isQuoted })
    pending = ''
  }
  let previous = ''
  while (scan.failure === undefined) {
    const character = current(scan)
    if (character === '') {
      if (groups > 0 || !(mode === 'word' || mode === 'operand' || mode === 'text' || mode === 'pattern'))
        fail(scan, 'syntax')
      break
    }
    if (groups === 0 && isEnd(mode, character)) {
      if (mode === 'operand' && character === '(' && '?*+@!'.includes(previous) && previous !== '') {
        groups = 1
        pending += character
        scan.at += 1
        continue
      }
      const isProcess = (character === '<' || character === '>') && scan.text[scan.at + 1] === '('
      if ((mode === 'word' || mode === 'operand') && isProcess) {
        flush()
        scan.at += 2
        const body = readBody(scan, ')')
        parts.push({ kind: 'substituted', isInput: character === '<', body })
        previous = ')'
        continue
      }
      break
    }
    if (mode === 'pattern' || groups > 0) {
      if (character === '(') groups += 1
      else if (character === ')') {
        if (groups === 0) break
        groups -= 1
      }
    }
    if (character === '\\') {
      const next = scan.text[scan.at + 1] ?? ''
      const isEscape =
        !isQuoted ||
        '$`\\'.includes(next) ||
        (next === '"' && mode !== 'text') ||
        (next === '}' && mode !== 'quoted')
      scan.at = Math.min(scan.at + 2, scan.text.length)
      if (!isEscape || next === '') pending += `\\${next}`
      else {
        flush()
        parts.push({ kind: 'text', text: next, isQuoted: true })
      }
      previous = ''
    } else if (character === "'" && !isQuoted) {
      flush()
      scan.at += 1
      parts.push({ kind: 'text', text: takeUntil(scan, "'"), isQuoted: true })
      previous = ''
    } else if (character === '"' && mode !== 'text' && mode !== 'quoted') {
      flush()
      scan.at += 1
      parts.push(...readDoubleQuoted(scan))
      previous = ''
    } else if (character === '`') {
      flush()
      parts.push(readBackticks(scan, isQuoted))
      previous = ''
    } else if (character === '$') {
      pay(scan, PART_STEPS)
      const part = readDollar(scan, isQuoted)
      if (part === undefined) pending += '$'
      else {
        flush()
        parts.push(...part)
      }
      previous = ''
    } else {
      const start = scan.at
      scan.at += 1
      if (mode !== 'pattern' && groups === 0) {
        while (scan.at < scan.text.length && isPlain(scan.text.charCodeAt(scan.at))) scan.at += 1
      }
      pending += scan.text.slice(start, scan.at)
      previous = scan.text[scan.at - 1] ?? ''
    }
  }
  flush()
  return parts
}

/** A letter or digit: it has no meaning of its own anywhere. */
function isPlain(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code > 127
}

/** Up to `end`, which is taken as well; a syntax failure where it is missing. */
function takeUntil(scan: Scan, end: string): string {
  const found = scan.text.indexOf(end, scan.at)
  if (found === -1) fail(scan, 'syntax')
  const stop = found === -1 ? scan.text.length : found
  const text = scan.text.slice(scan.at, stop)
  scan.at = Math.min(stop + 1, scan.text.length)
  return text
}

/** After the opening quote, up to and with the closing one. */
function readDoubleQuoted(scan: Scan): Word {
  const parts = readParts(scan, 'quoted', true)
  if (scan.failure === undefined) scan.at += 1
  return parts.length > 0 ? parts : [{ kind: 'text', text: '', isQuoted: true }]
}

function readBody(scan: Scan, closer: string): List {
  if (!enter(scan)) return []
  const body = scan.list(scan)
  leave(scan)
  if (scan.failure === undefined && !take(scan, closer)) fail(scan, 'syntax')
  return body
}

/** `text`: the closing backtick is the first that no backslash is before, whatever quotes are between. */
function readBackticks(scan: Scan, isQuoted: boolean): WordPart {
  scan.at += 1
  const text: string[] = []
  for (;;) {
    const character = scan.text[scan.at]
    if (character === undefined) {
      fail(scan, 'syntax')
      break
    }
    if (character === '`') {
      scan.at += 1
      break
    }
    const next = scan.text[scan.at + 1]
    if (character === '\\' && (next === '`' || next === '\\' || next === '$' || (next === '"' && isQuoted))) {
      text.push(next)
      scan.at += 2
    } else {
      text.push(character)
      scan.at += 1
    }
  }
  const inner = innerScan(scan, text.join(''))
  if (!enter(scan)) return { kind: 'substitution', body: [], isQuoted }
  const body = inner.list(inner)
  leave(scan)
  if (inner.at < inner.text.length) fail(inner, 'syntax')
  closeInner(scan, inner)
  return { kind: 'substitution', body, isQuoted }
}

/** What `$` begins; undefined for a dollar sign that stands for itself. */
function readDollar(scan: Scan, isQuoted: boolean): Word | undefined {
  scan.at += 1
  const character = current(scan)
  if (character === '(') {
    scan.at += 1
    if (current(scan) === '(') {
      scan.at += 1
      const end = arithmeticEnd(scan)
      if (end !== -1) {
        if (!enter(scan)) return []
        const expression = readArithmetic(scan, end)
        leave(scan)
        scan.at += 2
        return [{ kind: 'arithmetic', expression, isQuoted }]
      }
      scan.at -= 1
    }
    return [{ kind: 'substitution', body: readBody(scan, ')'), isQuoted }]
  }
  if (character === '[') {
    scan.at += 1
    if (!enter(scan)) return []
    const expression = readParts(scan, 'index', true)
    leave(scan)
    scan.at += 1
    return [{ kind: 'arithmetic', expression, isQuoted }]
  }
  if (character === '{') {
    scan.at += 1
    const next = current(scan)
    // bash 5.3, ksh and mksh run what is in `${ ...; }` and `${| ...; }`.
    if (next === ' ' || next === '\t' || next === '\n' || next === '|') {
      const isValue = next === '|'
      if (isValue) scan.at += 1
      return [{ kind: 'substitution', body: readBody(scan, '}'), isQuoted, isValue }]
    }
    if (!enter(scan)) return []
    const parameter = readBraced(scan, isQuoted)
    leave(scan)
    return [{ kind: 'parameter', parameter, isQuoted }]
  }
  if (character === "'" && !isQuoted) {
    scan.at += 1
    return [{ kind: 'text', text: readAnsi(scan), isQuoted: true }]
  }
  if (character === '"' && !isQuoted) {
    scan.at += 1
    return readDoubleQuoted(scan)
  }
  const name = takeName(scan)
  if (name !== '') return [{ kind: 'parameter', parameter: plain(name), isQuoted }]
  if (character !== '' && '0123456789@*#?$!-'.includes(character)) {
    scan.at += 1
    return [{ kind: 'parameter', parameter: plain(character), isQuoted }]
  }
  return undefined
}

function plain(name: string): Parameter {
  return { name, index: undefined, form: 'value', operator: undefined, argument: [], second: undefined }
}

function readAnsi(scan: Scan): string {
  const text: string[] = []
  while (scan.failure === undefined) {
    const character = scan.text[scan.at]
    if (character === undefined) fail(scan, 'syntax')
    else if (character === "'") {
      scan.at += 1
      break
    } else if (character === '\\') {
      const found = ansiEscape(scan.text, scan.at + 1)
      text.push(found.text)
      scan.at = found.end
    } else {
      text.push(character)
      scan.at += 1
    }
  }
  // bash ends the string at a NUL.
  const whole = text.join('')
  const nul = whole.indexOf('\0')
  return nul === -1 ? whole : whole.slice(0, nul)
}

const OPERATORS = [
  ...[':-', ':=', ':+', ':?', '%%', '##', '//', '/#', '/%', '^^', ',,'],
  ...['-', '=', '+', '?', '%', '#', '/', '^', ',', ':', '@', '~~', '~'],
] as const

/** After `${`, up to and with `}`. */
function readBraced(scan: Scan, isQuoted: boolean): Parameter {
  let form: Parameter['form'] = 'value'
  if (current(scan) === '#' && !/^[}:\-=+?%#/]?$/.test(scan.text[scan.at + 1] ?? '')) {
    form = 'length'
    scan.at += 1
  } else if (current(scan) === '!' && /^[A-Za-z_0-9@*#]$/.test(scan.text[scan.at + 1] ?? '')) {
    form = 'indirect'
    scan.at += 1
  }
  let name = takeName(scan)
  if (name === '') {
    while (/^[0-9]$/.test(current(scan))) {
      name += current(scan)
      scan.at += 1
    }
    const character = current(scan)
    if (name === '' && character !== '' && '@*#?$!-'.includes(character)) {
      name = character
      scan.at += 1
    }
  }
  let index: Word | undefined
  if (current(scan) === '[') {
    scan.at += 1
    index = readParts(scan, 'index', isQuoted)
    scan.at += 1
  }
  let operator: string | undefined
  let argument: Word = []
  let second: Word | undefined
  if (name === '') operator = 'bad'
  else operator = OPERATORS.find((candidate) => take(scan, candidate))
  // In a pattern quotes keep their meaning even within double quotes.
  const isPattern = operator !== undefined && /^[%#/^,]/.test(operator)
  if (operator === ':' || operator?.startsWith('/')) {
    const isOffset = operator === ':'
    argument = readParts(scan, isOffset ? 'offset' : 'replaced', isQuoted && !isPattern)
    if (scan.failure === undefined && current(scan) !== '}') {
      scan.at += 1
      second = readParts(scan, 'braced', isQuoted && !isPattern)
    }
  } else argument = readParts(scan, 'braced', isQuoted && !isPattern)
  if (operator === undefined && argument.length > 0) operator = 'bad'
  if (scan.failure === undefined) scan.at += 1
  return { name, index, form, operator, argument, second }
}

/** Blanks, then whether a word can begin here. */
export function atWord(scan: Scan): boolean {
  skipBlanks(scan)
  const character = current(scan)
  if (character === '<' || character === '>') return scan.text[scan.at + 1] === '('
  return !isMeta(character)
}
