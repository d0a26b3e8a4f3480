/**
 * As much of CDDL (RFC 8610) as the protocol's grammar uses: reads it, refusing any syntax beyond, and says whether a
 * value matches a rule. Independent of the code that writes the grammar.
 * @module
 */
import { encodeCbor, openCbor } from '../../src/base/encoding/cbor.ts'

type Entry = {
  readonly least: number
  readonly most: number
  readonly key: Type | undefined
  readonly type: Type
}
type Type =
  | { readonly is: 'choice'; readonly of: readonly Type[] }
  | { readonly is: 'range'; readonly from: number; readonly to: number }
  | { readonly is: 'control'; readonly operator: string; readonly target: Type; readonly by: Type }
  | { readonly is: 'number'; readonly value: number }
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'array' | 'map'; readonly entries: readonly Entry[] }

export type Grammar = ReadonlyMap<string, Type>

const TOKEN = /\s+|;[^\n]*|(\d+\.\.\d+|\.[a-z]+|=>|[A-Za-z][\w-]*|\d+|[?*=/,[\]{}()])/y
const PRELUDE = new Set(['uint', 'tstr', 'bstr', 'bool'])

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (match === null) throw new Error(`no CDDL: ${text.slice(at, at + 30)}`)
    if (match[1] !== undefined) tokens.push(match[1])
  }
  return tokens
}

/** Every rule by its name; throws where a rule comes twice, names an unknown one, or is none. */
export function readCddl(text: string): Grammar {
  const tokens = tokensOf(text)
  const rules = new Map<string, Type>()
  const used = new Set<string>()
  let at = 0

  const peek = (ahead = 0): string => tokens[at + ahead] ?? ''
  function expect(token: string): void {
    if (peek() !== token) throw new Error(`${token} expected before ${tokens.slice(at, at + 6).join(' ')}`)
    at++
  }

  function readType(): Type {
    const of = [readType1()]
    while (peek() === '/') {
      at++
      of.push(readType1())
    }
    return of.length === 1 && of[0] !== undefined ? of[0] : { is: 'choice', of }
  }

  function readType1(): Type {
    const target = readType2()
    if (!peek().startsWith('.')) return target
    const operator = peek()
    at++
    return { is: 'control', operator, target, by: readType2() }
  }

  function readType2(): Type {
    const token = peek()
    at++
    if (/^\d+\.\./.test(token)) {
      const [from = 0, to = 0] = token.split('..').map(Number)
      return { is: 'range', from, to }
    }
    if (/^\d+$/.test(token)) return { is: 'number', value: Number(token) }
    if (/^[A-Za-z]/.test(token)) {
      used.add(token)
      return { is: 'name', name: token }
    }
    if (token === '(') {
      const inner = readType()
      expect(')')
      return inner
    }
    if (token === '[') return { is: 'array', entries: readGroup(']') }
    if (token === '{') return { is: 'map', entries: readGroup('}') }
    throw new Error(`a type expected at ${token} ${tokens.slice(at, at + 6).join(' ')}`)
  }

  function readGroup(end: string): Entry[] {
    const entries: Entry[] = []
    while (peek() !== end) {
      entries.push(readEntry())
      if (peek() === ',') at++
      else if (peek() !== end) throw new Error(`${end} expected before ${peek()}`)
    }
    at++
    return entries
  }

  function readEntry(): Entry {
    let [least, most] = [1, 1]
    if (peek() === '?') {
      at++
      least = 0
    } else if (/^\d+$/.test(peek()) && peek(1) === '*') {
      least = Number(peek())
      most = Number(peek(2))
      at += 3
    }
    const first = readType()
    if (peek() !== '=>') return { least, most, key: undefined, type: first }
    at++
    return { least, most, key: first, type: readType() }
  }

  while (at < tokens.length) {
    const name = peek()
    at++
    expect('=')
    if (rules.has(name)) throw new Error(`${name} comes twice`)
    rules.set(name, readType())
  }
  for (const name of used)
    if (!rules.has(name) && !PRELUDE.has(name)) throw new Error(`${name} is not defined`)
  return rules
}

/** True where `value`, as a decoder gives it, is what `rule` describes. */
export function matchesCddl(grammar: Grammar, rule: string, value: unknown): boolean {
  return matches({ is: 'name', name: rule }, value)

  function matches(type: Type, it: unknown): boolean {
    switch (type.is) {
      case 'choice':
        return type.of.some((option) => matches(option, it))
      case 'range':
        return Number(it) >= type.from && Number(it) <= type.to && /^(number|bigint)$/.test(typeof it)
      case 'number':
        return it === type.value
      case 'control':
        return matches(type.target, it) && controls(type.operator, it, type.by)
      case 'array':
        return Array.isArray(it) && matchesList(type.entries, it)
      case 'map':
        return it instanceof Map && matchesMap(type.entries, it)
      case 'name':
        return matchesName(type.name, it)
    }
  }

  function matchesName(name: string, it: unknown): boolean {
    if (name === 'uint') return /^(number|bigint)$/.test(typeof it) && Number(it) >= 0
    if (name === 'tstr') return typeof it === 'string'
    if (name === 'bstr') return it instanceof Uint8Array
    if (name === 'bool') return typeof it === 'boolean'
    const type = grammar.get(name)
    if (type === undefined) throw new Error(`${name} is not defined`)
    return matches(type, it)
  }

  function controls(operator: string, it: unknown, by: Type): boolean {
    if (operator === '.size' && typeof it === 'string')
      return matches(by, new TextEncoder().encode(it).length)
    if (!(it instanceof Uint8Array)) return false
    if (operator === '.size') return matches(by, it.length)
    if (operator !== '.cbor') throw new Error(`${operator} is not known`)
    const opened = openCbor(it, { depth: 8, items: 4_096 })
    return opened.ok && matches(by, opened.value)
  }

  function matchesList(entries: readonly Entry[], list: readonly unknown[]): boolean {
    let at = 0
    for (const { least, most, type } of entries) {
      let count = 0
      while (count < most && at < list.length && matches(type, list[at])) {
        count++
        at++
      }
      if (count < least) return false
    }
    return at === list.length
  }

  function matchesMap(entries: readonly Entry[], map: ReadonlyMap<unknown, unknown>): boolean {
    const left = new Map(map)
    for (const { least, most, key, type } of entries) {
      const found = [...left].filter(
        ([name, item]) => key !== undefined && matches(key, name) && matches(type, item),
      )
      if (found.length < least || found.length > most) return false
      for (const [name] of found) left.delete(name)
    }
    return left.size === 0
  }
}

/** A value as a decoder gives it. */
export function decoded(value: Parameters<typeof encodeCbor>[0]): unknown {
  const opened = openCbor(encodeCbor(value), { depth: 8, items: 4_096 })
  if (!opened.ok) throw new Error(opened.problem)
  return opened.value
}
