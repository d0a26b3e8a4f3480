/**
 * The code of an interpreter as tokens: dotted names, strings, and marks. It knows as much of each language as it
 * takes to tell a string and a comment from what is run; it is no grammar, and refuses nothing.
 * Each character is looked at a fixed number of times.
 * @module
 */

import type { Language } from '../unwrap/inner.ts'
import { commentEnd } from './comments.ts'
import { withHome } from './holes.ts'
import { interpolatedCode, pastInterpolation } from './interpolated.ts'
import { readDecimal, readEscape } from './string-escapes.ts'

export type Token = {
  /** `command`: text that the language itself gives to a shell (backticks, `qx`, `%x`). */
  readonly kind: 'name' | 'string' | 'command' | 'number' | 'mark'
  /** Of a name with `.` for every separator; a method of what stands before begins with one. */
  readonly text: string
  /** A part of the string is put in when it runs. */
  readonly isOpaque: boolean
}

/** Beyond this the code is no one-liner, and the rest is not told apart. */
export const TOKENS_MAX = 65_536

const BACKTICKS: ReadonlySet<Language> = new Set(['perl', 'ruby', 'php', 'other'])
const REGULAR: ReadonlySet<Language> = new Set(['javascript', 'perl', 'ruby', 'awk'])
/** Words before a pattern between slashes; after any other name a slash divides. */
const BEFORE_PATTERN: ReadonlySet<string> = new Set(
  'return if unless and or not split grep m qr case typeof when'.split(' '),
)
/** `$/`, `$"`, `$'` are variables there, and begin neither a pattern nor a string. */
const SPECIAL: ReadonlySet<Language> = new Set(['perl', 'ruby'])
const QUOTE_VARIABLES = '/"\'`'
/** Whether a dot joins names; in perl and php it joins strings. */
const DOTLESS: ReadonlySet<Language> = new Set(['perl', 'php', 'awk'])
const CLOSING: Readonly<Record<string, string>> = Object.freeze({ '(': ')', '[': ']', '{': '}', '<': '>' })

export function isNameStart(letter: string): boolean {
  return (
    (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter === '_' || letter > '\x7f'
  )
}

function isNamePart(letter: string): boolean {
  return isNameStart(letter) || (letter >= '0' && letter <= '9')
}

type Reader = {
  openUntil: number
  /** Marks that no part of a substitution ends with from here on, so that none is looked for twice. */
  readonly unclosed: Set<string>
  readonly text: string
  readonly language: Language
  at: number
  readonly tokens: Token[]
}

function push(reader: Reader, kind: Token['kind'], text: string, isOpaque = false): void {
  const plain = isOpaque ? withHome(text) : text
  reader.tokens.push({
    kind,
    text: plain,
    isOpaque: isOpaque && (plain === text || expandsIn(plain, reader.language)),
  })
}

export function tokensOf(
  text: string,
  language: Language,
): { readonly tokens: readonly Token[]; readonly isCut: boolean } {
  const tokens: Token[] = []
  let isCut = readTokens(text, language, tokens)
  // Code within a text runs as well; it stands behind the rest, where names are known.
  const end = tokens.length
  for (let at = 0; at < end && !isCut; at++) {
    const token = tokens[at]
    if (token?.kind !== 'string' || !token.isOpaque) continue
    for (const part of interpolatedCode(token.text, language)) {
      tokens.push(LINE_END)
      isCut ||= readTokens(part, language, tokens)
    }
  }
  return { tokens, isCut }
}

const LINE_END: Token = Object.freeze({ kind: 'mark', text: '\n', isOpaque: false })

/** Puts the tokens of `text` behind those that are there; whether there are too many. */
function readTokens(text: string, language: Language, tokens: Token[]): boolean {
  const reader: Reader = { openUntil: 0, unclosed: new Set(), text, language, at: 0, tokens }
  while (reader.at < text.length) {
    if (tokens.length >= TOKENS_MAX) return true
    step(reader)
  }
  return false
}

function step(reader: Reader): void {
  const { text, language, at } = reader
  const letter = text.charAt(at)
  if (letter === ' ' || letter === '\t' || letter === '\r') {
    reader.at += 1
  } else if (language === 'perl' && letter === '<' && readListing(reader)) {
    return
  } else if (letter === '\n') {
    push(reader, 'mark', '\n')
    reader.at += 1
  } else if (letter === '\\' && text.charAt(at + 1) === '\n') reader.at += 2
  else if (skipComment(reader)) return
  else if (
    letter === "'" &&
    language === 'other' &&
    (text.charAt(at + 1) === '(' || text.charAt(at - 1) === '#')
  )
    reader.at += 1
  else if (letter === '"' || letter === "'" || letter === '`') readString(reader, '')
  else if (
    language === 'lua' &&
    letter === '[' &&
    (text.charAt(at + 1) === '[' || text.charAt(at + 1) === '=')
  )
    readLong(reader)
  else if (
    isNameStart(letter) ||
    ((letter === '$' || letter === '@') && /^[A-Za-z_]$/.test(text.charAt(at + 1)))
  )
    readName(reader)
  else if (letter >= '0' && letter <= '9') {
    let end = at + 1
    while (isNamePart(text.charAt(end)) && end < text.length) end += 1
    push(reader, 'number', text.slice(at, end))
    reader.at = end
  } else if (
    isSeparator(reader, at) > 0 &&
    followsValue(reader) &&
    isNameStart(text.charAt(at + isSeparator(reader, at)))
  ) {
    reader.at += isSeparator(reader, at)
    readName(reader, '.')
  } else if (
    language === 'ruby' &&
    letter === '%' &&
    /^[xqQwWiI]$/.test(text.charAt(at + 1)) &&
    !isNamePart(text.charAt(at + 2))
  ) {
    const kind = text.charAt(at + 1)
    reader.at += 2
    readDelimited(reader, kind === 'x' ? 'command' : 'string', kind !== 'q')
  } else if (letter === '$' && SPECIAL.has(language) && QUOTE_VARIABLES.includes(text.charAt(at + 1))) {
    push(reader, 'name', text.slice(at, at + 2))
    reader.at += 2
  } else if (letter === '/' && REGULAR.has(language) && at >= reader.openUntil && !followsValue(reader)) {
    skipPattern(reader)
  } else {
    const two = text.slice(at, at + 2)
    const mark = ['||', '&&', '|&', '>>', '<<', '..', '==', '=>', '!=', '>=', '<=', '=~', '+='].includes(two)
      ? two
      : letter
    push(reader, 'mark', mark)
    reader.at += mark.length
  }
}

/** `</etc/*>` of Perl: the files that fit. False where it is none. */
function readListing(reader: Reader): boolean {
  const found = /^<([~/][^<>\s;]{1,256})>/.exec(reader.text.slice(reader.at, reader.at + LISTING_CHARACTERS))
  if (found === null) return false
  push(reader, 'string', found[1] ?? '')
  reader.at += found[0].length
  return true
}

const LISTING_CHARACTERS = 260

/** The length of what joins names here; 0 for nothing. */
function isSeparator({ text, language }: Reader, at: number): number {
  const two = text.slice(at, at + 2)
  if (two === '->' || two === '::' || two === '?.') return 2
  const letter = text.charAt(at)
  if (letter === '.' && !DOTLESS.has(language) && text.charAt(at + 1) !== '.') return 1
  // Behind a blank, it is the beginning of a keyword of Lisp.
  return letter === ':' && (language === 'lua' || (language === 'other' && text.charAt(at - 1) !== ' '))
    ? 1
    : 0
}

/** Whether the token before is a value, which a pattern does not follow and a method does. */
function followsValue({ tokens }: Reader): boolean {
  const last = tokens.at(-1)
  if (last === undefined) return false
  if (last.kind === 'mark') return last.text === ')' || last.text === ']' || last.text === '}'
  return !(last.kind === 'name' && BEFORE_PATTERN.has(last.text))
}

function skipComment(reader: Reader): boolean {
  const end = commentEnd(reader.text, reader.at, reader.language)
  if (end === undefined) return false
  reader.at = end
  return true
}

function skipPattern(reader: Reader): void {
  const { text } = reader
  let isSet = false
  for (let at = reader.at + 1; at < text.length; at++) {
    const letter = text.charAt(at)
    reader.openUntil = at
    if (letter === '\n') break
    if (letter === '\\') at += 1
    else if (letter === '[') isSet = true
    else if (letter === ']') isSet = false
    else if (letter === '/' && !isSet) {
      push(reader, 'number', '/')
      reader.at = at + 1
      return
    }
  }
  push(reader, 'mark', '/')
  reader.at += 1
}

/** A dotted name; or, where a quote follows one that is a prefix, a string. */
function readName(reader: Reader, prefix = ''): void {
  const { text, language } = reader
  let name = prefix
  if (text.charAt(reader.at) === '$' || text.charAt(reader.at) === '@') {
    name += text.charAt(reader.at)
    reader.at += 1
  }
  for (;;) {
    const start = reader.at
    while (
      reader.at < text.length &&
      (isNamePart(text.charAt(reader.at)) || (text.charAt(reader.at) === '$' && language === 'javascript'))
    )
      reader.at += 1
    // Names with hyphens, as Lisp has them.
    if (language === 'other' && text.charAt(reader.at) === '-' && isNameStart(text.charAt(reader.at + 1))) {
      reader.at += 1
      while (
        reader.at < text.length &&
        (isNamePart(text.charAt(reader.at)) || text.charAt(reader.at) === '-')
      )
        reader.at += 1
    }
    name += text.slice(start, reader.at)
    const joint = isSeparator(reader, reader.at)
    if (joint === 0 || !isNameStart(text.charAt(reader.at + joint))) break
    reader.at += joint
    name += '.'
  }
  const next = text.charAt(reader.at)
  if (prefix === '') {
    if (
      language === 'python' &&
      name.length <= 2 &&
      (next === '"' || next === "'") &&
      /^[rbufRBUF]+$/.test(name)
    ) {
      readString(reader, name.toLowerCase())
      return
    }
    if (
      language === 'perl' &&
      /^(?:q|qq|qx|qw)$/.test(name) &&
      next !== ',' &&
      next !== '=' &&
      next !== ';' &&
      next !== ')' &&
      next !== ''
    ) {
      while (text.charAt(reader.at) === ' ') reader.at += 1
      readDelimited(reader, name === 'qx' ? 'command' : 'string', name !== 'q')
      return
    }
  }
  if (language === 'perl' && name === 's' && prefix === '' && readSubstitution(reader)) return
  // `system*` of Scheme.
  if (language === 'other' && next === '*' && ' "'.includes(text.charAt(reader.at + 1))) {
    name += '*'
    reader.at += 1
  }
  if (language === 'other' && next === '!' && text.charAt(reader.at + 1) === '(') reader.at += 1
  push(reader, 'name', name)
}

/** Functions of Perl that make a value of values and do nothing else. */
const VALUE_FUNCTIONS: ReadonlySet<string> = new Set(
  'lc uc lcfirst ucfirst length sprintf int abs hex oct ord chr reverse join substr index x eq ne lt gt and or not sqrt'.split(
    ' ',
  ),
)

/** Whether code only reckons with what was found: `$1*2`, `sprintf("%02d", $1+1)`, `$names{$1}`. */
function isReckoning(code: string): boolean {
  const bare = code.replaceAll(/"[^"\\@{}$]*"|'[^'\\]*'|\$\w+\{\$\w+\}|\$\w+/g, ' 0 ')
  if (!/^[\s\w+\-*/%.,()=?:|&!]*$/.test(bare)) return false
  return (bare.match(/[A-Za-z_]\w*/g) ?? []).every((name) => VALUE_FUNCTIONS.has(name))
}

/** `s/a/b/e` of Perl: with `e` among the flags, what is put in is code. False where it is none. */
function readSubstitution(reader: Reader): boolean {
  const { text } = reader
  const open = text.charAt(reader.at)
  if (open === '' || ' \n=,;)(}:.'.includes(open) || isNamePart(open)) return false
  const close = CLOSING[open] ?? open
  if (reader.unclosed.has(close)) return false
  const middle = partEnd(text, reader.at + 1, close)
  const from = close === open ? middle + 1 : text.indexOf(open, middle) + 1
  const end = partEnd(text, from, close)
  if (middle >= text.length || end >= text.length || from === 0) {
    reader.unclosed.add(close)
    return false
  }
  let at = end + 1
  let times = 0
  for (; at < text.length && 'msixpodualngcre'.includes(text.charAt(at)); at++)
    if (text.charAt(at) === 'e') times += 1
  // Twice: what the code gives is code again.
  const isCode = times > 1 || (times === 1 && !isReckoning(text.slice(from, end)))
  push(reader, 'number', '/')
  if (isCode) {
    push(reader, 'mark', ';')
    push(reader, 'name', 'eval')
    push(reader, 'mark', '(')
    push(reader, 'string', text.slice(from, end).replaceAll(`\\${close}`, close))
    push(reader, 'mark', ')')
  }
  reader.at = at
  return true
}

function partEnd(text: string, from: number, close: string): number {
  let at = from
  while (at < text.length && text.charAt(at) !== close) at += text.charAt(at) === '\\' ? 2 : 1
  return at
}

function readDelimited(reader: Reader, kind: 'command' | 'string', expands: boolean): void {
  const { text } = reader
  const open = text.charAt(reader.at)
  const close = CLOSING[open] ?? open
  let depth = 1
  let at = reader.at + 1
  for (; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') at += 1
    else if (letter === close) {
      depth -= 1
      if (depth === 0) break
    } else if (letter === open) depth += 1
  }
  const content = text.slice(reader.at + 1, at)
  push(reader, kind, content, expands && expandsIn(content, reader.language))
  reader.at = at + 1
}

/** `[[text]]` and `[==[text]==]` of Lua. */
function readLong(reader: Reader): void {
  const { text } = reader
  let level = 0
  while (text.charAt(reader.at + 1 + level) === '=') level += 1
  if (text.charAt(reader.at + 1 + level) !== '[') {
    push(reader, 'mark', '[')
    reader.at += 1
    return
  }
  const start = reader.at + 2 + level
  const end = text.indexOf(`]${'='.repeat(level)}]`, start)
  push(reader, 'string', text.slice(start, end < 0 ? text.length : end))
  reader.at = end < 0 ? text.length : end + level + 2
}

function expandsIn(content: string, language: Language): boolean {
  switch (language) {
    case 'perl':
      return /[$@][A-Za-z_{]/.test(content)
    case 'php':
      return /\$[A-Za-z_{]/.test(content)
    case 'ruby':
      return content.includes('#{')
    case 'javascript':
    case 'other':
      return content.includes('${') || content.includes('$(') || content.includes('#{')
    default:
      return false
  }
}

function readString(reader: Reader, prefix: string): void {
  const { text, language } = reader
  const quote = text.charAt(reader.at)
  const isTriple =
    (language === 'python' || language === 'other') && text.startsWith(quote.repeat(3), reader.at)
  const close = isTriple ? quote.repeat(3) : quote
  const isRaw = prefix.includes('r') || (quote === "'" && ['perl', 'ruby', 'php'].includes(language))
  const parts: string[] = []
  let isHolding = holdsCode(language, quote, prefix)
  let start = reader.at + close.length
  let at = start
  for (; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') {
      if (isRaw && text.charAt(at + 1) !== quote && text.charAt(at + 1) !== '\\') continue
      parts.push(text.slice(start, at))
      const found = language === 'lua' ? readDecimal(text, at + 1) : readEscape(text, at + 1)
      parts.push(found.text)
      at = found.end - 1
      start = found.end
    } else if (isHolding && (letter === '{' || ('$#'.includes(letter) && text.charAt(at + 1) === '{'))) {
      // What is put in may have quotes of its own.
      const past = pastInterpolation(text, at, language)
      isHolding = past >= at
      at = Math.max(past, at)
    } else if (letter === quote && (!isTriple || text.startsWith(close, at))) break
  }
  parts.push(text.slice(start, at))
  const content = parts.join('')
  const isExpanding = prefix.includes('f')
    ? content.includes('{')
    : quote !== "'" && expandsIn(content, language)
  const isTemplate = language === 'javascript' && quote === '`' && content.includes('${')
  const isCommand = quote === '`' && BACKTICKS.has(language)
  push(
    reader,
    isCommand ? 'command' : 'string',
    content,
    language === 'javascript' ? isTemplate : isExpanding,
  )
  reader.at = Math.min(at, text.length) + close.length
}

/** Whether a string of this kind may hold code with quotes of its own. */
function holdsCode(language: Language, quote: string, prefix: string): boolean {
  if (language === 'python') return prefix.includes('f')
  if (language === 'javascript') return quote === '`'
  if (language === 'php') return quote === '"'
  return (language === 'ruby' && quote !== "'") || (language === 'other' && quote === '"')
}
