/**
 * Changes one top-level member of a JSON object in its text and leaves every other byte as it is: comments cannot be
 * lost (JSON has none), and neither can the order and the layout that somebody chose.
 * The text must already have passed the strict parser; this file only finds places in it.
 * @module
 */
import { formatJson } from '../../base/encoding/json-text.ts'

type Span = { readonly start: number; readonly end: number }

function skipSpace(text: string, at: number): number {
  let index = at
  while (index < text.length && ' \t\r\n'.includes(text.charAt(index))) index++
  return index
}

/** The index behind the string that begins at `at`. */
function skipString(text: string, at: number): number {
  let index = at + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}

/** The index behind the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0
  let index = at
  while (index < text.length) {
    const character = text.charAt(index)
    if (character === '"') {
      index = skipString(text, index)
      if (depth === 0) return index
      continue
    }
    if (depth === 0 && ',}] \t\r\n'.includes(character)) return index
    if (character === '{' || character === '[') depth++
    if (character === '}' || character === ']') depth--
    index++
    if (depth === 0 && (character === '}' || character === ']')) return index
  }
  return index
}

/** Where the value of `key` stands; else where the last member ends, undefined in an empty object. */
function findMember(text: string, key: string): { readonly value?: Span; readonly lastEnd?: number } {
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  let lastEnd: number | undefined
  while (at < text.length && text[at] === '"') {
    const keyEnd = skipString(text, at)
    const name: unknown = JSON.parse(text.slice(at, keyEnd))
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = skipValue(text, start)
    if (name === key) return { value: { start, end } }
    lastEnd = end
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return lastEnd === undefined ? {} : { lastEnd }
}

/** The text of the object `text` with `key` set to `value`; a new member goes to the end. */
export function setMember(text: string, key: string, value: unknown): string {
  const found = findMember(text, key)
  const rendered = formatJson(value, '  ')
  if (found.value !== undefined)
    return text.slice(0, found.value.start) + rendered + text.slice(found.value.end)
  const member = `${JSON.stringify(key)}: ${rendered}`
  if (found.lastEnd !== undefined)
    return `${text.slice(0, found.lastEnd)},\n  ${member}${text.slice(found.lastEnd)}`
  const brace = text.indexOf('{') + 1
  return `${text.slice(0, brace)}\n  ${member}\n${text.slice(skipSpace(text, brace))}`
}
