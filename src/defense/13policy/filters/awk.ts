/**
 * Scripts of awk: what `system`, pipes and `getline` start, and the files that output goes to or input comes from. A text
 * that is put together while it runs is not known.
 * Rules: POSIX.1-2024 awk; the manual of gawk.
 * @module
 */

import type { Inner } from '../arguments/inner.ts'
import type { Opaque } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'
import type { Filtered } from './filtered.ts'

type Token = { readonly kind: 'string' | 'name' | 'mark'; readonly text: string }

const INNER_MAX = 256
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '', b: '', f: '', v: '' }
/** Before these a `/` divides; before anything else it begins a pattern. */
const ENDS_A_VALUE = /^(?:[\w$)\]]|\+\+|--)/
/** Names behind which a `/` begins a pattern all the same. */
const BEFORE_A_VALUE: ReadonlySet<string> = new Set(['print', 'printf', 'return', 'in', 'case', 'getline'])

/** From behind the opening quote to its end. */
function readString(text: string, from: number): { readonly value: string; readonly end: number } {
  let value = ''
  let at = from
  for (; at < text.length && text.charAt(at) !== '"'; at++) {
    const letter = text.charAt(at)
    if (letter !== '\\') {
      value += letter
      continue
    }
    at += 1
    const octal = /^[0-7]{1,3}/.exec(text.slice(at, at + 3))?.[0]
    const hex =
      text.charAt(at) === 'x' ? /^[0-9a-fA-F]{1,2}/.exec(text.slice(at + 1, at + 3))?.[0] : undefined
    if (octal !== undefined) value += String.fromCharCode(Number.parseInt(octal, 8) % 256)
    else if (hex !== undefined) value += String.fromCharCode(Number.parseInt(hex, 16))
    else value += ESCAPES[text.charAt(at)] ?? (text.charAt(at) === '\n' ? '' : text.charAt(at))
    at += octal !== undefined ? octal.length - 1 : (hex?.length ?? 0)
  }
  return { value, end: at + 1 }
}

function pastPattern(text: string, from: number): number {
  let isSet = false
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') at += 1
    else if (letter === '\n') return at
    else if (letter === '[') isSet = true
    else if (letter === ']') isSet = false
    else if (letter === '/' && !isSet) return at + 1
  }
  return text.length
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const letter = text.charAt(at)
    if (letter === '"') {
      const { value, end } = readString(text, at + 1)
      tokens.push({ kind: 'string', text: value })
      at = end
    } else if (letter === '#') {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    } else if (letter === '\\' && text.charAt(at + 1) === '\n') at += 2
    else if (letter === ' ' || letter === '\t' || letter === '\r') at += 1
    else if (/[\w$@]/.test(letter)) {
      const [name = letter] = /^[\w$@]+/.exec(text.slice(at, at + 256)) ?? []
      tokens.push({ kind: 'name', text: name })
      at += name.length
    } else if (letter === '/') {
      const before = tokens.at(-1)
      const divides =
        before !== undefined &&
        (before.kind === 'string' || (ENDS_A_VALUE.test(before.text) && !BEFORE_A_VALUE.has(before.text)))
      if (divides) at += 1
      else {
        at = pastPattern(text, at + 1)
        tokens.push({ kind: 'name', text: '$pattern' })
      }
    } else {
      const two = text.slice(at, at + 2)
      const mark = ['||', '|&', '&&', '>>', '>=', '<=', '==', '!=', '++', '--'].includes(two) ? two : letter
      tokens.push({ kind: 'mark', text: mark })
      at += mark.length
    }
  }
  return tokens
}

/** The text that begins at `at`: known as a whole only where it is one string, or several, up to what ends it. */
function valueAt(tokens: readonly Token[], at: number): ShellWord {
  let text = ''
  let index = at
  while (tokens[index]?.kind === 'string') text += tokens[index++]?.text ?? ''
  const next = tokens[index]
  const isWhole =
    index > at && (next === undefined || (next.kind === 'mark' && ';})\n,|&'.includes(next.text)))
  return { text, isGlob: false, opaque: isWhole ? undefined : 'expansion' }
}

/** What a script of awk starts, reads and writes. */
export function readAwk(text: string, via: string): Filtered {
  const tokens = tokensOf(text)
  const inner: Inner[] = []
  const opaque = new Set<Opaque>()
  /** Brackets that are open within a print statement; undefined: this is none. */
  let printed: number | undefined
  for (let at = 0; at < tokens.length; at++) {
    if (inner.length >= INNER_MAX) return { inner, opaque: [...opaque, 'limit'] }
    const { kind, text: token } = tokens[at] as Token
    const next = tokens[at + 1]
    if (kind === 'name') {
      if (token === 'print' || token === 'printf') printed = 0
      else if (token === 'system' && next?.text === '(')
        inner.push({ kind: 'shell', word: valueAt(tokens, at + 2), via })
      else if (token === '@load') opaque.add('eval')
      else if (token === '@include' && next !== undefined)
        inner.push(
          { kind: 'path', word: valueAt(tokens, at + 1), use: 'read' },
          { kind: 'opaque', opaque: 'eval' },
        )
      // A function by the name that a variable holds: `@f("rm")`.
      else if (token.startsWith('@') && token.length > 1 && token !== '@namespace') opaque.add('eval')
      continue
    }
    if (kind !== 'mark') continue
    if (token === '(' && printed !== undefined) printed += 1
    else if (token === ')' && printed !== undefined) printed -= 1
    else if (token === ';' || token === '}' || token === '\n') printed = undefined
    else if (token === '|' || token === '|&') {
      if (next?.text === 'getline') {
        // `("rm " "x") | getline`
        const isClosed = tokens[at - 1]?.text === ')' && tokens[at - 1]?.kind === 'mark'
        const end = isClosed ? at - 1 : at
        let from = end
        while (tokens[from - 1]?.kind === 'string') from -= 1
        const before = tokens[from - 1]
        const isWhole = before === undefined || (before.kind === 'mark' && '({;\n!&|'.includes(before.text))
        const word = valueAt(tokens, from)
        inner.push({ kind: 'shell', word: isWhole ? word : { ...word, opaque: 'expansion' }, via })
      } else inner.push({ kind: 'shell', word: valueAt(tokens, at + 1), via })
    } else if ((token === '>' || token === '>>') && (printed === 0 || token === '>>'))
      inner.push({ kind: 'path', word: valueAt(tokens, at + 1), use: 'write' })
    else if (token === '<' && [tokens[at - 1], tokens[at - 2]].some((one) => one?.text === 'getline'))
      inner.push({ kind: 'path', word: valueAt(tokens, at + 1), use: 'read' })
  }
  return { inner, opaque: [...opaque] }
}
